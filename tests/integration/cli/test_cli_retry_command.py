"""``oddish run --retry`` against a server that speaks the wire format."""

import json
from typing import Any

import pytest

TASK, OTHER = "greet-1a2b3c4d", "walk-5e6f7a8b"
EXPERIMENT = "calm-fern-0001"


@pytest.fixture(autouse=True)
def greet(server: Any) -> Any:
    task = server.add_task(TASK, experiment_name=EXPERIMENT)
    server.add_trial(task, status="success", reward=1.0)
    server.add_trial(task, status="failed", error_message="VerifierError: no reward")
    server.add_trial(task, status="failed", harbor_stage="cancelled", error_message="Cancelled by user")
    server.add_trial(task, status="skipped", error_message="Not run: the oracle earned 0", agent="claude-code")
    server.add_trial(task, status="running")
    server.add_trial(task, status="failed", origin="imported")
    other = server.add_task(OTHER, experiment_name=EXPERIMENT)
    server.add_trial(other, status="failed", superseded_by_trial_id=f"{OTHER}-1")
    server.add_trial(other, status="failed", environment="docker")
    return task


def sent(server: Any) -> Any:
    return [(body["trial_ids"], body["gate_baselines"]) for body in server.bodies("POST", "/trials/retry")]


def test_a_task_lists_what_came_to_nothing_and_asks(server: Any, invoke: Any) -> None:
    result = invoke("run", TASK, "--retry", input="y\n")
    assert result.exit_code == 0, result.output
    assert "Run these 3 trials again?" in result.output
    for text in (f"{TASK}-1", "VerifierError: no reward", "cancelled", "skipped", "Not run: the oracle earned 0"):
        assert text in result.output
    assert sent(server) == [([f"{TASK}-1", f"{TASK}-2", f"{TASK}-3"], True)]
    assert "3 trials queued again." in result.output
    assert f"oddish status {TASK} --watch" in result.output
    assert server.bodies("POST", "/tasks/sweep") == []


@pytest.mark.parametrize("where", [(EXPERIMENT,), ("--experiment", EXPERIMENT), ("--experiment", TASK)])
def test_whatever_is_named_is_found(server: Any, invoke: Any, where: tuple[str, ...]) -> None:
    assert invoke("run", *where, "--retry", "-y", "--no-baseline-gate").exit_code == 0
    ((trial_ids, gated),) = sent(server)
    assert trial_ids[:3] == [f"{TASK}-1", f"{TASK}-2", f"{TASK}-3"]
    assert trial_ids[3:] == ([f"{OTHER}-1"] if EXPERIMENT in where else [])
    assert gated is False


def test_declining_and_nobody_to_ask_change_nothing(server: Any, invoke: Any) -> None:
    declined = invoke("run", TASK, "--retry", input="n\n")
    assert (declined.exit_code, "Nothing was retried." in declined.output) == (0, True)
    nobody = invoke("run", TASK, "--retry", input="")
    assert (nobody.exit_code, "--yes" in nobody.output) == (1, True)
    assert sent(server) == []


def test_one_trial_runs_again_whatever_came_of_it_once_it_has_ended(server: Any, invoke: Any) -> None:
    asked = invoke("run", f"{TASK}-0", "--retry", input="y\n")
    assert "It succeeded. Run it again" in asked.output
    assert "reward 1" in asked.output
    assert sent(server) == [([f"{TASK}-0"], True)]
    running = invoke("run", f"{TASK}-4", "--retry", "-y")
    assert running.exit_code == 1
    assert f"oddish cancel {TASK}-4" in running.output
    replaced = invoke("run", f"{OTHER}-0", "--retry", "-y")
    assert replaced.exit_code == 1
    assert f"oddish run {OTHER}-1 --retry" in replaced.output
    assert len(sent(server)) == 1


