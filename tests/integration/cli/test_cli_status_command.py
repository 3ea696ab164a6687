"""``oddish status`` against a server that speaks the wire format."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from oddish.cli import watch
from oddish.client.types import PAGE

TASK = "greet-1a2b3c4d"


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "QUICKEST", 0.01)


@pytest.fixture
def greet(server: Any) -> Any:
    """A task with a finished, a cancelled, a running and a replaced trial."""
    task = server.add_task(TASK, experiment_name="calm-fern-0001")
    server.add_trial(task, status="success", reward=0.75, attempts=1)
    server.add_trial(task, status="failed", harbor_stage="cancelled", error_message="cancelled by user", attempts=1)
    server.add_trial(task, status="running", harbor_stage="agent_running", attempts=2)
    server.add_trial(task, status="failed", error_message="old", superseded_by_trial_id=f"{TASK}-2")
    return task


def test_the_system_without_anything(server: Any, invoke: Any) -> None:
    result = invoke("status")
    assert result.exit_code == 0, result.output
    assert f"Server {server.url}  healthy, version 9.9.9" in result.output
    assert "Nothing has been run yet." in result.output


def test_the_system_groups_by_experiment_and_shows_the_newest(server: Any, invoke: Any, greet: Any) -> None:
    for number in range(9):
        task = server.add_task(
            f"t{number}-00000000", f"e000001{number}", f"exp-{number}", created_at=f"202{number}-06-01"
        )
        server.add_trial(task, status="queued", created_at=f"202{number}-06-01T00:00:00Z")
    result = invoke("status")
    assert result.exit_code == 0, result.output
    assert "9 trials queued, 1 running, 0 retrying" in result.output
    shown = [line.split()[0] for line in result.output.splitlines() if line.startswith(("exp-", "calm-"))]
    assert shown == ["exp-8", "exp-7", "exp-6", "calm-fern-0001", "exp-5", "exp-4", "exp-3", "exp-2"]
    row = next(line for line in result.output.splitlines() if line.startswith("calm-"))
    assert row.split()[1:6] == ["1", "0", "1", "1", "1"]
    heading = next(line for line in result.output.splitlines() if line.startswith("Experiment"))
    assert heading.split()[1:6] == ["Tasks", "Queued", "Running", "Success", "Cancelled"]
    assert "and 2 older; show them with: oddish status --all" in result.output


@pytest.mark.parametrize(("options", "shown"), [((), 8), (("-n", "3"), 3), (("--newest", "9"), 9), (("--all",), 11)])
def test_as_many_experiments_are_listed_as_are_asked_for(
    server: Any, invoke: Any, options: tuple[str, ...], shown: int
) -> None:
    for number in range(11):
        task = server.add_task(f"t{number}-00000000", f"e00000{number:02}", f"exp-{number}")
        server.add_trial(task, created_at=f"2020-06-{number + 1:02}T00:00:00Z")
    output = invoke("status", *options).output
    assert sum(line.startswith("exp-") for line in output.splitlines()) == shown
    assert ("older" in output) is (shown < 11)
    assert len(json.loads(invoke("status", "--json", *options).stdout)["experiments"]) == shown


def test_all_experiments_are_found_beyond_one_page_of_tasks(server: Any, invoke: Any) -> None:
    for number in range(201):
        server.add_task(f"t{number}-00000000", experiment_name="large")
    assert "These are the newest 200 tasks; show all with: oddish status --all" in invoke("status").output
    (experiment,) = json.loads(invoke("status", "--all", "--json").stdout)["experiments"]
    assert experiment["tasks"] == 201


def test_retrying_trials_have_a_column_of_their_own(server: Any, invoke: Any, greet: Any) -> None:
    server.add_trial(greet, status="retrying", attempts=1)
    lines = invoke("status").output.splitlines()
    assert "0 trials queued, 1 running, 1 retrying" in lines
    numbers = {line.split()[0]: line.split()[1:6] for line in lines if line.startswith(("Experiment", "calm-"))}
    assert numbers["Experiment"] == ["Tasks", "Running", "Retrying", "Success", "Cancelled"]
    assert numbers["calm-fern-0001"] == ["1", "1", "1", "1", "1"]


def test_the_system_as_json(server: Any, invoke: Any, greet: Any) -> None:
    document = json.loads(invoke("status", "--json").stdout)
    assert document["health"]["status"] == "healthy"
    (experiment,) = document["experiments"]
    assert (experiment["name"], experiment["trials"]) == (
        "calm-fern-0001",
        {"success": 1, "cancelled": 1, "running": 1},
    )


NO_WORKER = "No worker is alive: nothing runs now."


def test_trials_without_any_worker_are_said_loudly(server: Any, invoke: Any, greet: Any) -> None:
    assert NO_WORKER not in invoke("status").output
    server.workers = 0
    assert NO_WORKER in invoke("status").output.splitlines()
    assert json.loads(invoke("status", "--json").stdout)["workers"] == {"alive": 0}
    greet["trials"][2].update(status="success")
    assert NO_WORKER not in invoke("status").output


def test_a_server_that_does_not_know_its_workers(server: Any, invoke: Any, greet: Any) -> None:
    server.refusals["GET", "/load"] = (404, {"detail": "There is no /load here."})
    result = invoke("status")
    assert result.exit_code == 0
    assert NO_WORKER not in result.output


def test_more_about_the_system(server: Any, invoke: Any, greet: Any) -> None:
    assert "database connected, chosen by ODDISH_API_URL" in invoke("status", "-v").output


def test_a_task_with_the_reason_of_each_trial(server: Any, invoke: Any, greet: Any) -> None:
    lines = invoke("status", TASK).output.splitlines()
    rows = [line for line in lines if line.lstrip().startswith(("0 ", "1 ", "2 ", "3 "))]
    assert [row.split("  ")[-1].strip() for row in rows] == ["success", "cancelled by user", "agent at work"]
    assert "0.75" in rows[0]


def test_a_trial(server: Any, invoke: Any, greet: Any) -> None:
    greet["trials"][0] |= {
        "input_tokens": 1200, "cache_tokens": 200, "cache_write_tokens": 50, "output_tokens": 30,
        "cost_usd": 0.0123, "cost_is_estimated": True,
        "phase_timing": {"environment_setup": 0.5, "agent_execution": 2}, "error_message": "line 1\n\x1b[2Jline 2",
        "result": {"_verifier": {"tests": 6, "passed": 5}},
    }  # fmt: skip
    output = invoke("status", f"{TASK}-0").output
    for text in (
        "1,200 in (200 cached, 50 written to a cache), 30 out",
        "~$0.0123",
        "environment setup 0.5s",
        "5 of 6 passed",
        "  line 2",
    ):
        assert text in output
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("verifier", "shown"),
    [
        ({"exit_code": 3}, "exit code 3"),
        ({"exit_code": None}, "did not end"),
        ({"tests": 6, "passed": 5, "exit_code": 0}, "5 of 6 passed, exit code 0"),
    ],
)
def test_a_trial_whose_test_script_was_observed(
    server: Any, invoke: Any, greet: Any, verifier: Any, shown: str
) -> None:
    greet["trials"][0] |= {"result": {"_verifier": verifier}}
    assert shown in invoke("status", f"{TASK}-0").output


def test_a_trial_that_has_not_ended_says_how_to_watch_its_agent(server: Any, invoke: Any, greet: Any) -> None:
    hint = f"oddish logs {TASK}-0 -f"
    assert hint not in invoke("status", f"{TASK}-0").output
    greet["trials"][0] |= {"status": "running", "reward": None}
    assert invoke("status", f"{TASK}-0").output.splitlines()[-1].endswith(hint)


def test_the_cost_of_a_model_without_a_price_is_not_known(server: Any, invoke: Any, greet: Any) -> None:
    greet["trials"][0] |= {"input_tokens": 1200, "output_tokens": 0}
    assert "not known: a model that it used has no price" in invoke("status", f"{TASK}-0").output


def test_the_experiment_and_the_files_of_a_trial(server: Any, invoke: Any, greet: Any) -> None:
    server.files[f"{TASK}-0"] = {
        "agent/claude.txt": "".join(f"step {number}\n" for number in range(40)) + "\x1b[2Jdone\n",
        "trial.log": "of the trial\n",
        "verifier/test-stdout.txt": "1 passed\n",
    }
    lines = invoke("status", f"{TASK}-0").output.splitlines()
    facts = {words[0]: " ".join(words[1:]) for line in lines if (words := line.split())}
    assert (facts["Experiment"], facts["Files"]) == ("calm-fern-0001 (e0000001)", "3")
    assert "Output of the agent:" not in lines
    output = invoke("status", f"{TASK}-0", "-v").output
    agent, verifier = output.partition("Output of the agent:\n")[2].split("\nOutput of the verifier:\n")
    assert agent.splitlines()[:2] == ["  agent/claude.txt:", "    step 11"]
    assert agent.splitlines()[-1] == "    done"
    assert len(agent.splitlines()) == 31
    assert verifier.splitlines() == ["  verifier/test-stdout.txt:", "    1 passed"]


@pytest.mark.parametrize("status", [404, 403])
def test_a_server_that_tells_no_more_of_a_trial(server: Any, invoke: Any, greet: Any, status: int) -> None:
    for path in (f"/trials/{TASK}-0/files", f"/trials/{TASK}-0/logs", "/experiments/e0000001"):
        server.refusals["GET", path] = (status, {"detail": "There is no such path."})
    result = invoke("status", f"{TASK}-0", "-v")
    assert result.exit_code == 0, result.output
    assert "e0000001" in result.output
    assert "Files" not in result.output
    assert "Output of" not in result.output


def test_an_unknown_id_is_tried_as_an_experiment(server: Any, invoke: Any, greet: Any) -> None:
    for reference in ("calm-fern-0001", "e0000001"):
        output = invoke("status", reference).output
        assert "Experiment calm-fern-0001  2/3 done: 1 running, 1 success, 1 cancelled" in output


def test_trials_of_every_version_are_counted_where_the_server_tells(server: Any, invoke: Any, greet: Any) -> None:
    assert "0 trials queued, 1 running, 0 retrying" in invoke("status").output
    server.unfinished = {"queued": 1, "running": 3, "retrying": 2}
    assert "1 trial queued, 3 running, 2 retrying" in invoke("status").output
    assert json.loads(invoke("status", "--json").stdout)["trials"] == server.unfinished


@pytest.mark.parametrize("option", ["-e", "-E", "--experiment"])
def test_an_experiment_by_option(server: Any, invoke: Any, greet: Any, option: str) -> None:
    assert "Experiment calm-fern-0001" in invoke("status", option, "calm-fern-0001").output


def test_all_rewards_of_a_trial_without_a_primary_one_are_shown(server: Any, invoke: Any) -> None:
    task = server.add_task(TASK, experiment_name="calm-fern-0001")
    server.add_trial(task, status="success", rewards={"speed": 0.25, "tests": 1.0}, reasons=["ambiguous"])
    told = "ambiguous: no reward is called `reward`, there are speed 0.25, tests 1"
    assert told in invoke("status", f"{TASK}-0").output
    assert told in invoke("status", TASK).output
    experiment = invoke("status", "-e", "calm-fern-0001").output
    assert told in experiment.partition("Notes\n")[2]
    facts = dict(line.split(maxsplit=1) for line in invoke("status", f"{TASK}-0").output.splitlines() if " " in line)
    assert facts["Rewards"].strip() == "speed 0.25, tests 1"


def test_phases_are_in_the_order_they_happen(server: Any, invoke: Any, greet: Any) -> None:
    greet["trials"][0]["phase_timing"] = {
        "cleanup": 5, "verifier": 4, "agent_setup": 2, "agent_execution": 3, "environment_setup": 1,
    }  # fmt: skip
    told = "environment setup 1.0s, agent setup 2.0s, agent execution 3.0s, verifier 4.0s, cleanup 5.0s"
    assert told in invoke("status", f"{TASK}-0").output


def test_passes_are_counted_among_the_rewards_that_count(server: Any, invoke: Any, greet: Any) -> None:
    def row() -> list[str]:
        lines = invoke("status", "-e", "calm-fern-0001").output.splitlines()
        return next(line for line in lines if line.startswith("greet ")).split()

    assert row()[-3:] == ["0/1", "–", "1"]
    greet["trials"][0].update(status="failed", reward=1.0)
    assert row()[-3:] == ["–", "1", "1"]


def test_where_nobody_watches_the_rule_is_short_and_lines_are_whole(server: Any, invoke: Any) -> None:
    task = server.add_task(TASK, experiment_name="calm-fern-0001")
    server.add_trial(task, status="failed", error_message="x" * 150 + " why")
    lines = invoke("status", "-e", "calm-fern-0001").output.splitlines()
    assert any(line.endswith("x why") for line in lines)
    rules = [line for line in lines if line.startswith("──")]
    assert len(rules) == 2
    assert all(len(rule) <= 80 for rule in rules)


@pytest.mark.parametrize("arguments", [["nowhere-1"], ["nowhere"], ["-e", "nowhere"]])
def test_what_is_not_there(server: Any, invoke: Any, arguments: list[str]) -> None:
    result = invoke("status", *arguments)
    assert result.exit_code == 1
    assert "nowhere" in result.output
    assert json.loads(invoke("status", *arguments, "--json").stdout)["status"] == 404


@pytest.mark.parametrize(
    "arguments",
    [[TASK, "-e", "x"], ["--watch"], [TASK, "--all"], ["-e", "x", "-n", "1"], ["--all", "-n", "1"], [""], ["-e", ""]],
)
def test_contradictions(server: Any, invoke: Any, arguments: list[str]) -> None:
    assert invoke("status", *arguments).exit_code == 2


@pytest.mark.parametrize("reference", [TASK, f"{TASK}-2", "calm-fern-0001"])
def test_watching_ends_with_the_trials(server: Any, invoke: Any, greet: Any, reference: str) -> None:
    asked = iter(range(100))
    server.tick = lambda fake: next(asked) > 5 and greet["trials"][2].update(status="success", reward=1.0)
    result = invoke("status", reference, "--watch")
    assert result.exit_code == (0 if reference == f"{TASK}-2" else 1), result.output
    assert f"{TASK}-2  running  agent at work" in result.output
    assert f"{TASK}-2  success  reward 1" in result.output


def test_an_experiment_of_many_tasks_is_watched_to_its_end(server: Any, invoke: Any) -> None:
    many = 2 * PAGE + 1
    for number in range(many):
        server.add_trial(server.add_task(f"greet{number}-00000001"), status="running")
    rounds = iter(range(100))

    def tick(fake: Any) -> None:
        if next(rounds) == 6:  # that many pages are read to find it and to look at it once
            for trial in fake.trials():
                trial.update(status="success", reward=1.0)

    server.tick = tick
    result = invoke("status", "-e", "calm-fern-0001", "--watch")
    assert result.exit_code == 0, result.output
    assert f"{many} trials: {many} running" in result.output
    assert f"{many}/{many} done: {many} success" in result.output
    assert sum(line.startswith("greet") for line in result.output.splitlines()) == many


def test_the_metrics_of_a_trial_stand_apart_from_what_is_known_of_it(server: Any, invoke: Any, greet: Any) -> None:
    greet["trials"][0].update(result={"ttft_ms": 12.5, "Reward": 99}, reward=0.25)
    lines = invoke("status", f"{TASK}-0").output.splitlines()
    facts, metrics = lines[: lines.index("Metrics:")], lines[lines.index("Metrics:") + 1 :]
    assert [line.split() for line in facts if line.startswith("Reward")] == [["Reward", "0.25"]]
    assert [" ".join(line.split()) for line in metrics[:2]] == ["Time to first token 12.5 ms", "Reward 99"]


def test_json_does_not_watch(server: Any, invoke: Any, greet: Any) -> None:
    assert json.loads(invoke("status", TASK, "--watch", "--json").stdout)["id"] == TASK


def test_interrupting_a_watch(server: Any, invoke: Any, greet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=interrupt, monotonic=time.monotonic))
    result = invoke("status", TASK, "--watch")
    assert result.exit_code == 130
    assert "No longer watching" in result.output


def test_a_wrong_key(server: Any, invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_API_KEY", "ok_wrong")
    result = invoke("status", TASK)
    assert result.exit_code == 1
    assert "The key is unknown." in result.output
    assert "ODDISH_API_KEY" in result.output


@pytest.mark.parametrize(("command", "reference"), [("logs", ""), ("logs", "."), ("status", "."), ("status", "..")])
def test_what_nothing_can_be_called_is_found_nowhere(server: Any, invoke: Any, command: str, reference: str) -> None:
    result = invoke(command, reference)
    assert result.exit_code == 1
    assert f"{reference!r} is no task, trial or experiment here." in result.output
