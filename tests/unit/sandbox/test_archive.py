"""What a hostile sandbox may send as an archive, and what of it reaches this machine."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.errors import InvalidInput, TooLarge
from oddish.sandbox.archive import Bounds, extract, pack, stays_inside


def member(
    name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", mode: int = 0o644, content: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(content)
    info.uid = info.gid = 4242
    return info, content


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    stream.seek(0)
    return stream


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", ".."])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="leads out"):
        extract(archive(member(name, content=b"x")), tmp_path / "target", Bounds())
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("link", ["/etc/passwd", "../x", "sub/../../x", "a/../b"])
def test_a_link_that_could_lead_out_is_left_out(tmp_path: Path, link: str) -> None:
    result = extract(archive(member("link", tarfile.SYMTYPE, link=link)), tmp_path, Bounds())
    assert result.left_out == ["link"]
    assert not os.path.lexists(tmp_path / "link")


def test_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    extract(archive(member("a/b/link", tarfile.SYMTYPE, link="../../c")), tmp_path, Bounds())
    assert (tmp_path / "a" / "b" / "link").readlink() == Path("../../c")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").symlink_to(outside)
    (target / "file").symlink_to(outside / "victim")
    sent = archive(member("old/x", content=b"x"), member("file", content=b"y"))
    extract(sent, target, Bounds())
    assert list(outside.iterdir()) == []
    assert (target / "old" / "x").read_bytes() == b"x"
    assert (target / "file").read_bytes() == b"y"


def test_a_directory_behind_a_link_of_the_same_archive_is_a_real_one(tmp_path: Path) -> None:
    sent = archive(member("d", tarfile.SYMTYPE, link="e"), member("d/x", content=b"x"))
    extract(sent, tmp_path, Bounds())
    assert not (tmp_path / "d").is_symlink()
    assert not (tmp_path / "e").exists()


def test_special_files_are_left_out_and_the_rest_arrives(tmp_path: Path) -> None:
    sent = archive(member("pipe", tarfile.FIFOTYPE), member("disk", tarfile.BLKTYPE), member("file", content=b"x"))
    result = extract(sent, tmp_path, Bounds())
    assert result.left_out == ["pipe", "disk"]
    assert (tmp_path / "file").read_bytes() == b"x"


def test_files_belong_to_the_caller_and_have_no_special_bits(tmp_path: Path) -> None:
    extract(archive(member("file", mode=0o6777)), tmp_path, Bounds())
    status = (tmp_path / "file").stat()
    assert (status.st_uid, status.st_mode & 0o7777) == (os.geteuid(), 0o755)


def test_hard_links_only_to_files_that_came_along(tmp_path: Path) -> None:
    extract(archive(member("a", content=b"x"), member("b", tarfile.LNKTYPE, link="a")), tmp_path / "good", Bounds())
    assert (tmp_path / "good" / "b").read_bytes() == b"x"
    with pytest.raises(InvalidInput, match="did not send"):
        extract(archive(member("b", tarfile.LNKTYPE, link="none")), tmp_path / "missing", Bounds())
    with pytest.raises(InvalidInput, match="leads out"):
        extract(archive(member("b", tarfile.LNKTYPE, link="../x")), tmp_path / "out", Bounds())


def test_size_and_number_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(TooLarge, match="100 bytes"):
        extract(archive(member("a", content=b"x" * 1000)), tmp_path / "size", Bounds(total_bytes=100))
    with pytest.raises(TooLarge, match="2 files"):
        extract(archive(*(member(str(number)) for number in range(3))), tmp_path / "number", Bounds(entries=2))


def test_a_sparse_file_does_not_unfold(tmp_path: Path) -> None:
    info, _ = member("x")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(10**12)}
    content = b"1\n0\n1\n".ljust(tarfile.BLOCKSIZE, b"\0") + b"z"
    info.size = len(content)
    with pytest.raises(InvalidInput, match="sparse"):
        extract(archive((info, content)), tmp_path, Bounds())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_header_is_not_read_without_end(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(TooLarge, match="header"):
        extract(archive(member("x", kind, content=bytes(2 * 1024**2))), tmp_path, Bounds())


def test_large_files_that_nobody_wants_are_no_header(tmp_path: Path) -> None:
    large, wanted = member("large", content=bytes(3 * 1024**2)), member("wanted", content=b"x")
    extract(archive(large, wanted), tmp_path, Bounds(), wanted=lambda name: name == "wanted")
    assert [path.name for path in tmp_path.iterdir()] == ["wanted"]


@pytest.mark.parametrize("size", [-1, 2**62])
def test_an_entry_of_impossible_size_is_refused(tmp_path: Path, size: int) -> None:
    info, _ = member("x")
    info.size = size
    sent = io.BytesIO(info.tobuf(tarfile.GNU_FORMAT) + bytes(10 * tarfile.BLOCKSIZE))
    with pytest.raises((TooLarge, InvalidInput)):
        extract(sent, tmp_path, Bounds(), wanted=lambda _: False)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no valid archive"):
        extract(io.BytesIO(b"x" * 2000), tmp_path, Bounds())


def test_only_what_is_wanted_arrives(tmp_path: Path) -> None:
    sent = archive(member("a/keep", content=b"x"), member("a/drop", content=b"x"))
    extract(sent, tmp_path, Bounds(), wanted=lambda name: name.endswith("keep"))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["keep"]


def test_a_packed_directory_comes_back_as_it_was(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "tool").write_text("x")
    (source / "tool").chmod(0o755)
    (source / "link").symlink_to("tool")
    stream = io.BytesIO()
    pack(source, stream)
    stream.seek(0)
    extract(stream, tmp_path / "target", Bounds())
    assert (tmp_path / "target" / "empty").is_dir()
    assert (tmp_path / "target" / "tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "target" / "link").readlink() == Path("tool")


@given(
    links=st.lists(
        st.tuples(
            st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple),
            st.lists(st.sampled_from(["..", "a", "b", "c", "."]), min_size=1, max_size=5).map("/".join),
        ),
        max_size=6,
    )
)
def test_no_set_of_kept_links_leads_out(
    links: list[tuple[tuple[str, ...], str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("links").resolve()
    for parts, target in links:
        path = root.joinpath(*parts)
        parents = [root.joinpath(*parts[:count]) for count in range(1, len(parts))]
        if not stays_inside(parts, target) or any(parent.is_symlink() for parent in parents) or os.path.lexists(path):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    for path in root.rglob("*"):
        assert Path(os.path.realpath(path)).is_relative_to(root)
