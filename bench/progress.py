"""What is being done, on the error stream."""

import sys
import time

_BEGAN = time.monotonic()


def say(line: str) -> None:
    print(f"[{time.monotonic() - _BEGAN:4.0f} s] {line}", file=sys.stderr, flush=True)
