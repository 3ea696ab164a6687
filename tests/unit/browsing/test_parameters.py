"""Filters are the same whether they come from a request, a page's address or the command line."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.browsing import Browse, Filter, InvalidFilter, parameters, parse
from oddish.browsing.filters import bounds
from oddish.browsing.parameters import FURTHEST, MOST, SORTS, schemas
from oddish.browsing.search import parse_search
from oddish.browsing.table import PARAMETERS, Parameter
from oddish.browsing.values import (
    AGENT_MODELS,
    FLAG,
    LARGEST,
    MINIMUMS,
    MODELS,
    MOMENT,
    NUMBER,
    SEARCH,
    TAGS,
    WHOLE,
    WORD,
)
from oddish.cli.ls import ls
from oddish.cli.ls_options import words
from oddish.tags import NAME_PATTERN

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters=",\0")
NAMES = st.text(LETTERS, min_size=1, max_size=12).filter(lambda text: text.strip() == text)
TOOLS = NAMES.filter(lambda name: "=" not in name)
COUNTS = st.dictionaries(TOOLS, st.integers(1, 99), min_size=1, max_size=3)
BY_KIND: Mapping[object, st.SearchStrategy[Any]] = {
    SEARCH: st.sampled_from(["a", 'a "b c" -tag:x', "a OR NOT author:b"]).map(parse_search),
    WORD: NAMES,
    WHOLE: st.integers(0, LARGEST),
    NUMBER: st.floats(allow_nan=False, allow_infinity=False),
    FLAG: st.booleans(),
    MOMENT: st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    MINIMUMS: COUNTS.map(lambda counts: tuple(sorted(counts.items()))),
}


ONE: Mapping[object, st.SearchStrategy[str]] = {
    TAGS: st.from_regex(NAME_PATTERN, fullmatch=True).filter(lambda name: not name.endswith("\n")),
    MODELS: st.sampled_from(["gpt-5", "openai/gpt-5", "a:b", "very large"]),
    AGENT_MODELS: st.sampled_from(["codex:gpt-5", "oracle:", "a b:c"]),
}
"""Of the kinds that take several."""


def values(parameter: Parameter) -> st.SearchStrategy[Any]:
    kind = parameter.kind
    if kind in BY_KIND:
        return BY_KIND[kind]
    one = st.sampled_from(kind.choices) if kind.choices else ONE.get(kind, NAMES)
    return st.lists(one, min_size=1, max_size=3, unique=True).map(tuple) if kind.several else one


def consistent(wanted: Filter) -> Filter:
    """With its bounds in order, and without half a comparison."""
    for least, most in bounds():
        low, high = getattr(wanted, least), getattr(wanted, most)
        if low is not None and high is not None and low > high:
            wanted = replace(wanted, **{least: high, most: low})
    whole = wanted.compare_by and wanted.compare_a and wanted.compare_b and wanted.top_by and wanted.top_value
    if not whole or (wanted.compare_margin or 0) < 0:
        wanted = replace(wanted, **dict.fromkeys(COMPARING))
    return wanted


def given_values(names: Iterable[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: values(PARAMETERS[name]) for name in sorted(names)})


COMPARING = [name for name in PARAMETERS if name.startswith(("compare_", "top_"))]
MEMBERS = st.sets(st.sampled_from([*PARAMETERS]), max_size=8).flatmap(given_values)
FILTERS = st.builds(
    lambda members, comparison: consistent(Filter(**(members | comparison))),
    MEMBERS,
    st.one_of(st.just({}), given_values(COMPARING)),
)
GROUP = MEMBERS.map(lambda members: consistent(Filter(**members))).filter(lambda wanted: wanted != Filter())
GROUPS = st.lists(GROUP, max_size=2).map(tuple)
BROWSES = st.builds(
    Browse,
    st.builds(lambda wanted, groups: replace(wanted, or_groups=groups), FILTERS, GROUPS),
    st.integers(1, MOST),
    st.integers(0, FURTHEST),
    st.one_of(st.none(), st.sampled_from(SORTS)),
    st.booleans(),
)


@settings(max_examples=50)
@given(BROWSES)
def test_what_is_asked_for_survives_the_address_of_a_page(wanted: Browse) -> None:
    assert parse(parameters(wanted).items()) == wanted


@settings(max_examples=50)
@given(BROWSES)
def test_what_is_asked_for_can_be_typed(wanted: Browse) -> None:
    heard: list[Browse] = []
    command = click.Command("ls", params=ls.params, callback=_hearing(heard))
    command.main(words(wanted), standalone_mode=False)
    assert heard == [wanted]


def _hearing(heard: list[Browse]) -> Any:
    from oddish.cli.ls_options import browse_options

    def listen(wanted: Browse, **_: object) -> None:
        heard.append(wanted)

    return browse_options(listen)


def test_every_member_of_the_filter_is_a_parameter_and_an_option() -> None:
    assert [member.name for member in fields(Filter)] == [*PARAMETERS, "or_groups"]
    described = {parameter["name"] for parameter in schemas()}
    assert described == {*PARAMETERS, "or_groups", "limit", "offset", "sort", "count_only"}
    assert described <= {parameter.name for parameter in ls.params}


def test_values_of_repeated_parameters_add_up_and_blank_ones_ask_for_nothing() -> None:
    given = [("tags", "a,b"), ("tags", " c ,a"), ("query", "  "), ("min_steps", ""), ("limit", "7")]
    assert parse(given) == Browse(Filter(tags=("a", "b", "c")), limit=7)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([("colour", "red")], "There is no filter 'colour'"),
        ([("tool_name", "bash")], "There is tool_names"),
        ([("query", "a:b")], "query looks in a:"),
        ([("statuses", "done")], "statuses names 'done'. There are pending, running"),
        ([("tags", ",")], "tags names nothing"),
        ([("min_steps", "1"), ("min_steps", "2")], "min_steps is given 2 times"),
        ([("min_steps", "many")], "min_steps is 'many'"),
        ([("min_steps", "9"), ("max_steps", "8")], "min_steps is above max_steps"),
        ([("created_after", "2026-02-01"), ("created_before", "2026-01-01")], "created_after is above created_before"),
        ([("reward_min", "inf")], "reward_min is 'inf'"),
        ([("has_error", "maybe")], "has_error is 'maybe'"),
        ([("created_after", "yesterday")], "created_after is 'yesterday'"),
        ([("tool_count_mins", '{"bash": 0}')], "tool_count_mins says '0' of 'bash'"),
        ([("tool_count_mins", "[")], "tool_count_mins is '['"),
        ([("or_groups", '{"agents": "nop"}')], "or_groups is no list of objects"),
        ([("or_groups", '[{"limit": 5}]')], "There is no filter 'limit'"),
        ([("or_groups", '[{"agents": null}]')], "or_groups has a group whose 'agents'"),
        ([("or_groups", f"[{','.join(['{"agents": "nop"}'] * 11)}]")], "or_groups has 11 groups"),
        ([("compare_a", "x"), ("compare_by", "agent")], "compare_b is missing"),
        ([("top_metric", "reward")], "top_by is missing"),
        ([("verdict_statuses", "failed")], "is about the analysis of trials, which is not enabled"),
        ([("limit", "101")], "limit is 101"),
        ([("sort", "best")], "sort is 'best'"),
        ([("author", "a\0b")], "author holds a NUL character"),
        ([("tags", "x" * 20_001)], "tags has 20001 characters"),
        ([("tags", ",".join(map(str, range(101))))], "tags names 101 values"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(given: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(InvalidFilter) as refused:
        parse(given)
    assert said in str(refused.value)


def numbered(name: str, values: int) -> list[str]:
    return [f"{name}-{number}" for number in range(values)]


@pytest.mark.parametrize(
    ("member", "groups", "said"),
    [
        ({"query": "a b"}, [{"query": "c OR d"}] * 7, "words to search for"),
        (
            {"tags": numbered("tag", 40)},
            [{"models": numbered("model", 30)}, {"author": numbered("user", 30)}],
            "names",
        ),
        (
            {"min_steps": 1},
            [{"agents": "nop"}, {"has_error": True}, {"trial_is_probe": True}],
            "groups about trials",
        ),
        (
            {"top_by": "agent", "top_value": "nop"},
            [{"compare_by": "agent", "compare_a": "a", "compare_b": "b"}],
            "comparisons",
        ),
    ],
)
def test_no_request_asks_for_more_than_a_server_looks_at(
    member: dict[str, Any], groups: list[dict[str, Any]], said: str
) -> None:
    given = [(name, ",".join(value) if isinstance(value, list) else str(value)) for name, value in member.items()]
    assert len(parse([*given, ("or_groups", json.dumps(groups))]).filter.or_groups) == len(groups)
    with pytest.raises(
        InvalidFilter, match=rf"have \d+ {said} together, at most \d+ are looked at. Ask for less at once."
    ):
        parse([*given, ("or_groups", json.dumps([*groups, groups[0]]))])
