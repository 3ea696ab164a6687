"""Which files ADD unpacks, however hostile they are."""

import bz2
import gzip
import io
import lzma
import resource
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.sandbox.copying import is_archive


def tarball() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("x"))
    return stream.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_an_archive_is_known_by_its_content(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "name"
    file.write_bytes(pack(tarball()))
    assert is_archive(file)


@pytest.mark.parametrize(
    "content",
    [b"", b"text", gzip.compress(b"text"), bytes(2048), gzip.compress(tarball())[:20]],
    ids=["nothing", "text", "packed text", "zeros", "part of a packed archive"],
)
def test_anything_else_is_a_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "name.tar.gz"
    file.write_bytes(content)
    assert not is_archive(file)


def test_a_name_without_end_is_not_read_to_know_an_archive(tmp_path: Path) -> None:
    size = 400 * 1024**2
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, size
    file = tmp_path / "bomb"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(size // 1024**2):
            packed.write(bytes(1024**2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert is_archive(file)
    grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kilobytes < 100 * 1024
