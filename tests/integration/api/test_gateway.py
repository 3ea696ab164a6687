"""The routes of the job gateway, before any worker has seen a job."""

import contextlib
import hashlib
import io
import json
import threading
import time
import zipfile
from collections.abc import Callable, Iterator

import httpx2
import pytest
from psycopg.types.json import Jsonb

from oddish.api import feeds
from oddish.engine.credentials import read_table
from oddish.settings import Settings
from support.waiting import eventually

from .furnishing import FILES, HOSTED, Furnished
from .serving import KEY, Server

ROOT = "/sandbox/harbor/v2"
HOST = "http://127.0.0.1:9"
ZIP = f"{HOST}/hosted.zip"
LARGE = {"override_memory_mb": 9999}
VERIFIED = {name: value for name, value in HOSTED.items() if name != "agents"}


@pytest.fixture
def server(start: Callable[[Settings], Server], settings: Settings) -> Server:
    return offering(start(settings))


def offering(server: Server) -> Server:
    """With a worker that has said what it can run."""
    server.offer()
    return server


def ask(client: httpx2.Client, **headers: str) -> str:
    """The id of a new job."""
    answer = client.post(f"{ROOT}/jobs/execute-tasks", json=HOSTED, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["job_id"])


def end(server: Server, job_id: str, status: str = "failed") -> None:
    """As the database does when its last trial has ended."""
    server.sql("SELECT end_gateway_job(%s, %s, NULL)", job_id, status)


@contextlib.contextmanager
def meanwhile(action: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=action)
    thread.start()
    yield
    thread.join()


def asked_of(route: str) -> dict[str, object]:
    return VERIFIED if route.endswith("verify-task") else HOSTED


def of_agent(**changes: object) -> dict[str, object]:
    return HOSTED | {"agents": [{"name": "a", "harbor_agent": "nop"} | changes]}


def archive(url: str) -> dict[str, object]:
    return {"metadata": {"task_archive_url": url}}


def test_an_address_that_is_not_fetched_is_refused_at_once(client: httpx2.Client) -> None:
    private = {"url": "http://10.0.0.1/a.zip"}
    refused = [
        ("task_archive_url_required", {"metadata": {}, "task_archive_url": ZIP}),
        ("address_scheme", archive("ftp://127.0.0.1/a.zip")),
        ("address_credentials", archive("http://me:hush@127.0.0.1/a.zip")),
        ("address_host", archive(private["url"])),
        ("address_malformed", archive("http://0x7f.1/a.zip")),
        ("address_not_zip", archive(f"{HOST}/a.tar.gz")),
        ("address_host", {"writeback": private}),
        ("address_host", {"notifications": [private]}),
    ]
    for route in ("jobs/execute-tasks", "run/datapoint", "jobs/verify-task"):
        for code, changes in refused:
            answer = client.post(f"{ROOT}/{route}", json=asked_of(route) | changes)
            assert (answer.status_code, answer.json()["code"]) == (400, code)
            assert "hush" not in answer.text
    fixture = VERIFIED | {"workspace_fixture_url": private["url"]}
    assert client.post(f"{ROOT}/jobs/verify-task", json=fixture).json()["code"] == "address_host"
    assert client.get(f"{ROOT}/jobs").json()["jobs"] == []


