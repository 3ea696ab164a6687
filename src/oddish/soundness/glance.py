"""What a look at a task's files shows at once, before its trials are asked for."""

import tomllib
from collections.abc import Iterator, Sequence

from oddish.soundness.contents import glance_at
from oddish.soundness.files import check_files, check_scripts
from oddish.soundness.parts import check_instruction, check_keys, check_solution, missing_environment
from oddish.soundness.verdict import Check
from oddish.tasks.definition import TaskDefinition
from oddish.tasks.package import PublishedFile
from oddish.tasks.structure import CONFIG_FILE

ORACLE = "oracle"


def glance(task: TaskDefinition, published: Sequence[PublishedFile], agent: str) -> list[Check]:
    """The flaws of a task and the files that are sent of it, with no process started and no Dockerfile read.

    ``failed`` where a trial cannot start, ``warning`` where it is likely to be worth nothing.
    """
    return list(_flaws(task, published, agent))


def _flaws(task: TaskDefinition, published: Sequence[PublishedFile], agent: str) -> Iterator[Check]:
    if (missing := missing_environment(task)) is not None:
        yield missing
    contents = glance_at(published)
    doubtful = [
        *check_keys(tomllib.loads((task.directory / CONFIG_FILE).read_text("utf-8"))),
        *([check_solution(task)] if agent == ORACLE else [check_instruction(task)]),
        *check_files(contents),
        check_scripts(contents.files),
    ]
    for check in doubtful:
        if check.level != "ok":
            yield Check(check.name, "warning", check.found, check.fix)
