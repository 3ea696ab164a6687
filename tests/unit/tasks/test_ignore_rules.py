"""Our matcher of ignore patterns decides like the library that the engine uses, and in bounded time."""

import re
import time

import pathspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from oddish.tasks.ignore import MAX_PATTERNS, Dialect, IgnoreRules, PatternError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

SEGMENTS = [
    *("a", "b", "ab", "*", "**", "***", "a*", "*b", "*a*b*", "?", "a?b", "[ab]", "[a-b]", "[]a]", "[a\\]", "[a", "a]"),
    *("\\*", "\\a", "a-b", "!", "#", " ", "", "\\"),
]
NAMES = ["a", "b", "ab", "ba", "aab", "acb", "c", "*", "[a", "a]", "]", "a b", "!", "#x"]

patterns = st.builds(
    lambda sign, root, segments, tail: f"{sign}{root}{'/'.join(segments)}{tail}",
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=4),
    st.sampled_from(["", "", "/", " ", "\\ "]),
)
paths = st.builds(
    lambda names, tail: "/".join(names) + tail,
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    st.sampled_from(["", "", "/"]),
)


def reference(lines: list[str], dialect: Dialect, path: str) -> bool | str | None:
    try:
        if dialect == "documented":
            return pathspec.PathSpec.from_lines("gitignore", lines).check_file(path).include
        return pathspec.GitIgnoreSpec.from_lines(lines).check_file(path).include
    except ValueError:
        return "no pattern"


def decision(lines: list[str], dialect: Dialect, path: str) -> bool | str | None:
    try:
        return IgnoreRules(lines, dialect).decision(path)
    except PatternError:
        return "no pattern"


@given(st.lists(patterns, min_size=1, max_size=4), st.sampled_from(["documented", "git"]), paths)
@settings(max_examples=1000, deadline=None)
@example(["/"], "documented", "a")
@example(["/"], "git", "a")
@example(["!/"], "git", "a/b")
@example(["a/*"], "documented", "a/b/c")
@example(["a/*"], "git", "a/b/c")
@example(["a/", "!a/b"], "git", "a/b")
def test_decisions_agree(lines: list[str], dialect: Dialect, path: str) -> None:
    try:
        expected = reference(lines, dialect, path)
    except re.error:
        assume(False)
    assert decision(lines, dialect, path) == expected


def test_a_negated_bracket_does_not_match_a_slash() -> None:
    assert IgnoreRules(["a[!x]b"], "git").decision("acb") is True
    assert IgnoreRules(["a[!x]b"], "git").decision("a/b") is None


@pytest.mark.parametrize("pattern", ["*a" * 40 + "*b", "**/a*/" * 40 + "b", "[a-z]*" * 60 + "!"])
@pytest.mark.parametrize("dialect", ["documented", "git"])
def test_hostile_patterns_are_matched_at_once(pattern: str, dialect: Dialect) -> None:
    rules = IgnoreRules([pattern], dialect)
    started = time.perf_counter()
    assert rules.decision("/".join(["a" * 255] * 15)) is None
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [("!", "empty"), ("a\\", "escapes nothing"), ("[z-a]", "backwards")],
)
def test_what_is_no_pattern_is_refused_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason) as refused:
        IgnoreRules(["*.pyc", line], "documented")
    assert refused.value.line == 2


def test_the_number_of_patterns_is_bounded() -> None:
    IgnoreRules(["a"] * MAX_PATTERNS, "git")
    with pytest.raises(PatternError, match="more than"):
        IgnoreRules(["a"] * (MAX_PATTERNS + 1), "git")
