"""Which id a request goes by in the logs."""

import pytest

from oddish.correlation import correlation_id

TRACE = "0af7651916cd43dd8448eb211c80319c"


def of(**headers: str) -> str:
    return correlation_id({name.replace("_", "-"): value for name, value in headers.items()})


def test_an_id_that_is_brought_is_kept() -> None:
    assert of(**{"X-Correlation-Id": "ci-run-17:2"}) == "ci-run-17:2"


def test_the_trace_of_a_traceparent_is_the_id() -> None:
    assert of(traceparent=f"00-{TRACE}-b7ad6b7169203331-01") == TRACE
    assert of(**{"X-Correlation-Id": "mine", "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}) == "mine"


@pytest.mark.parametrize("hostile", ["", "a b", "a\nb", "\x1b[31m", "-rf", "x" * 129, "ü", '"', "a;b"])
def test_an_id_that_could_do_harm_is_replaced(hostile: str) -> None:
    made = of(**{"X-Correlation-Id": hostile})
    assert made != hostile
    assert len(made) == 32


@pytest.mark.parametrize(
    "malformed",
    [f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-{TRACE}-b7-01", TRACE, f"00-{TRACE.upper()}-b7ad6b7169203331-01"],
)
def test_a_traceparent_that_is_none_is_not_read(malformed: str) -> None:
    assert of(traceparent=malformed).casefold() != TRACE
