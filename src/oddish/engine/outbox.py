"""What a child says to its worker, written by a thread of its own: neither side's slowness stops the other."""

import socket
import threading
from collections import deque

from oddish.engine.connection import encode
from oddish.engine.protocol import Done, LogLine, LogsLine, StageLine

QUEUE_LIMIT = 8 * 1024 * 1024
"""Bytes waiting for the worker above which log lines are dropped and counted instead."""
TEXT_LIMIT = 256 * 1024
"""Characters of one log line; the rest is cut off."""


class Outbox:
    """Sends in order. Log lines may be dropped, which is said in the next one; nothing else is."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._dropped = 0
        self._broken = False
        self._changed = threading.Condition()
        threading.Thread(target=self._write, name="outbox", daemon=True).start()

    def put(self, message: StageLine | LogsLine | Done) -> None:
        """Queue a line that must arrive."""
        with self._changed:
            self._append(encode(message))

    def put_log(self, line: LogLine) -> None:
        """Queue a log line unless the worker is too far behind."""
        with self._changed:
            if self._waiting > QUEUE_LIMIT:
                self._dropped += 1
                return
            if self._dropped:
                notice = f"[{self._dropped} lines were left out because they came faster than they could be stored]\n"
                self._append(encode(LogLine(type="log", phase=line["phase"], text=notice)))
                self._dropped = 0
            if len(line["text"]) > TEXT_LIMIT:
                line = {**line, "text": line["text"][:TEXT_LIMIT] + " [cut]\n"}
            self._append(encode(line))

    def flush(self, timeout_sec: float) -> None:
        """Wait until everything queued is with the worker, or the worker is gone, or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or not self._waiting, timeout_sec)

    def _append(self, line: bytes) -> None:
        self._lines.append(line)
        self._waiting += len(line)
        self._changed.notify_all()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                line = self._lines.popleft()
            try:
                self._sock.sendall(line)
            except OSError:
                with self._changed:
                    self._broken = True
                    self._changed.notify_all()
                return
            with self._changed:
                self._waiting -= len(line)
                self._changed.notify_all()
