"""``oddish run`` as the command line submits, against a real server."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from oddish.cli.submit import Plan, append, submit
from oddish.client import Client
from oddish.client.types import Submitted

from .serving import KEY, Server, TaskFolder

AT_ONCE = 20
PLAN = Plan("same", [{"agent": "oracle", "model": None, "n_trials": 2}, {"agent": "nop", "model": None, "n_trials": 1}])


@pytest.mark.usefixtures("quiet_logs")
def test_twenty_identical_submissions_at_once_make_one_version_and_one_set_of_trials(
    server: Server, new_task: Callable[..., TaskFolder]
) -> None:
    server.offer()
    task = new_task()

    def send(_: int) -> Submitted:
        with Client(server.url, KEY) as client:
            (submitted,) = submit(client, [task.path], PLAN)
            return submitted

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(send, range(AT_ONCE)))
        again = Plan("same", [{"agent": "nop", "model": None, "n_trials": 3}])
        with Client(server.url, KEY) as client:
            added = list(pool.map(lambda _: append(client, answers[0]["id"], again), range(AT_ONCE)))
    assert {answer["id"] for answer in answers} == {answers[0]["id"]}
    assert Counter(len(answer["new_trial_ids"]) for answer in answers) == {3: 1, 0: AT_ONCE - 1}
    assert Counter(len(answer["new_trial_ids"]) for answer in added) == {2: 1, 0: AT_ONCE - 1}
    assert server.sql("SELECT agent, count(*) FROM trials GROUP BY 1 ORDER BY 1") == [("nop", 3), ("oracle", 2)]
    assert server.sql("SELECT count(*) FROM task_versions") == [(1,)]
