"""Hostile and ordinary zip archives."""

import io
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.errors import InvalidTask, OddishError, TooLarge
from oddish.tasks.archive import ArchiveLimits, ArchiveSummary
from oddish.tasks.ziparchive import unpack_zip
from unit.tasks.trees import everything_in

SMALL = ArchiveLimits(max_bytes=10**6, max_extracted_bytes=10**5, max_entries=20, max_ratio=10, ratio_applies_from=1000)


def entry(name: str, *, mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = method
    return info


def packed(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member if isinstance(member, zipfile.ZipInfo) else entry(member), content)
    return buffer.getvalue()


TASK = packed(("task.toml", b"version = '1.0'"), (entry("tests/test.sh", mode=stat.S_IFREG | 0o755), b"#!/bin/sh\n"))


def unpacked(tmp_path: Path, data: bytes, limits: ArchiveLimits = SMALL) -> tuple[Path, ArchiveSummary]:
    (tmp_path / "task.zip").write_bytes(data)
    summary = unpack_zip(tmp_path / "task.zip", tmp_path / "task", limits)
    return tmp_path / "task", summary


def refused(tmp_path: Path, data: bytes, limits: ArchiveLimits = SMALL) -> OddishError:
    """The refusal of ``data``; checks that it left nothing behind."""
    (tmp_path / "task.zip").write_bytes(data)
    place = tmp_path / "place"
    place.mkdir(exist_ok=True)
    with pytest.raises((InvalidTask, TooLarge)) as refusal:
        unpack_zip(tmp_path / "task.zip", place / "task", limits)
    assert everything_in(place) == []
    assert refusal.value.fix
    return refusal.value


def test_files_come_out_with_their_content_and_the_owners_execute_bit(tmp_path: Path) -> None:
    task, summary = unpacked(tmp_path, TASK)
    assert (task / "task.toml").read_bytes() == b"version = '1.0'"
    assert (task / "task.toml").stat().st_mode & 0o777 == 0o644
    assert (task / "tests/test.sh").stat().st_mode & 0o777 == 0o755
    assert summary == ArchiveSummary(entries=3, files=2, extracted_bytes=25, archive_bytes=len(TASK))


def test_archives_of_every_common_kind_are_read(tmp_path: Path) -> None:
    stored = entry("stored.bin", method=zipfile.ZIP_STORED)
    windows = entry("windows.txt", mode=0)
    task, _ = unpacked(
        tmp_path,
        packed((entry("empty/", mode=stat.S_IFDIR | 0o755), b""), (stored, b"\0" * 9), (windows, b"x"), ("ü/ß", b"y")),
    )
    assert (task / "empty").is_dir()
    assert (task / "stored.bin").read_bytes() == b"\0" * 9
    assert (task / "windows.txt").read_bytes() == b"x"
    assert (task / "ü/ß").read_bytes() == b"y"


def test_a_name_is_utf_8_also_where_the_archive_does_not_say_so(tmp_path: Path) -> None:
    data = packed(("ab", b"x")).replace(b"ab", "ü".encode())
    task, _ = unpacked(tmp_path, data)
    assert (task / "ü").exists()


def test_a_link_inside_the_archive_is_kept(tmp_path: Path) -> None:
    link = entry("tests/again.sh", mode=stat.S_IFLNK | 0o777)
    task, _ = unpacked(tmp_path, packed(("tests/test.sh", b"x"), (link, b"test.sh")))
    assert (task / "tests/again.sh").readlink() == Path("test.sh")


def test_zip64_is_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, archive.open("big.txt", "w", force_zip64=True) as file:
        file.write(b"content")
    task, _ = unpacked(tmp_path, buffer.getvalue())
    assert (task / "big.txt").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([("../out", b"")], '".." in its path'),
        ([("a/../../out", b"")], '".." in its path'),
        ([("/etc/passwd", b"")], "absolute path"),
        ([("a\\b", b"")], "backslash"),
        ([("a\nb", b"")], "control character"),
        ([(entry("out", mode=stat.S_IFLNK | 0o777), b"/etc/passwd")], "link to an absolute path"),
        ([(entry("out", mode=stat.S_IFLNK | 0o777), b"../out")], "link out of the archive"),
        (
            [(entry("a", mode=stat.S_IFLNK | 0o777), b"b"), (entry("b", mode=stat.S_IFLNK | 0o777), b"a")],
            "leads to itself",
        ),
        ([(entry("d", mode=stat.S_IFLNK | 0o777), b"."), ("d/x", b"")], "no directory"),
        ([(entry("dev", mode=stat.S_IFCHR | 0o644), b"")], "a device"),
        ([(entry("pipe", mode=stat.S_IFIFO | 0o644), b"")], "a device, a named pipe"),
        ([("a", b""), ("a/b", b"")], "no directory"),
        ([("Read.me", b"1"), ("read.ME", b"2")], "by the case"),
        ([("a/one", b"1"), ("A/two", b"2")], "by the case"),
        ([("é", b"1"), ("e\u0301", b"2")], "by the case or the form"),
        ([(entry("a", method=zipfile.ZIP_LZMA), b"x")], "method 14"),
        ([("x" * 300, b"")], "too long"),
        ([(entry("d/", mode=stat.S_IFDIR), b"content")], "directory with content"),
    ],
)
def test_hostile_members_are_refused_by_name(
    tmp_path: Path, members: list[tuple[str | zipfile.ZipInfo, bytes]], reason: str
) -> None:
    assert reason in refused(tmp_path, packed(*members)).message


