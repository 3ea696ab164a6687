"""What a job is made of, from what was asked for. Pure.

A job keeps the request twice: all of it, encrypted, and what everybody may see who sees the job. Addresses may be
signed, so they are shown without their queries, and those of callbacks without their paths; of secret variables, the
names are shown.
"""

from collections.abc import Mapping
from typing import Any

from oddish.gateway.addresses import parse_address, parse_callback
from oddish.gateway.jobs import GatewayJob, Order
from oddish.gateway.refill import Refill
from oddish.gateway.wording import in_words_of_requests
from oddish.outcome import evidence_required
from oddish.secrecy import without_signatures
from oddish.trials.confidential import refuse_plain_secrets, split_env

SIDE_EFFECTS = ("notifications", "deliver", "writeback")


def execution(request: Mapping[str, Any], *, evidence_deployed: bool) -> Order:
    """Of an ``ExecuteTasks`` as JSON. Raises ``PlainSecret`` and ``RefusedAddress``."""
    return Order(
        kind="execute",
        task_slug=request["task_slug"],
        request=request,
        shown=shown(request),
        agents=[{name: agent[name] for name in ("name", "harbor_agent", "model")} for agent in request["agents"]],
        pass_at_k=request["pass_at_k"],
        require_verifier_evidence=evidence_required(request["require_verifier_evidence"], evidence_deployed),
    )


def verification(request: Mapping[str, Any], *, evidence_deployed: bool) -> Order:
    """Of a ``VerifyTask`` as JSON. Raises ``RefusedAddress``."""
    return Order(
        kind="verify",
        task_slug=request["task_slug"],
        request=request,
        shown=shown(request),
        agents=[],
        pass_at_k=request["repeats"],
        require_verifier_evidence=evidence_deployed,
    )


def refilling(job: GatewayJob, request: Mapping[str, Any], refill: Refill, *, side_effects: bool) -> Order:
    """What makes up for trials of ``job``: its request on the same version of its task."""
    again = dict(request) | {"pass_at_k": refill.pass_at_k}
    if not side_effects:
        again |= {name: [] if name == "notifications" else None for name in SIDE_EFFECTS}
    return Order(
        kind=job.kind,
        task_slug=job.task_slug,
        request=again,
        shown=shown(again),
        agents=job.agents,
        pass_at_k=refill.pass_at_k,
        require_verifier_evidence=job.require_verifier_evidence,
        retry_of=job.id,
        retried_exceptions=refill.retried_exceptions,
        task_version_id=job.task_version_id,
    )


def shown(request: Mapping[str, Any]) -> dict[str, Any]:
    """``request`` without what is secret in it."""
    document = _without_secrets(request)
    return {name: without_signatures(value) for name, value in document.items()}


def _without_secrets(request: Mapping[str, Any]) -> dict[str, Any]:
    document = dict(request) | {"metadata": _shown_metadata(request)}
    if document.get("workspace_fixture_url") is not None:
        document["workspace_fixture_url"] = _shown_url(document["workspace_fixture_url"])
    if "agents" in document:
        document["agents"] = [_shown_agent(agent) for agent in document["agents"]]
    if "registry_auth" in document:
        document["registry_auth"] = [_without("token", login) for login in document["registry_auth"]]
    document["notifications"] = [_shown_callback(told) for told in document["notifications"]]
    for name in ("deliver", "writeback"):
        if document[name] is not None:
            document[name] = _shown_callback(document[name])
    return document


def _shown_metadata(request: Mapping[str, Any]) -> dict[str, Any]:
    metadata = request["metadata"]
    return {**metadata, "task_archive_url": _shown_url(metadata["task_archive_url"])}


def _shown_agent(agent: Mapping[str, Any]) -> dict[str, Any]:
    extensions = agent["harbor_extensions"]
    with in_words_of_requests():
        for name in ("kwargs", "harbor"):
            refuse_plain_secrets(f"harbor_extensions.{name}", extensions[name])
    env, _ = split_env(extensions["agent_env"])
    return {**agent, "harbor_extensions": {**extensions, "agent_env": env}}


def _shown_callback(told: Mapping[str, Any]) -> dict[str, Any]:
    return _without("secret", told) | {"url": parse_callback(told["url"]).shown}


def _without(secret: str, members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name != secret}


def _shown_url(url: str) -> str:
    return parse_address(url).shown
