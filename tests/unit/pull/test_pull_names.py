"""Whatever a server calls its files, each of them has a place of its own in the folder and nowhere else."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.pull.names import MAX_NAME_BYTES, UnsafeName, local_paths, single

nasty = st.sampled_from(["", ".", "..", "/", "a\0b", "\ud800", "é" * 200, "e\u0301", "é", "A", "a", "~", "x" * 256])
paths = st.lists(st.one_of(nasty, st.text(max_size=8)), min_size=1, max_size=5).map("/".join)


@given(st.lists(paths, max_size=12), st.booleans())
def test_every_path_is_written_inside_or_refused(given: list[str], folds_case: bool) -> None:
    found = local_paths(given, folds_case=folds_case)
    assert found.keys() == set(given)
    for path, parts in found.items():
        if isinstance(parts, UnsafeName):
            assert any(
                part in ("", ".", "..") or "\0" in part or "\ud800" <= max(part) <= "\udfff" for part in path.split("/")
            )
            continue
        assert Path("/root", *parts).parts == ("/", "root", *parts)
        assert not {"", ".", ".."} & set(parts)
        assert all(len(part.encode()) <= MAX_NAME_BYTES and "\0" not in part and "/" not in part for part in parts)
        if len(max(path.split("/"), key=len)) < 60 and not folds_case:
            assert "/".join(parts) == path


@given(st.lists(paths, max_size=12))
def test_no_two_paths_share_a_place_where_case_does_not_count(given: list[str]) -> None:
    found = [parts for parts in local_paths(given, folds_case=True).values() if isinstance(parts, tuple)]
    places = {tuple(unicodedata.normalize("NFC", part).casefold() for part in parts) for parts in found}
    assert len(places) == len(found)


def test_a_name_that_is_too_long_is_cut_and_told_from_its_like() -> None:
    names = ["n" * 300, "n" * 301]
    first, second = (single(name) for name in names)
    assert first != second
    assert (first[:200], len(first)) == ("n" * 200, MAX_NAME_BYTES)
    assert single(names[0]) == first


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a\0"])
def test_the_id_of_a_trial_is_one_name(name: str) -> None:
    with pytest.raises(UnsafeName):
        single(name)
