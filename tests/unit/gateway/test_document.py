"""What is said of a job: its status, its outcome, and what Harbor recorded of its trials."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from oddish.gateway.document import NO_SCORE, JobTrial, job_document, job_listing, job_summary, trial_news
from oddish.gateway.jobs import GatewayJob
from oddish.outcome import AttemptFacts, RecordedException
from oddish.schemas.base import ResponseBody
from oddish.schemas.gatewayjobs import ArtifactsArchive, JobAccepted, JobDocument, JobListed, JobSummary, RefillAccepted

NOW = datetime(2026, 1, 2, tzinfo=UTC)
QUEUED = GatewayJob(
    id="gw_1",
    org_id="default",
    created_by="user",
    kind="execute",
    status="queued",
    task_slug="my-task",
    request={},
    secret_id=None,
    metadata={"task_archive_url": "https://storage.example/my-task.zip", "mine": [1]},
    agents=[{"name": "codex", "harbor_agent": "codex", "model": "openai/gpt-5"}],
    pass_at_k=1,
    require_verifier_evidence=True,
    error=None,
    correlation_id="run-42",
    experiment_id=None,
    task_version_id=None,
    retry_of=None,
    retried_exceptions=[],
    workspace_key=None,
    created_at=NOW,
    started_at=None,
    finished_at=None,
)
SOLVED = AttemptFacts("done", rewards={"reward": 1.0}, reported_tests=4)
TIMED_OUT = RecordedException("AgentTimeoutError", "too long", "agent_execution")


def ended(status: str, **changes: Any) -> GatewayJob:
    return replace(QUEUED, status=status, finished_at=NOW, **changes)


def trial(facts: AttemptFacts | None, number: int = 0, **changes: Any) -> JobTrial:
    record = {"trial_name": f"extracted__{number}", "reward": 0.25, "verifier_result": None}
    known = {"id": f"t-{number}", "agent": "codex", "status": "success", "facts": facts, "record": record}
    return JobTrial(**known | changes)


def document(job: GatewayJob, *trials: JobTrial, **more: Any) -> dict[str, Any]:
    """That of the job, which is as described."""
    found = job_document(job, trials, **more)
    assert JobDocument.model_validate(found).model_dump(exclude_unset=True) == found
    return found


def test_a_job_that_goes_on_counts_its_trials_and_has_no_outcome() -> None:
    waiting = [trial(None, status=status) for status in ("queued", "retrying", "running", "success", "failed")]
    found = document(replace(QUEUED, status="running", started_at=NOW), *waiting)
    assert found["trials"] == {"total": 5, "queued": 2, "running": 1, "finished": 2}
    assert (found["status"], found["outcome"], found["result"]) == ("running", None, None)
    assert found["metadata"]["mine"] == [1]


def test_a_listing_says_the_same_without_the_trials() -> None:
    found = job_summary(QUEUED)
    assert JobSummary.model_validate(found).model_dump() == found
    assert found.items() <= document(QUEUED).items()


def test_a_listing_says_in_short_what_came_of_jobs_that_have_ended() -> None:
    def listed(job: GatewayJob, *trials: JobTrial) -> tuple[Any, Any]:
        found = JobListed.model_validate(job_listing(job, trials)).model_dump()
        assert found.items() >= job_summary(job).items()
        return found["outcome"], found["exit_codes"]

    scored = {"status": "scored", "valid_for_scoring": True, "exceptions": []}
    assert listed(replace(QUEUED, status="running"), trial(SOLVED)) == (None, None)
    assert listed(ended("succeeded"), trial(SOLVED)) == (scored, None)
    unverified = {"status": "unverified", "valid_for_scoring": False, "exceptions": []}
    verification = ended("succeeded", kind="verify", agents=[], pass_at_k=2)
    assert listed(verification, trial(SOLVED, exit_code=0), trial(SOLVED, exit_code=3)) == (unverified, [0, 3])
    assert trial_news(verification, trial(SOLVED, exit_code=3)) == {"outcome": unverified, "exit_code": 3}


def test_the_end_of_a_trial_says_what_it_raised_whatever_the_others_did() -> None:
    raised = trial(AttemptFacts("done", rewards={"reward": 1.0}, exceptions=(TIMED_OUT,), reported_tests=1))
    told = trial_news(ended("succeeded", pass_at_k=3), raised)
    assert told == {"outcome": {"status": "errored", "valid_for_scoring": False, "exceptions": ["AgentTimeoutError"]}}


def test_a_timeout_whose_verifier_collected_nothing() -> None:
    facts = AttemptFacts("done", rewards={"reward": 1.0}, exceptions=(TIMED_OUT,), reported_tests=0)
    found = document(ended("failed"), trial(facts))
    outcome = found["outcome"]
    assert (found["status"], outcome["status"], outcome["valid_for_scoring"]) == ("failed", "errored", False)
    assert outcome["trials"] == {"scored": 1, "errored": 1, "successful": 0}
    assert outcome["exceptions"] == ["AgentTimeoutError"]
    assert outcome["verifier"] == {"evidence": "empty", "tests": 0}
    assert all(reason.startswith("codex: ") for reason in outcome["reasons"])
    assert found["result"]["outcome"] == outcome


def test_what_harbor_recorded_is_passed_on_as_it_is_and_its_names_are_used() -> None:
    done = trial(SOLVED, 7)
    [entry] = document(ended("succeeded"), done)["result"]["agent_results"]
    assert entry == {
        "name": "codex",
        "harbor_agent": "codex",
        "model": "openai/gpt-5",
        "trial_id": "t-7",
        "trial_name": "extracted__7",
        "status": "completed",
        "reward": 1.0,
        "environment_notes": [],
        "result": done.record,
    }
    lost = trial(AttemptFacts("lost"), 8, record=None)
    [entry] = document(ended("failed"), lost)["result"]["agent_results"]
    assert (entry["trial_name"], entry["status"], entry["result"]) == ("t-8", "errored", None)


def test_an_environment_that_was_not_the_tasks_own_is_told_beside_the_verdict() -> None:
    note = "the image python:3.12 is replaced by this machine's own system, Debian 13"
    trials = [trial(SOLVED, 0, environment_notes=[note]), trial(SOLVED, 1, environment_notes=[note]), trial(SOLVED, 2)]
    found = document(ended("succeeded", pass_at_k=3), *trials)
    assert (found["outcome"]["valid_for_scoring"], found["outcome"]["environment_notes"]) == (True, [note])
    assert [entry["environment_notes"] for entry in found["result"]["agent_results"]] == [[note], [note], []]


def test_every_attempt_is_listed_where_several_were_asked_for() -> None:
    stuck = AttemptFacts("done", exceptions=(RecordedException("TerminusNoProgressError", "pane unchanged", None),))
    trials = [trial(SOLVED, 0), trial(stuck, 1)]
    found = document(ended("succeeded", pass_at_k=2), *trials)["result"]["outcome"]["trials_detail"]
    assert found == [
        {
            "trial_id": "t-0",
            "agent": "codex",
            "trial_name": "extracted__0",
            "status": "completed",
            "reward": 1.0,
            "exception": None,
        },
        {
            "trial_id": "t-1",
            "agent": "codex",
            "trial_name": "extracted__1",
            "status": "errored",
            "reward": None,
            "exception": "TerminusNoProgressError",
            "exception_message": "pane unchanged",
        },
    ]
    assert "trials_detail" not in document(ended("succeeded"), trials[0])["outcome"]


@pytest.mark.parametrize(("required", "valid"), [(True, False), (False, True)])
def test_a_reward_without_a_report_is_scored_on_trust_alone(required: bool, valid: bool) -> None:
    trusted = trial(AttemptFacts("done", rewards={"reward": 1.0}))
    found = document(ended("succeeded", require_verifier_evidence=required), trusted)
    assert (found["status"], found["outcome"]["valid_for_scoring"]) == ("succeeded", valid)


def test_a_job_whose_trials_were_deleted_is_not_vouched_for() -> None:
    found = document(ended("succeeded", pass_at_k=3), trial(SOLVED))["outcome"]
    assert (found["status"], found["valid_for_scoring"]) == ("unverified", False)
    assert found["reasons"] == ["2 of its trials were deleted; what is left is not what was asked for."]
    assert document(ended("succeeded"))["outcome"]["reasons"] == ["The trials of the job were deleted."]


def test_a_job_without_trials_says_why() -> None:
    error = {"code": "archive_too_large", "message": "The archive holds more than 1 GB."}
    found = document(ended("failed", error=error))
    assert (found["error"], found["outcome"]["reasons"]) == (error, [error["message"]])
    assert (found["outcome"]["status"], found["outcome"]["valid_for_scoring"]) == ("errored", False)
    assert found["result"]["agent_results"] == []
    [reason] = document(ended("cancelled"))["outcome"]["reasons"]
    assert "cancelled" in reason


def verified(*runs: tuple[int | None, float | None]) -> dict[str, Any]:
    trials = [
        trial(
            AttemptFacts("done", rewards=None if reward is None else {"reward": reward}),
            number,
            agent="verify",
            exit_code=code,
        )
        for number, (code, reward) in enumerate(runs)
    ]
    job = ended("succeeded", kind="verify", agents=[], pass_at_k=len(runs))
    return document(job, *trials, downloads={"extracted__0/result.json": "https://store.example/1"})["result"]


def test_a_verification_says_what_the_tests_came_to_and_is_no_score() -> None:
    found = verified((0, 1.0))
    assert found["outcome"]["reasons"] == [NO_SCORE]
    assert verified((3, None))["outcome"]["reasons"] == [NO_SCORE]
    assert verified((0, 1.0), (None, None))["outcome"]["reasons"] == ["1 of 2 runs came to no exit code.", NO_SCORE]
    assert (found["purpose"], found["valid_for_scoring"], found["reward"]) == ("task_authoring", False, 1.0)
    assert found["outcome"]["valid_for_scoring"] is False
    assert found["outcome"]["status"] == "unverified"
    run = {"trial_name": "extracted__0", "exit_code": 0, "reward": 1.0}
    assert found["verifier"] == {"exit_code": 0, "flaky": False, "runs": [run]}
    assert found["artifact_download_urls"] == {"extracted__0/result.json": "https://store.example/1"}


@pytest.mark.parametrize(
    ("runs", "exit_code", "reward", "flaky"),
    [
        ([(1, 0.0), (1, 0.0)], 1, 0.0, False),
        ([(0, 1.0), (1, 0.0)], None, None, True),
        ([(0, 1.0), (0, 0.5)], 0, None, True),
        ([(0, 1.0), (None, None)], None, None, False),
    ],
    ids=["the same", "other codes", "other rewards", "one that did not end"],
)
def test_a_verifier_that_does_not_always_say_the_same_is_found_out(
    runs: list[tuple[int | None, float | None]], exit_code: int | None, reward: float | None, flaky: bool
) -> None:
    found = verified(*runs)
    assert (found["verifier"]["exit_code"], found["reward"], found["verifier"]["flaky"]) == (exit_code, reward, flaky)


@pytest.mark.parametrize("body", [ArtifactsArchive, JobAccepted, JobDocument, RefillAccepted])
def test_the_examples_of_the_description_are_what_is_sent(body: type[ResponseBody]) -> None:
    [example] = body.model_json_schema()["examples"]
    assert body.model_validate(example).model_dump(mode="json", exclude_unset=True) == example
