"""What a job is made of, and what of it is shown."""

import json
from typing import Any

import pytest

from oddish.gateway.addresses import RefusedAddress
from oddish.gateway.orders import execution, refilling, verification
from oddish.gateway.refill import Refill
from oddish.schemas.gateway import ENQUEUE, VERIFY, ExecuteTasks, VerifyTask
from oddish.trials.confidential import PlainSecret

from .test_document import ended

SIGNED = "?X-Signature=s3cr3t"
CALLBACKS = {
    "notifications": [{"url": f"https://hooks.example/a{SIGNED}", "secret": "s3cr3t-word"}],
    "deliver": {"url": f"https://hooks.example/b{SIGNED}", "secret": "s3cr3t-word"},
    "writeback": {"url": f"https://hooks.example/c{SIGNED}"},
}
METADATA = {"task_archive_url": f"https://storage.example/my-task.zip{SIGNED}", "step": 7}


def asked(**changes: Any) -> dict[str, Any]:
    return ExecuteTasks.model_validate({**ENQUEUE, "metadata": METADATA, **changes}).model_dump(mode="json")


def agent(**extensions: Any) -> dict[str, Any]:
    return {"name": "a", "harbor_agent": "codex", "model": "openai/gpt-5", "harbor_extensions": extensions}


def test_a_job_keeps_all_that_was_asked_for_and_shows_nothing_secret() -> None:
    env = {"OPENAI_API_KEY": "s3cr3t", "LANG": "C"}
    login = {"registry": "ghcr.io", "username": "acme", "token": "s3cr3t"}
    request = asked(agents=[agent(agent_env=env)], pass_at_k=3, registry_auth=[login], **CALLBACKS)
    order = execution(request, evidence_deployed=True)
    assert order.request == request
    assert "s3cr3t" not in json.dumps([order.shown, order.agents])
    assert order.shown["agents"][0]["harbor_extensions"]["agent_env"] == {"OPENAI_API_KEY": None, "LANG": "C"}
    assert order.shown["notifications"] == [{"url": "https://hooks.example/…", "events": ["job.finished"]}]
    assert order.shown["metadata"] == {"task_archive_url": "https://storage.example/my-task.zip", "step": 7}
    assert order.shown["registry_auth"] == [{"registry": "ghcr.io", "username": "acme"}]
    assert order.agents == [{"name": "a", "harbor_agent": "codex", "model": "openai/gpt-5"}]
    assert (order.kind, order.pass_at_k) == ("execute", 3)


def test_signed_addresses_are_shown_without_their_signatures_wherever_they_are() -> None:
    signed = "https://storage.example/data.csv?part=2&X-Amz-Signature=s3cr3ts3cr3t"
    request = asked(metadata={**METADATA, "inputs": [{"data": signed}]}, agents=[agent(agent_env={"DATA": signed})])
    order = execution(request, evidence_deployed=True)
    shown = "https://storage.example/data.csv?part=2&X-Amz-Signature=…"
    assert order.shown["metadata"]["inputs"] == [{"data": shown}]
    assert order.shown["agents"][0]["harbor_extensions"]["agent_env"] == {"DATA": None}
    assert "s3cr3t" not in json.dumps(order.shown)


@pytest.mark.parametrize(
    ("requested", "deployed", "required"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_what_a_request_says_of_evidence_goes_before_the_deployment(
    requested: bool | None, deployed: bool, required: bool
) -> None:
    order = execution(asked(require_verifier_evidence=requested), evidence_deployed=deployed)
    assert order.require_verifier_evidence is required


@pytest.mark.parametrize(
    "extensions", [{"kwargs": {"api_key": "s3cr3t-word"}}, {"harbor": {"verifier": {"token": "s3cr3t-word"}}}]
)
def test_a_credential_that_would_be_stored_in_the_clear_is_refused(extensions: dict[str, Any]) -> None:
    with pytest.raises(PlainSecret, match=r"harbor_extensions.*harbor_extensions\.agent_env"):
        execution(asked(agents=[agent(**extensions)]), evidence_deployed=True)


def test_an_address_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(RefusedAddress):
        execution(asked(metadata={"task_archive_url": "ftp://storage.example/a.zip"}), evidence_deployed=True)


def test_a_verification_is_repeated_as_often_as_asked() -> None:
    fixture = f"https://storage.example/my-workspace.zip{SIGNED}"
    body = {**VERIFY, "metadata": METADATA, "repeats": 4, "workspace_fixture_url": fixture}
    order = verification(VerifyTask.model_validate(body).model_dump(mode="json"), evidence_deployed=True)
    assert (order.kind, order.pass_at_k, order.agents) == ("verify", 4, [])
    assert order.shown["workspace_fixture_url"] == "https://storage.example/my-workspace.zip"
    assert "s3cr3t" not in json.dumps(order.shown)


@pytest.mark.parametrize("kept", [True, False])
def test_a_refill_asks_for_the_same_on_the_same_version(kept: bool) -> None:
    parent = ended("failed", task_version_id="my-task-1-v1", require_verifier_evidence=False)
    request = asked(pass_at_k=8, **CALLBACKS)
    order = refilling(parent, request, Refill(3, ["ApiError"]), side_effects=kept)
    assert (order.pass_at_k, order.request["pass_at_k"], order.require_verifier_evidence) == (3, 3, False)
    assert (order.retry_of, order.retried_exceptions, order.task_version_id) == ("gw_1", ["ApiError"], "my-task-1-v1")
    assert order.request["agents"] == request["agents"]
    told = [order.request[name] for name in CALLBACKS]
    assert told == ([request[name] for name in CALLBACKS] if kept else [[], None, None])
