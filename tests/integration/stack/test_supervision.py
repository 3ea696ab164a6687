import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import psycopg
import pytest

from oddish.errors import Unavailable
from oddish.stack import account, client, process
from oddish.stack.layout import layout
from oddish.stack.sockets import socket_directory
from oddish.stack.start import DETACHED
from oddish.stack.state import State, read_state
from support.waiting import eventually

from .conftest import PROGRAM, Start, belonging_to
from .standin import BROKEN, STUBBORN, UNREADABLE

pytestmark = pytest.mark.long

FOREIGN_STATE = json.dumps(
    asdict(State(1, "another boot:1", "http://127.0.0.1:1", 1, "0.1", "2026-01-01T00:00:00+00:00", "running"))
)


def services() -> Mapping[str, process.Process]:
    state = read_state(layout())
    assert state is not None
    return state.services


def service(name: str) -> process.Process:
    return services()[name]


def lose_state(content: str | None) -> None:
    layout().state.unlink()
    if content is not None:
        layout().state.write_text(content)


def killing_itself(times: int, counter: Path) -> Sequence[str]:
    """The program of a supervisor that is killed when it is run for the first ``times`` times."""
    script = f'echo >> {counter}; [ $(wc -l < {counter}) -gt {times} ] || kill -9 $$; exec "$@"'
    return ("/bin/sh", "-c", script, "sh", *PROGRAM)


def kill_and_await_successor(name: str) -> None:
    victim = service(name)
    os.kill(victim.pid, signal.SIGKILL)
    eventually(lambda: services().get(name, victim) != victim)


def test_callers_at_the_same_time_end_with_one_stack(home: Path) -> None:
    program = f"from oddish.stack import client; print(client.ensure(program={PROGRAM!r}).pid)"
    callers = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {caller.communicate(timeout=60)[0] for caller in callers}
    assert len(answers) == 1
    supervisors = [entry for entry in belonging_to(home) if DETACHED in process.command_line(entry.pid)]
    assert [str(entry.pid) for entry in supervisors] == [answers.pop().strip()]


def test_a_stack_that_runs_is_found_and_reused(start: Start) -> None:
    assert client.find() is None
    first = start()
    assert start().pid == first.pid
    found = client.find(probe=True)
    assert found is not None
    assert (found.url, found.notices()) == (first.url, [])


def test_stopping_leaves_no_process_and_says_so(start: Start, home: Path) -> None:
    stack = start()
    below = process.descendants(stack.pid)
    assert len(below) > 8
    assert str(client.stop()) == f"Stopped (process {stack.pid})."
    assert [entry for entry in below if entry.alive()] == []
    assert belonging_to(home) == []
    assert not layout().state.exists()
    assert str(client.stop()) == "No stack is running."


def test_a_worker_that_does_not_end_is_killed_with_its_children(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STUBBORN, "1")
    below = process.descendants(start().pid)
    client.stop()
    assert [entry for entry in below if entry.alive()] == []


def test_children_of_a_killed_worker_do_not_outlive_it(start: Start) -> None:
    start()
    worker = service("worker").pid
    eventually(lambda: len(process.descendants(worker)) == 2)
    below = process.descendants(worker)
    kill_and_await_successor("worker")
    assert [entry for entry in below if entry.alive()] == []


def test_a_killed_server_comes_back_at_its_address(start: Start) -> None:
    stack = start()
    kill_and_await_successor("api")
    eventually(stack.healthy)


def test_a_killed_postgres_comes_back_with_its_data(start: Start, home: Path) -> None:
    start()
    sockets = socket_directory(home / "postgres" / "socket", account.current())
    address = f"postgresql://oddish@/oddish?host={sockets}&port=5432"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS x")
    kill_and_await_successor("postgres")
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT x FROM kept").fetchall() == [(1,)]


