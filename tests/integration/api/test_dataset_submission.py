"""``oddish run`` of a dataset against a real server: interrupted, repeated, and nothing twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.waiting import eventually

from .serving import KEY, Server, TaskFolder

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]
TASKS = 24
TRIALS = 3


@pytest.fixture
def dataset(new_task: Callable[..., TaskFolder]) -> Path:
    for index in range(TASKS):
        folder = new_task(f"task-{index:02}", instruction=f"Task {index}.")
    return folder.path.parent


@pytest.mark.usefixtures("quiet_logs")
def test_an_interrupted_dataset_is_completed_by_the_same_command_and_nothing_twice(
    server: Server, dataset: Path, oddish_home: Path
) -> None:
    server.offer()
    command = ["run", str(dataset), "-a", "nop", "--n-trials", str(TRIALS), "-b", "--submit-concurrency", "1"]
    environment = os.environ | {
        "ODDISH_API_URL": server.url,
        "ODDISH_API_KEY": KEY,
        "ODDISH_HOME": str(oddish_home),
        "ODDISH_SWEEP_BATCH_MAX_TASKS": "3",
    }

    def count(what: str) -> int:
        return int(str(server.sql(f"SELECT count(*) FROM {what}")[0][0]))  # noqa: S608

    def start() -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen([*PROGRAM, *command], env=environment, stdout=pipe, stderr=pipe, text=True)

    first = start()
    eventually(lambda: count("trials") >= TRIALS * 7)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    submitted = count("trials") // TRIALS
    assert first.returncode == 130, said
    assert 7 <= submitted < TASKS, "it was over before it was interrupted"
    ((experiment,),) = server.sql("SELECT name FROM experiments")
    assert f"{submitted} of {TASKS} tasks submitted to experiment {experiment}" in said
    assert f"with {submitted * TRIALS} new trials. They go on." in said

    second = start()
    output, said = second.communicate(timeout=60)
    assert second.returncode == 0, said
    assert f"going on in experiment {experiment}" in said
    assert f"{(TASKS - submitted) * TRIALS} trials queued." in output
    expected = {"tasks": TASKS, "task_versions": TASKS, "trials": TASKS * TRIALS, "jobs": TASKS * TRIALS}
    assert {name: count(name) for name in expected} == expected
    assert count("experiments") == 1
    assert server.sql("SELECT count(*) FROM trials GROUP BY task_id HAVING count(*) <> %s", TRIALS) == []
