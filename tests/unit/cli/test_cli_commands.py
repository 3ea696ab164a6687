import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from oddish import __version__
from oddish.cli import cli, stack
from oddish.cli.group import LazyGroup
from oddish.names import experiment_name

assert isinstance(cli, LazyGroup)
COMMANDS = cli.commands_by_name


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert f"Usage: cli {name}" in result.output
    command = getattr(importlib.import_module(COMMANDS[name][0]), name)
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert all(option.help for option in options)


def leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, dict[str, set[str]]]]:
    """Every command below one, with the names of its options by parameter."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, click.Context(below, context, info_name=name))
    else:
        options = (parameter for parameter in command.params if isinstance(parameter, click.Option))
        yield context.command_path.removeprefix("oddish "), {str(option.name): {*option.opts} for option in options}


LEAVES = dict(leaves(cli, click.Context(cli, info_name="oddish", **cli.context_settings)))
OF_THIS_MACHINE = {"view", "backup", "restore", "up", "down", "server", "worker", "completion"}


def test_every_command_but_logs_has_json() -> None:
    assert {name for name, options in LEAVES.items() if options.get("as_json") != {"--json"}} <= {"logs"}


def test_every_command_that_asks_a_server_takes_its_address_under_both_names() -> None:
    without = {name for name, options in LEAVES.items() if not {"--api", "--api-url"} <= options.get("api", set())}
    assert without == OF_THIS_MACHINE


@pytest.mark.parametrize(("typed", "meant"), [("stauts", "status"), ("compl", "completion"), ("zzz", None)])
def test_a_mistyped_command_is_answered_with_the_closest(typed: str, meant: str | None) -> None:
    result = CliRunner().invoke(cli, [typed])
    assert result.exit_code == 2
    assert f"No such command '{typed}'." in result.stderr
    assert (f"Did you mean '{meant}'?" in result.stderr) == (meant is not None)


@pytest.mark.parametrize("option", ["-a", "--model"])
def test_a_second_agent_or_model_is_refused_and_never_dropped(option: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", str(tmp_path), option, "one", option, "two"])
    assert result.exit_code == 2
    assert "one, two: one is run. Name several in a file, for -c." in result.stderr
    again = CliRunner().invoke(cli, ["run", str(tmp_path), option, "one", option, "one"])
    assert "holds no task" in again.stderr


@pytest.mark.parametrize("name", ["combine", "collect", "delete"])
def test_the_address_has_a_short_name_where_no_other_option_has_it(name: str) -> None:
    assert name not in LEAVES or "-u" in LEAVES[name]["api"]


def test_a_stack_that_does_not_run_is_down_in_json_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ODDISH_HOME", str(tmp_path))
    assert json.loads(CliRunner().invoke(cli, ["down", "--json"]).stdout) == {"pid": None, "killed": []}


def test_the_version() -> None:
    assert CliRunner().invoke(cli, ["--version"], prog_name="oddish").output == f"oddish {__version__}\n"


def test_an_unknown_command() -> None:
    result = CliRunner().invoke(cli, ["nonsense"])
    assert result.exit_code == 2
    assert "nonsense" in result.output


def test_experiment_names() -> None:
    names = {experiment_name() for _ in range(50)}
    assert len(names) > 45
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-[a-z0-9]{4}", name) for name in names)


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    calls: list[tuple[list[str], dict[str, str]]] = []

    def execve(program: str, arguments: list[str], environ: dict[str, str]) -> None:
        assert program == sys.executable
        calls.append((arguments[1:], environ))
        raise SystemExit(0)

    monkeypatch.setattr(stack.os, "execve", execve)
    return calls


@pytest.mark.parametrize(
    ("arguments", "module", "settings"),
    [
        (["up", "--foreground"], "oddish.stack", {}),
        (["up", "--foreground", "--dev-key", "dev-local-key"], "oddish.stack", {"ODDISH_DEV_KEY": "dev-local-key"}),
        (["server"], "oddish.api", {}),
        (["server", "--json"], "oddish.api", {"ODDISH_LOG_FORMAT": "json"}),
        (["server", "--host", "::1", "--port", "81"], "oddish.api", {"ODDISH_HOST": "::1", "ODDISH_PORT": "81"}),
        (["worker", "--concurrency", "3"], "oddish.worker", {"ODDISH_WORKER_CONCURRENCY": "3"}),
    ],
)
def test_services_replace_the_command(
    executed: Any, arguments: list[str], module: str, settings: dict[str, str]
) -> None:
    CliRunner().invoke(cli, arguments)
    ((called, environ),) = executed
    assert called == ["-P", "-m", module]
    assert {name: value for name, value in environ.items() if name in settings} == settings


@pytest.mark.parametrize("arguments", [["server", "--port", "0"], ["worker", "--concurrency", "0"]])
def test_impossible_numbers(executed: Any, arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, arguments).exit_code == 2
    assert executed == []
