"""Which files of the build context a COPY means."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.errors import InvalidTask
from oddish.sandbox.context import Context
from oddish.sandbox.globs import pattern


@pytest.fixture
def context(tmp_path: Path) -> Context:
    for name in ("a.txt", "b.txt", "dir/c.txt", "dir/deep/d.txt", "secret"):
        path = tmp_path / "environment" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("x")
    (tmp_path / "environment" / "gone").symlink_to("nowhere")
    (tmp_path / "environment" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "environment" / ".dockerignore").write_text("# comment\nsecret\ndir/deep\n!dir/deep/d.txt\n")
    return Context(tmp_path / "environment")


def names(context: Context, wanted: str) -> list[str]:
    return [source.relative for source in context.sources(wanted, 1)]


def test_names_and_patterns(context: Context) -> None:
    assert names(context, "a.txt") == ["a.txt"]
    assert names(context, "/a.txt") == ["a.txt"]
    assert names(context, "./dir/") == ["dir"]
    assert names(context, "*.txt") == ["a.txt", "b.txt"]
    assert names(context, "dir/*.txt") == ["dir/c.txt"]
    assert names(context, ".") == ["."]


@pytest.mark.parametrize("wanted", ["../outside/x", "dir/../../outside", "out", "out/x", "secret", "missing", "gone"])
def test_what_is_outside_ignored_or_missing_is_refused(context: Context, wanted: str) -> None:
    with pytest.raises(InvalidTask, match="line 1"):
        context.sources(wanted, 1)


def test_a_pattern_may_match_nothing_and_does_not_look_through_links(context: Context) -> None:
    assert names(context, "*.none") == names(context, "out/*") == []


def test_a_link_that_is_named_is_followed_inside_the_context(context: Context) -> None:
    (context.directory / "to-file").symlink_to("a.txt")
    (context.directory / "to-dir").symlink_to("dir")
    (file,) = context.sources("to-file", 1)
    assert (file.relative, file.name, file.is_directory) == ("a.txt", "to-file", False)
    assert names(context, "to-dir/c.txt") == ["dir/c.txt"]
    (directory,) = context.sources("to-dir", 1)
    assert [name for name, _ in context.below(directory)] == ["c.txt", "deep", "deep/d.txt"]


def test_a_copied_directory_has_what_is_kept_of_an_ignored_one(context: Context) -> None:
    (context.directory / "dir/deep/other").touch()
    (context.directory / "dir/empty").mkdir()
    (source,) = context.sources("dir", 1)
    assert [name for name, _ in context.below(source)] == ["c.txt", "deep", "deep/d.txt", "empty"]
    assert names(context, "dir/deep") == ["dir/deep"]


def test_the_ignore_file_of_the_dockerfile_goes_first(context: Context) -> None:
    (context.directory / "Dockerfile.dockerignore").write_text("*\n!a.txt\n")
    again = Context(context.directory)
    assert names(again, "*.txt") == ["a.txt"]
    (whole,) = again.sources(".", 1)
    assert [name for name, _ in again.below(whole)] == ["a.txt"]


@pytest.mark.parametrize("glob", ["[z-a]", "x[b-a]y"])
def test_a_pattern_that_cannot_be_read_is_refused(context: Context, glob: str) -> None:
    with pytest.raises(InvalidTask, match="cannot be read"):
        context.sources(glob, 1)


def test_the_last_matching_rule_decides(context: Context) -> None:
    assert context.ignored("secret")
    assert context.ignored("dir/deep/other")
    assert not context.ignored("dir/deep/d.txt")
    assert not context.ignored("dir/c.txt")


@pytest.mark.parametrize(
    ("glob", "name", "matches"),
    [
        ("*", "a", True),
        ("*", "a/b", False),
        ("**/x", "x", True),
        ("**/x", "a/b/x", True),
        ("a/**", "a/b/c", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("a.c", "abc", False),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("[[&&]", "[", True),
        ("a*", "a\n", True),
        ("[", "[", True),
    ],
)
def test_patterns(glob: str, name: str, matches: bool) -> None:
    assert bool(pattern(glob).matches(name)) is matches


@pytest.mark.parametrize("glob", ["*a" * 30 + "b", "**a" * 30 + "b", "**/a" * 30 + "b", "?*" * 60 + "b"])
def test_a_hostile_pattern_takes_no_longer_than_any_other(glob: str) -> None:
    assert not pattern(glob).matches("a" * 120)
    assert not pattern(glob).covers("a/" * 60 + "a")


@given(
    glob=st.text(alphabet="ab/*?", max_size=8).filter(lambda text: "***" not in text),
    path=st.text(alphabet="ab/", max_size=8),
)
def test_a_pattern_matches_what_the_same_regular_expression_does(glob: str, path: str) -> None:
    expression = re.escape(glob).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    expression = expression.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    above = [path[:end] for end in range(len(path)) if path[end] == "/"]
    assert pattern(glob).matches(path) == bool(re.fullmatch(expression, path))
    assert pattern(glob).covers(path) == any(re.fullmatch(expression, part) for part in (*above, path))
