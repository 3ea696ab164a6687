import io
import threading
from collections.abc import Callable
from contextlib import ExitStack

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.client.connection import Connection
from oddish.client.pacing import Pace

ENDS = st.lists(st.sampled_from(["well", "too much", "cap 6", "cap 64", "silence"]), max_size=200)


def call(pace: Pace, end: str) -> None:
    with pace.turn() as turn:
        if end == "well":
            turn.went_well()
        elif end == "too much":
            turn.was_too_much()
    if end.startswith("cap"):
        pace.cap(int(end.partition(" ")[2]))


@given(ENDS)
def test_the_limit_stays_between_its_bounds_and_below_the_cap(ends: list[str]) -> None:
    pace, cap = Pace(4, 16), 16
    for end in ends:
        call(pace, end)
        cap = {"cap 6": 6, "cap 64": 16}.get(end, cap)
        assert 4 <= pace.limit <= cap


@given(ENDS, st.integers(1, 64))
def test_a_fixed_limit_is_kept_whatever_happens(ends: list[str], fixed: int) -> None:
    pace = Pace(4, 16)
    pace.fix(fixed)
    for end in ends:
        call(pace, end)
        assert pace.limit == fixed


def test_a_round_that_goes_well_adds_one() -> None:
    pace = Pace(4, 16)
    for expected in range(5, 17):
        for _ in range(expected):
            call(pace, "well")
        assert pace.limit >= expected
    assert pace.limit == 16


def test_calls_that_fail_together_halve_once_and_those_that_follow_again() -> None:
    pace = Pace(1, 16)
    for _ in range(400):
        call(pace, "well")
    with ExitStack() as together:
        for turn in [together.enter_context(pace.turn()) for _ in range(16)]:
            turn.was_too_much()
    assert pace.limit == 8
    call(pace, "too much")
    assert pace.limit == 4


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_calls_are_under_way_than_the_limit_allows(limit: int) -> None:
    pace, under_way, most, lock = Pace(1, 16), 0, 0, threading.Lock()
    pace.fix(limit)
    met = threading.Barrier(limit)

    def work() -> None:
        nonlocal under_way, most
        for _ in range(20):
            with pace.turn():
                with lock:
                    under_way += 1
                    most = max(most, under_way)
                met.wait(20)
                with lock:
                    under_way -= 1

    threads = [threading.Thread(target=work) for _ in range(limit * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert most == limit


def connection(answer: Callable[[httpx2.Request], httpx2.Response]) -> Connection:
    return Connection("http://server.test", None, transport=httpx2.MockTransport(answer), sleep=lambda _: None)


def test_a_server_that_is_overrun_is_sent_less_at_a_time() -> None:
    statuses = [200] * 40 + [429, 200]
    paced = connection(lambda request: httpx2.Response(statuses.pop(0), json={}))
    for _ in range(40):
        paced.call("GET", "/load")
    before = paced.calls_pace.limit
    paced.call("GET", "/load")
    assert before > 8
    assert before // 2 <= paced.calls_pace.limit <= before // 2 + 1


@pytest.mark.parametrize(("said", "most"), [("5", 5), ("1", 4), ("1000", 16), ("many", 16), ("", 16), ("-3", 16)])
def test_the_server_says_how_much_it_likes_and_the_storage_does_not(said: str, most: int) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        liked = said if request.url.host == "server.test" else "4"
        return httpx2.Response(200, json={}, headers={"Oddish-Submit-Concurrency": liked})

    paced = connection(answer)
    for _ in range(150):
        paced.call("GET", "/load")
    paced.put_file("https://store.test/1", io.BytesIO(b"data"), {})
    assert paced.calls_pace.limit == most
