"""What an engine offers on a machine, and the environment it is started with."""

from pathlib import Path

import pytest
from harbor.environments import factory

from oddish.engine import catalog
from oddish.engine.catalog import Probe, missing_extras
from oddish.engine.client import curated_environment


def program(directory: Path, body: str) -> str:
    path = directory / "engine"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def unavailable(name: str) -> str | None:
    with Probe(name) as probe:
        return probe.unavailable()


def test_an_engine_that_answers_is_available(tmp_path: Path) -> None:
    assert unavailable(program(tmp_path, "echo 28.0")) is None


def test_a_missing_program_is_named() -> None:
    assert "not installed" in str(unavailable("/nonexistent/docker"))


def test_an_engine_that_does_not_run_says_why(tmp_path: Path) -> None:
    reason = unavailable(program(tmp_path, "echo first >&2; echo 'Cannot connect.' >&2; exit 1"))
    assert reason == "The Docker engine does not answer: Cannot connect."


def test_compose_is_needed_too(tmp_path: Path) -> None:
    reason = unavailable(program(tmp_path, '[ "$1" = version ]'))
    assert reason == "The Compose plugin of docker does not answer: exit code 1"


def test_a_hanging_engine_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PROBE_TIMEOUT_SEC", 0.05)
    assert unavailable(program(tmp_path, "exec sleep 600")) == "The Docker engine did not answer within 0.05 s."


def test_the_optional_features_of_harbor_are_found_in_its_metadata() -> None:
    extras = {entry.pip_extra for entry in factory._ENVIRONMENT_REGISTRY.values()} - {None}
    assert len(missing_extras().keys() & extras) > 10
    assert missing_extras()["daytona"] == "daytona"


def test_the_engine_inherits_what_it_needs_and_no_settings() -> None:
    source = {
        "PATH": "/bin",
        "https_proxy": "http://proxy",
        "ODDISH_DATABASE_URL": "postgresql://secret",
        "ODDISH_HOME": "/home/of/oddish",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "E2B_API_KEY": "allowed",
    }
    assert curated_environment({"E2B_API_KEY", "ODDISH_DATABASE_URL"}, source) == {
        "PATH": "/bin",
        "https_proxy": "http://proxy",
        "ODDISH_HOME": "/home/of/oddish",
        "E2B_API_KEY": "allowed",
        "HARBOR_TELEMETRY": "0",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
