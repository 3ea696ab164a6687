"""Two servers and two workers share a PostgreSQL and a bucket: none of them matters."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from oddish.client.types import Submitted, Trial
from support.fleet import KEY, Fleet
from support.waiting import eventually

pytestmark = pytest.mark.long

SECONDS = 3
BACK = 120.0
"""Seconds within which the work of the dead is done by others."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    short = {"ODDISH_LEASE_SECONDS": "12", "ODDISH_HEARTBEAT_SECONDS": "2"}
    with Fleet(tmp_path_factory.mktemp("fleet"), environment=short, proxied=True) as fleet:
        fleet.add_servers(2)
        fleet.add_workers(2, concurrency=2)
        yield fleet


@pytest.fixture
def fleet(running: Fleet) -> Fleet:
    """Idle and whole, whatever another test has done to it."""
    for name in (*running.servers, *running.workers):
        running.start(name)
    running.wait_until_quiet(BACK)
    return running


@pytest.fixture
def steady(make_task: Callable[..., Path]) -> Path:
    return make_task("steady", solve=f"sleep {SECONDS}")


def submit(fleet: Fleet, task: Path, trials: int, *, at: tuple[str, str] = ("server-1", "server-2")) -> list[str]:
    """Upload at one server and submit at the other; the ids of the trials."""
    first, second = (fleet.client(name) for name in at)
    version = first.upload(task, force_new_version=True)
    return second.sweep(request(version["task_id"], trials))["new_trial_ids"]


def request(task_id: str, trials: int) -> dict:
    return {
        "task_id": task_id,
        "configs": [{"agent": "oracle", "model": None, "n_trials": trials}],
        "experiment_id": f"fleet-{time.monotonic_ns()}",
        "priority": "low",
    }


def trials(fleet: Fleet, wanted: list[str], *, server: str = "server-1") -> list[Trial]:
    client = fleet.client(server)
    return [client.trial(trial_id) for trial_id in wanted]


def attempts(fleet: Fleet, wanted: list[str]) -> list[tuple[str, int, str, str]]:
    """Trial, epoch, state and worker of each."""
    rows = fleet.rows(
        "SELECT trial_id, epoch, state, worker_id FROM attempts WHERE trial_id = ANY (%s) ORDER BY 1, 2", wanted
    )
    return [(str(trial), int(str(epoch)), str(state), str(worker)) for trial, epoch, state, worker in rows]


def running_at(fleet: Fleet, worker: str, wanted: list[str]) -> list[str]:
    """Trials whose agent runs at the worker now."""
    rows = fleet.rows(
        "SELECT t.id FROM trials t JOIN attempts a ON a.trial_id = t.id AND a.state = 'running'"
        " WHERE a.worker_id = ANY (%s) AND t.id = ANY (%s) AND t.harbor_stage = 'agent_running' ORDER BY 1",
        fleet.worker_ids(worker),
        wanted,
    )
    return [str(trial) for (trial,) in rows]


def assert_recorded_once(fleet: Fleet, wanted: list[str]) -> None:
    done = trials(fleet, wanted)
    assert [(trial["status"], trial["reward"], trial["attempts"]) for trial in done] == [("success", 1.0, 1)] * len(
        done
    )
    finished = Counter(trial for trial, _, state, _ in attempts(fleet, wanted) if state == "finished")
    assert finished == dict.fromkeys(wanted, 1)
    assert fleet.rows("SELECT key, running FROM queue_keys WHERE running <> 0") == []


def test_what_one_server_is_given_the_other_shows(fleet: Fleet, examples: Path) -> None:
    wanted = submit(fleet, examples / "hello-world", 4)
    assert [trial["id"] for trial in trials(fleet, wanted, server="server-1")] == wanted
    fleet.wait_until_quiet(BACK)
    assert trials(fleet, wanted, server="server-1") == trials(fleet, wanted, server="server-2")
    assert_recorded_once(fleet, wanted)


def test_clients_send_archives_to_the_bucket_themselves(fleet: Fleet, examples: Path) -> None:
    begin = httpx2.post(
        f"{fleet.url('server-1')}/tasks/upload/init",
        json={"name": "elsewhere", "content_hash": "unknown"},
        headers={"Authorization": f"Bearer {KEY}"},
    ).json()
    assert begin["upload_url"].startswith(f"{fleet.storage_environment['AWS_ENDPOINT']}/")
    assert "X-Amz-Signature" in begin["upload_url"]
    version = fleet.client("server-1").upload(examples / "hello-world", name="sent-there")
    sent = [line for line in fleet.log("storage").read_text().splitlines() if "X-Amz-Signature" in line]
    assert [version["task_id"] in line and "PUT" in line for line in sent].count(True) == 1