def test_what_can_never_run_is_refused_at_once(client: httpx2.Client) -> None:
    refused = [
        (400, "unknown_agent", of_agent(harbor_agent="nope")),
        (422, "model_required", of_agent(harbor_agent="claude-code")),
        (400, "environment_not_enabled", of_agent(harbor_extensions={"environment": "modal"})),
        (400, "invalid_input", of_agent(harbor_extensions={"harbor": {"verifyer": {}}})),
        (400, "too_little_memory", of_agent(harbor_extensions={"harbor": {"environment": LARGE}})),
        (400, "invalid_input", HOSTED | {"task_slug": "..."}),
        (422, "validation", HOSTED | {"agent": []}),
    ]
    for status, code, body in refused:
        for route in ("jobs/execute-tasks", "run/datapoint"):
            answer = client.post(f"{ROOT}/{route}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    misplaced = client.post(f"{ROOT}/jobs/verify-task", json=VERIFIED | {"environment": "modal"})
    assert misplaced.json()["code"] == "environment_not_enabled"
    assert client.get(f"{ROOT}/jobs").json()["jobs"] == []


def test_a_missing_key_is_told_in_the_words_of_the_request(server: Server, client: httpx2.Client) -> None:
    server.sql("UPDATE publications SET credentials = %s", Jsonb(read_table()))
    body = of_agent(harbor_agent="claude-code", model="anthropic/claude-sonnet-4-5")
    answer = client.post(f"{ROOT}/jobs/execute-tasks", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "missing_credential")
    assert "Give it in harbor_extensions.agent_env" in answer.json()["fix"]


def test_an_id_under_which_nothing_would_be_found_is_refused(client: httpx2.Client) -> None:
    for brought in ("x" * 129, "my run"):
        headers = {"x-correlation-id": brought}
        answer = client.post(f"{ROOT}/jobs/execute-tasks", json=HOSTED, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "correlation_id_refused")


def test_a_new_job_is_shown_without_what_is_secret(server: Server) -> None:
    caller = server.client(None)
    caller.headers["X-Api-Key"] = KEY
    metadata = {"task_archive_url": f"{ZIP}?X-Signature=hush", "step": 7}
    headers = {"x-correlation-id": "my-eval-run-42"}
    asked = caller.post(f"{ROOT}/jobs/execute-tasks", json=HOSTED | {"metadata": metadata}, headers=headers)
    assert asked.headers["x-correlation-id"] == "my-eval-run-42"
    assert (asked.status_code, asked.json().keys(), asked.json()["status"]) == (202, {"job_id", "status"}, "queued")
    job = caller.get(f"{ROOT}/jobs/{asked.json()['job_id']}").json()
    assert (job["status"], job["outcome"], job["result"], job["trials"]["total"]) == ("queued", None, None, 0)
    assert job["metadata"] == {"task_archive_url": ZIP, "step": 7}
    assert job["correlation_id"] == "my-eval-run-42"
    assert "hush" not in json.dumps(server.sql("SELECT to_jsonb(gateway_jobs) FROM gateway_jobs")[0])


def test_jobs_are_listed_page_by_page(client: httpx2.Client) -> None:
    made = [ask(client) for _ in range(3)]
    first = client.get(f"{ROOT}/jobs", params={"limit": 2}).json()
    second = client.get(f"{ROOT}/jobs", params={"limit": 2, "cursor": first["cursor"]}).json()
    assert [job["job_id"] for job in first["jobs"] + second["jobs"]] == made[::-1]
    assert second["cursor"] is None


def test_jobs_of_one_status_are_listed_with_what_came_of_them(server: Server, client: httpx2.Client) -> None:
    waiting, failed = ask(client), ask(client)
    end(server, failed)

    def listed(status: str) -> list[tuple[str, object]]:
        found = client.get(f"{ROOT}/jobs", params={"status": status}).json()["jobs"]
        return [(job["job_id"], job["outcome"] and job["outcome"]["valid_for_scoring"]) for job in found]

    assert (listed("queued"), listed("failed"), listed("cancelled")) == ([(waiting, None)], [(failed, False)], [])
    refused = client.get(f"{ROOT}/jobs", params={"status": "done"})
    assert (refused.status_code, refused.json()["code"]) == (422, "validation")
    assert "succeeded" in refused.text


def test_a_call_with_a_key_makes_one_job(client: httpx2.Client) -> None:
    assert ask(client, **{"Idempotency-Key": "one"}) == ask(client, **{"Idempotency-Key": "one"})
    assert ask(client) != ask(client)


def told(lines: Iterator[str]) -> list[tuple[int, str]]:
    """Ids and names of the events of a stream, to its end."""
    ids, events = [], []
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            ids.append(int(value))
        elif name == "event":
            events.append(value)
    return list(zip(ids, events, strict=True))


def test_a_follower_is_told_of_a_job_until_it_ends(server: Server, client: httpx2.Client) -> None:
    job_id = ask(client)
    events = f"{ROOT}/jobs/{job_id}/events"
    with client.stream("GET", events) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        while "job.queued" not in next(lines):
            pass
        cancelled = client.post(f"{ROOT}/jobs/{job_id}/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
        assert told(lines) == [(2, "job.finished")]
    again = client.get(events)
    assert told(again.iter_lines()) == [(1, "job.queued"), (2, "job.finished")]
    assert told(client.get(events, headers={"Last-Event-ID": "1"}).iter_lines()) == [(2, "job.finished")]
    for no_id in ("", "abc", "-1", "9" * 40):
        assert len(told(client.get(events, headers={"Last-Event-ID": no_id}).iter_lines())) == 2
    assert client.get(events, headers={"Last-Event-ID": "2"}).status_code == 204
    assert not server.services.gateway_feeds.followers
    job = client.get(f"{ROOT}/jobs/{job_id}").json()
    assert (job["status"], job["outcome"]["valid_for_scoring"]) == ("cancelled", False)


def test_what_nobody_was_told_of_is_sent_a_little_later(
    server: Server, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "TICK_SECONDS", 0.05)
    job_id = ask(client)
    with client.stream("GET", f"{ROOT}/jobs/{job_id}/events") as stream:
        lines = stream.iter_lines()
        while "job.queued" not in next(lines):
            pass
        with server.counting_statements() as statements:
            eventually(lambda: len(statements) > 5)
        assert len(set(statements[-3:])) == 1, "nothing is read where nothing has changed"
        with server.database.transaction():
            server.sql("UPDATE gateway_jobs SET last_event = 2 WHERE id = %s", job_id)
            server.sql(
                "INSERT INTO gateway_events (job_id, seq, event, data) VALUES (%s, 2, 'trial.phase', '{}')", job_id
            )
        while "id: 2" not in next(lines):
            pass


def test_whoever_waits_longer_than_the_server_is_told_where_the_job_is(client: httpx2.Client) -> None:
    headers = {"Idempotency-Key": "one"}
    answer = client.post(f"{ROOT}/run/datapoint", json=HOSTED, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (504, "job_goes_on")
    assert float(answer.headers["server-timing"].removeprefix("total;dur=")) >= 100
    job_id = answer.headers["x-job-id"]
    assert client.get(f"{ROOT}/jobs/{job_id}").json()["status"] == "queued"
    again = client.post(f"{ROOT}/run/datapoint", json=HOSTED, headers=headers)
    assert again.headers["x-job-id"] == job_id


def test_whoever_waits_gets_the_whole_job(start: Callable[[Settings], Server], settings: Settings) -> None:
    server = offering(start(settings.model_copy(update={"gateway_wait_seconds": 30.0})))
    client = server.client()

    def work() -> None:
        end(server, str(eventually(lambda: server.sql("SELECT id FROM gateway_jobs"))[0][0]))

    with meanwhile(work):
        answer = client.post(f"{ROOT}/run/datapoint", json=HOSTED)
    assert answer.status_code == 200
    assert answer.json() == client.get(f"{ROOT}/jobs/{answer.headers['x-job-id']}").json()
    assert answer.json()["status"] == "failed"


def test_whoever_waits_is_sent_away_when_the_quota_is_used_up(
    start: Callable[[Settings], Server], settings: Settings
) -> None:
    server = offering(start(settings.model_copy(update={"gateway_concurrency": 2})))
    client = server.client()
    jobs = [ask(client), ask(client)]
    began = time.monotonic()
    for _ in range(5):
        refused = client.post(f"{ROOT}/run/datapoint", json=HOSTED)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_reached")
        assert int(refused.headers["retry-after"]) > 0
    assert time.monotonic() - began < 5
    assert len(client.get(f"{ROOT}/jobs").json()["jobs"]) == len(jobs)
    jobs.append(ask(client))
    for job_id in jobs:
        end(server, job_id)
    assert client.post(f"{ROOT}/run/datapoint", json=HOSTED).status_code == 504


def test_a_job_that_has_ended_passes_on_what_harbor_recorded(client: httpx2.Client, furnished: Furnished) -> None:
    job = client.get(furnished.path(f"{ROOT}/jobs/{{job_id}}")).json()
    [entry] = job["result"]["agent_results"]
    assert (entry["name"], entry["harbor_agent"], entry["trial_id"]) == ("a", "nop", furnished.names["trial_id"])
    assert entry["result"] == {"ok": True}
    assert job["outcome"] == job["result"]["outcome"]
    assert (job["outcome"]["trials"]["errored"], job["outcome"]["valid_for_scoring"]) == (1, False)


def test_trials_that_raised_are_made_up_for(server: Server, client: httpx2.Client, furnished: Furnished) -> None:
    parent = furnished.names["job_id"]
    before = client.get(f"{ROOT}/jobs/{parent}").json()
    route, headers = f"{ROOT}/jobs/{parent}/retry-errored-trials", {"Idempotency-Key": "double-click"}
    answer = client.post(route, headers=headers)
    assert answer.status_code == 202
    child = answer.json()
    assert child == {
        "job_id": child["job_id"],
        "retry_of": parent,
        "pass_at_k": 1,
        "retried_exceptions": ["AttemptCrashed"],
        "status": "queued",
    }
    assert client.post(route, headers=headers).json() == child
    assert client.get(f"{ROOT}/jobs/{child['job_id']}").json()["retry_of"] == parent
    assert client.get(f"{ROOT}/jobs/{parent}").json() == before
    unfinished = client.post(f"{ROOT}/jobs/{child['job_id']}/retry-errored-trials")
    assert (unfinished.status_code, unfinished.json()["code"]) == (409, "job_unfinished")
    server.sql("UPDATE gateway_jobs SET request = NULL WHERE id = %s", parent)
    forgotten = client.post(route)
    assert (forgotten.status_code, forgotten.json()["code"]) == (400, "not_refillable")
    assert "execute-tasks" in forgotten.json()["fix"]


def test_what_the_trials_left_is_listed_and_fetched_as_one(
    server: Server, client: httpx2.Client, furnished: Furnished
) -> None:
    artifacts = furnished.path(f"{ROOT}/jobs/{{job_id}}/artifacts")
    trial_id = furnished.names["trial_id"]
    listed = client.get(artifacts, params={"presign": True}).json()
    stranger = server.client(None)
    found = {file["path"]: stranger.get(file["url"]).content for file in listed["files"]}
    assert found == {f"{trial_id}/{path}": content for path, content in FILES.items()}
    assert [(trial["trial_id"], trial["agent"], trial["files"]) for trial in listed["trials"]] == [
        (trial_id, "a", len(FILES))
    ]
    packed = client.get(f"{artifacts}/archive").json()
    assert packed.keys() == {"url", "expires_at", "size", "sha256"}
    content = stranger.get(packed["url"]).content
    assert (len(content), hashlib.sha256(content).hexdigest()) == (packed["size"], packed["sha256"])
    with zipfile.ZipFile(io.BytesIO(content)) as archived:
        assert found.keys() <= {*archived.namelist()}
    assert client.delete(f"/trials/{trial_id}").is_success
    for url in (packed["url"], listed["files"][0]["url"]):
        assert stranger.get(url).status_code == 404
    assert client.get(f"{artifacts}/archive").json()["code"] == "not_found"
    waiting = client.get(f"{ROOT}/jobs/{ask(client)}/artifacts/archive")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "job_unfinished")