def test_the_document_says_of_each_trial_what_became_of_it(server: Any, invoke: Any) -> None:
    server.unretryable = {f"{TASK}-2": "Trial 2 was replaced meanwhile."}
    result = invoke("run", TASK, "--retry", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["target"] == {"type": "task", "id": TASK}
    assert (document["kind"], document["queued"], document["failed"]) == ("trials", 2, 1)
    assert [(trial["trial_id"], trial["ok"], trial["status"]) for trial in document["trials"]] == [
        (f"{TASK}-1", True, 200),
        (f"{TASK}-3", True, 200),
        (f"{TASK}-2", False, 409),
    ]
    assert document["trials"][0]["response"]["new_trial_id"] == f"{TASK}-1-again"
    text = invoke("run", TASK, "--retry", "-y")
    assert f"Not retried: {TASK}-2. Trial 2 was replaced meanwhile." in text.output
    assert text.exit_code == 1


def test_nothing_to_retry_is_no_error(server: Any, invoke: Any) -> None:
    task = server.add_task("calm-00000001")
    server.add_trial(task, status="success")
    result = invoke("run", "calm-00000001", "--retry")
    assert (result.exit_code, result.output) == (0, "Nothing of calm-00000001 has failed, was cancelled or skipped.\n")
    document = json.loads(invoke("run", "calm-00000001", "--retry", "--json").stdout)
    assert (document["queued"], document["skipped"], document["failed"], document["trials"]) == (0, 0, 0, [])
    assert "has failed" in document["note"]
    assert sent(server) == []


def test_logins_go_along(server: Any, invoke: Any) -> None:
    login = "username=me,token='a,b',registry=ghcr.io"
    assert invoke("run", OTHER, "--retry", "-y", "--registry-login", login).exit_code == 0
    [body] = server.bodies("POST", "/trials/retry")
    assert body["registry_auth"] == [{"registry": "ghcr.io", "username": "me", "token": "a,b"}]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--retry",), "name one trial, task or experiment"),
        ((TASK, "--experiment", EXPERIMENT, "--retry"), "are given"),
        ((TASK, "--retry", "-a", "nop", "--n-trials", "2"), "--agent, --n-trials cannot be given with --retry"),
        ((TASK, "--retry", "--watch"), "--watch cannot be given with --retry"),
        ((TASK, "--retry", "--qa", "--registry-login", "x"), "--registry-login cannot be given with --retry --qa"),
        ((TASK, "--qa"), "--qa belongs to --retry"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(
    server: Any, invoke: Any, arguments: tuple[str, ...], named: str
) -> None:
    result = invoke("run", *arguments)
    assert result.exit_code == 2, result.output
    assert named in " ".join(result.output.split())
    assert server.calls == []


@pytest.mark.parametrize("arguments", [("run", "--retry", "-y"), ("cancel", "-f")])
def test_analysis_is_asked_for_and_said_to_be_missing_where_it_is(
    server: Any, invoke: Any, arguments: tuple[str, ...]
) -> None:
    command, *options = arguments
    action = "retry" if command == "run" else "cancel"
    for name in (TASK, f"{TASK}-1"):
        result = invoke(command, name, *options, "--qa")
        assert result.exit_code == 1
        assert "Analysis is not enabled" in result.output
        assert server.calls[-1][:2] == ("POST", f"/tasks/{TASK}/qa/{action}")
    document = json.loads(invoke(command, TASK, *options, "--qa", "--json").stdout)
    assert document["code"] == "analysis_not_enabled"


def test_analysis_is_repeated_where_there_is_one(server: Any, invoke: Any) -> None:
    server.refusals["POST", f"/tasks/{TASK}/qa/retry"] = (200, {"status": "queued"})
    server.refusals["POST", f"/tasks/{OTHER}/qa/retry"] = (400, {"detail": "Trials are active.", "code": "active"})
    result = invoke("run", EXPERIMENT, "--retry", "--qa", "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["kind"], document["queued"], document["failed"]) == (1, "qa", 1, 1)
    assert [(task["task_id"], task["ok"]) for task in document["tasks"]] == [(TASK, True), (OTHER, False)]
    server.refusals["POST", f"/tasks/{TASK}/qa/cancel"] = (200, {"qa_jobs_cancelled": 1})
    assert "is cancelled" in invoke("cancel", f"{TASK}-1", "--qa", input="y\n").output
    assert invoke("cancel", "--experiment", EXPERIMENT, "--qa").exit_code == 2
