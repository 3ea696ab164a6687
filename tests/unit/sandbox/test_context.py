"""Which files of the build context a COPY means."""

from pathlib import Path

import pytest

from oddish.errors import InvalidTask
from oddish.sandbox.context import Context, pattern


@pytest.fixture
def context(tmp_path: Path) -> Context:
    for name in ("a.txt", "b.txt", "dir/c.txt", "dir/deep/d.txt", "secret"):
        path = tmp_path / "environment" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("x")
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


@pytest.mark.parametrize("wanted", ["../outside/x", "dir/../../outside", "out/x", "secret", "missing", "*.none"])
def test_outside_links_on_the_way_ignored_and_missing_are_refused(context: Context, wanted: str) -> None:
    with pytest.raises(InvalidTask, match="line 1"):
        context.sources(wanted, 1)


def test_a_pattern_does_not_look_through_links(context: Context) -> None:
    with pytest.raises(InvalidTask):
        context.sources("out/*", 1)


def test_a_link_itself_is_copied_as_a_link(context: Context) -> None:
    (source,) = context.sources("out", 1)
    assert not source.is_directory


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
    ],
)
def test_patterns(glob: str, name: str, matches: bool) -> None:
    assert bool(pattern(glob).fullmatch(name)) is matches
