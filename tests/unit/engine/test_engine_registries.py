"""The Docker configuration of an attempt with registry logins."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from oddish.engine.registries import signed_in, with_logins
from oddish.registries import RegistryLogin

LOGIN = RegistryLogin.of("me", "dckr_pat_of-a-test")
OTHER = RegistryLogin.of("you", "token-of-the-other", "registry.example:5000")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worker's own configuration."""
    directory = tmp_path / "worker"
    (directory / "contexts").mkdir(parents=True)
    (directory / "contexts" / "meta.json").write_text("{}")
    config = {"auths": {"ghcr.io": {"auth": "kept"}}, "currentContext": "remote", "credsStore": "desktop"}
    (directory / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("DOCKER_CONFIG", str(directory))
    return directory


def seen() -> dict[str, Any]:
    """What a docker program would read now."""
    return dict(json.loads(Path(os.environ["DOCKER_CONFIG"], "config.json").read_text()))


def test_logins_are_in_force_beside_what_the_worker_has(worker: Path, tmp_path: Path) -> None:
    mine = tmp_path / "attempt"
    with signed_in([LOGIN, OTHER], mine):
        assert os.environ["DOCKER_CONFIG"] == str(mine)
        assert seen() == {
            "auths": {
                "ghcr.io": {"auth": "kept"},
                "https://index.docker.io/v1/": {"auth": LOGIN.basic},
                "registry.example:5000": {"auth": OTHER.basic},
            },
            "currentContext": "remote",
            "credsStore": "desktop",
            "credHelpers": {"https://index.docker.io/v1/": "", "registry.example:5000": ""},
        }
        assert (mine / "contexts" / "meta.json").read_text() == "{}"
        assert (mine.stat().st_mode & 0o777, (mine / "config.json").stat().st_mode & 0o777) == (0o700, 0o600)


def test_nothing_of_them_is_left_afterwards(worker: Path, tmp_path: Path) -> None:
    before = (worker / "config.json").read_text()
    with pytest.raises(RuntimeError, match="the trial"), signed_in([LOGIN], tmp_path / "attempt"):
        raise RuntimeError("the trial")
    assert os.environ["DOCKER_CONFIG"] == str(worker)
    assert not (tmp_path / "attempt").exists()
    assert (worker / "config.json").read_text() == before
    assert (worker / "contexts" / "meta.json").exists()


def test_a_worker_without_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    with signed_in([LOGIN], tmp_path / "attempt"):
        assert seen() == {"auths": {"https://index.docker.io/v1/": {"auth": LOGIN.basic}}}
    assert "DOCKER_CONFIG" not in os.environ


@pytest.mark.parametrize("text", ["no JSON", "[1]"])
def test_a_configuration_that_docker_cannot_read_counts_as_none(worker: Path, tmp_path: Path, text: str) -> None:
    (worker / "config.json").write_text(text)
    with signed_in([LOGIN], tmp_path / "attempt"):
        assert list(seen()) == ["auths"]


def test_without_logins_the_worker_s_configuration_is_used(worker: Path, tmp_path: Path) -> None:
    with signed_in([], tmp_path / "attempt"):
        assert os.environ["DOCKER_CONFIG"] == str(worker)
    assert not (tmp_path / "attempt").exists()


def test_a_login_of_the_worker_at_the_same_registry_gives_way() -> None:
    config = {"auths": {"registry.example:5000": {"auth": "old"}}, "credHelpers": {"registry.example:5000": "gcloud"}}
    assert with_logins(config, [OTHER]) == {
        "auths": {"registry.example:5000": {"auth": OTHER.basic}},
        "credHelpers": {"registry.example:5000": ""},
    }
