"""Files of variables."""

from pathlib import Path

import pytest

from oddish.cli.envfile import read_env_file
from oddish.errors import InvalidInput

CONTENT = r"""
# keys
PLAIN=value
export EXPORTED = spaced out   # remark
EMPTY=
SINGLE='as it is: $HOME \n #'  # remark
DOUBLE="a \"quoted\"\nline and $HOME"
HASH=a#b
PLAIN=last
"""


def test_the_usual_forms_are_read(tmp_path: Path) -> None:
    (tmp_path / "keys.env").write_text("\ufeff" + CONTENT, encoding="utf-8")
    assert read_env_file(tmp_path / "keys.env") == {
        "PLAIN": "last",
        "EXPORTED": "spaced out",
        "EMPTY": "",
        "SINGLE": r"as it is: $HOME \n #",
        "DOUBLE": 'a "quoted"\nline and $HOME',
        "HASH": "a#b",
    }


@pytest.mark.parametrize("character", ["\v", "\f", "\x1c", "\x85", "\u2028"])
def test_a_line_ends_where_an_editor_ends_it(tmp_path: Path, character: str) -> None:
    (tmp_path / "keys.env").write_bytes(f"A=one{character}B=two\r\nC=three\rD=four\n".encode())
    assert read_env_file(tmp_path / "keys.env") == {"A": f"one{character}B=two", "C": "three", "D": "four"}


@pytest.mark.parametrize(
    "line", ["sk-secret-value", "KEY='sk-secret-value", 'KEY="a" sk-secret-value', "1KEY=sk-secret-value"]
)
def test_another_line_is_refused_without_showing_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "keys.env").write_text(f"A=b\n{line}\n")
    with pytest.raises(InvalidInput, match=r"Line 2 of .*keys\.env") as refusal:
        read_env_file(tmp_path / "keys.env")
    assert "sk-secret" not in str(refusal.value)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys.env").write_bytes(b"A=\xff\n")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_env_file(tmp_path / "keys.env")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_env_file(tmp_path)
    (tmp_path / "keys.env").write_text("A=" + "x" * (1024 * 1024))
    with pytest.raises(InvalidInput, match="larger than"):
        read_env_file(tmp_path / "keys.env")
