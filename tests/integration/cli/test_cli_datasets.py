"""``oddish run -d``: datasets of a registry, found by Harbor's own code in a process of its own."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from oddish.cli import datasets
from oddish.cli.datasets import Dataset, DatasetUnavailable, fetch
from support.waiting import eventually


@pytest.fixture
def registry(tmp_path: Path, make_task_dir: Any) -> Path:
    for name in ("csv-a", "csv-bb", "other"):
        make_task_dir(name, tmp_path / "tasks")
    tasks = [{"name": name, "path": str(tmp_path / "tasks" / name)} for name in ("csv-a", "csv-bb", "other")]
    entry = {"name": "mine", "version": "1.0", "description": "", "tasks": tasks}
    path = tmp_path / "registry.json"
    path.write_text(json.dumps([entry, {**entry, "name": "acme/mine"}]))
    return path


def names(server: Any) -> list[str]:
    return sorted(body["name"] for body in server.bodies("POST", "/tasks/upload/init"))


def test_a_dataset_of_a_registry_file_is_filtered_sent_and_named_in_errors(
    server: Any, invoke: Any, registry: Path
) -> None:
    command = ("run", "-d", "mine@1.0", "--registry-path", registry, "-a", "nop", "-b")
    result = invoke(*command, "-t", "csv-*", "-x", "*bb", "-l", "5")
    assert result.exit_code == 0, result.output
    assert "Dataset mine@1.0: 1 of 3 tasks" in result.stderr
    assert names(server) == ["csv-a"]
    none = invoke(*command, "-t", "nothing*")
    assert none.exit_code == 2
    assert "None of the 3 tasks in mine@1.0 passes -t nothing*. The tasks are csv-a, csv-bb, other." in none.output
    absent = invoke("run", "-d", "acme/mine@2", "--registry-path", registry, "-a", "nop", "--json")
    assert absent.exit_code == 1
    document = json.loads(absent.stdout)
    assert document["code"] == "dataset_unavailable"
    assert f"Dataset acme/mine@2 cannot be had from the registry file {registry}: Version 2 " in document["error"]
    assert "It has acme/mine@1.0, mine@1.0." in document["error"]
    assert "registry file" in document["fix"]
    assert names(server) == ["csv-a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["."], "PATH is '.' and --dataset is 'mine@1.0': give one of them."),
        (["-p", "tasks"], "PATH is 'tasks' and --dataset is 'mine@1.0'"),
        (["-d", "./tasks"], "'./tasks' names no dataset"),
        (["-d", "."], "To run a directory: -p."),
        (["-d", "a/b/c"], "names no dataset"),
        (["-d", "--upload"], "names no dataset"),
        (["-d", "mine@"], "names no dataset"),
        (["--registry-path", "absent.json"], "does not exist"),
        (["--registry-url", "ftp://x"], "no http or https address"),
        (["--registry-path", "{registry}", "--registry-url", "https://x"], "give one of them"),
    ],
)
def test_what_names_no_dataset_is_a_usage_error(
    server: Any, invoke: Any, registry: Path, arguments: Sequence[str], message: str
) -> None:
    given = [argument.format(registry=registry) for argument in arguments]
    result = invoke("run", "-d", "mine@1.0", "-a", "nop", *given)
    assert (result.exit_code, message in result.output) == (2, True), result.output
    assert server.calls == []


def test_a_registry_without_a_dataset_is_a_usage_error(invoke: Any, registry: Path, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), "-a", "nop", "--registry-path", registry)
    assert result.exit_code == 2
    assert "name it with -d" in result.output


def test_without_harbor_it_is_said_what_to_install(
    server: Any, invoke: Any, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = invoke("run", "-d", "mine@1.0", "--registry-path", registry, "-a", "nop")
    assert result.exit_code == 1
    assert "Install 'oddish[worker]' there" in result.stderr
    assert server.calls == []


def behaving(monkeypatch: pytest.MonkeyPatch, program: str) -> Dataset:
    monkeypatch.setattr(datasets, "PROGRAM", (sys.executable, "-c", f"import json, os, sys, time\n{program}"))
    return Dataset("mine@1.0")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("sys.exit('No module named supabase')", "the process that looks for it has ended. No module named supabase"),
        ("print('nonsense')", "its answer cannot be read: nonsense"),
        ("print(json.dumps([1]))", "its answer cannot be read: [1]"),
        ("print(json.dumps({'refused': 'a\\x1b[2Jb'}))", "registry: ab"),
    ],
)
def test_a_process_that_ends_or_raves_is_a_sentence(monkeypatch: pytest.MonkeyPatch, program: str, reason: str) -> None:
    with pytest.raises(DatasetUnavailable) as caught:
        fetch(behaving(monkeypatch, program), lambda names: [0])
    assert reason in caught.value.message
    assert "--registry-path" in str(caught.value.fix)


def test_an_interruption_ends_the_process_and_what_it_has_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    program = (
        "import subprocess\n"
        f"child = subprocess.Popen(['sleep', '300'])\nopen({str(child)!r}, 'w').write(str(child.pid))\n"
        "print(json.dumps({'found': ['a']}), flush=True)\ntime.sleep(300)"
    )

    def interrupt(names: Sequence[str]) -> Sequence[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(behaving(monkeypatch, program), interrupt)
    state = Path("/proc") / child.read_text() / "stat"
    eventually(lambda: not state.exists() or state.read_text().split()[2] == "Z")


def test_no_key_of_ours_reaches_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"ODDISH_API_KEY": "ok_1", "AWS_SECRET_ACCESS_KEY": "x", "HARBOR_API_KEY": "theirs"}.items():
        monkeypatch.setenv(name, value)
    seen = tmp_path / "seen"
    fetched = fetch(
        behaving(
            monkeypatch,
            f"open({str(seen)!r}, 'w').write(json.dumps(dict(os.environ)))\n"
            "print(json.dumps({'found': ['a']}), flush=True)\nsys.stdin.readline(); sys.stdin.readline()\n"
            "print(json.dumps({'paths': ['/a']}))",
        ),
        lambda names: [0],
    )
    assert fetched == [Path("/a")]
    environment: Mapping[str, str] = json.loads(seen.read_text())
    assert environment["HARBOR_API_KEY"] == "theirs"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert not {"ODDISH_API_KEY", "AWS_SECRET_ACCESS_KEY"} & environment.keys()
