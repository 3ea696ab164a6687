"""A key reaches the agent and the task that name it, and stays nowhere.

The small program is a script of this repository; the real one is the program of the agent claude-code, which
``scripts/fetch-agents`` fetches.
"""

import hashlib
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from agent_programs import PROGRAMS

from oddish.db.url import plain
from oddish.sandbox.support import support
from oddish.stack import process
from oddish.stack.layout import Layout
from oddish.stack.state import read_state
from oddish.stack.token import read_token
from support.model_servers import Conversation, ModelServer, Script, Tool, Turn

pytestmark = pytest.mark.skipif(not support().usable, reason=str(support().reason))

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]
SMALL = Path(__file__).parents[1] / "data" / "programs" / "claude"
REAL = PROGRAMS["claude-code"]
AGENT = ("-a", "claude-code", "-m", "anthropic/claude-sonnet-4-5", "--ak", "skip_install=true")
LOOK = """
env | sort > /logs/agent/env.txt
mkdir -p /logs/artifacts
echo "$ANTHROPIC_API_KEY" | tee /logs/artifacts/key.txt
"""
TURNS = (
    Turn("I write the file.", (Tool("Write", {"file_path": "/app/hello.txt", "content": "hello\n"}),)),
    Turn("I look around.", (Tool("Bash", {"command": LOOK, "description": "Look around"}),)),
    Turn("Done."),
)
CONFIG = """
schema_version = "1.4"
[agent]
timeout_sec = 120.0
[verifier]
timeout_sec = 60.0
[verifier.env]
JUDGE_KEY = "${JUDGE_KEY}"
"""
VERIFIER = """#!/bin/sh
echo "the judge has $JUDGE_KEY"
digest=$(printf %s "$JUDGE_KEY" | sha256sum | cut -d ' ' -f 1)
[ "$digest" = DIGEST ] && grep -q hello /app/hello.txt && echo 1 > /logs/verifier/reward.txt
"""
DOCKERFILE = "FROM debian:bookworm-slim\nENV PATH=/opt/program:$PATH\nWORKDIR /app\n"


class Machine:
    """A home directory with a local stack, and shells with variables of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.printed = ""

    def __call__(self, *arguments: str | Path, exit_code: int = 0, given: str = "", **shell: str) -> str:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ODDISH_", "PG", "ANTHROPIC"))
        }
        done = subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            env=kept | {"ODDISH_HOME": str(self.home)} | shell,
            input=given,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        output = done.stdout + done.stderr
        self.printed += output
        assert done.returncode == exit_code, output
        return output

    def trial(self, experiment: str) -> dict[str, Any]:
        """The latest of its only task."""
        (task,) = json.loads(self("status", "-e", experiment, "--json"))
        return dict(task["trials"][-1])

    @property
    def layout(self) -> Layout:
        return Layout(self.home)

    def services(self) -> list[int]:
        state = read_state(self.layout)
        assert state is not None
        return [state.pid, *(entry.pid for entry in process.descendants(state.pid))]

    def environ(self, pid: int) -> dict[str, str]:
        raw = (process.PROC / str(pid) / "environ").read_bytes()
        return dict(entry.decode().split("=", 1) for entry in raw.split(b"\0") if b"=" in entry)

    def database_url(self) -> str:
        state = read_state(self.layout)
        assert state is not None
        return plain(self.environ(state.services["worker"].pid)["ODDISH_DATABASE_URL"])


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("home"))
    yield machine
    machine("down")


@pytest.fixture(params=["the small program", "the real program"])
def program(request: pytest.FixtureRequest) -> Path:
    if request.param == "the small program":
        return SMALL
    if not REAL.there:
        pytest.skip(f"{REAL.executable} is not there: scripts/fetch-agents fetches it")
    return REAL.executable.resolve()


@pytest.fixture
def served(make_task: Callable[..., Path]) -> Callable[[str], Any]:
    """A server of models, and a task for an agent whose judge has a key."""

    @contextmanager
    def serve(judge_key: str) -> Iterator[tuple[ModelServer, Path]]:
        digest = hashlib.sha256(judge_key.encode()).hexdigest()
        with ModelServer().serving() as server:
            task = make_task("judged", solve="true")
            (task / "task.toml").write_text(CONFIG)
            (task / "tests" / "test.sh").write_text(VERIFIER.replace("DIGEST", digest))
            (task / "environment" / "Dockerfile").write_text(DOCKERFILE)
            yield server, task

    return serve


def mounted(program: Path) -> tuple[str, str]:
    """Options that have the program's directory at /opt/program."""
    mount = {"type": "bind", "source": str(program.parent), "target": "/opt/program", "read_only": True}
    return "--mounts", json.dumps([mount])


