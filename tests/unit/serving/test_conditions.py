"""``If-None-Match``: the caller names what it has in every form the header may take."""

import pytest

from oddish.serving.conditions import has_current

TAG = "0f3a"


@pytest.mark.parametrize(
    "lines",
    [
        ['"0f3a"'],
        ['W/"0f3a"'],
        ["*"],
        [" * "],
        ['"other", "0f3a"'],
        ['W/"other","0f3a" , "third"'],
        ['"with,comma", "0f3a"'],
        ['"other"', '"0f3a"'],
        [', "0f3a"'],
    ],
)
def test_what_the_caller_has_is_recognised(lines: list[str]) -> None:
    assert has_current(lines, TAG)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ['"0f3"'],
        ['"other, 0f3a"'],
        ["0f3a"],
        ['w/"0f3a"'],
        ['"0f3a'],
        ['"other" "0f3a"'],
        ['"0F3A"'],
        ['"*"'],
        ['"a", *'],
    ],
)
def test_nothing_else_is_taken_for_it(lines: list[str]) -> None:
    assert not has_current(lines, TAG)
