"""What ``oddish run`` sends of its options about the engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOKEN = "dckr_pat_that-nobody-sees"
NOP = ("-a", "nop", "--no-watch")


def sent(server: Any) -> Any:
    [body] = server.bodies("POST", "/tasks/sweep")
    return body


def test_options_about_the_engine_go_into_the_submission(
    server: Any, invoke: Any, make_task_dir: Callable[..., Path]
) -> None:
    options = ("--harbor", "acme/harbor@main", "--override-cpus", "2", "--override-memory-mb", "512")
    options += ("--override-gpus", "1", "--override-storage-mb", "2048", "--force-build", "--artifact", "/app/out")
    options += ("--environment-kwarg", "a=1", "--harbor-environment-kwarg", "b=x", "--disable-verification")
    options += ("--allow-agent-host", "docs.example", "--disable-web-tools", "--ak", "max_turns=3")
    result = invoke("run", make_task_dir(), *NOP, *options)
    assert result.exit_code == 0, result.output
    body = sent(server)
    assert body["harbor"] == {
        "source": "https://github.com/acme/harbor",
        "ref": "main",
        "environment": {
            "override_cpus": 2,
            "override_memory_mb": 512,
            "override_gpus": 1,
            "override_storage_mb": 2048,
            "force_build": True,
            "kwargs": {"a": 1, "b": "x"},
        },
        "artifacts": ["/app/out"],
        "verifier": {"disable": True},
    }
    assert body["configs"][0]["agent_config"] == {
        "extra_allowed_hosts": ["docs.example"],
        "disable_web_tools": True,
        "kwargs": {"max_turns": 3},
    }


def test_without_them_nothing_is_said_about_the_engine(
    server: Any, invoke: Any, make_task_dir: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ODDISH_HARBOR", "ODDISH_DOCKERHUB_USERNAME", "ODDISH_DOCKERHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert invoke("run", make_task_dir(), *NOP).exit_code == 0
    body = sent(server)
    assert not body.keys() & {"harbor", "registry_auth"}
    assert "agent_config" not in body["configs"][0]


def test_another_harbor_may_come_from_the_shell(
    server: Any, invoke: Any, make_task_dir: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_HARBOR", "0.25.0")
    assert invoke("run", make_task_dir(), *NOP).exit_code == 0
    assert sent(server)["harbor"] == {"source": "package", "ref": "0.25.0"}


@pytest.mark.parametrize(
    "option", [("--harbor", "a..b"), ("--override-cpus", "0"), ("--override-gpus", "-1"), ("--artifact", "..")]
)
def test_what_makes_no_sense_is_refused_before_anything_is_sent(
    server: Any, invoke: Any, make_task_dir: Callable[..., Path], option: tuple[str, str]
) -> None:
    result = invoke("run", make_task_dir(), *NOP, *option)
    assert (result.exit_code, option[0] in result.output) == (2, True)
    assert server.calls == []


def test_logins_are_sent_and_never_shown(
    server: Any, invoke: Any, make_task_dir: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_DOCKERHUB_USERNAME", "acme")
    monkeypatch.setenv("ODDISH_DOCKERHUB_TOKEN", TOKEN)
    login = f"username=me,token='{TOKEN},2',registry=ghcr.io"
    result = invoke("run", make_task_dir(), *NOP, "--registry-login", login)
    assert (result.exit_code, TOKEN in result.output) == (0, False), result.output
    assert sent(server)["registry_auth"] == [
        {"registry": "ghcr.io", "username": "me", "token": f"{TOKEN},2"},
        {"registry": "docker.io", "username": "acme", "token": TOKEN},
    ]


@pytest.mark.parametrize("login", [TOKEN, f"username=me,token='{TOKEN}", f"username=me,token=a,{TOKEN}"])
def test_a_login_that_cannot_be_read_is_refused_without_the_token(
    server: Any, invoke: Any, make_task_dir: Callable[..., Path], login: str
) -> None:
    result = invoke("run", make_task_dir(), *NOP, "--registry-login", login)
    assert (result.exit_code, TOKEN in result.output) == (2, False), result.output
    assert server.calls == []


@pytest.mark.parametrize(
    ("source", "shown"),
    [("package", "0.25.0"), ("https://git.example/harbor", "https://git.example/harbor@0123abcd")],
)
def test_status_shows_which_harbor_ran_the_trial(server: Any, invoke: Any, source: str, shown: str) -> None:
    trial = server.add_trial(server.add_task("greet-00000001"))
    assert "Harbor" not in invoke("status", trial["id"]).output
    trial.update(harbor_source=source, harbor_sha=shown.rpartition("@")[2])
    line = next(line for line in invoke("status", trial["id"]).output.splitlines() if "Harbor" in line)
    assert line.split() == ["Harbor", shown]
