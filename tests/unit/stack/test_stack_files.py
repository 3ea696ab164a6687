import json
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oddish.errors import Unavailable
from oddish.stack import logs, process
from oddish.stack.account import Account
from oddish.stack.layout import Layout
from oddish.stack.port import healthy, listen
from oddish.stack.sockets import socket_directory
from oddish.stack.state import State, read_state
from oddish.stack.token import create_token, read_token

US = Account((), os.geteuid(), os.getegid())


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "home")
    made.create()
    return made


def test_directories_are_private(layout: Layout) -> None:
    assert {stat.S_IMODE(path.stat().st_mode) for path in layout.home.iterdir()} == {0o700}


def test_a_state_is_read_as_it_was_written(layout: Layout) -> None:
    me = process.current()
    state = State(
        pid=me.pid,
        process_started=me.started,
        url="http://127.0.0.1:8780",
        port=8780,
        version="1.0",
        started_at="2026-01-01T00:00:00+00:00",
        phase="running",
        services={"api": me},
        notes=("a note",),
    )
    state.write(layout)
    assert read_state(layout) == state
    assert stat.S_IMODE(layout.state.stat().st_mode) == 0o600
    assert [path.name for path in layout.run.iterdir()] == ["stack.json"]


def test_the_state_of_another_release_is_read(layout: Layout) -> None:
    me = process.current()
    State(me.pid, me.started, "http://127.0.0.1:1", 1, "0.9", "2026-01-01T00:00:00+00:00", "running").write(layout)
    written = json.loads(layout.state.read_bytes())
    layout.state.write_text(json.dumps({**written, "later": "member"}))
    found = read_state(layout)
    assert found is not None
    assert (found.supervisor, found.version) == (me, "0.9")


def test_all_who_make_the_token_at_once_get_the_same(layout: Layout) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(create_token, [layout] * 32))
    assert tokens == {read_token(layout)}
    assert [path.name for path in layout.run.iterdir()] == ["token"]


def test_a_damaged_token_is_named(layout: Layout) -> None:
    layout.token.write_text("secret")
    with pytest.raises(Unavailable, match="run/token does not hold a key"):
        read_token(layout)


def test_a_log_keeps_its_end_and_its_writers(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    writer = logs.open_log(log)
    os.write(writer, b"old " * 100 + b"end\n")
    logs.bound(log, limit=100)
    os.write(writer, b"new\n")
    os.close(writer)
    assert log.read_text() == "new\n"
    assert (tmp_path / "a.log.1").read_bytes()[-8:] == b"old end\n"
    assert (tmp_path / "a.log.1").stat().st_size == 100


def test_the_tail_may_start_after_what_was_there_before(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("before\n")
    size = log.stat().st_size
    with log.open("a") as target:
        target.write("one\ntwo\nthree\n")
    assert logs.tail(log, 2, since=size) == "two\nthree"
    assert logs.tail(log, 9, since=size) == "one\ntwo\nthree"
    assert logs.tail(tmp_path / "none.log") == ""


def test_a_taken_port_is_passed_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with listen(taken) as found:
            assert found.getsockname()[1] > taken
        assert not healthy(taken)


def test_a_port_that_answers_something_else_is_not_healthy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(5)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(healthy, other.getsockname()[1])
            connection, _ = other.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0\r\n")
            assert not asked.result(5)


@pytest.mark.parametrize("name", ["deep" * 30, "with,comma"])
def test_a_path_that_cannot_be_a_socket_has_a_stable_private_substitute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    first, second = (socket_directory(tmp_path / name, US) for _ in range(2))
    assert first == second
    assert first != socket_directory(tmp_path / f"{name}2,", US)
    assert stat.S_IMODE(first.stat().st_mode) == 0o700
    first.rmdir()
    socket_directory(tmp_path / f"{name}2,", US).rmdir()


def test_a_substitute_open_to_others_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    preferred = tmp_path / ("deep" * 30)
    substitute = socket_directory(preferred, US)
    substitute.chmod(0o755)
    with pytest.raises(Unavailable, match="short enough path"):
        socket_directory(preferred, US)
    substitute.rmdir()


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    seen = process.process(child.pid)
    assert seen is not None
    assert seen.alive()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not seen.alive()
    child.communicate()
    assert process.started(child.pid) is None
