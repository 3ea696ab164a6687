"""Following a trial: in pages and as a stream, through retries, restarts and slow readers."""

import itertools
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx2
import psycopg
import pytest

from oddish.api import eventstream, feeds, following
from oddish.client.errors import ApiError
from oddish.db.url import plain
from oddish.trials.audience import FOLLOWED_CHANNEL, NO_ATTEMPT
from support.waiting import eventually

from .following import Running, followed, running_trial
from .serving import KEY, Server, TaskFolder

pytestmark = pytest.mark.usefixtures("quiet_logs")

EVENTS = {"Accept": "text/event-stream"}
SO_FAR = "all that was told so far"
NOTHING = dict.fromkeys(
    ("input_tokens", "cache_tokens", "cache_write_tokens", "output_tokens", "cost_usd", "cost_is_estimated")
)


@pytest.fixture
def trial(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> Running:
    return running_trial(server, client, new_task)


@pytest.fixture
def page(client: httpx2.Client, trial: Running) -> Callable[..., dict[str, object]]:
    def read(**params: int) -> dict[str, object]:
        answer = client.get(f"/trials/{trial.trial_id}/live", params=params)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    return read


def seqs(page: dict[str, object]) -> list[int]:
    assert isinstance(page["events"], list)
    return [event["seq"] for event in page["events"]]


def frames(client: httpx2.Client, path: str, **headers: str) -> Iterator[tuple[str, str, object]]:
    """Name, id and data of the events of a stream."""
    with client.stream("GET", path, headers=EVENTS | headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        said: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            said |= {name: value} if line else {}
            if not line and "data" in said:
                yield said.get("event", ""), said.get("id", ""), json.loads(said["data"])
            said = said if line else {}


def test_a_trial_that_waits_has_said_nothing(page: Callable[..., dict[str, object]]) -> None:
    waiting = {"attempt": 1, "events": [], "next_seq": 0, "usage": NOTHING, "harbor_stage": None, "done": False}
    assert page() == waiting


def test_pages_lead_through_an_attempt(trial: Running, page: Callable[..., dict[str, object]]) -> None:
    trial.begin()
    trial.says("one", "two", "three")
    trial.spends(10, 20, 0.5)
    first = page(limit=2)
    assert [first["attempt"], seqs(first), first["next_seq"]] == [1, [1, 2], 2]
    assert first["usage"] == NOTHING | {
        "input_tokens": 10,
        "output_tokens": 20,
        "cost_usd": 0.5,
        "cost_is_estimated": True,
    }
    assert (first["harbor_stage"], first["done"]) == ("trial_started", False)
    second = page(attempt=1, after_seq=2, limit=2)
    assert second["events"][0]["payload"] == {"text": "three"}  # type: ignore[index]
    last = page(attempt=1, after_seq=3)
    assert (seqs(last), last["next_seq"]) == ([], 3)


def test_a_place_in_another_attempt_counts_for_nothing(trial: Running, page: Callable[..., dict[str, object]]) -> None:
    trial.begin()
    trial.says("one", "two")
    trial.begin()
    trial.says("again")
    newer = page(attempt=1, after_seq=2)
    assert (newer["attempt"], seqs(newer), newer["next_seq"]) == (2, [1], 1)
    assert seqs(page(after_seq=1)) == []


def test_a_trial_that_has_ended_is_done_and_what_was_purged_is_not_told(
    trial: Running, page: Callable[..., dict[str, object]]
) -> None:
    trial.begin()
    trial.says("one")
    trial.ends()
    assert (page()["done"], seqs(page())) == (True, [1])
    trial.purged()
    assert (page()["done"], seqs(page())) == (True, [])


def test_a_follower_hears_everything_in_its_order_until_the_end(server: Server, trial: Running) -> None:
    with followed(server.url, trial.trial_id) as follower:
        eventually(lambda: follower.news)
        trial.begin()
        trial.stage("agent_running")
        trial.says("one", "two")
        eventually(lambda: len(follower.texts) == 2)
        trial.begin()
        trial.says("again")
        eventually(lambda: len(follower.texts) == 3)
        trial.stage("verification")
        eventually(lambda: "verification" in [entry.get("harbor_stage") for entry in follower.news])
        trial.says("last words")
        trial.ends()
    assert follower.error is None
    assert follower.texts == ["one", "two", "again", "last words"]
    assert follower.attempts == [1, 2]
    states = [entry for entry in follower.news if "kind" not in entry]
    assert [state["done"] for state in states][-2:] == [False, True]


def test_more_than_a_page_is_told_at_once(server: Server, trial: Running) -> None:
    trial.begin()
    trial.says(*map(str, range(1201)))
    trial.ends()
    with followed(server.url, trial.trial_id) as follower:
        pass
    assert follower.texts == list(map(str, range(1201)))


def test_a_stream_names_its_places_and_goes_on_from_one(client: httpx2.Client, trial: Running) -> None:
    path = f"/trials/{trial.trial_id}/live"
    trial.begin()
    trial.says("one", "two")
    trial.ends()
    whole = list(frames(client, path))
    assert [(name, place) for name, place, _ in whole] == [("state", ""), ("", "1:1"), ("", "1:2"), ("end", "")]
    assert whole[1][2]["attempt"] == 1  # type: ignore[index]
    assert [place for _, place, _ in frames(client, path, **{"Last-Event-ID": "1:1"}) if place] == ["1:2"]
    assert [place for _, place, _ in frames(client, path, **{"Last-Event-ID": "9:1"}) if place] == ["1:1", "1:2"]
    assert [place for _, place, _ in frames(client, f"{path}?attempt=1&after_seq=1") if place] == ["1:2"]
    for place in ("1", "one:two", "1:1:1", f"{10**19}:1"):
        answer = client.get(path, headers=EVENTS | {"Last-Event-ID": place})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
        assert place in answer.json()["detail"]


def test_many_who_are_at_the_same_place_cost_as_much_as_one(server: Server, trial: Running) -> None:
    trial.begin()
    many = 20
    with ExitStack() as stack:
        followers = [stack.enter_context(followed(server.url, trial.trial_id)) for _ in range(many)]
        eventually(lambda: all(follower.news for follower in followers))
        with server.counting_statements() as statements:
            trial.says("one")
            eventually(lambda: all(follower.texts for follower in followers))
        assert len(statements) <= 4
        trial.ends()
    assert {str(follower.texts) for follower in followers} == {"['one']"}


def test_a_trial_of_another_organisation_is_not_there_and_one_that_is_deleted_is_gone(
    server: Server, client: httpx2.Client, trial: Running
) -> None:
    trial.begin()
    trial.says("one")
    stranger = server.client(server.key("b1", org="other"))
    for headers in ({}, EVENTS):
        assert stranger.get(f"/trials/{trial.trial_id}/live", headers=headers).status_code == 404
    with followed(server.url, trial.trial_id) as follower:
        eventually(lambda: follower.texts)
        server.sql("UPDATE trials SET deleted_at = now() WHERE id = %s", trial.trial_id)
        server.sql("SELECT pg_notify('oddish_live', %s)", trial.trial_id)
    assert isinstance(follower.error, ApiError)
    assert follower.error.http_status == 404


def test_the_public_follows_what_is_published_and_no_longer_than_it_is(
    server: Server, client: httpx2.Client, trial: Running
) -> None:
    trial.begin()
    trial.says("one")
    token = client.post("/experiments/mine/publish").json()["public_token"]
    anybody = server.client(None)
    path = f"/public/experiments/{token}/trials/{trial.trial_id}/live"
    assert seqs(anybody.get(path).json()) == [1]
    told = frames(anybody, path)
    assert [next(told)[0], next(told)[1]] == ["state", "1:1"]
    client.post("/experiments/mine/unpublish")
    trial.says("two")
    assert list(told) == []
    assert anybody.get(path).status_code == 404


def test_trials_that_the_public_is_not_shown_are_not_followed(
    server: Server, client: httpx2.Client, trial: Running
) -> None:
    token = client.post("/experiments/mine/publish").json()["public_token"]
    path = f"/public/experiments/{token}/trials/{trial.trial_id}/live"
    server.sql("UPDATE trials SET is_probe = true")
    assert server.client(None).get(path).status_code == 404
    other = {"task_id": trial.trial_id.rpartition("-")[0], "configs": [{"agent": "nop"}], "experiment_id": "other"}
    elsewhere = client.post("/tasks/sweep", json=other).json()["new_trial_ids"][0]
    assert server.client(None).get(path.replace(trial.trial_id, elsewhere)).status_code == 404


def test_nobody_is_let_in_beyond_as_many_as_there_is_room_for(
    client: httpx2.Client, trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MOST_FOLLOWERS", 1)
    path = f"/trials/{trial.trial_id}/live"
    with client.stream("GET", path, headers=EVENTS) as first:
        lines = first.iter_lines()
        assert next(lines) == "retry: 1000"
        refused = client.get(path, headers=EVENTS)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert refused.headers["retry-after"]
        assert client.get(path).status_code == 200


def test_a_follower_that_reads_nothing_is_let_go(
    server: Server, trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventstream, "STALL_SECONDS", 0.2)
    trial.begin()
    server.sql(
        "INSERT INTO trial_events (trial_id, attempt, seq, kind, payload) SELECT %s, 1, n, 'message', %s "
        "FROM generate_series(1, 8000) n",
        trial.trial_id,
        json.dumps({"text": "x" * 2000}),
    )
    host, _, port = server.url.removeprefix("http://").partition(":")
    head = f"GET /trials/{trial.trial_id}/live HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {KEY}\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{head}Accept: text/event-stream\r\n\r\n".encode())
        told = connection.recv(1000)
        while b"retry" not in told:
            told += connection.recv(1000)
        eventually(lambda: not server.services.feeds.followers)
        told += b"".join(iter(lambda: connection.recv(1 << 20), b""))
    assert b"\nid: 1:1\n" in told
    assert b"\nid: 1:8000\n" not in told


def test_a_stream_is_never_silent_and_ends_after_its_time(
    client: httpx2.Client, trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(following, "STREAM_SECONDS", 0.5)
    with client.stream("GET", f"/trials/{trial.trial_id}/live", headers=EVENTS) as answer:
        lines = list(answer.iter_lines())
    assert lines[0] == "retry: 1000"
    assert lines.count(": ") > 1
    assert not [line for line in lines if line.startswith("event: end")]


def test_what_nobody_was_told_of_is_seen_a_little_later(
    server: Server, trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "TICK_SECONDS", 0.05)
    trial.begin()
    with followed(server.url, trial.trial_id) as follower:
        eventually(lambda: follower.news)
        trial.spends(1, 2, 3.0)
        eventually(lambda: any(entry.get("usage", NOTHING)["cost_usd"] == 3.0 for entry in follower.news))  # type: ignore[index]
        trial.ends()


def test_all_that_is_followed_is_looked_at_together_and_nothing_is_read_where_nothing_changed(
    server: Server, client: httpx2.Client, trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "TICK_SECONDS", 0.02)
    other = {"task_id": trial.trial_id.rpartition("-")[0], "configs": [{"agent": "nop"}], "experiment_id": "other"}
    elsewhere = client.post("/tasks/sweep", json=other).json()["new_trial_ids"][0]
    both = [trial, Running(server, elsewhere)]
    with ExitStack() as stack:
        for one in both:
            one.begin()
            follower = stack.enter_context(followed(server.url, one.trial_id))
            eventually(lambda follower=follower: follower.news)
        with server.counting_statements() as statements:
            eventually(lambda: len(statements) > 10)
        assert len(set(statements[-5:])) == 1
        for one in both:
            one.ends()


def test_a_trial_that_is_deleted_is_missed_with_no_word_of_it(
    server: Server, trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "TICK_SECONDS", 0.05)
    trial.begin()
    with followed(server.url, trial.trial_id) as follower:
        eventually(lambda: follower.news)
        server.sql("UPDATE trials SET deleted_at = now() WHERE id = %s", trial.trial_id)
    assert isinstance(follower.error, ApiError)


def test_followers_outlast_a_lost_connection_of_the_server_to_its_database(server: Server, trial: Running) -> None:
    trial.begin()
    with followed(server.url, trial.trial_id) as follower:
        eventually(lambda: follower.news)
        ours = "application_name = 'oddish-follow' AND datname = current_database()"
        eventually(lambda: server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}"))  # noqa: S608
        trial.says("after")
        trial.ends()
    assert follower.texts == ["after"]


@pytest.fixture
def words(server: Server) -> Iterator[Callable[[], list[str]]]:
    """What workers were told since the last time that this was asked."""
    with psycopg.connect(plain(server.services.settings.database_url), autocommit=True) as connection:
        connection.execute(f"LISTEN {FOLLOWED_CHANNEL}")

        def told() -> list[str]:
            connection.execute("SELECT pg_notify(%s, %s)", (FOLLOWED_CHANNEL, SO_FAR))
            heard = (word.payload for word in connection.notifies(timeout=60))
            return list(itertools.takewhile(lambda payload: payload != SO_FAR, heard))

        yield told


def test_workers_hear_which_trials_are_read_once_and_of_a_new_attempt_at_once(
    trial: Running,
    page: Callable[..., dict[str, object]],
    words: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial.server.services.audience, "_clock", lambda: 0.0)
    page()
    page()
    assert words() == [trial.trial_id], "it may begin any moment"
    for _ in range(2):
        trial.begin()
        page()
        page()
        assert words() == [trial.trial_id]
    trial.ends()
    trial.server.services.audience.tell(trial.trial_id, NO_ATTEMPT)
    page()
    assert words() == [], "it has ended"


def test_workers_hear_nothing_of_those_who_may_not_read(
    server: Server, trial: Running, words: Callable[[], list[str]]
) -> None:
    trial.begin()
    stranger = server.client(server.key("b2", org="another"))
    assert stranger.get(f"/trials/{trial.trial_id}/live").status_code == 404
    assert words() == []


def test_workers_hear_again_and_again_of_a_trial_whose_stream_is_open(
    server: Server, trial: Running, words: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "TICK_SECONDS", 0.05)
    trial.begin()
    with followed(server.url, trial.trial_id):
        for _ in range(3):
            assert eventually(words) == [trial.trial_id]
            server.services.audience.tell(trial.trial_id, NO_ATTEMPT)
        trial.ends()


def test_a_server_that_nobody_follows_listens_to_nothing(server: Server, trial: Running) -> None:
    trial.begin()
    with followed(server.url, trial.trial_id) as follower:
        eventually(lambda: follower.news)
        eventually(lambda: listening(server) == 1)
        trial.ends()
    eventually(lambda: listening(server) == 0)


def listening(server: Server) -> int:
    ours = "application_name = 'oddish-follow' AND datname = current_database()"
    return len(server.sql(f"SELECT pid FROM pg_stat_activity WHERE {ours}"))  # noqa: S608