class ArgumentWatch:
    """Looks at the arguments of all processes of the machine until it is stopped."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.seen: set[str] = set()
        self.looks = 0

    def __enter__(self) -> "ArgumentWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping.wait(0.02):
            self.looks += 1
            for entry in process.matching(lambda words: any(text in word for text in self._texts for word in words)):
                self.seen.add(" ".join(process.command_line(entry.pid)))


def in_files(root: Path, *texts: str) -> list[Path]:
    """Files below ``root`` that hold one of the texts, also as hexadecimal digits."""
    wanted = [form for text in texts for form in (text.encode(), text.encode().hex().encode())]
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            before = b""
            with path.open("rb") as file:
                while chunk := file.read(2**20):
                    if any(form in before + chunk for form in wanted):
                        found.append(path)
                        break
                    before = chunk[-1000:]
    return found


def in_tables(url: str, *texts: str) -> list[str]:
    """Tables with a row that shows one of the texts, in any column."""
    found = []
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert len(tables) > 10
        for (table,) in tables:
            rows = connection.execute(f'SELECT t::text FROM "{table}" AS t'.encode()).fetchall()  # noqa: S608
            shown = "\n".join(row for (row,) in rows)
            if any(text in shown or text.encode().hex() in shown for text in texts):
                found.append(table)
    return found


def in_answers(machine: Machine, trial: dict[str, Any], *texts: str) -> list[str]:
    """Addresses of the server that answer with one of the texts."""
    state, token = read_state(machine.layout), read_token(machine.layout)
    assert state is not None
    assert token is not None
    base = f"/trials/{trial['id']}"
    paths = [
        base,
        f"{base}/logs",
        f"{base}/result",
        f"/tasks/{trial['task_id']}",
        "/tasks",
        "/agents",
        "/secrets",
        "/load",
    ]
    paths += [f"/experiments/{trial['experiment_id']}", f"/tasks/{trial['task_id']}/versions", f"{base}/files"]
    found = []
    with httpx2.Client(
        base_url=state.url, headers={"Authorization": f"Bearer {token}"}, follow_redirects=True
    ) as client:
        files = [f"{base}/files/{entry['path']}" for entry in client.get(f"{base}/files").json()["files"]]
        assert f"{base}/files/agent/env.txt" in files
        for path in (*paths, *files):
            answer = client.get(path)
            assert answer.status_code == 200, (path, answer.text)
            if any(text in answer.text for text in texts):
                found.append(path)
        shown = client.get(f"{base}/files/agent/env.txt").text
    assert "ANTHROPIC_API_KEY=[REDACTED]" in shown
    assert "JUDGE_KEY" not in shown
    assert "OTHER_API_KEY" not in shown
    return found


def test_a_key_reaches_the_agent_and_is_found_nowhere(
    machine: Machine, program: Path, served: Callable[[str], Any]
) -> None:
    key, judge_key, other = (f"sk-test-{secrets.token_hex(16)}" for _ in range(3))
    shell = {"JUDGE_KEY": judge_key, "OTHER_API_KEY": other}
    experiment = f"handed-{program.parent.name}"
    with served(judge_key) as (server, task), ArgumentWatch(key, judge_key) as watch:
        model = server.add("model", Script(TURNS, "Bash"))
        run = ("run", task, *AGENT, *mounted(program), "-E", experiment)
        refused = machine(*run, "--yes", exit_code=1, **shell)
        assert "it takes ANTHROPIC_API_KEY or " in refused
        assert "Nothing was started." in refused
        shell |= {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": model.url}
        unasked = machine(*run, exit_code=1, **shell)
        assert "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, JUDGE_KEY would be sent" in unasked
        machine(*run, "--yes", **shell)
        trial = machine.trial(experiment)
    assert (trial["status"], trial["reward"], trial["attempts"]) == ("success", 1.0, 1)
    assert set(model.keys) == {key}
    assert len(model.keys) == len(TURNS)
    assert watch.looks > 10
    assert watch.seen == set()
    services = machine.services()
    assert len(services) > 5
    assert not any({key, judge_key, other} & set(machine.environ(pid).values()) for pid in services)
    assert in_tables(machine.database_url(), key, judge_key, other) == []
    assert in_answers(machine, trial, key, judge_key, other) == []
    assert in_files(machine.home, key, judge_key, other) == []
    assert not any(text in machine.printed for text in (key, judge_key, other))


def test_a_secret_of_the_organisation_is_used_and_rotated_and_missed(
    machine: Machine, served: Callable[[str], Any]
) -> None:
    first, second, judge_key = (f"sk-test-{secrets.token_hex(16)}" for _ in range(3))
    with served(judge_key) as (server, task):

        def run(experiment: str, exit_code: int = 0) -> Conversation:
            model = server.add(experiment, Script(TURNS, "Bash"))
            arguments = ("--ae", f"ANTHROPIC_BASE_URL={model.url}", "-E", experiment)
            machine("run", task, *AGENT, *mounted(SMALL), *arguments, exit_code=exit_code)
            return model

        machine("secrets", "set", "ANTHROPIC_API_KEY", given=f"{first}\n")
        machine("secrets", "set", "JUDGE_KEY", "--from-env", JUDGE_KEY=judge_key)
        listed = json.loads(machine("secrets", "ls", "--json"))["secrets"]
        assert [secret["name"] for secret in listed] == ["ANTHROPIC_API_KEY", "JUDGE_KEY"]
        kept = run("kept")
        machine("secrets", "set", "ANTHROPIC_API_KEY", given=second)
        rotated = run("rotated")
        machine("secrets", "rm", "ANTHROPIC_API_KEY")
        machine("secrets", "rm", "JUDGE_KEY")
        run("removed", exit_code=1)
    assert "'JUDGE_KEY'" in machine.printed
    assert machine.trial("rotated")["reward"] == machine.trial("kept")["reward"] == 1.0
    assert (kept.keys, rotated.keys) == ([first] * len(TURNS), [second] * len(TURNS))
    assert in_tables(machine.database_url(), first, second, judge_key) == []
    assert in_files(machine.home, first, second, judge_key) == []
    assert not any(text in machine.printed for text in (first, second, judge_key))
