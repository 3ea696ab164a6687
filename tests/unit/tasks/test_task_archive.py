"""Hostile and ordinary archives."""

import gzip
import io
import os
import resource
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oddish.errors import Conflict, InvalidTask, OddishError, TooLarge
from oddish.tasks.archive import ArchiveLimits, ArchiveSummary, unpack
from oddish.tasks.package import content_hash, publish_set, write_archive
from unit.tasks.trees import TASK, Link, everything_in, plant

type Entry = tuple[tarfile.TarInfo, bytes]


def entry(name: str, content: bytes = b"", **attributes: object) -> Entry:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for attribute, value in attributes.items():
        setattr(member, attribute, value)
    return member, content


def link(name: str, target: str) -> Entry:
    return entry(name, type=tarfile.SYMTYPE, linkname=target)


def hardlink(name: str, target: str) -> Entry:
    return entry(name, type=tarfile.LNKTYPE, linkname=target)


def tarball(*entries: Entry, format: int = tarfile.PAX_FORMAT) -> bytes:  # noqa: A002 - tarfile's own word
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=format, compresslevel=1) as archive:
        for member, content in entries:
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def raw_tarball(*blocks: bytes) -> bytes:
    return gzip.compress(b"".join(block + bytes(-len(block) % 512) for block in blocks) + bytes(1024))


def refused(tmp_path: Path, data: bytes, limits: ArchiveLimits | None = None) -> OddishError:
    """The refusal of ``data``; checks that it left nothing behind and nothing outside was touched."""
    place = tmp_path / "place"
    place.mkdir(exist_ok=True)
    with pytest.raises((InvalidTask, TooLarge)) as refusal:
        unpack(io.BytesIO(data), place / "task", limits)
    assert everything_in(place) == []
    assert refusal.value.fix
    return refusal.value


def unpacked(tmp_path: Path, data: bytes, limits: ArchiveLimits | None = None) -> tuple[Path, ArchiveSummary]:
    destination = tmp_path / "unpacked"
    summary = unpack(io.BytesIO(data), destination, limits)
    return destination, summary


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([entry("/etc/x")], ['"/etc/x"', "absolute path"]),
        ([entry("../x")], ['"../x"', '".."']),
        ([entry("a/../../x")], ['"a/../../x"', '".."']),
        ([entry("a/..")], ['"a/.."', '".."']),
        ([entry("a\\b")], ["backslash"]),
        ([entry("a\nb")], ["control character", r'"a\nb"']),
        ([entry("\udcff")], ["not UTF-8"]),
        ([entry("x" * 256)], ["too long"]),
        ([entry("/".join(["x" * 200] * 6))], ["too long"]),
        ([entry("a"), entry("a")], ['"a" occurs twice']),
        ([entry("a"), entry("./a")], ['"./a" occurs twice']),
        ([entry("a"), entry("a", type=tarfile.DIRTYPE)], ['"a" occurs twice']),
        ([entry("a", type=tarfile.DIRTYPE), entry("a")], ['"a" occurs twice']),
        ([entry("a/b"), link("a", "/etc")], ['"a" occurs twice']),
        ([entry("a"), entry("a/b")], ['"a/b" lies below "a"']),
        ([link("a", "."), entry("a/b")], ['"a/b" lies below "a"']),
        ([link("a", "/tmp"), entry("a/b")], ['"a"', "absolute path"]),
        ([link("a", "../x")], ['"a"', "out of the archive", '"../x"']),
        ([link("d/a", "../../x")], ['"d/a"', "out of the archive"]),
        ([entry("d/e/x"), link("b", "d/e"), link("a", "b/../../../x")], ['"a"', "out of the archive"]),
        ([entry("d/x"), link("d/up", ".."), link("a", "d/up/../x")], ['"a"', "out of the archive"]),
        ([link("a", "b"), link("b", "a")], ["leads to itself"]),
        ([link("a", "")], ["malformed"]),
        ([hardlink("a", "/etc/passwd")], ['"/etc/passwd"', "absolute path"]),
        ([hardlink("a", "../x")], ['".."']),
        ([hardlink("a", "b"), entry("b")], ['"a" is a hard link to "b"']),
        ([link("l", "x"), hardlink("a", "l")], ['"a" is a hard link to "l"']),
        ([entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)], ['"null" is a device']),
        ([entry("disk", type=tarfile.BLKTYPE)], ['"disk" is a device']),
        ([entry("pipe", type=tarfile.FIFOTYPE)], ['"pipe" is a named pipe']),
        ([entry("odd", type=b"Z")], ['"odd" is of an unknown kind']),
        (
            [entry("s", b"1\n0\n1\n" + bytes(506), pax_headers={"GNU.sparse.major": "1", "GNU.sparse.minor": "0"})],
            ["s"],
        ),
        ([entry("n", pax_headers={"size": "-1"})], ["n"]),
        ([entry("n", pax_headers={"path": "../x"})], ['"../x"', '".."']),
        ([entry("n", pax_headers={"path": "a\0b"})], ["control character"]),
        ([entry("n", pax_headers={"comment": "x" * 100_000})], ["impossible size"]),
        ([entry(".")], ["has no name"]),
    ],
)
def test_hostile_members_are_named(tmp_path: Path, entries: list[Entry], words: list[str]) -> None:
    message = str(refused(tmp_path, tarball(entry("first"), *entries)))
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (ArchiveLimits(max_bytes=1000), "larger than 1000 bytes"),
        (ArchiveLimits(max_extracted_bytes=2_000_000), 'more than 2000000 bytes, reached at "zeros"'),
        (ArchiveLimits(max_entries=3), 'more than 3 entries, reached at "d/e/f"'),
        (ArchiveLimits(max_ratio=20, ratio_applies_from=1_000_000), "more than 20 times its size"),
    ],
)
def test_limits(tmp_path: Path, limits: ArchiveLimits, word: str) -> None:
    data = tarball(entry("random", os.urandom(2000)), entry("d/e/f", b"x"), entry("zeros", bytes(3_000_000)))
    refusal = refused(tmp_path, data, limits)
    assert isinstance(refusal, TooLarge)
    assert word in str(refusal)
    assert unpacked(tmp_path, data)[1] == ArchiveSummary(5, 3, 3_002_001, len(data))


