"""What the words of a search mean, and which are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.browsing.flaws import Flaw
from oddish.browsing.search import MOST_NEEDLES, Needle, Search, format_search, parse_search

TEXTS = st.text(min_size=1, max_size=20).filter(lambda text: '"' not in text and text.strip())
TAGS = st.sampled_from(["web", "size=very big", "größe=1=2", "a:b/c+d@e"])
NEEDLES = st.one_of(
    st.builds(Needle, TEXTS, st.sampled_from(["any", "author"]), st.booleans()),
    st.builds(Needle, TAGS, st.just("tag"), st.booleans()),
)
SEARCHES = st.lists(st.lists(NEEDLES, min_size=1, max_size=4).map(tuple), min_size=1, max_size=4).map(
    lambda alternatives: Search(tuple(alternatives))
)


@given(SEARCHES)
def test_a_search_is_read_as_it_is_written(search: Search) -> None:
    assert parse_search(format_search(search)) == search


@given(st.text(alphabet=st.one_of(st.sampled_from(' "-:aORNT\t'), st.characters()), max_size=40))
def test_any_text_is_understood_or_refused_with_a_reason_and_a_fix(text: str) -> None:
    refused = None
    try:
        search = parse_search(text)
    except Flaw as found:
        refused = found
    if refused is not None:
        assert refused.reason
        assert refused.fix
        return
    assert (search is None) == (not text.strip())
    if search is not None:
        assert all(needle.text.strip() and '"' not in needle.text for needle in search.needles)
        assert parse_search(format_search(search)) == search


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("web shop", [[Needle("web"), Needle("shop")]]),
        ('"slow query" -flaky', [[Needle("slow query"), Needle("flaky", wanted=False)]]),
        ('NOT "a b"', [[Needle("a b", wanted=False)]]),
        ("a OR b c", [[Needle("a")], [Needle("b"), Needle("c")]]),
        ("a or b", [[Needle("a"), Needle("or"), Needle("b")]]),
        ('"OR"', [[Needle("OR")]]),
        ('tag:web -tag:"size=very big"', [[Needle("web", "tag"), Needle("size=very big", "tag", wanted=False)]]),
        ("author:ann github:bob USER:eve", [[Needle(name, "author") for name in ("ann", "bob", "eve")]]),
        ("mid-word 50%_ \\", [[Needle("mid-word"), Needle("50%_"), Needle("\\")]]),
        ("12:30", [[Needle("12:30")]]),
    ],
)
def test_words_mean_what_they_look_like(text: str, alternatives: list[list[Needle]]) -> None:
    assert parse_search(text) == Search(tuple(map(tuple, alternatives)))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("model:gpt-5", "looks in model:"),
        ("http://here", "looks in http:"),
        ('say "hello', 'not closed: "hello'),
        ('ab"c"', 'in the middle of ab"'),
        ('"a"b', 'after the quote of "a"'),
        ("OR a", "OR with nothing before it"),
        ("a OR OR b", "OR with nothing before it"),
        ("a OR", "ends with OR"),
        ("a NOT", "ends with NOT"),
        ("NOT OR a", "OR after NOT"),
        ("NOT NOT a", "NOT after NOT"),
        ("NOT -a", "-a after NOT"),
        ("--a", "--a, negated more than once"),
        ("a AND b", "has AND"),
        ("tag:", "nothing to find in tag:"),
        ("-", "nothing to find in -"),
        ('"  "', "nothing to find in"),
        (" ".join("x" * (MOST_NEEDLES + 1)), f"has {MOST_NEEDLES + 1} words"),
        ("x" * 1001, "has 1001 characters"),
    ],
)
def test_what_is_malformed_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(Flaw) as refused:
        parse_search(text)
    assert named in refused.value.reason


def test_as_many_needles_as_are_allowed_are_looked_for() -> None:
    search = parse_search(" OR ".join("x" * MOST_NEEDLES))
    assert search is not None
    assert len(list(search.needles)) == MOST_NEEDLES
