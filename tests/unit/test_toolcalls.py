"""Calls of tools are counted in whatever a trajectory holds."""

from hypothesis import given
from hypothesis import strategies as st

from oddish.toolcalls import MAX_NAMES, ToolCounts, tool_counts

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["steps", "source", "tool_calls", "function_name"]), inner, max_size=4),
    ),
    max_leaves=20,
)


def step(*tools: object, source: str = "agent", **members: object) -> dict[str, object]:
    return {"source": source, "tool_calls": [{"function_name": tool} for tool in tools], **members}


def test_calls_of_the_agent_add_up_over_all_documents() -> None:
    first = {"steps": [step("bash", "edit"), step("bash", source="user"), step("bash", is_copied_context=True)]}
    second = {"steps": [step("bash", None, 7), "damaged", {"source": "agent", "tool_calls": "none"}]}
    assert tool_counts(first, second) == ToolCounts(5, {"bash": 2, "edit": 1})
    assert list(tool_counts({"steps": [step("a", "b", "b")]}).by_name) == ["b", "a"]


def test_no_calls_and_nothing_known_are_two_things() -> None:
    assert tool_counts({"steps": []}) == ToolCounts(0, {})
    assert tool_counts() is None
    assert tool_counts(None, [], {"steps": "lost"}) is None


def test_names_are_bounded_and_calls_are_not() -> None:
    counts = tool_counts({"steps": [step(*(f"{number:0300}" for number in range(MAX_NAMES + 9)))]})
    assert counts is not None
    assert counts.total == MAX_NAMES + 9
    assert len(counts.by_name) <= MAX_NAMES


@given(JSON)
def test_nothing_that_a_trajectory_holds_raises(document: object) -> None:
    counts = tool_counts(document)
    assert counts is None or sum(counts.by_name.values()) <= counts.total