def test_every_implied_directory_counts(tmp_path: Path) -> None:
    deep = "/".join("d" * 400)
    assert "entries" in str(refused(tmp_path, tarball(entry(deep)), ArchiveLimits(max_entries=100)))


def test_copies_made_by_hard_links_count(tmp_path: Path) -> None:
    data = tarball(entry("a", bytes(1000)), *(hardlink(f"b{index}", "a") for index in range(100)))
    assert "more than 90000 bytes" in str(refused(tmp_path, data, ArchiveLimits(max_extracted_bytes=90_000)))


def test_data_after_the_end_counts(tmp_path: Path) -> None:
    data = tarball(entry("a")) + gzip.compress(bytes(5_000_000))
    assert "5000000" not in str(unpacked(tmp_path, data)[1])
    limits = ArchiveLimits(max_extracted_bytes=1_000_000)
    assert "more than 1000000 bytes" in str(refused(tmp_path, data, limits))


def oversized_header(kind: bytes) -> bytes:
    member = tarfile.TarInfo("huge")
    member.type = kind
    member.size = 3 * 1024**3
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_headers_that_would_fill_the_memory_are_refused_unread(tmp_path: Path, kind: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = raw_tarball(oversized_header(kind), bytes(200_000_000))
    assert "impossible size" in str(refused(tmp_path, data))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000


def test_shared_headers_cannot_pile_up(tmp_path: Path) -> None:
    blocks = []
    for index in range(100):
        member = tarfile.TarInfo(f"f{index}")
        blocks.append(member.create_pax_global_header({f"key{index}": "x" * 1000}))
        blocks.append(member.tobuf())
    assert "impossible size" in str(refused(tmp_path, raw_tarball(*blocks)))


def test_negative_and_endless_headers(tmp_path: Path) -> None:
    member = tarfile.TarInfo("negative")
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = tarfile.itn(-512, 12, tarfile.GNU_FORMAT)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert "impossible size" in str(refused(tmp_path, raw_tarball(bytes(header))))
    named = tarfile.TarInfo("y" * 200)
    nested = named.create_pax_header(named.get_info(), "utf-8")[:-512]
    assert "cannot be read" in str(refused(tmp_path, raw_tarball(nested * 5000)))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "cut off"),
        (b"PK\x03\x04 a zip", "not gzip data"),
        (gzip.compress(b"", mtime=0), "without an end mark"),
        (gzip.compress(b"no tar at all", mtime=0), "malformed"),
        (gzip.compress(b"x" * 2000, mtime=0), "malformed"),
    ],
)
def test_what_is_no_archive(tmp_path: Path, data: bytes, word: str) -> None:
    if word not in ("cut off", "without an end mark"):
        assert word in str(refused(tmp_path, data))
    else:
        assert "not usable" in str(refused(tmp_path, data))


ORDINARY = tarball(entry("task.toml", b"x" * 3000), entry("tests/test.sh", os.urandom(3000)), link("l", "task.toml"))


