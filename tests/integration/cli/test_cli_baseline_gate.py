"""``oddish run --baseline-gate``: what it asks for, and what is said of trials that were skipped."""

import json
from typing import Any

import pytest

AGENT = ("-a", "claude-code", "-m", "acme/model")
REASON = "Not run: greet-00000005-0 of oracle earned 0, not more than 0"
SOLVED = """
schema_version = "1.4"
[agent]
timeout_sec = 60.0
[solution.env]
SOLVER_KEY = "${SOLVER_KEY}"
"""


def sent(server: Any) -> Any:
    [body] = server.bodies("POST", "/tasks/sweep")
    return body


def find_faulty(server: Any) -> None:
    for trial in server.trials():
        if trial["agent"] == "claude-code":
            trial.update(status="skipped", error_message=REASON, reasons=["baseline_gate"])
        else:
            trial.update(status="success", reward=0.0)


def test_the_gate_asks_for_oracle_and_nop_beside_the_agent(server: Any, invoke: Any, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), *AGENT, "-e", "docker", "--n-trials", "3", "--baseline-gate", "--json")
    body = sent(server)
    assert body["gate_baselines"] is True
    assert [(config["agent"], config["model"], config["n_trials"]) for config in body["configs"]] == [
        ("oracle", None, 1),
        ("nop", None, 1),
        ("claude-code", "acme/model", 3),
    ]
    assert {config["environment"] for config in body["configs"]} == {"docker"}
    assert json.loads(result.stdout)["total_trials"] == 5


@pytest.mark.parametrize("options", [AGENT, (*AGENT, "--no-baseline-gate"), ("-a", "nop", "--baseline-gate")])
def test_without_it_and_for_the_baselines_themselves_nothing_is_gated(
    server: Any, invoke: Any, make_task_dir: Any, options: tuple[str, ...]
) -> None:
    invoke("run", make_task_dir(), *options, "--no-watch")
    body = sent(server)
    assert "gate_baselines" not in body
    assert [config["agent"] for config in body["configs"]] == [options[1]]


def test_a_gate_before_a_baseline_is_said_to_have_no_effect(server: Any, invoke: Any, make_task_dir: Any) -> None:
    gated = invoke("run", make_task_dir(), "-a", "oracle", "--baseline-gate", "--no-watch")
    assert gated.exit_code == 0
    assert "--baseline-gate has no effect: oracle is itself a baseline" in gated.stderr
    for options in (("-a", "oracle"), (*AGENT, "--baseline-gate")):
        assert "no effect" not in invoke("run", make_task_dir(), *options, "--no-watch").stderr


def test_a_gate_without_rewards_is_refused(server: Any, invoke: Any, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), *AGENT, "--baseline-gate", "--disable-verification")
    assert result.exit_code == 2
    assert "--baseline-gate judges rewards" in result.stderr
    assert server.bodies("POST", "/tasks/sweep") == []


def test_the_oracle_of_the_gate_is_sent_what_the_solution_names(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.deployment = "local"
    monkeypatch.setenv("SOLVER_KEY", "sk-for-the-oracle")
    task = make_task_dir(**{"task.toml": SOLVED})
    invoke("run", task, *AGENT, "--no-watch", "--yes")
    invoke("run", task, *AGENT, "--no-watch", "--yes", "--baseline-gate")
    without, with_gate = server.bodies("POST", "/tasks/sweep")
    assert "credentials" not in without
    assert with_gate["credentials"] == {"SOLVER_KEY": "sk-for-the-oracle"}


def test_skipped_trials_have_a_column_and_a_reason_and_are_no_errors(
    server: Any, invoke: Any, make_task_dir: Any
) -> None:
    server.tick = find_faulty
    result = invoke("run", make_task_dir(), *AGENT, "--baseline-gate")
    assert result.exit_code == 1
    head, row = (line for line in result.output.splitlines() if line.startswith(("Task ", "greet   claude-code")))
    assert head.split()[-2:] == ["Errors", "Skipped"]
    assert row.split()[-2:] == ["–", "1"]
    assert f"greet-00000005-2  skipped  {REASON}" in result.output


def test_skipped_trials_are_in_no_rate(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.tick = find_faulty
    result = invoke("run", make_task_dir(), *AGENT, "--baseline-gate", "--json", "--watch")
    document = json.loads(result.stdout)
    assert document["successful"] is False
    assert document["summary"] == {
        "trials": 3,
        "statuses": {"success": 2, "skipped": 1},
        "scored": 2,
        "passed": 0,
        "not_verified": 0,
        "mean_reward": 0.0,
    }
    assert (document["results"][2]["status"], document["results"][2]["error"]) == ("skipped", REASON)