def test_a_killed_supervisor_takes_its_children_along_and_is_replaced(start: Start) -> None:
    first = start()
    below = process.descendants(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    eventually(lambda: client.find() is None)
    second = start()
    assert second.pid != first.pid
    assert [entry for entry in below if entry.alive()] == []


def test_down_ends_what_a_killed_supervisor_left(start: Start, home: Path) -> None:
    first = start()
    worker = service("worker")
    eventually(lambda: len(process.descendants(worker.pid)) == 2)
    worker.send(signal.SIGSTOP)
    os.kill(first.pid, signal.SIGKILL)
    client.stop()
    assert belonging_to(home) == []


def test_a_taken_port_means_the_next_one_and_a_note(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setenv("ODDISH_PORT", str(taken))
        stack = start()
    assert stack.state.port > taken
    assert stack.state.notes == (f"Port {taken} is taken; this stack uses {stack.state.port}.",)


def test_nobody_can_take_the_port_while_the_server_is_down(start: Start) -> None:
    stack = start()
    os.kill(stack.pid, signal.SIGSTOP)
    assert process.end([service("api")], steps=((signal.SIGKILL, 10.0),)) == []
    with pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", stack.state.port))
    with socket.create_connection(("127.0.0.1", stack.state.port), 30) as waiting:
        waiting.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        os.kill(stack.pid, signal.SIGCONT)
        assert b" 200 " in waiting.makefile("rb").readline()
    assert start().state.port == stack.state.port


def test_a_state_file_whose_pid_was_reused_is_not_believed(start: Start) -> None:
    stack = start()
    client.stop()
    ours = process.current()
    stranger = replace(stack.state, pid=ours.pid, services={"worker": replace(ours, started="another boot:1")})
    stranger.write(layout())
    assert client.find() is None
    assert start().pid != ours.pid


@pytest.mark.parametrize("content", [None, "{", FOREIGN_STATE])
def test_a_stack_that_lost_its_state_file_is_not_started_again(start: Start, content: str | None) -> None:
    stack = start()
    log = layout().log("stack").read_text()
    lose_state(content)
    said: list[str] = []
    assert client.ensure(program=PROGRAM, say=said.append).pid == stack.pid
    assert said == []
    assert layout().log("stack").read_text() == log


@pytest.mark.parametrize("content", [None, "{", FOREIGN_STATE])
def test_a_stack_that_lost_its_state_file_is_stopped(start: Start, home: Path, content: str | None) -> None:
    stack = start()
    lose_state(content)
    assert str(client.stop()) == f"Stopped (process {stack.pid})."
    assert belonging_to(home) == []


def test_a_stack_that_does_not_say_where_it_runs_is_named(start: Start) -> None:
    stack = start()
    os.kill(stack.pid, signal.SIGSTOP)
    lose_state(None)
    with pytest.raises(Unavailable, match=rf"(?s)process {stack.pid}\) has not said where it runs.*oddish down"):
        client.ensure(timeout=0.5, program=PROGRAM)
    os.kill(stack.pid, signal.SIGCONT)


def test_a_state_that_cannot_be_written_ends_nothing(start: Start, home: Path) -> None:
    stack = start()
    api = service("api")
    (home / "run").rename(home / "elsewhere")
    (home / "run").touch()
    os.kill(api.pid, signal.SIGKILL)
    eventually(lambda: "the state cannot be written" in layout().log("stack").read_text())
    (home / "run").unlink()
    (home / "elsewhere").rename(home / "run")
    eventually(lambda: services().get("api", api) != api)
    assert start().pid == stack.pid


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_state_file_counts_as_none(start: Start, content: str) -> None:
    layout().state.write_text(content)
    assert client.find() is None
    start()


def test_the_token_is_made_once_and_private(start: Start) -> None:
    start()
    made = client.token()
    assert made is not None
    assert layout().token.stat().st_mode & 0o777 == 0o600
    client.stop()
    start()
    assert client.token() == made


def test_an_idle_stack_stops_itself(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_IDLE_MINUTES", "0.05")
    supervisor = start().state.supervisor
    assert process.wait_gone([supervisor], 60) == []
    assert "stopping: idle" in layout().log("stack").read_text()


def test_an_older_idle_stack_is_replaced(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    first = start()
    monkeypatch.setattr(client, "__version__", "999.0")
    said: list[str] = []
    second = client.ensure(program=PROGRAM, say=said.append)
    assert second.pid != first.pid
    assert said[0] == f"Replacing the idle stack of oddish {first.version} ..."


def test_a_newer_stack_is_left_alone_with_a_notice(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    first = start()
    monkeypatch.setattr(client, "__version__", "0.0.1")
    second = start()
    assert second.pid == first.pid
    assert "oddish down" in second.notices()[0]


def test_a_server_that_keeps_ending_is_an_error_with_its_log(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BROKEN, "1")
    with pytest.raises(Unavailable, match=r"(?s)api keeps ending.*the API is broken.*oddish down"):
        start()


def test_a_start_that_fails_says_why(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_IDLE_MINUTES", "soon")
    with pytest.raises(Unavailable, match="ODDISH_IDLE_MINUTES is 'soon'"):
        start()


def test_a_setting_that_a_service_cannot_read_ends_the_start_and_leaves_nothing(
    start: Start, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BROKEN, "1")
    monkeypatch.setenv(UNREADABLE, "ODDISH_SOMETHING cannot be read")
    with pytest.raises(
        Unavailable, match=r"(?s)The worker of the local stack cannot start.*:\nODDISH_SOMETHING cannot be"
    ):
        start()
    assert belonging_to(home) == []
    assert not layout().state.exists()


def test_a_start_that_is_killed_is_tried_again(home: Path, tmp_path: Path) -> None:
    said: list[str] = []
    assert client.ensure(program=killing_itself(1, tmp_path / "runs"), say=said.append).healthy()
    assert said == ["Starting the local stack ..."]


def test_a_start_that_is_killed_each_time_is_an_error(home: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"did not start \(killed by SIGKILL\) and has logged nothing"):
        client.ensure(program=killing_itself(2, tmp_path / "runs"))


def test_a_home_that_cannot_be_made_is_an_error_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ODDISH_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(Unavailable, match=r"cannot be used: Not a directory.*Set ODDISH_HOME"):
        client.ensure(program=PROGRAM)


def test_a_database_elsewhere_is_used_instead_of_a_private_one(
    start: Start, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    start()
    assert services().keys() == {"api", "worker"}


def test_a_lock_held_out_of_sight_is_named(home: Path) -> None:
    with layout().lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said: list[str] = []
        with pytest.raises(Unavailable, match=r"stack\.lock is held by a process that cannot be seen"):
            client.ensure(timeout=5.0, program=PROGRAM, say=said.append)
        assert said == ["Starting the local stack ..."]
        assert layout().log("stack").read_text().count("running already") < 5
        eventually(lambda: belonging_to(home) == [])


def test_the_service_logs_are_bounded(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    log = layout().log("worker")
    with log.open("ab") as target:
        target.truncate(9 * 1024 * 1024)
    os.kill(service("api").pid, signal.SIGKILL)
    eventually(lambda: log.stat().st_size == 0)
    assert log.with_name("worker.log.1").stat().st_size == 8 * 1024 * 1024
