"""``python -m oddish.stack``: run the local stack in the foreground until told to stop or idle."""

import contextlib
import os
import sys
from datetime import UTC, datetime

from oddish.errors import OddishError
from oddish.stack.layout import layout
from oddish.stack.service import Services, api_and_worker
from oddish.stack.start import DETACHED, LOCK_HELD
from oddish.stack.supervisor import AlreadyRunning, Supervisor


def main(arguments: list[str], services: Services = api_and_worker) -> int:
    if DETACHED in arguments:
        os.closerange(3, 256)
    try:
        Supervisor(layout(), services=services, report=_report).run()
    except AlreadyRunning as error:
        _report(str(error))
        return LOCK_HELD
    except OddishError as error:
        _report(str(error))
        return 1
    except OSError as error:
        _report(f"The local stack cannot go on: {error}")
        return 1
    return 0


def _report(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}\n".encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
