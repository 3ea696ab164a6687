"""Lengths of time in Dockerfiles."""

import pytest

from oddish.sandbox.durations import BadDuration, seconds


@pytest.mark.parametrize(
    ("text", "wanted"), [("30s", 30), ("1m30s", 90), ("1.5h", 5400), ("250ms", 0.25), ("0", 0), (".5s", 0.5)]
)
def test_lengths_are_read(text: str, wanted: float) -> None:
    assert seconds(text) == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "30", "s", "1d", "-1s", "1s ", "soon"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadDuration):
        seconds(text)
