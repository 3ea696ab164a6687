"""``python -m oddish.doctor.dockerfiles``: what is around Dockerfiles that they do not go with; nothing is built.

Reads a JSON list of their paths from standard input and prints a JSON object from path to its flaws, each with
``message``, ``fix`` and ``certain``: whether nobody can build it; else it may not work in the local sandbox.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from oddish.errors import InvalidTask
from oddish.sandbox import dockerfile, host, plan
from oddish.sandbox.context import Context
from oddish.sandbox.likeness import same_system


class Flaw(TypedDict):
    message: str
    fix: str | None
    certain: bool


def flaws(path: Path) -> list[Flaw]:
    """Of one Dockerfile, whose directory is the build context; none of one that cannot be followed."""
    try:
        made = plan.make(dockerfile.parse(path.read_text(errors="replace")))
    except InvalidTask:
        return []
    except OSError as error:
        said = f"It cannot be read: {error.strerror}."
        return [Flaw(message=said, fix="Make it a readable file.", certain=True)]
    return [*_other_system(made), *_missing_sources(made, Context(path.parent))]


def _other_system(made: plan.Plan) -> Iterator[Flaw]:
    """Commands that may count on what the image brings."""
    if made.has_commands and made.image != "scratch" and not same_system(made.image, host.release()):
        yield Flaw(
            message=f"The local sandbox runs its commands on the machine's own system, here {host.system_name()}, in "
            f"place of {made.image}.",
            fix="Run it with -e docker if it needs what the image brings.",
            certain=False,
        )


def _missing_sources(made: plan.Plan, context: Context) -> Iterator[Flaw]:
    for step in made.steps:
        if not isinstance(step, plan.Copy):
            continue
        for source in step.sources:
            try:
                context.sources(source, step.line)
            except InvalidTask as error:
                yield Flaw(message=error.message, fix=error.fix, certain=True)


def main() -> None:
    print(json.dumps({path: flaws(Path(path)) for path in json.load(sys.stdin)}))  # noqa: T201


if __name__ == "__main__":
    main()
