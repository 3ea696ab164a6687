"""``python -m oddish.backup take PLACE [--with-store] [--with-key]``, ``... restore PLACE [--replace]``.

Prints one JSON document: what was done, or with exit code 1 what kept it from being done.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from oddish.backup.restoring import restore
from oddish.backup.taking import take
from oddish.errors import OddishError
from oddish.stack.layout import layout


def main(arguments: list[str]) -> int:
    action, place, *options = arguments
    try:
        document = _take(Path(place), options) if action == "take" else _restore(Path(place), options)
    except OddishError as error:
        _print({"error": error.message, "code": error.code, "fix": error.fix})
        return 1
    _print(document)
    return 0


def _take(place: Path, options: list[str]) -> dict[str, object]:
    path, described = take(
        place, layout(), with_store="--with-store" in options, with_key="--with-key" in options, say=_say
    )
    return {"backup": str(path), **asdict(described)}


def _restore(place: Path, options: list[str]) -> dict[str, object]:
    done = restore(place, layout(), replace="--replace" in options, say=_say)
    return {
        "backup": str(done.backup),
        "kept": [str(path) for path in done.kept],
        "damaged": list(done.damaged),
        "key_restored": done.key_restored,
        "secrets_readable": done.secrets_readable,
        **{name: value for name, value in asdict(done.contents).items() if name not in ("damaged", "format")},
    }


def _print(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
