"""What cannot be stored or given to a program is found wherever it is, and named."""

from typing import Any

import pytest

from oddish.errors import InvalidInput
from oddish.tasks.characters import DEEPEST, refuse_unstorable, value_flaw, variable_flaw


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"a": [0, {"b": "x\0"}]}, "a.1.b holds a NUL"),
        ({"a": "\ud83d"}, "a holds half a character"),
        ({"a": {"b\0": 1}}, r"the name 'b\x00' in a holds"),
        ({"\udc00": 1}, r"the name '\udc00' holds"),
        ({"a": float("nan")}, "a is nan"),
        ({"a": [float("-inf")]}, "a.0 is -inf"),
        (float("nan"), "it is nan"),
        ("\0", "it holds a NUL"),
    ],
)
def test_the_place_is_named(value: object, named: str) -> None:
    assert (value_flaw(value) or "").startswith(named)
    with pytest.raises(InvalidInput):
        refuse_unstorable(value)


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_limited_and_costs_nothing() -> None:
    assert value_flaw(nested(DEEPEST)) is None
    assert "levels" in (value_flaw({"kwargs": nested(200_000)}) or "")


@pytest.mark.parametrize("value", [{}, None, 1, "\U0001f600 \n\t", {"a": [1.5, True, None, "é"]}])
def test_everything_else_passes(value: object) -> None:
    assert value_flaw(value) is None


@pytest.mark.parametrize("name", ["A=B", "A\0", "", "1A", "A B", "A-B", "\ud800", "A\n"])
def test_names_of_variables(name: str) -> None:
    assert repr(name) in (variable_flaw(name, "x") or "")


@pytest.mark.parametrize(("name", "value"), [("A", ""), ("_a1", "x=y\n"), ("HTTP_PROXY", "http://[::1]")])
def test_variables_that_programs_can_be_given(name: str, value: str) -> None:
    assert variable_flaw(name, value) is None


@pytest.mark.parametrize("value", ["hidden\0", "hidden\ud800"])
def test_values_of_variables_are_not_shown(value: str) -> None:
    reason = variable_flaw("A_KEY", value) or ""
    assert "'A_KEY'" in reason
    assert "hidden" not in reason
