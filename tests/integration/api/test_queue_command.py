"""``oddish status --queue`` against a real server."""

import json
from collections.abc import Callable, Sequence

import httpx2
import pytest
from click.testing import CliRunner, Result

from oddish.api import services
from oddish.cli import cli

from .crowding import WORKER, crowd, run, silence
from .serving import KEY, Server, TaskFolder

type Invoke = Callable[..., Result]
PARTS = ["queue_health", "queue_status", "slots", "orphaned_state", "worker_jobs"]


@pytest.fixture(autouse=True)
def counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "BACKLOG_SECONDS", 0.0)


@pytest.fixture
def invoke(server: Server, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    return lambda *arguments: CliRunner().invoke(cli, ["status", "--queue", *arguments])


@pytest.fixture
def trials(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> list[str]:
    return crowd(server, client, new_task)


def row(lines: Sequence[str], start: str, after: str) -> list[str]:
    """The words of the first line that begins so, below the one that begins with ``after``."""
    below = next(number for number, line in enumerate(lines) if line.startswith(after))
    return next(line for line in lines[below:] if line.startswith(start)).split()


def test_a_deployment_without_anything(invoke: Invoke) -> None:
    shown = invoke()
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines() == [
        "Queue health  0 queued, 0 running",
        "  dispatcher: there has been no worker",
        "  reconciler: there has been no worker",
        "",
        "Queue status  nothing is queued and nothing runs",
        "",
        "Slot leases  0 of 0",
        "",
        "Stuck  nothing",
        "",
        "Worker jobs  none",
    ]


def test_every_panel_of_a_queue_that_moves(server: Server, invoke: Invoke, trials: list[str]) -> None:
    silence(server, "2 s")
    shown = invoke()
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0] == "Queue health  3 queued, 1 running"
    assert lines[1].startswith("  dispatcher: last sign of life of a worker ")
    assert "(workers alive 1, last claim " in lines[1]
    assert lines[2].startswith("  reconciler: done with all that was due ")
    assert "  trials: 3 started and 1 ended in 5 minutes, 3 and 1 in an hour" in lines
    assert row(lines, "acme/model", "Queue health")[:7] == ["acme/model", "1", "1", "1", "1", "8", "12%"]
    assert "Queue status  trial: 3 queued, 1 running" in lines
    assert "Slot leases  1 of 8" in lines
    assert row(lines, "acme/model", "Slot leases") == ["acme/model", "1", "8"]
    assert "Stuck  nothing" in lines
    jobs = "Worker jobs  trial: 1 cancelled, 1 failed, 1 held, 1 ready, 1 running, 1 scheduled"
    assert jobs in lines
    assert row(lines, "acme/model", "Worker jobs")[:3] == ["acme/model", "trial", "1"]
    assert "VerifierError: no reward" in " ".join(row(lines, trials[4], "Worker jobs"))
    assert "429: slow down" in " ".join(row(lines, trials[1], "Worker jobs"))


def test_what_is_stuck_is_named_with_its_worker_and_its_last_heartbeat(
    server: Server, invoke: Invoke, trials: list[str]
) -> None:
    run(server, trials[5])
    silence(server, "10 minutes")
    lines = invoke().stdout.splitlines()
    counted = ["  2 running on a lease that has ended", "  1 waiting to be repeated where no worker lives"]
    assert lines[lines.index("Stuck") :][1:3] == counted
    assert lines[1] == "No worker is alive: nothing runs now."
    shown = row(lines, trials[0], "Stuck")
    assert shown[:5] == [trials[0], "acme/model", "trial_started", WORKER, "0"]
    assert shown[5].startswith("10m")
    lines = invoke("--stale-after", "5").stdout.splitlines()
    assert "  2 running without a sign of life for 5 minutes" in lines
    assert "  2 running without a sign of life for 1 minute" in invoke("--stale-after", "1").stdout.splitlines()


def test_the_five_answers_as_one_document(server: Server, client: httpx2.Client, invoke: Invoke) -> None:
    shown = invoke("--json", "--stale-after", "30")
    assert shown.exit_code == 0
    document = json.loads(shown.stdout)
    assert list(document) == PARTS
    for name in PARTS:
        answer = client.get(f"/admin/{name.replace('_', '-')}").json()
        assert document[name].keys() == answer.keys()
    assert document["orphaned_state"]["stale_after_minutes"] == 30
    assert document["worker_jobs"]["stale_after_minutes"] == 30


@pytest.mark.parametrize("scope", ["read", "tasks"])
def test_a_lesser_key_is_told_which_scope_it_takes(
    server: Server, client: httpx2.Client, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setenv("ODDISH_API_KEY", server.key("a", scope=scope))
    refused = invoke()
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.splitlines() == [
        f"Error: This needs a key of scope 'full'; this one has '{scope}'.",
        "Fix: Use a key of scope 'full'.",
    ]
    refused = invoke("--json")
    assert refused.exit_code == 1
    error = {"error": f"This needs a key of scope 'full'; this one has '{scope}'.", "status": 403}
    assert json.loads(refused.stdout) == dict.fromkeys(PARTS, error)


def test_a_task_and_a_trial_say_what_they_wait_for(server: Server, invoke: Invoke, trials: list[str]) -> None:
    task_id, _, number = trials[5].rpartition("-")
    backoff = "the next attempt starts at "
    held = "1 trial of its submission may run at once, and do"
    server.sql("UPDATE jobs SET group_id = 'g' WHERE subject_id = %s", trials[0])

    def shown(reference: str) -> str:
        result = CliRunner().invoke(cli, ["status", reference])
        assert result.exit_code == 0, result.output
        return result.stdout

    listed = {line.split()[0]: line for line in shown(task_id).splitlines() if line and line.split()[0].isdecimal()}
    assert listed[number].endswith("next in the queue")
    assert backoff in listed["1"]
    assert listed["2"].endswith(held)
    assert held in shown(trials[2])
    silence(server, "1 hour")
    assert "no live worker offers environment local with harbor/0.26.0; the last one was alive at " in shown(trials[5])
