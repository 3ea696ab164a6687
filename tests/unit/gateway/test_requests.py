"""What a job may ask for."""

from typing import Any

import pytest
from pydantic import ValidationError

from oddish.schemas.gateway import (
    ARCHIVE,
    ENQUEUE,
    FIXTURE,
    HOOK,
    MOST_METADATA,
    VERIFY,
    ArchiveUrlMissing,
    ExecuteTasks,
    VerifyTask,
)


def agents(*names: str, **extensions: Any) -> list[dict[str, Any]]:
    return [{"name": name, "harbor_agent": "oracle", "harbor_extensions": extensions} for name in names]


def test_the_examples_are_accepted() -> None:
    job = ExecuteTasks.model_validate(ENQUEUE)
    assert (job.pass_at_k, job.require_verifier_evidence) == (1, None)
    assert job.agents[0].harbor_extensions.agent_env == {"FOO": "bar"}
    assert list(job.addresses) == [ARCHIVE]
    verification = VerifyTask.model_validate(VERIFY)
    assert (verification.repeats, list(verification.addresses)) == (1, [ARCHIVE, FIXTURE])


@pytest.mark.parametrize("metadata", [None, {}, {"task_archive_url": None}, {"task_archive_url": ""}], ids=repr)
@pytest.mark.parametrize("body", [ExecuteTasks, VerifyTask])
def test_the_archive_is_asked_for_by_name(
    body: type[ExecuteTasks | VerifyTask], metadata: dict[str, Any] | None
) -> None:
    with pytest.raises(ArchiveUrlMissing) as refused:
        body.model_validate(ENQUEUE | {"metadata": metadata})
    assert refused.value.message == "metadata.task_archive_url is required."
    assert refused.value.status == 400


def test_an_archive_at_the_top_level_is_told_where_it_belongs() -> None:
    with pytest.raises(ArchiveUrlMissing, match="Move task_archive_url into metadata"):
        ExecuteTasks.model_validate({"task_slug": "a", "agents": agents("a"), "task_archive_url": ARCHIVE})


def test_an_archive_at_the_top_level_is_ignored_beside_the_one_in_metadata() -> None:
    assert list(ExecuteTasks.model_validate(ENQUEUE | {"task_archive_url": FIXTURE}).addresses) == [ARCHIVE]


def test_what_is_not_known_of_the_metadata_is_kept() -> None:
    metadata = {"task_archive_url": ARCHIVE, "run": {"step": 7}, "labels": ["x"]}
    assert ExecuteTasks.model_validate(ENQUEUE | {"metadata": metadata}).metadata.model_dump() == metadata


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"agents": agents("a", "a")}, "two agents have the name 'a'"),
        ({"agents": agents("a", "b"), "pass_at_k": 257}, "514 trials are more than the 512"),
        ({"agents": agents("a", n_parallel=3)}, "n_parallel"),
        ({"agents": agents("a", agent_env={"1A": "b"})}, "'1A' is no name of a variable"),
        ({"agents": []}, "at least 1"),
        ({"pass_at_k": 0}, "pass_at_k"),
        ({"pass_at_n": 4}, "pass_at_n"),
        ({"writeback": {"url": HOOK, "secret": "whsec_!!!"}}, "not base64"),
        ({"registry_auth": [{"username": "acme"}]}, "token"),
        ({"pass_at_k": True}, "pass_at_k"),
        ({"agents": [{"name": "a", "harbor_agent": "oracle", "pass_at_k": 9}]}, "agents.0.pass_at_k"),
        ({"metadata": {"task_archive_url": ARCHIVE, "x": "y" * MOST_METADATA}}, "that metadata may have"),
        ({"metadata": "https://storage.example/a.zip"}, "metadata"),
        ({"notifications": [{"url": HOOK, "events": ["job.begun"]}]}, "job.queued"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_meant_is_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        ExecuteTasks.model_validate(ENQUEUE | changes)


def test_the_places_that_are_told_are_known() -> None:
    told = {"notifications": [{"url": HOOK}], "deliver": {"url": FIXTURE}, "writeback": {"url": ARCHIVE}}
    job = ExecuteTasks.model_validate(ENQUEUE | told)
    assert list(job.callbacks) == [HOOK, FIXTURE, ARCHIVE]
    assert job.notifications[0].events == ["job.finished"]
