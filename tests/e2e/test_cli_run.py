"""The command line against the real local stack: real trials, in the local sandbox."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harbor.viewer.scanner import JobScanner

from oddish.stack.layout import Layout
from oddish.stack.process import Process
from oddish.stack.state import read_state
from oddish.tasks.package import content_hash, publish_set
from oddish.viewer.checking import check
from support.waiting import eventually

pytestmark = pytest.mark.long

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]
OTHER_AGENT = "harbor.agents.nop:NopAgent"
"""Does as little as nop and is none of the baselines."""
OWN_AGENTS = Path(__file__).parents[1] / "support" / "own_agents"
SWEEP = """
agents:
  - name: oracle
  - name: nop
  - name: scripted:Failing
  - name: scripted:Crashing
    kwargs: {{place: {place}}}
experiment: swept
max_trial_attempts: 1
"""
PAYING = """#!/bin/sh
for step in $(seq 20); do
  printf '{"type":"assistant","message":{"id":"%s","model":"claude-haiku-4-5","content":[],' $step
  echo '"usage":{"input_tokens":50000,"output_tokens":0}}}'
  sleep 0.25
done
"""
"""Stands where the program claude does, and spends a dollar in five seconds."""
CHECKS = "test -e /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt"
ROW = re.compile(r"^\| \[(?P<task>[a-z-]+)\].*\| (?P<oracle>[0-9.]+) \| (?P<nop>[0-9.]+) \|$", re.MULTILINE)


class Cli:
    """Runs ``oddish`` as a process with a state directory of its own."""

    def __init__(self, home: Path) -> None:
        self.directory = home
        foreign = ("ODDISH_", "PG")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environ = kept | {"ODDISH_HOME": str(home), "PYTHONPATH": str(OWN_AGENTS)}

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        command = [*PROGRAM, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command,
            cwd=self.directory,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def __call__(self, *arguments: str | Path, exit_code: int = 0) -> str:
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=180)
        assert process.returncode == exit_code, f"{output}\n{errors}"
        return output + errors

    def json(self, *arguments: str | Path, exit_code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", exit_code=exit_code))

    def server(self) -> Process:
        """The process that answers now."""
        state = read_state(Layout(Path(self.environ["ODDISH_HOME"])))
        assert state is not None
        return state.services["api"]

    def trials(self, experiment: str) -> list[dict[str, Any]]:
        tasks = self.json("status", "-e", experiment)
        return [trial for task in tasks for trial in task["trials"]]


@pytest.fixture(scope="module")
def oddish(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    cli = Cli(tmp_path_factory.mktemp("home"))
    cli("up")
    yield cli
    cli("down")


def with_an_agent_at_work(oddish: Cli, experiment: str) -> list[dict[str, Any]]:
    """The trials of ``experiment`` once the agent of one of them runs."""

    def found() -> list[dict[str, Any]]:
        trials = oddish.trials(experiment) if experiment in oddish("status") else []
        return trials if any(trial["harbor_stage"] == "agent_running" for trial in trials) else []

    return eventually(found, 30)


def expected_rewards(examples: Path, agent: str) -> dict[str, float]:
    rows = ROW.finditer((examples / "README.md").read_text())
    return {row["task"]: float(row[agent]) for row in rows}


def test_the_examples_page_lists_every_example(examples: Path) -> None:
    assert set(expected_rewards(examples, "oracle")) == {path.parent.name for path in examples.glob("*/task.toml")}


@pytest.mark.parametrize("agent", ["oracle", "nop"])
def test_every_example_gives_the_reward_on_its_page(oddish: Cli, examples: Path, agent: str) -> None:
    output = oddish("run", examples, "-a", agent, "-E", f"examples-{agent}")
    expected = expected_rewards(examples, agent)
    tasks = oddish.json("status", "-e", f"examples-{agent}")
    rewards = {task["name"]: [trial["reward"] for trial in task["trials"] if trial["agent"] == agent] for task in tasks}
    assert rewards == {task: [reward] for task, reward in expected.items()}
    for task, reward in expected.items():
        assert re.search(
            rf"^{task} +{agent} +– +1 +{reward:g} +{reward:g} +{int(reward == 1)}/1 ", output, re.MULTILINE
        )


def test_a_pulled_experiment_is_a_job_of_harbor(oddish: Cli, examples: Path, tmp_path: Path) -> None:
    trials = oddish.json("run", examples / "hello-world", "-a", "oracle", "-E", "pulled", "--n-trials", "2", "--watch")
    out = tmp_path / "out"
    first = oddish.json("pull", "pulled", "--out", out, "--include-task-files")
    assert sorted(trial["trial_id"] for trial in first["trials"]) == sorted(trial["id"] for trial in trials["results"])
    assert first["trials"][0]["files_saved"] > 5
    scanner = JobScanner(out)
    result = scanner.get_job_result("trials")
    assert result is not None
    assert (result.n_total_trials, result.stats.evals["oracle__adhoc"].metrics) == (2, [{"mean": 1.0}])
    assert scanner.get_job_config("trials") is not None
    assert all(scanner.get_trial_config("trials", trial["trial_id"]) for trial in first["trials"])
    (task,) = first["tasks"]
    assert content_hash(publish_set(out / "tasks" / task["task_id"] / "files")) == content_hash(
        publish_set(examples / "hello-world")
    )
    assert {trial["files_saved"] for trial in oddish.json("pull", "pulled", "--out", out)["trials"]} == {0}


def test_running_again_starts_what_is_missing(oddish: Cli, examples: Path) -> None:
    def again(count: int) -> str:
        return oddish("run", examples / "hello-world", "-a", "oracle", "-E", "repeated", "--n-trials", str(count))

    assert "2 trials queued." in again(2)
    assert "Nothing to start" in again(2)
    output = again(3)
    assert "1 trial queued." in output
    assert re.search(r"^hello-world +oracle +– +3 +1 1 1 +1 +3/3 ", output, re.MULTILINE)


def test_json_in_the_background(oddish: Cli, examples: Path) -> None:
    document = oddish.json("run", examples / "hello-world", "-a", "nop", "-E", "quiet", "--n-trials", "2")
    assert (document["experiment"], document["total_trials"]) == ("quiet", 2)
    assert sorted(document["tasks"][0]["trials"]) == sorted(trial["id"] for trial in oddish.trials("quiet"))
    assert "2/2 done: 2 success" in oddish("status", "-e", "quiet", "--watch")
    task_id = document["tasks"][0]["id"]
    assert oddish.json("status", task_id)["id"] == task_id


def test_the_system(oddish: Cli, examples: Path) -> None:
    oddish("run", examples / "hello-world", "-a", "oracle", "-E", "shown")
    assert re.search(r"^shown +1 .* ago$", oddish("status"), re.MULTILINE)
    document = oddish.json("status")
    assert document["health"]["status"] == "healthy"
    (shown,) = (experiment for experiment in document["experiments"] if experiment["name"] == "shown")
    assert (shown["tasks"], shown["trials"]) == (1, {"success": 1})


def test_ctrl_c_detaches_and_cancel_stops(oddish: Cli, slow_task: Path) -> None:
    watching = oddish.start("run", slow_task, "-a", "oracle", "-E", "slow")
    (trial,) = with_an_agent_at_work(oddish, "slow")
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=20)
    assert watching.returncode == 130, errors
    assert "oddish status -e slow --watch" in errors
    assert oddish.json("status", trial["id"])["status"] == "running"

    assert oddish.json("cancel", trial["id"])["trials_cancelled"] == 1
    cancelled = eventually(lambda: (found := oddish.json("status", trial["id"]))["status"] == "failed" and found, 15)
    assert cancelled["harbor_stage"] == "cancelled"
    assert "ancelled" in oddish("status", trial["task_id"])


def test_a_killed_server_does_not_end_a_watch(oddish: Cli, make_task: Callable[..., Path]) -> None:
    task = make_task("patient", solve="sleep 4")
    watching = oddish.start("run", task, "-a", "oracle", "-E", "patient")
    with_an_agent_at_work(oddish, "patient")
    first = oddish.server()
    first.send(signal.SIGKILL)
    output, errors = watching.communicate(timeout=120)
    assert watching.returncode == 0, f"{output}\n{errors}"
    assert re.search(r"^patient +oracle +– +1 +1 +1 +1/1 ", output, re.MULTILINE)
    assert oddish.server() != first


@pytest.mark.parametrize("by", ["task", "experiment"])
def test_cancelling_more_than_one_trial(oddish: Cli, make_task: Callable[..., Path], by: str) -> None:
    task = make_task(f"slow-{by}", solve="sleep 300")
    started = oddish.json("run", task, "-a", "oracle", "-E", f"by-{by}", "--n-trials", "3")
    what = [started["tasks"][0]["id"]] if by == "task" else ["--experiment", f"by-{by}"]
    assert oddish.json("cancel", *what)["trials_cancelled"] == 3
    output = oddish("status", "-e", f"by-{by}", "--watch", exit_code=1)
    assert output.count("ancelled") >= 3
    assert oddish.json("cancel", *what)["trials_cancelled"] == 0


def test_a_run_that_would_cost_five_dollars_is_stopped_at_one(oddish: Cli, make_task: Callable[..., Path]) -> None:
    task = make_task("costly", solve="true")
    (task / "environment" / "claude").write_text(PAYING)
    (task / "environment" / "Dockerfile").write_text(
        "FROM debian:bookworm-slim\nCOPY --chmod=755 claude /root/.local/bin/claude\nWORKDIR /app\n"
    )
    agent = ("-a", "claude-code", "-m", "anthropic/claude-haiku-4-5", "--ak", "skip_install=true")
    key = ("--ae", "ANTHROPIC_API_KEY=not-a-key")
    limit = ("--n-trials", "5", "--max-cost", "1")
    output = oddish("run", task, *agent, *key, *limit, "-E", "costly", exit_code=1)
    trials = [oddish.json("status", trial["id"]) for trial in oddish.trials("costly")]
    assert {trial["harbor_stage"] for trial in trials} == {"cancelled"}
    said = re.compile(r"Cancelled at the cost limit: the run has cost about \$1\.\d\d, and its limit is \$1\.00\.")
    assert all(said.fullmatch(trial["error_message"]) for trial in trials)
    assert "Cancelled at the cost limit" in output
    spent = [trial["cost_usd"] for trial in trials if trial["cost_usd"] is not None]
    assert 1 <= sum(spent) < 3, f"{spent} stop soon after the limit"
    assert re.search(r"^Cost +~\$", oddish("status", trials[0]["id"]), re.MULTILINE)


def test_without_verification_nothing_is_called_passed(oddish: Cli, make_task: Callable[..., Path]) -> None:
    task = make_task("unchecked", solve="true", test="echo 1 > /logs/verifier/reward.txt; touch /logs/verifier/ran")
    output = oddish("run", task, "-a", "oracle", "-E", "unchecked", "--disable-verification")
    assert re.search(r"^unchecked +oracle +– +1 +not verified +– +– +– +1$", output, re.MULTILINE)
    (trial,) = oddish.trials("unchecked")
    assert (trial["status"], trial["reward"], trial["harbor_config"]) == (
        "success",
        None,
        {"verifier": {"disable": True}},
    )
    assert "verifier" not in (trial["phase_timing"] or {})
    assert re.search(r"^Reward +not verified$", oddish("status", trial["id"]), re.MULTILINE)


def test_a_failure_that_may_pass_is_not_tried_more_often_than_asked(
    oddish: Cli, make_task: Callable[..., Path]
) -> None:
    task = make_task("unhealthy", solve="true")
    with (task / "task.toml").open("a") as config:
        config.write('[environment.healthcheck]\ncommand = "false"\nretries = 1\ninterval_sec = 0.1\n')
    output = oddish("run", task, "-a", "oracle", "-E", "unhealthy", "--max-trial-attempts", "1", exit_code=1)
    (trial,) = oddish.trials("unhealthy")
    assert (trial["status"], trial["attempts"], trial["max_attempts"]) == ("failed", 1, 1)
    assert "HealthcheckError" in output
    assert "retrying" not in output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-a", "no-such-agent"], "no-such-agent"),
        (["-a", "oracle", "--env", "no-such-place"], "no-such-place"),
        (["-a", "claude-code"], "model"),
    ],
)
def test_what_the_server_refuses(oddish: Cli, examples: Path, arguments: list[str], named: str) -> None:
    output = oddish("run", examples / "hello-world", *arguments, "-E", "refused", exit_code=1)
    assert named in output
    assert "Error:" in output
    assert "Traceback" not in output
    assert oddish.json("status", "-e", "refused", exit_code=1)["status"] == 404


def test_a_failing_run_ends_with_1_and_says_why(oddish: Cli, make_task: Callable[..., Path]) -> None:
    task = make_task("no-reward", solve="true", test="echo nothing")
    output = oddish("run", task, "-a", "oracle", "-E", "no-reward", exit_code=1)
    assert re.search(r"^no-reward-[0-9a-f]{8}-0 +failed +\S", output, re.MULTILINE)
    assert "reward" in output.lower()


def test_an_agent_is_run_where_oracle_and_nop_find_the_task_sound(oddish: Cli, make_task: Callable[..., Path]) -> None:
    tasks = make_task("sound", solve="touch /app/done", test=CHECKS).parent
    make_task("given-away", solve="true")
    make_task("out-of-reach", solve="true", test=CHECKS)
    gated = ("run", tasks, "-a", OTHER_AGENT, "-E", "gated", "--baseline-gate")
    output = oddish(*gated, exit_code=1)
    status = {
        (trial["name"].rpartition("-")[0], trial["agent"]): (trial["status"], trial["reward"])
        for trial in oddish.trials("gated")
    }
    assert status == {
        ("sound", "oracle"): ("success", 1),
        ("sound", "nop"): ("success", 0),
        ("sound", OTHER_AGENT): ("success", 0),
        ("given-away", "oracle"): ("success", 1),
        ("given-away", "nop"): ("success", 1),
        ("given-away", OTHER_AGENT): ("skipped", None),
        ("out-of-reach", "oracle"): ("success", 0),
        ("out-of-reach", "nop"): ("success", 0),
        ("out-of-reach", OTHER_AGENT): ("skipped", None),
    }
    assert re.search(
        r"^given-away-[0-9a-f]{8}-2 +skipped +Not run: given-away-[0-9a-f]{8}-1 of nop earned 1", output, re.MULTILINE
    )
    assert re.search(
        r"^out-of-reach-[0-9a-f]{8}-2 +skipped +Not run: out-of-reach-[0-9a-f]{8}-0 of oracle", output, re.MULTILINE
    )
    assert "2 trials queued." in oddish(*gated, exit_code=1), "those that were skipped are asked for again"


def test_a_sweep_creates_its_trials_once_and_replaces_the_one_that_failed_once_it_is_sent_again(
    oddish: Cli, make_task: Callable[..., Path], tmp_path: Path
) -> None:
    reward = "/logs/verifier/reward.txt"
    task = make_task(
        "swept",
        solve="echo right > /app/answer",
        test=f"grep -qs right /app/answer && echo 1 > {reward} || echo 0 > {reward}",
    )
    (tmp_path / "sweep.yaml").write_text(SWEEP.format(place=tmp_path))

    def send() -> list[str]:
        new: list[str] = oddish.json("run", task, "-c", tmp_path / "sweep.yaml")["tasks"][0]["trials"]
        return new

    assert len(send()) == 4
    assert send() == [], "they wait or run"
    (tmp_path / "released").touch()
    oddish("status", "-e", "swept", "--watch", exit_code=1)
    trials = oddish.trials("swept")
    ends = {trial["agent"]: (trial["status"], trial["reward"]) for trial in trials}
    assert ends == {
        "oracle": ("success", 1),
        "nop": ("success", 0),
        "scripted:Failing": ("success", 0),
        "scripted:Crashing": ("failed", 0),
    }
    (failed,) = (trial for trial in trials if trial["status"] == "failed")
    assert differences_of(oddish, "swept", trials, tmp_path) == {failed["agent"]: [("errored", failed["id"], None, 0)]}
    (tmp_path / "mended").touch()
    (replacement,) = send()
    assert "4/4 done: 4 success" in oddish("status", "-e", "swept", "--watch")
    assert send() == []
    trials = oddish.trials("swept")
    assert {trial["id"] for trial in trials if trial["agent"] == failed["agent"]} == {replacement}
    assert differences_of(oddish, "swept", trials, tmp_path) == {}
    kept = oddish.json("status", failed["id"])
    assert (kept["status"], kept["superseded_by_trial_id"]) == ("failed", replacement)
    assert "LookupError: nothing here" in kept["error_message"]


def differences_of(
    oddish: Cli, experiment: str, trials: list[dict[str, Any]], directory: Path
) -> dict[str, list[tuple[object, ...]]]:
    """By agent, what of an exported experiment differs from its status; everything else is seen to be the same."""
    exported = oddish.json("export", experiment, "--to", directory / "results", "--project", "p", "--dataset", "d")
    for cell in exported["numbers"]["cells"]:
        rewards = [
            trial["reward"] for trial in trials if trial["agent"] == cell["harness"] and trial["status"] == "success"
        ]
        assert (cell["status"]["scored"], cell["status"]["passed"]) == (len(rewards), rewards.count(1))
        assert cell["differences"] or cell["status"] == cell["dataset"]
    checked = check(directory / "results")
    assert checked.findings == ()
    (dataset,) = checked.projects[0].datasets
    scored = sum(cell["dataset"]["scored"] for cell in exported["numbers"]["cells"])
    assert (dataset.cells, dataset.attempts, dataset.measured_cells) == (len(trials), len(trials), scored)
    return {
        cell["harness"]: [
            (each["rule"], each["trial"], each["status"], each["dataset"]) for each in cell["differences"]
        ]
        for cell in exported["numbers"]["cells"]
        if cell["differences"]
    }
