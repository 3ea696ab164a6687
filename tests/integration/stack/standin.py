"""A stack whose API and worker are small real programs: ``python standin.py [api | worker]``.

Without an argument it runs the supervisor over them.
"""

import os
import signal
import socket
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from oddish.errors import EXIT_UNREADABLE_SETTING
from oddish.stack.__main__ import main
from oddish.stack.service import Context, Service

STUBBORN = "ODDISH_STANDIN_STUBBORN_WORKER"
BROKEN = "ODDISH_STANDIN_BROKEN_API"
UNREADABLE = "ODDISH_STANDIN_UNREADABLE_SETTING"
"""What the worker prints before it ends as one whose settings cannot be read."""


class Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


def api() -> None:
    if os.environ.get(BROKEN):
        sys.exit("the API is broken")
    listener = socket.socket(fileno=int(os.environ["ODDISH_LISTEN_FD"]))
    server = ThreadingHTTPServer(listener.getsockname(), Health, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.serve_forever()


def worker() -> None:
    """Two generations of children, which it ends when asked to end, unless it is stubborn."""
    if said := os.environ.get(UNREADABLE):
        sys.stderr.write(f"{said}\n")
        sys.exit(EXIT_UNREADABLE_SETTING)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild == 0:
            os.setsid()
        else:
            os.write(writer, f"{grandchild}\n".encode())
        while True:
            signal.pause()
    below = [child, int(os.read(reader, 100))]

    def end(*_: object) -> None:
        for pid in below:
            os.kill(pid, signal.SIGKILL)
        sys.exit()

    signal.signal(signal.SIGTERM, signal.SIG_IGN if os.environ.get(STUBBORN) else end)
    while True:
        signal.pause()


def services(context: Context) -> Sequence[Service]:
    environment = context.environment()
    return [
        Service("api", (sys.executable, __file__, "api"), environment, patience=5.0, listens=True),
        Service("worker", (sys.executable, __file__, "worker"), environment, patience=0.5),
    ]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["api"]:
            api()
        case ["worker"]:
            worker()
        case arguments:
            sys.exit(main(arguments, services))
