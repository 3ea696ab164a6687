"""``oddish run`` against a server that speaks the wire format."""

import io
import json
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oddish.cli import watch


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "QUICKEST", 0.01)


def all_succeed(server: Any) -> None:
    for trial in server.trials():
        trial.update(status="success", reward=1.0, attempts=1, started_at="2026-01-01T00:00:00Z")


def test_a_task_is_sent_as_the_wire_format_says(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.tick = all_succeed
    task = make_task_dir()
    result = invoke("run", task, "-a", "oracle", "--n-trials", "2", "-E", "calm-fern-1234")
    assert result.exit_code == 0, result.output
    paths = [(method, path) for method, path, _, _ in server.calls]
    assert paths[:5] == [
        ("GET", "/health"),
        ("POST", "/tasks/upload/init"),
        ("PUT", "/blob/greet-00000005"),
        ("POST", "/tasks/upload/complete"),
        ("POST", "/tasks/sweep"),
    ]
    (init,) = server.bodies("POST", "/tasks/upload/init")
    (complete,) = server.bodies("POST", "/tasks/upload/complete")
    (sweep,) = server.bodies("POST", "/tasks/sweep")
    digest = init["content_hash"]
    assert digest.startswith("oddish1:")
    assert init == {"name": "greet", "content_hash": digest}
    assert complete == {"task_id": "greet-00000005", "name": "greet", "version": 1, "content_hash": digest}
    assert sweep == {
        "task_id": "greet-00000005",
        "configs": [{"agent": "oracle", "model": None, "n_trials": 2}],
        "priority": "low",
        "experiment_id": "calm-fern-1234",
        "content_hash": digest,
    }
    with tarfile.open(fileobj=io.BytesIO(server.uploads["/blob/greet-00000005"])) as archive:
        assert {"task.toml", "instruction.md", "tests/test.sh"} <= set(archive.getnames())
    headers = {(method, path): headers for method, path, _, headers in server.calls}
    assert "authorization" not in headers["PUT", "/blob/greet-00000005"]
    assert len(headers["POST", "/tasks/sweep"]["idempotency-key"]) >= 32


def test_the_results_are_a_table_and_the_next_commands(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.tick = all_succeed
    result = invoke("run", make_task_dir(), "-a", "oracle", "--n-trials", "3")
    assert "3 trials queued." in result.output
    row = next(line for line in result.output.splitlines() if line.startswith("greet "))
    assert row.split() == ["greet", "oracle", "–", "3", "1", "1", "1", "1", "3/3", "–"]
    assert "oddish status greet-00000005-0" in result.output
    assert "--help" not in result.output


def test_options_reach_the_submission(server: Any, invoke: Any, make_task_dir: Any) -> None:
    result = invoke(
        "run", "-p", make_task_dir(), "-m", "anthropic/claude", "-e", "docker", "-u", "ada", "-b",
        "--force-new-version",
        "--ae", "TOKEN=a=b", "--agent-env", "B=2", "--ak", "effort=3", "--agent-kwarg", "mode=fast",
        "-P", "high", "--max-trial-attempts", "3", "--disable-verification",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert server.bodies("POST", "/tasks/upload/init")[0]["force_new_version"] is True
    sweep = server.bodies("POST", "/tasks/sweep")[0]
    assert (sweep["user"], sweep["priority"], sweep["max_trial_attempts"]) == ("ada", "high", 3)
    assert sweep["harbor"] == {"verifier": {"disable": True}}
    assert sweep["configs"] == [
        {
            "agent": "claude-code",
            "model": "anthropic/claude",
            "n_trials": 1,
            "environment": "docker",
            "agent_config": {"env": {"TOKEN": "a=b", "B": "2"}, "kwargs": {"effort": 3, "mode": "fast"}},
        }
    ]


def test_the_tasks_of_a_run_share_a_cost_limit(server: Any, invoke: Any, make_task_dir: Any) -> None:
    [tasks] = {make_task_dir(name).parent for name in ("one", "two", "three")}
    invoke("run", tasks, "-m", "anthropic/claude", "-b", "--max-cost", "2.5")
    sweeps = server.bodies("POST", "/tasks/sweep")
    sweeps += [sweep for batch in server.bodies("POST", "/tasks/sweep/batch") for sweep in batch["submissions"]]
    [experiment] = {sweep["experiment_id"] for sweep in sweeps}
    assert [(sweep["max_cost_usd"], sweep["budget"]) for sweep in sweeps] == [(2.5, experiment)] * 3


def test_in_a_named_experiment_each_run_has_a_cost_limit_of_its_own(
    server: Any, invoke: Any, make_task_dir: Any
) -> None:
    for _ in range(2):
        invoke("run", make_task_dir(), "-m", "anthropic/claude", "-b", "-E", "nightly", "--max-cost", "2.5")
    budgets = {sweep["budget"] for sweep in server.bodies("POST", "/tasks/sweep")}
    assert len(budgets) == 2
    assert all(budget.startswith("nightly.") for budget in budgets)


def test_of_an_agent_whose_logs_are_not_read_the_cost_limit_says_what_it_does(
    server: Any, invoke: Any, make_task_dir: Any
) -> None:
    options = ("-b", "--max-cost", "1")
    said = "What aider spends is known when an attempt ends"
    assert said in invoke("run", make_task_dir(), "-a", "aider", "-m", "openai/gpt-5.5", *options).stderr
    assert said not in invoke("run", make_task_dir(), "-a", "codex", "-m", "openai/gpt-5.5", *options).stderr


@pytest.mark.parametrize("amount", ["0", "-1", "much"])
def test_a_cost_limit_is_an_amount(invoke: Any, make_task_dir: Any, amount: str) -> None:
    assert invoke("run", make_task_dir(), "-a", "oracle", "--max-cost", amount).exit_code == 2


def test_what_trials_have_cost_stands_beside_their_rewards(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def ended(fake: Any) -> None:
        all_succeed(fake)
        costs = [(1.25, False), (0.5, True), (None, None)]
        for trial, (cost, estimated) in zip(fake.trials(), costs, strict=True):
            trial.update(input_tokens=10, output_tokens=1, cost_usd=cost, cost_is_estimated=estimated)

    server.tick = ended
    result = invoke("run", make_task_dir(), "-m", "anthropic/claude", "--n-trials", "3")
    row = next(line for line in result.output.splitlines() if line.startswith("greet "))
    assert row.rstrip().endswith("~$1.75 and more")


def test_quiet_leaves_the_results_only(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.tick = all_succeed
    result = invoke("run", make_task_dir(), "-a", "oracle", "-q")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line.split()[:1] for line in lines] == [["Task"], [lines[1].strip()], ["greet"]]
    assert result.stderr == ""


def test_quiet_still_explains_what_failed(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.tick = lambda fake: fake.trials()[0].update(status="failed", error_message="no more disk")
    result = invoke("run", make_task_dir(), "-a", "oracle", "--quiet")
    assert result.exit_code == 1
    assert "no more disk" in result.output
    refused = invoke("run", make_task_dir("bad", **{"task.toml": "nonsense"}), "-q")
    assert "Error:" in refused.stderr


@pytest.mark.parametrize("flag", ["-b", "--background", "--async", "--no-watch"])
def test_background_returns_and_says_how_to_watch(server: Any, invoke: Any, make_task_dir: Any, flag: str) -> None:
    result = invoke("run", make_task_dir(), "-a", "nop", "-E", "calm-fern-1234", flag)
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "Watch with: oddish status -e calm-fern-1234 --watch"
    assert not server.bodies("GET", "/tasks")


def test_json_is_one_document_and_does_not_watch(server: Any, invoke: Any, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), "-a", "nop", "-E", "calm-fern-1234", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "experiment": "calm-fern-1234",
        "experiment_id": "e0000001",
        "experiment_url": None,
        "public_experiment_url": None,
        "total_trials": 1,
        "tasks": [
            {"id": "greet-00000005", "trials_count": 1, "trials": ["greet-00000005-0"], "url": None, "public_url": None}
        ],
    }


def test_json_counts_what_was_asked_for(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.shortfall = 1
    document = json.loads(invoke("run", make_task_dir(), "-a", "nop", "--n-trials", "3", "--json").stdout)
    assert document["total_trials"] == 3
    assert document["tasks"][0]["trials"] == ["greet-00000005-0"]


def test_json_with_watch_waits_and_holds_the_results(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def end(fake: Any) -> None:
        first, second = fake.trials()
        first.update(status="success", reward=0.5, rewards={"reward": 0.5}, attempts=1)
        first.update(input_tokens=1200, cost_usd=0.02)
        second.update(status="failed", error_message="no more disk", reasons=["crashed"], attempts=6)

    server.tick = end
    result = invoke("run", make_task_dir(), "-a", "nop", "--n-trials", "2", "--json", "--watch")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["tasks"][0]["trials"] == ["greet-00000005-0", "greet-00000005-1"]
    assert document["successful"] is False
    assert document["summary"] == {
        "trials": 2, "statuses": {"success": 1, "failed": 1}, "scored": 1, "passed": 0, "not_verified": 0,
        "mean_reward": 0.5,
    }  # fmt: skip
    told = [(trial["id"][-1], trial["status"], trial["reward"], trial["error"]) for trial in document["results"]]
    assert told == [("0", "success", 0.5, None), ("1", "failed", None, "no more disk")]
    assert [(trial["input_tokens"], trial["cost_usd"]) for trial in document["results"]] == [(1200, 0.02), (None, None)]
    server.tick = all_succeed
    assert invoke("run", make_task_dir("other"), "-a", "nop", "--json", "--watch").exit_code == 0


def test_an_interrupted_watch_under_json_is_a_document(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=interrupt, monotonic=time.monotonic))
    result = invoke("run", make_task_dir(), "-a", "nop", "-E", "calm-fern-1234", "--json", "--watch")
    assert result.exit_code == 130
    assert json.loads(result.stdout)["code"] == "interrupted"
    assert "oddish status -e calm-fern-1234 --watch" in result.stderr


def test_without_a_worker_nothing_is_said_to_run(server: Any, invoke: Any, make_task_dir: Any) -> None:
    no_worker = "No worker is alive: nothing runs now."
    assert no_worker not in invoke("run", make_task_dir(), "-a", "nop", "-b").output
    server.workers = 0
    result = invoke("run", make_task_dir(), "-a", "nop", "-b")
    assert no_worker in result.stderr
    assert "1 trial queued." in result.stdout
    server.refusals["GET", "/load"] = (403, {"detail": "No."})
    assert invoke("run", make_task_dir(), "-a", "nop", "-b").exit_code == 0


def test_an_unknown_environment_says_how_experiments_are_named(server: Any, invoke: Any, make_task_dir: Any) -> None:
    refusal = {"detail": "There is no environment 'nightly'.", "code": "unknown_environment", "fix": "Use one."}
    server.refusals["POST", "/tasks/sweep"] = (400, refusal)
    result = invoke("run", make_task_dir(), "-a", "nop", "-e", "nightly")
    assert "Fix: Use one. An experiment is named with -E." in result.stderr
    document = json.loads(invoke("run", make_task_dir(), "-a", "nop", "-e", "nightly", "--json").stdout)
    assert document["fix"] == "Use one. An experiment is named with -E."


def test_a_dataset_is_one_experiment(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    server.tick = all_succeed
    for name in ("csv-a", "csv-bb", "csv-slow", "other"):
        make_task_dir(name, tmp_path / "set")
    result = invoke("run", tmp_path / "set", "-a", "nop", "-t", "csv-*", "-x", "*-slow", "--submit-concurrency", "3")
    assert result.exit_code == 0, result.output
    sweeps = server.bodies("POST", "/tasks/sweep")
    assert sorted(sweep["task_id"].rpartition("-")[0] for sweep in sweeps) == ["csv-a", "csv-bb"]
    assert len({sweep["experiment_id"] for sweep in sweeps}) == 1
    assert len({headers["idempotency-key"] for _, path, _, headers in server.calls if path == "/tasks/sweep"}) == 2


def test_n_tasks_counts_after_the_filters(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    for name in ("a", "b1", "b2"):
        make_task_dir(name, tmp_path / "set")
    invoke("run", tmp_path / "set", "-a", "nop", "-t", "b*", "-l", "1", "-b")
    assert [body["name"] for body in server.bodies("POST", "/tasks/upload/init")] == ["b1"]


def test_a_failed_trial_is_explained_and_ends_with_1(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def fail(fake: Any) -> None:
        for trial in fake.trials():
            trial.update(status="failed", attempts=6, error_message="\x1b[31mno space left\x1b[0m\nmore")

    server.tick = fail
    result = invoke("run", make_task_dir(), "-a", "oracle")
    assert result.exit_code == 1
    assert "failed  no space left more" in result.output
    assert result.output.splitlines()[-1] == "  oddish status greet-00000005-0 -v"
    assert "\x1b" not in result.output


def test_a_cancelled_trial_is_not_called_failed_and_ends_with_1(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def stop(fake: Any) -> None:
        for trial in fake.trials():
            trial.update(status="failed", harbor_stage="cancelled", error_message="cancelled by user")

    server.tick = stop
    result = invoke("run", make_task_dir(), "-a", "oracle")
    assert result.exit_code == 1
    row = next(line for line in result.output.splitlines() if line.startswith("greet "))
    assert row.split()[-2:] == ["–", "1"]
    assert "greet-00000005-0  cancelled  cancelled by user" in result.output
    assert "failed" not in result.output


def test_what_happened_beside_a_reward_is_noted(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def time_out(fake: Any) -> None:
        for trial in fake.trials():
            trial.update(status="success", reward=0.0, error_message="AgentTimeoutError: \x1b[2Jafter 5s\nmore")

    server.tick = time_out
    result = invoke("run", make_task_dir(), "-a", "oracle")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert "greet-00000005-0  success  reward 0  (AgentTimeoutError)" in lines
    notes = lines[lines.index("Notes") :]
    assert any(line.split() == ["greet-00000005-0", "AgentTimeoutError:", "after", "5s"] for line in notes)
    assert "\x1b" not in result.output


def test_a_trial_without_verification_is_called_not_verified(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def end(fake: Any) -> None:
        for number, trial in enumerate(fake.trials()):
            checked = {"reward": 1.0} if number == 0 else {"harbor_config": {"verifier": {"disable": True}}}
            trial.update(status="success", **checked)

    server.tick = end
    result = invoke("run", make_task_dir(), "-a", "oracle", "-E", "shared", "--n-trials", "2")
    assert result.exit_code == 0
    assert "greet-00000005-1  success  not verified" in result.output
    mixed = next(line for line in result.output.splitlines() if line.startswith("greet "))
    assert mixed.split() == ["greet", "oracle", "–", "2", "1", "–", "1", "1/1", "–", "1"]


def test_a_reward_of_zero_is_a_success(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.tick = lambda fake: [trial.update(status="success", reward=0.0) for trial in fake.trials()]
    assert invoke("run", make_task_dir(), "-a", "nop").exit_code == 0


def test_other_agents_of_the_experiment_do_not_count(server: Any, invoke: Any, make_task_dir: Any) -> None:
    task = make_task_dir()
    invoke("run", task, "-a", "nop", "-E", "shared", "-b")
    server.trials()[0].update(status="failed", error_message="broken")
    server.tick = lambda fake: [
        trial.update(status="success", reward=1.0) for trial in fake.trials() if trial["agent"] == "oracle"
    ]
    result = invoke("run", task, "-a", "oracle", "-E", "shared")
    assert result.exit_code == 0, result.output
    assert "broken" not in result.output


def test_waiting_trials_say_why(server: Any, invoke: Any, make_task_dir: Any) -> None:
    def wait_then_succeed(fake: Any) -> None:
        for trial in fake.trials():
            if trial["queue_info"] is None:
                trial["queue_info"] = {
                    "position": 4, "ahead": 3, "queued_count": 9, "running_count": 8, "concurrency_limit": 8,
                }  # fmt: skip
            else:
                trial.update(status="success", reward=1.0)

    server.tick = wait_then_succeed
    result = invoke("run", make_task_dir(), "-a", "oracle")
    assert "queued  3 ahead in the queue; 8 of at most 8 running for oracle and nop" in result.output


def test_a_lost_connection_is_said_and_survived(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def come_back(seconds: float) -> None:
        server.refusals.clear()
        all_succeed(server)

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=come_back, monotonic=time.monotonic))
    server.refusals["GET", "/tasks"] = (503, {"detail": "The database restarts."})
    result = invoke("run", make_task_dir(), "-a", "oracle")
    assert result.exit_code == 0, result.output
    assert (
        "The database restarts. Trying again in 1s; the trials go on meanwhile. "
        "The watch ends after 10 minutes without an answer.\n"
    ) in result.output
    assert "The server answers again." in result.output


def test_interrupting_the_watch_leaves_the_trials(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=interrupt, monotonic=time.monotonic))
    result = invoke("run", make_task_dir(), "-a", "oracle", "-E", "calm-fern-1234")
    assert result.exit_code == 130
    assert "oddish status -e calm-fern-1234 --watch" in result.output
    assert [trial["status"] for trial in server.trials()] == ["queued"]
