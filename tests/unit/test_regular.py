import os
from pathlib import Path

import pytest

from oddish.regular import open_below


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real" / "inner" / "file").write_text("within")
    (tmp_path / "real" / "linked").symlink_to("inner/file")
    (tmp_path / "real" / "around").symlink_to("inner")
    os.mkfifo(tmp_path / "real" / "pipe")
    (tmp_path / "other").symlink_to("real")
    return tmp_path / "real"


def test_a_regular_file_below_a_directory_is_opened(directory: Path) -> None:
    with os.fdopen(open_below(directory, "inner/file")) as file:
        assert file.read() == "within"


@pytest.mark.parametrize(
    "relative",
    [
        "linked",
        "around/file",
        "pipe",
        "inner",
        "absent",
        "",
        "/inner/file",
        "../real/inner/file",
        "inner//file",
        "a\0b",
    ],
)
def test_nothing_else_is_opened(directory: Path, relative: str) -> None:
    with pytest.raises(OSError, match=r".*"):
        open_below(directory, relative)


def test_a_directory_that_is_a_link_is_not_entered(directory: Path) -> None:
    with pytest.raises(OSError, match=r"other"):
        open_below(directory.parent / "other", "inner/file")
