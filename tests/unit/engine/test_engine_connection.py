"""Lines and descriptors over a socket, and what a child may queue for its worker."""

import os
import socket
from collections.abc import Iterator

import pytest

from oddish.engine import connection, outbox
from oddish.engine.connection import Connection, ProtocolError, decode
from oddish.engine.outbox import Outbox
from oddish.engine.protocol import Done, LogLine, StageLine

DONE = Done(type="done", trial_dir=None, cancelled=False, failure=None)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(20)
        yield ours, theirs


def received(peer: Connection, count: int) -> list[connection.Message]:
    messages: list[connection.Message] = []
    while len(messages) < count:
        messages += peer.receive() or []
    return messages


def test_lines_arrive_whole_and_in_order(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    reader = Connection(theirs)
    ours.sendall(b'{"type": "a"}\n{"type": "b", "x": ')
    assert reader.receive() == [{"type": "a"}]
    ours.sendall(b"1}\n")
    assert reader.receive() == [{"type": "b", "x": 1}]
    ours.sendall(b'{"type"')
    assert reader.receive() == []
    ours.close()
    assert reader.receive() is None


def test_descriptors_travel_with_their_lines(pair: tuple[socket.socket, socket.socket]) -> None:
    writer, reader = map(Connection, pair)
    read, write = os.pipe()
    writer.send({"type": "plain"})
    writer.send({"type": "spawn", "attempt": "one"}, write)
    os.close(write)
    assert [message["type"] for message in received(reader, 2)] == ["plain", "spawn"]
    taken = reader.take_descriptor()
    assert not os.get_inheritable(taken)
    os.write(taken, b"x")
    assert os.read(read, 1) == b"x"
    os.close(taken)
    os.close(read)


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b'{"type": 1}', b"{}", b"\xff"])
def test_what_is_not_a_message_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(line)


def test_an_endless_line_is_refused(pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINE_LIMIT", 10)
    pair[0].sendall(b"x" * 20)
    with pytest.raises(ProtocolError):
        Connection(pair[1]).receive()


def log(text: str) -> LogLine:
    return LogLine(type="log", phase="agent", text=text)


def test_everything_queued_arrives(pair: tuple[socket.socket, socket.socket]) -> None:
    box = Outbox(pair[0])
    box.put(StageLine(type="stage", stage="agent_running"))
    box.put_log(log("hello\n"))
    box.put(DONE)
    box.flush(20)
    assert [message["type"] for message in received(Connection(pair[1]), 3)] == ["stage", "log", "done"]


def test_a_slow_worker_loses_log_lines_only(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "QUEUE_LIMIT", 100_000)
    box = Outbox(pair[0])
    for _ in range(200):
        box.put_log(log("x" * 10_000))
    box.put(StageLine(type="stage", stage="verification"))
    reader = Connection(pair[1])
    messages = received(reader, 1)
    while messages[-1]["type"] != "stage":
        messages += received(reader, 1)
    box.put_log(log("after\n"))
    notice, after = received(reader, 2)
    kept = len(messages) - 1
    assert kept < 200
    assert notice["text"].startswith(f"[{200 - kept} lines were left out")
    assert after["text"] == "after\n"


def test_a_very_long_line_is_cut(pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "TEXT_LIMIT", 10)
    Outbox(pair[0]).put_log(log("x" * 100))
    assert received(Connection(pair[1]), 1)[0]["text"] == "x" * 10 + " [cut]\n"


def test_a_worker_that_left_does_not_hold_up_the_child(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[1].close()
    box = Outbox(pair[0])
    box.put(DONE)
    box.flush(20)
    box.put(DONE)
    box.flush(20)