def test_a_member_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    data = packed(("ab", b"1"), ("cd", b"2")).replace(b"cd", b"ab")
    assert '"ab" occurs twice' in refused(tmp_path, data).message


def patched(offset: int, value: bytes) -> Callable[[bytes], bytes]:
    """Overwrites bytes of the first record of the central directory."""

    def patch(data: bytes) -> bytes:
        at = data.index(b"PK\x01\x02") + offset
        return data[:at] + value + data[at + len(value) :]

    return patch


def local(offset: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:offset] + value + data[offset + len(value) :]


ONE = packed(("name.txt", b"content " * 4))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (patched(8, b"\x01\x00"), "described otherwise"),
        (lambda data: local(6, b"\x01\x00")(patched(8, b"\x01\x00")(data)), "encrypted"),
        (patched(16, b"\x00\x00\x00\x00"), "not a sound zip archive"),
        (patched(24, struct.pack("<L", 5)), "not a sound zip archive"),
        (patched(24, struct.pack("<L", 99)), "ends after 32 of 99 bytes"),
        (patched(20, struct.pack("<L", 9999)), "reaches into the archive's directory"),
        (patched(42, struct.pack("<L", 7)), "has no header of its own"),
        (local(30, b"n4me"), "described otherwise"),
        (lambda data: data[:-30], "no zip archive"),
        (lambda data: data[: len(data) // 3], "no zip archive"),
        (lambda data: b"", "no zip archive"),
        (lambda data: b"\x1f\x8b" + b"x" * 100, "no zip archive"),
        (patched(46, b"na\xffe"), "described otherwise"),
    ],
)
def test_damage_and_contradictions_are_refused(tmp_path: Path, damage: Callable[[bytes], bytes], reason: str) -> None:
    assert reason in refused(tmp_path, damage(ONE)).message


def test_a_name_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    assert "not UTF-8" in refused(tmp_path, ONE.replace(b"name", b"n\xff\xfee")).message


def test_a_name_with_a_nul_byte_is_not_cut_off_there(tmp_path: Path) -> None:
    assert "control character" in refused(tmp_path, ONE.replace(b"name.txt", b"name\0txt")).message


def test_members_that_share_bytes_are_refused(tmp_path: Path) -> None:
    """As in archives of a few kilobytes that extract to terabytes."""
    data = packed(("aa", b"x" * 50), ("ab", b"y" * 50))
    second = data.rindex(b"PK\x01\x02")
    overlapping = data[: second + 42] + struct.pack("<L", 0) + data[second + 46 :]
    assert 'shares bytes with "aa"' in refused(tmp_path, overlapping).message


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([("big", random.Random(1).randbytes(10**5 + 1))], "extracts to 100001 bytes, more than 100000"),
        ([("zeros", bytes(90_000))], "more than 10 times its size"),
        ([(f"f{number}", b"") for number in range(21)], "more than 20 entries"),
        ([(f"{'d/' * 15}{number}", b"") for number in range(10)], "more than 20 entries"),
    ],
)
def test_bombs_are_refused(tmp_path: Path, members: list[tuple[str, bytes]], reason: str) -> None:
    error = refused(tmp_path, packed(*members))
    assert isinstance(error, TooLarge)
    assert reason in error.message


def test_an_archive_above_its_limit_is_not_read(tmp_path: Path) -> None:
    assert "larger than 1000000 bytes" in refused(tmp_path, bytes(10**6 + 1)).message


def test_a_directory_of_an_impossible_size_is_not_read(tmp_path: Path) -> None:
    at = ONE.rindex(b"PK\x05\x06")
    data = ONE[: at + 12] + struct.pack("<L", 2**31) + ONE[at + 16 :]
    assert "impossible size" in refused(tmp_path, data).message


@given(st.data())
@settings(max_examples=150)
def test_whatever_is_done_to_an_archive_it_is_unpacked_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    archive = bytearray(packed(("task.toml", b"a = 1"), ("tests/test.sh", b"exit 0\n" * 9), ("ü", b"x")))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(archive) - 1))
        archive[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        if not archive:
            break
    place = tmp_path_factory.mktemp("zip")
    (place / "task.zip").write_bytes(archive)
    with suppress(InvalidTask, TooLarge):
        unpack_zip(place / "task.zip", place / "task", SMALL)
    assert set(everything_in(place)) <= {"task.zip"} or (place / "task").is_dir()
    assert not [*place.glob(".unpack-*")]
