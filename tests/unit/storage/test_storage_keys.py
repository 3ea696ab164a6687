"""Which keys name objects, and how paths of hostile trees become keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.storage.errors import InvalidKey
from oddish.storage.keys import artifact_key, checked_key


@pytest.mark.parametrize("key", ["a", "a/b.txt", "trials/x-1/2-abc/é ü", "a..b", ".hidden", "a#x", "50%", "~", "a:b"])
def test_keys(key: str) -> None:
    assert checked_key(key) == key


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "empty segment"),
        ("/a", "empty segment"),
        ("a/", "empty segment"),
        ("a//b", "empty segment"),
        ("..", '".."'),
        ("a/../b", '".."'),
        ("a/./b", '".."'),
        ("a\\b", "backslash"),
        ("a\nb", "control character"),
        ("a\0b", "control character"),
        ("a#1", "reserved"),
        (".staging/x", "reserved"),
        ("\udcff", "valid text"),
        ("x" * 256, "longer than 255"),
        ("/".join(["x" * 250] * 5), "longer than 1024"),
    ],
)
def test_what_is_no_key(key: str, reason: str) -> None:
    with pytest.raises(InvalidKey, match=reason):
        checked_key(key)


segments = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=6).filter(
    lambda name: name not in (".", "..")
)
paths = st.lists(segments, min_size=1, max_size=3).map("/".join)


@given(paths, paths)
def test_every_path_has_a_key_of_its_own(one: str, other: str) -> None:
    assert (artifact_key("trials/t", one) == artifact_key("trials/t", other)) == (one == other)


def test_ordinary_paths_are_their_keys() -> None:
    assert artifact_key("trials/t/", "agent/log 1.txt") == "trials/t/agent/log 1.txt"
    assert artifact_key("t", "a\n%#1") == "t/a%0A%25%231"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a/../../x"])
def test_a_path_that_leaves_the_tree_has_none(path: str) -> None:
    with pytest.raises(InvalidKey):
        artifact_key("trials/t", path)
