"""Variables and words in Dockerfile values."""

import time

import pytest

from oddish.sandbox.variables import BadSubstitution, expand, raw_words, word, words

VARIABLES = {"A": "x", "EMPTY": "", "P": "/a b", "F": "a/b/c.tar.gz"}


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
        ("${F#*/}", "b/c.tar.gz"),
        ("${F##*/}", "c.tar.gz"),
        ("${F%.*}", "a/b/c.tar"),
        ("${F%%.*}", "a/b/c"),
        ("${F#x}", "a/b/c.tar.gz"),
        ("${F%.g?}", "a/b/c.tar"),
        ("${F%$A}", "a/b/c.tar.gz"),
        ("${NONE##*}", ""),
        ("${A:?unset}", "x"),
        ("${NONE:-'$A'}", "$A"),
        ("${NONE:-\\}}", "}"),
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


@pytest.mark.parametrize(
    ("text", "wanted"),
    [('"a  b" c', "a  b c"), ("'$A'$A", "$Ax"), (r"a\ b\$A", "a b$A"), ("", ""), ('""', "")],
)
def test_a_single_value_is_not_split(text: str, wanted: str) -> None:
    assert word(text, VARIABLES) == wanted


def test_raw_words_keep_quotes_and_escapes() -> None:
    assert raw_words(r"""a 'b c'"d e"f \  "g\" h" """) == ["a", """'b c'"d e"f""", "\\ ", r'"g\" h"']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${A", "no closing brace"),
        ("${}", "names no variable"),
        ("${A/x/y}", "unknown modifier"),
        ("${A^^}", "unknown modifier"),
        ("${NONE?}", "NONE: is not set"),
        ("${NONE:?because $A}", "NONE: because x"),
        ("${NONE:-" * 30 + "}" * 30, "nested too deeply"),
        ("${F#" + "*a" * 60 + "}", "too long"),
    ],
)
def test_what_no_engine_reads_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadSubstitution, match=message):
        word(text, VARIABLES)


def test_patterns_are_matched_in_bounded_time() -> None:
    begun = time.monotonic()
    assert word("${A##" + "*a" * 45 + "*b}", {"A": "a" * 20_000}) == "a" * 20_000
    assert time.monotonic() - begun < 10