def test_what_a_worker_stores_is_read_at_every_server(fleet: Fleet, examples: Path) -> None:
    [trial_id] = submit(fleet, examples / "hello-world", 1)
    fleet.wait_until_quiet(BACK)
    listings = [fleet.client(name).evidence.files(trial_id)["files"] for name in fleet.servers]
    assert listings[0] == listings[1]
    assert "verifier/reward.txt" in {file["path"] for file in listings[0]}
    for name in fleet.servers:
        reward = httpx2.get(
            f"{fleet.url(name)}/trials/{trial_id}/files/verifier/reward.txt",
            headers={"Authorization": f"Bearer {KEY}"},
        )
        assert (reward.status_code, reward.text.strip()) == (200, "1")


def test_a_killed_worker_has_its_trials_run_by_another(fleet: Fleet, steady: Path) -> None:
    wanted = submit(fleet, steady, 4)
    eventually(lambda: len(running_at(fleet, "worker-1", wanted)) == 2)
    hit = running_at(fleet, "worker-1", wanted)
    [*_, dead] = fleet.worker_ids("worker-1")
    fleet.kill("worker-1")
    fleet.wait_until_quiet(BACK)
    assert_recorded_once(fleet, wanted)
    [*_, alive] = fleet.worker_ids("worker-2")
    found = attempts(fleet, wanted)
    assert [(trial, worker) for trial, _, state, worker in found if state == "lost"] == [(trial, dead) for trial in hit]
    assert {worker for _, _, state, worker in found if state == "finished"} == {alive}


def test_one_idempotency_key_is_one_submission_wherever_it_arrives(fleet: Fleet, examples: Path) -> None:
    task_id = fleet.client("server-1").upload(examples / "hello-world")["task_id"]
    body, together = request(task_id, 3), threading.Barrier(8)
    answers: list[Submitted] = []

    def send(number: int) -> None:
        client = fleet.client(fleet.servers[number % 2])
        together.wait()
        answers.append(client.sweep(body, idempotency_key="sent-to-both"))

    senders = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert len(answers) == 8
    assert all(answer == answers[0] for answer in answers)
    experiment = answers[0]["experiment_id"]
    stored = fleet.rows("SELECT id FROM trials WHERE experiment_id = %s ORDER BY trial_index", experiment)
    assert [str(trial) for (trial,) in stored] == answers[0]["new_trial_ids"]
    fleet.wait_until_quiet(BACK)
    assert_recorded_once(fleet, answers[0]["new_trial_ids"])


def test_a_worker_that_is_stopped_gives_its_trials_back_uncharged(fleet: Fleet, steady: Path) -> None:
    wanted = submit(fleet, steady, 4)
    eventually(lambda: len(running_at(fleet, "worker-1", wanted)) == 2)
    hit = running_at(fleet, "worker-1", wanted)
    assert fleet.stop("worker-1") == 0
    fleet.wait_until_quiet(BACK)
    assert_recorded_once(fleet, wanted)
    assert [trial for trial, _, state, _ in attempts(fleet, wanted) if state == "lost"] == hit


def test_everything_is_restarted_in_turn_while_trials_run(fleet: Fleet, steady: Path) -> None:
    wanted = submit(fleet, steady, 8)
    eventually(lambda: len(running_at(fleet, "worker-2", wanted)) == 2)
    assert [fleet.restart(name) for name in (*fleet.servers, *fleet.workers)] == [0, 0, 0, 0]
    fleet.wait_until_quiet(BACK)
    assert_recorded_once(fleet, wanted)


def test_a_server_that_is_killed_takes_nothing_with_it(fleet: Fleet, steady: Path) -> None:
    wanted = submit(fleet, steady, 2, at=("server-2", "server-1"))
    fleet.kill("server-1")
    fleet.wait_until_quiet(BACK)
    assert {trial["status"] for trial in trials(fleet, wanted, server="server-2")} == {"success"}
    fleet.start("server-1")
    assert_recorded_once(fleet, wanted)


def test_a_database_that_is_killed_and_comes_back_costs_no_attempt(fleet: Fleet, steady: Path) -> None:
    wanted = submit(fleet, steady, 4)
    eventually(lambda: running_at(fleet, "worker-1", wanted) and running_at(fleet, "worker-2", wanted))
    fleet.kill("database")
    fleet.start("database")
    fleet.wait_until_quiet(BACK)
    assert_recorded_once(fleet, wanted)
    assert [state for *_, state, _ in attempts(fleet, wanted)] == ["finished"] * 4


def test_a_store_that_is_away_for_a_moment_costs_no_attempt(fleet: Fleet, steady: Path) -> None:
    wanted = submit(fleet, steady, 2)
    eventually(lambda: sum(len(running_at(fleet, name, wanted)) for name in fleet.workers) == 2)
    fleet.storage_proxy.go_down()
    eventually(lambda: any(event["event"] == "store away" for name in fleet.workers for event in fleet.events(name)))
    fleet.storage_proxy.come_back()
    fleet.wait_until_quiet(BACK)
    assert_recorded_once(fleet, wanted)
    for trial_id in wanted:
        assert "result.json" in {file["path"] for file in fleet.client("server-1").evidence.files(trial_id)["files"]}
