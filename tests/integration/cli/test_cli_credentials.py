"""What ``oddish run`` hands over, and what it asks before."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KEY = "sk-a-key-of-the-shell"
JUDGED = """
schema_version = "1.4"
[agent]
timeout_sec = 60.0
[verifier.env]
JUDGE_KEY = "${JUDGE_KEY}"
[solution.env]
SOLVER_KEY = "${SOLVER_KEY}"
"""
ACME = ("-a", "claude-code", "-m", "acme/model", "--no-watch")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    monkeypatch.setenv("ACME_BASE_URL", "https://acme.example")
    monkeypatch.setenv("OTHER_API_KEY", "sk-nobody-names-this")
    monkeypatch.setenv("SOLVER_KEY", "sk-for-the-oracle")
    monkeypatch.setenv("JUDGE_KEY", "sk-for-the-judge")


@pytest.fixture
def local(server: Any, shell: None) -> Any:
    server.deployment = "local"
    return server


def sent(server: Any) -> list[dict[str, str] | None]:
    return [body.get("credentials") for body in server.bodies("POST", "/tasks/sweep")]


def test_what_the_agent_names_is_sent_when_agreed_to(local: Any, invoke: Any, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), *ACME, "--yes")
    assert result.exit_code == 0, result.output
    assert sent(local) == [{"ACME_API_KEY": KEY, "ACME_BASE_URL": "https://acme.example"}]
    assert KEY not in result.output


def test_where_nobody_can_be_asked_nothing_is_sent(local: Any, invoke: Any, make_task_dir: Any) -> None:
    for more in ((), ("--json",)):
        result = invoke("run", make_task_dir(), *ACME, *more)
        assert result.exit_code == 1
        assert "ACME_API_KEY, ACME_BASE_URL would be sent" in result.output
        assert "--yes" in result.output
        assert KEY not in result.output
    assert local.bodies("POST", "/tasks/upload/init") == []


def test_each_task_is_sent_what_it_names(
    local: Any, invoke: Any, make_task_dir: Callable[..., Path], tmp_path: Path
) -> None:
    make_task_dir("judged", tmp_path / "set", **{"task.toml": JUDGED})
    make_task_dir("plain", tmp_path / "set")
    assert invoke("run", tmp_path / "set", "-a", "nop", "--no-watch", "-y").exit_code == 0
    assert sent(local) == [{"JUDGE_KEY": "sk-for-the-judge"}, None]
    assert invoke("run", tmp_path / "set" / "judged", "-a", "oracle", "--no-watch", "-y").exit_code == 0
    assert sent(local)[-1] == {"JUDGE_KEY": "sk-for-the-judge", "SOLVER_KEY": "sk-for-the-oracle"}
    assert (
        invoke("run", tmp_path / "set" / "judged", "-a", "nop", "--no-watch", "--disable-verification").exit_code == 0
    )
    assert sent(local)[-1] is None


def test_a_server_elsewhere_is_sent_nothing_of_the_shell(
    server: Any, shell: None, invoke: Any, make_task_dir: Any
) -> None:
    assert invoke("run", make_task_dir(), *ACME).exit_code == 0
    assert sent(server) == [None]
    assert server.bodies("GET", "/agents") == []


def test_a_file_is_searched_for_what_is_named(
    server: Any, shell: None, invoke: Any, make_task_dir: Any, tmp_path: Path
) -> None:
    (tmp_path / "keys.env").write_text("ACME_TOKEN=token-of-the-file\nOTHER_API_KEY=sk-nobody-names-this\n")
    result = invoke("run", make_task_dir(), *ACME, "--env-file", tmp_path / "keys.env", "--yes")
    assert result.exit_code == 0, result.output
    assert sent(server) == [{"ACME_TOKEN": "token-of-the-file"}]
    assert "sk-nobody" not in json.dumps(server.calls, default=str)


def test_a_variable_named_alone_takes_its_value_from_the_shell_or_the_file(
    server: Any, shell: None, invoke: Any, make_task_dir: Any, tmp_path: Path
) -> None:
    (tmp_path / "keys.env").write_text("ACME_API_KEY=of-the-file\n")
    task = make_task_dir()
    assert invoke("run", task, *ACME, "--ae", "ACME_API_KEY", "--ae", "MODE=fast").exit_code == 0
    assert invoke("run", task, *ACME, "--ae", "ACME_API_KEY", "--env-file", tmp_path / "keys.env", "-y").exit_code == 0
    given = [body["configs"][0]["agent_config"]["env"] for body in server.bodies("POST", "/tasks/sweep")]
    assert given == [{"ACME_API_KEY": KEY, "MODE": "fast"}, {"ACME_API_KEY": "of-the-file"}]
    assert sent(server) == [None, None]


def test_a_key_given_to_the_agent_is_not_sent_again(local: Any, invoke: Any, make_task_dir: Any) -> None:
    assert invoke("run", make_task_dir(), *ACME, "--ae", "ACME_TOKEN=mine", "-y").exit_code == 0
    assert sent(local) == [{"ACME_BASE_URL": "https://acme.example"}]


def test_a_variable_that_stands_for_another_is_found(local: Any, invoke: Any, make_task_dir: Any) -> None:
    arguments = ("-a", "nop", "--no-watch", "--ae", "TEAM_TOKEN=${OTHER_API_KEY}", "-y")
    assert invoke("run", make_task_dir(), *arguments).exit_code == 0
    assert sent(local) == [{"OTHER_API_KEY": "sk-nobody-names-this"}]


def test_a_server_of_an_earlier_release_is_asked_for_nothing(local: Any, invoke: Any, make_task_dir: Any) -> None:
    local.refusals["GET", "/agents"] = (404, {"detail": "There is no /agents here.", "code": "not_found"})
    assert invoke("run", make_task_dir(), *ACME).exit_code == 0
    assert sent(local) == [None]


class Terminal:
    """``oddish run`` with somebody who answers."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-c", "from oddish.cli import main; main()", "run", *map(str, arguments)]
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.shown = ""

    def until(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            self._read()

    def answer(self, text: str) -> int:
        os.write(self._ours, text.encode())
        return self._end()

    def interrupt(self) -> int:
        """Pressed again when nothing happens: Python forgets a signal that comes just before it reads the answer."""
        for _ in range(6):
            self._process.send_signal(signal.SIGINT)
            if select.select([self._ours], [], [], 10)[0]:
                break
        return self._end()

    def _end(self) -> int:
        while self._read():
            pass
        os.close(self._ours)
        return self._process.wait(60)

    def _read(self) -> bool:
        try:
            chunk = os.read(self._ours, 4096)
        except OSError:
            return False
        self.shown += chunk.decode()
        return bool(chunk)


@pytest.mark.parametrize(("answer", "expected"), [("\n", {"ACME_API_KEY", "ACME_BASE_URL"}), ("n\n", set())])
def test_on_a_terminal_names_are_listed_and_the_user_is_asked(
    local: Any, make_task_dir: Any, answer: str, expected: set[str]
) -> None:
    terminal = Terminal(make_task_dir(), *ACME)
    terminal.until("Send them? [Y/n]")
    assert "ACME_API_KEY   from this shell, for agent claude-code" in terminal.shown
    assert local.url in terminal.shown
    assert terminal.answer(answer) == 0
    assert KEY not in terminal.shown
    assert [set(credentials or {}) for credentials in sent(local)] == [expected]


def test_ctrl_c_at_the_question_ends_with_130_and_end_of_input_with_1(local: Any, make_task_dir: Any) -> None:
    for end, code in ((Terminal.interrupt, 130), (lambda terminal: terminal.answer("\x04"), 1)):
        terminal = Terminal(make_task_dir(), *ACME)
        terminal.until("Send them? [Y/n]")
        assert end(terminal) == code, terminal.shown
    assert sent(local) == []


def test_a_check_hands_over_what_its_tasks_name(local: Any, invoke: Any, make_task_dir: Any) -> None:
    task = make_task_dir("judged", **{"task.toml": JUDGED, "solution/solve.sh": "true\n"})
    unasked = invoke("check", task)
    assert "JUDGE_KEY, SOLVER_KEY would be sent" in unasked.output
    assert sent(local) == []
    local.tick = lambda server: [trial.update(status="failed") for trial in server.trials()]
    invoke("check", task, "--yes")
    assert sent(local) == [{"JUDGE_KEY": "sk-for-the-judge", "SOLVER_KEY": "sk-for-the-oracle"}]
