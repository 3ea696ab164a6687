"""All of a view is in its query string; what cannot be read there is refused with what could be."""

from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.errors import InvalidInput
from oddish.viewer.filters import FLIPPED, INFRA, PASSED, SHOWS, View, parse
from oddish.viewer.findings import MOST, Notes
from oddish.viewer.sorting import SORTS
from oddish.viewer.summaries import read_summary
from oddish.viewer.tables import Table
from support.results import cell, dataset

KEYS = ["a|x", "a|y", "b & c|x"]


def table() -> Table:
    document = dataset({key: cell([1.0]) for key in KEYS}, dict.fromkeys(KEYS[:1], cell([0.0])), {})
    for task, difficulty, mode in zip(
        document["tasks"], ("easy", "hard & long", None), ("exact", "llm", "llm"), strict=True
    ):
        task |= {"difficulty": difficulty, "reward_mode": mode}
    return Table(read_summary(document, Notes()))


def read(query: str) -> tuple[View, list[str]]:
    view, findings = parse(parse_qsl(query, keep_blank_values=True), TABLE)
    return view, [" ".join(filter(None, (entry.place, entry.found, entry.fix))) for entry in findings]


TABLE = table()
views = st.builds(
    View,
    q=st.text(max_size=20).map(str.strip),
    difficulty=st.lists(st.sampled_from(["easy", "hard & long", "none"]), unique=True).map(tuple),
    mode=st.lists(st.sampled_from(["exact", "llm"]), unique=True).map(tuple),
    passed=st.sampled_from([None, *PASSED]),
    disagreement=st.booleans(),
    infra=st.sampled_from([None, *INFRA]),
    first=st.sampled_from([None, KEYS[0]]),
    second=st.sampled_from([None, KEYS[2]]),
    flipped=st.sampled_from([None, *FLIPPED]),
    sort=st.sampled_from([way + name for name in SORTS for way in ("", "-")]),
    show=st.sampled_from(SHOWS),
    page=st.integers(1, 999_999_999),
    size=st.integers(1, 200),
)


@given(views)
def test_a_view_is_read_as_it_is_written(view: View) -> None:
    assert read(view.query(page=view.page)) == (view, [])


def test_the_usual_view_has_an_empty_query() -> None:
    assert View().query() == ""
    assert read("") == (View(), [])
    assert read("q=&passed=&difficulty=&first=&size=") == (View(), [])


def test_names_with_spaces_around_them_can_be_chosen() -> None:
    document = dataset({" a |x": cell([1.0]), "b|x ": cell([0.0])})
    document["tasks"][0] |= {"difficulty": " easy"}
    spaced = Table(read_summary(document, Notes()))
    view = View(difficulty=(" easy",), first=" a |x", second="b|x ")
    assert parse(view.pairs(), spaced) == (view, ())


def test_a_change_goes_back_to_the_first_page() -> None:
    view = View(q="a b", page=3)
    assert view.query(sort="-passes") == "q=a+b&sort=-passes"
    assert view.query(page=4) == "q=a+b&page=4"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "sort=cost",
            'sort is "cost", which is not there to choose. Choose one of index, -index, id, -id, difficulty, ',
        ),
        ("passed=some", 'passed is "some", which is not there to choose. Choose one of any, all, none.'),
        ("pivot=task", 'pivot is "task", which is not there to choose. Choose one of both, model, harness.'),
        (
            "difficulty=esay",
            'difficulty is "esay", which is not there to choose. Choose one of easy, hard & long, none.',
        ),
        ("difficulty=easy&difficulty=odd", 'difficulty is "odd", which is not there'),
        ("disagreement=1", 'disagreement is "1", which is not there to choose. Choose yes.'),
        ("first=z|x", 'first is "z|x", which is not there to choose. Choose one of a|x, a|y, b & c|x.'),
        ("pivot=model&first=a|x", 'first is "a|x", which is not there to choose. Choose one of a, b & c.'),
        ("first=a|x&second=a|x", 'first and second are both "a|x". Choose two columns.'),
        ("page=0", 'page is "0", no whole number from 1. Correct page, or leave it out of the address.'),
        ("page=٣", 'page is "٣", no whole number from 1.'),
        ("page=99999999999999999999", 'page is "99999999999999999999", no whole number'),
        ("size=201", 'size is "201", no whole number from 1 to 200.'),
        ("size=-1", 'size is "-1", no whole number from 1 to 200.'),
        ("sort=id&sort=time", "sort is given 2 times. Give it once."),
    ],
)
def test_a_value_that_is_none_is_refused_with_those_there_are(query: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(query)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("dificulty=easy", '"dificulty" is no parameter of this page. There is difficulty.'),
        ("__theme=dark", '"__theme" is no parameter of this page.'),
        ("q=" + "x" * 1001, "q has 1001 characters; the first 1000 are looked for."),
    ],
)
def test_what_does_not_change_the_meaning_of_the_rest_is_named(query: str, said: str) -> None:
    assert read(query)[1] == [said]


def test_a_flood_of_parameters_is_answered_with_some_notices() -> None:
    _, notices = read("&".join(f"x{number}=1" for number in range(500)))
    assert len(notices) == MOST + 1


@given(st.lists(st.tuples(st.sampled_from([*View.__slots__, "format"]) | st.text(), st.text()), max_size=6))
@settings(max_examples=200)
def test_a_query_is_read_or_refused(pairs: list[tuple[str, str]]) -> None:
    try:
        view, notices = parse(pairs, TABLE)
    except InvalidInput:
        return
    assert read(view.query(page=view.page))[0] == view
    assert all(entry.level == "warning" for entry in notices)


def choices(**members: Any) -> View:
    return View(**members)


def test_a_choice_by_outcome_is_known_as_one() -> None:
    assert not View(q="a", difficulty=("easy",), mode=("llm",)).chooses_by_outcome
    for member in ({"passed": "any"}, {"disagreement": True}, {"infra": "any"}, {"flipped": "any"}):
        assert choices(**member).chooses_by_outcome
