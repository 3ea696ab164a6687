"""``oddish gateway``: what is asked for, and what is said of what comes of it."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from oddish.cli import cli
from oddish.cli.gatewaynews import came_to, conclude, stopped, tell
from oddish.cli.gatewayrequest import agent_of, request_of, slug_of

ARCHIVE = "https://storage.example/tasks/my%20task.zip?signature=a"
OUTCOME: dict[str, Any] = {
    "status": "errored",
    "valid_for_scoring": False,
    "reasons": ["a: 1 of 2 trials raised (AgentTimeoutError)"],
    "trials": {"scored": 1, "errored": 1, "successful": 1},
    "exceptions": ["AgentTimeoutError"],
    "verifier": {"evidence": "present", "tests": 3},
    "environment_notes": ["the image a is replaced by b"],
}


def job(**changes: Any) -> Any:
    return {
        "job_id": "gw_1",
        "kind": "execute",
        "status": "succeeded",
        "task_slug": "t",
        "experiment_id": "e0000001",
        "error": None,
        "trials": {"total": 2, "queued": 0, "running": 0, "finished": 2},
        "outcome": OUTCOME,
        "result": {
            "outcome": OUTCOME,
            "agent_results": [{"name": name, "reward": reward} for name, reward in (("a", 1.0), ("b", 0), ("a", None))],
        },
    } | changes


def test_options_make_a_request() -> None:
    agent = agent_of("codex", "openai/gpt", n_concurrent=2, env=None, variables=["A=b"], settings=["effort=3"])
    assert request_of(ARCHIVE, None, None, {"agents": [agent], "pass_at_k": None}) == {
        "task_slug": "my task",
        "metadata": {"task_archive_url": ARCHIVE},
        "agents": [
            {
                "name": "codex",
                "harbor_agent": "codex",
                "model": "openai/gpt",
                "harbor_extensions": {"agent_env": {"A": "b"}, "kwargs": {"effort": 3}, "n_concurrent": 2},
            }
        ],
    }
    assert slug_of("https://storage.example/") == "task"


def test_a_file_is_the_whole_request(tmp_path: Path) -> None:
    file = tmp_path / "request.yaml"
    file.write_text("task_slug: t\nmetadata: {task_archive_url: 'http://a/t.zip'}\n")
    assert request_of(None, file, None, {})["task_slug"] == "t"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "Give ARCHIVE_URL"),
        (["run", ARCHIVE], "Missing option '-a'"),
        (["run", ARCHIVE, "-m", "openai/gpt"], "Missing option '-a'"),
        (["run", ARCHIVE, "-f", __file__], "leave out ARCHIVE_URL"),
        (["verify", "-f", __file__, "--repeats", "2"], "leave out ARCHIVE_URL"),
    ],
)
def test_what_cannot_be_understood_is_not_sent(arguments: list[str], said: str) -> None:
    ended = CliRunner().invoke(cli, ["gateway", *arguments])
    assert (ended.exit_code, said in ended.output) == (2, True), ended.output


def test_a_job_is_judged_by_what_may_be_scored(capsys: pytest.CaptureFixture[str]) -> None:
    assert not conclude(job())
    told = capsys.readouterr().out
    assert "gw_1 succeeded\nOutcome:     errored, not valid for scoring\n  a: 1 of 2 trials raised" in told
    assert "1 scored, 1 errored, 1 successful" in told
    assert "Rewards:     a: 1, –\nRewards:     b: 0\n" in told
    assert "Environment: the image a is replaced by b\n" in told
    assert "oddish status -e e0000001" in told
    assert conclude(job(outcome=OUTCOME | {"valid_for_scoring": True}), quiet=True)
    assert not conclude(job(outcome=None, result=None), quiet=True)
    assert capsys.readouterr().out == ""


def test_a_verification_is_judged_by_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    def verified(code: int | None, *codes: int) -> Any:
        runs = [{"trial_name": "t", "exit_code": one, "reward": None} for one in codes]
        verifier = {"exit_code": code, "flaky": code is None, "runs": runs}
        return job(kind="verify", result={"outcome": OUTCOME, "agent_results": [], "verifier": verifier})

    assert conclude(verified(0, 0, 0))
    assert not conclude(verified(1, 1))
    assert not conclude(verified(None, 0, 1))
    assert "Flaky" in capsys.readouterr().out
    assert not conclude(job(kind="verify", outcome=None, result=None), quiet=True)


def test_an_archive_that_cannot_be_used_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    error = {"code": "oracle_solution_missing", "message": "There is no solution/solve.sh."}
    outcome = OUTCOME | {"reasons": [error["message"]]}
    conclude(job(status="failed", error=error, outcome=outcome, experiment_id=None, trials={"total": 0}))
    assert capsys.readouterr().out == (
        "gw_1 failed: There is no solution/solve.sh. (oracle_solution_missing)\n"
        "Outcome:     errored, not valid for scoring\n"
    )


def test_what_cancelling_came_to_is_said() -> None:
    assert stopped({"job_id": "gw_1", "status": "running"}) == "gw_1 is being stopped."
    assert stopped({"job_id": "gw_1", "status": "cancelled"}) == "gw_1 is cancelled."
    assert stopped({"job_id": "gw_1", "status": "failed"}) == "gw_1 had ended before, failed: nothing was stopped."


@pytest.mark.parametrize(
    ("outcome", "exit_codes", "said"),
    [
        (None, None, ""),
        (OUTCOME, None, "errored, not valid for scoring"),
        (OUTCOME, [0, 3, 0, None], "exit code 0, 3, none"),
        (OUTCOME, [], ""),
    ],
)
def test_a_listing_says_what_jobs_came_to(outcome: Any, exit_codes: Any, said: str) -> None:
    assert came_to(job(outcome=outcome, exit_codes=exit_codes)) == said


def test_events_are_told_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    about = {"job_id": "gw_1", "trial_id": "t-0", "agent": "a"}
    for event, data in (
        ("job.queued", about),
        ("trial.started", about | {"attempt": 1}),
        ("trial.phase", about | {"phase": "verification"}),
        ("trial.finished", about | {"status": "success", "reward": 1.0}),
        ("trial.finished", about | {"status": "failed", "reward": None, "outcome": OUTCOME}),
        ("job.finished", about),
    ):
        tell({"id": "1", "event": event, "data": data})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gw_1 is queued."
    assert lines[1] == "t-0 (a): attempt 1"
    assert lines[3:] == ["t-0 (a): success, reward 1", "t-0 (a): failed, AgentTimeoutError"]
