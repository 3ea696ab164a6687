"""``python -m oddish.web``: show a results directory until told to stop. What ``oddish view`` becomes."""

import argparse
import asyncio
import json
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from oddish import desktop
from oddish.errors import InvalidInput, OddishError
from oddish.listening import AddressTaken, listen, url_of
from oddish.logs import configure_logging
from oddish.serving.security import LOOPBACK
from oddish.web import signin
from oddish.web.running import announced
from oddish.web.server import create_app
from oddish.web.signin import Door
from oddish.web.templates import compile_all

PREFERRED = 8790
TRIED = 100
GRACE_SECONDS = 2
NAMED = "--host and --port"


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    configure_logging("console")
    try:
        asyncio.run(serve(options))
    except OddishError as error:
        if options.json:
            print(json.dumps({"error": error.message, "code": error.code, "fix": error.fix}))  # noqa: T201
        else:
            print(f"oddish view: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


async def serve(options: argparse.Namespace) -> None:
    """Refuses to start with an ``OddishError``; returns after SIGTERM or SIGINT."""
    if not options.public and options.host not in LOOPBACK:
        raise InvalidInput(
            f"On {options.host} others could reach what is shown, and only one machine's users have a way to sign in.",
            fix="Leave --host out, or show it to everybody, without any sign-in: --public.",
        )
    compile_all()
    door = None if options.public else Door()
    listener = _listen(options.host, options.port)
    url = url_of(listener)
    link = signin.link(url, door.code()) if door else f"{url}/"
    config = uvicorn.Config(
        create_app(options.directory, door),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="off",
    )
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn answers them, then raises them once more
        signal.signal(ending, lambda *_: None)
    with announced(url, options.directory.resolve(), door.token if door else ""):
        _tell(options, url, link)
        if options.open:
            await asyncio.to_thread(desktop.browse, link)
        await uvicorn.Server(config).serve(sockets=[listener])


def _tell(options: argparse.Namespace, url: str, link: str) -> None:
    if options.json:
        print(json.dumps({"url": url, "link": link, "directory": str(options.directory)}), flush=True)  # noqa: T201
        return
    lines = [f"{options.directory} is shown at {url} until Ctrl-C."]
    if options.public:
        lines.append("Everybody who can reach this address can read it.")
    else:
        lines += ["Open it in a browser by this link, which works once:", f"  {link}"]
        lines.append(f"Another link: oddish open {options.directory}")
    print("\n".join(lines), flush=True)  # noqa: T201


def _listen(host: str, port: int | None) -> socket.socket:
    """At ``port``, or without one at the preferred one or the next that is free."""
    if port is not None:
        return listen(host, port, who="oddish view", named=NAMED)
    for candidate in range(PREFERRED, PREFERRED + TRIED):
        try:
            return listen(host, candidate, who="oddish view", named=NAMED)
        except AddressTaken:
            continue
    return listen(host, 0, who="oddish view", named=NAMED)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m oddish.web")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    for flag in ("--public", "--open", "--json"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
