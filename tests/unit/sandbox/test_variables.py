"""Variables and words in Dockerfile values."""

import pytest

from oddish.sandbox.variables import expand, words

VARIABLES = {"A": "x", "EMPTY": "", "P": "/a b"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$A", "x"),
        ("${A}y", "xy"),
        ("$NONE.", "."),
        ("${NONE:-d}", "d"),
        ("${EMPTY:-d}", "d"),
        ("${EMPTY-d}", ""),
        ("${A:+yes}${NONE:+no}", "yes"),
        ("${NONE:-${A}z}", "xz"),
        (r"\$A", "$A"),
        ("$", "$"),
        ("a$1b", "a$1b"),
    ],
)
def test_variables_are_replaced(text: str, wanted: str) -> None:
    assert expand(text, VARIABLES) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a  b", ["a", "b"]),
        ('"a b" c', ["a b", "c"]),
        ("'$A' \"$A\"", ["$A", "x"]),
        (r"a\ b", ["a b"]),
        ("$P", ["/a b"]),
        ('X="a b"c', ["X=a bc"]),
        ('""', [""]),
        (r'"a\"b"', ['a"b']),
        (r'"a\nb"', [r"a\nb"]),
        ("", []),
    ],
)
def test_words_follow_quotes(text: str, wanted: list[str]) -> None:
    assert words(text, VARIABLES) == wanted