@pytest.mark.parametrize("share", range(20))
def test_a_truncated_archive_is_refused_wherever_it_ends(tmp_path: Path, share: int) -> None:
    assert "not usable" in str(refused(tmp_path, ORDINARY[: len(ORDINARY) * share // 20]))
    plain = gzip.decompress(ORDINARY)
    assert "not usable" in str(refused(tmp_path, gzip.compress(plain[: 7680 * share // 20])))


@given(st.integers(min_value=0, max_value=len(ORDINARY) - 1), st.integers(min_value=1, max_value=255))
@settings(max_examples=150, deadline=None)
def test_a_corrupt_byte_never_passes_unnoticed(position: int, difference: int) -> None:
    data = bytearray(ORDINARY)
    data[position] ^= difference
    with tempfile.TemporaryDirectory() as scratch:
        try:
            unpack(io.BytesIO(bytes(data)), Path(scratch) / "task")
        except (InvalidTask, TooLarge):
            assert everything_in(Path(scratch)) == []
        else:
            # Only the gzip header's time, flags for humans and file name are outside of the checksum.
            assert position < len(ORDINARY) - len(gzip.compress(b"")) - 10
            assert (Path(scratch) / "task" / "task.toml").read_bytes() == b"x" * 3000


names = st.lists(st.sampled_from(["a", "b", "..", ".", "", "d"]), min_size=1, max_size=4).map("/".join)
hostile_entries = st.lists(
    st.one_of(
        st.builds(entry, names, st.binary(max_size=5)),
        st.builds(lambda name: entry(name, type=tarfile.DIRTYPE), names),
        st.builds(link, names, names),
        st.builds(hardlink, names, names),
    ),
    max_size=7,
)


@given(hostile_entries)
@settings(max_examples=300, deadline=None)
@example([link("a", "b"), link("b", "d/.."), entry("d/a")])
def test_whatever_is_accepted_stays_inside(entries: list[Entry]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve() / "deep" / "place"
        place.mkdir(parents=True)
        (place.parent / "a").write_text("canary")
        root = place / "task"
        try:
            unpack(io.BytesIO(tarball(*entries)), root)
        except InvalidTask:
            assert everything_in(place) == []
        else:
            for name in everything_in(root):
                assert (root / name).resolve().is_relative_to(root)
        assert (place.parent / "a").read_text() == "canary"
        assert sorted(path.name for path in place.parent.iterdir()) == ["a", "place"]


@pytest.mark.parametrize(
    "flags", [["--format=gnu"], ["--format=pax"], ["--format=ustar"], ["--format=v7", "--exclude=l*"]]
)
def test_archives_of_ordinary_tools(tmp_path: Path, flags: list[str]) -> None:
    tree = {**TASK, "tests/link": Link("test.sh"), f"tests/{'long' * 10}/{'er' * 30}": "x", "environment/empty": None}
    root = plant(tmp_path / "task", tree)
    (root / "tests" / "hard").hardlink_to(root / "instruction.md")
    (root / "tests" / "test.sh").chmod(0o6755)
    subprocess.run(["tar", "czf", tmp_path / "a.tgz", *flags, "-C", root, "."], check=True)
    summary = unpack(tmp_path / "a.tgz", tmp_path / "unpacked")
    arrived = tmp_path / "unpacked"
    assert summary.archive_bytes == (tmp_path / "a.tgz").stat().st_size
    assert (arrived / "tests" / "test.sh").stat().st_mode & 0o7777 == 0o755
    assert (arrived / "instruction.md").stat().st_mode & 0o7777 == 0o644
    assert (arrived / "instruction.md").stat().st_nlink == 1
    if "--format=v7" not in flags:
        assert content_hash(publish_set(arrived)) == content_hash(publish_set(root))


def test_our_own_archive(tmp_path: Path) -> None:
    files = publish_set(plant(tmp_path / "task", TASK))
    with (tmp_path / "a.tgz").open("wb") as file:
        write_archive(files, file)
    summary = unpack(tmp_path / "a.tgz", tmp_path / "unpacked")
    assert summary.files == len(files)
    assert summary.extracted_bytes == sum(file.size for file in files)


def test_a_failing_source_leaves_nothing_behind(tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= 100:
                raise OSError(5, "Input/output error")
            return super().read(min(size or 0, 100))

    with pytest.raises(OSError, match="Input/output"):
        unpack(Failing(ORDINARY), tmp_path / "task")
    assert everything_in(tmp_path) == []


def test_an_existing_destination_is_kept(tmp_path: Path) -> None:
    plant(tmp_path / "task", {"mine": "x"})
    with pytest.raises(Conflict, match="exists already"):
        unpack(io.BytesIO(ORDINARY), tmp_path / "task")
    assert everything_in(tmp_path) == ["task", "task/mine"]
