"""``oddish logs`` against a real server."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import pytest
from click.testing import CliRunner, Result

from oddish.api import following as streams
from oddish.cli import cli
from oddish.client import Client
from oddish.client.errors import ApiError

from .following import Running, running_trial
from .serving import KEY, Server, TaskFolder

pytestmark = pytest.mark.usefixtures("quiet_logs")

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]


@pytest.fixture
def trial(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder], monkeypatch: pytest.MonkeyPatch
) -> Running:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    return running_trial(server, client, new_task)


def logs(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["logs", *arguments])


def begin_and_speak(trial: Running) -> None:
    trial.begin()
    trial.stage("agent_running")
    trial.says("I look first.")
    trial.writes("tool_use", '{"name": "Bash", "input": "{\\"command\\": \\"ls -la\\"}"}')
    trial.writes("tool_result", '{"content": "total 1\\na.py"}')
    trial.spends(1200, 34, 0.0123)


def test_one_look_shows_what_there_is_and_how_to_follow(trial: Running) -> None:
    begin_and_speak(trial)
    result = logs(trial.trial_id)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "--- agent at work ---",
        "I look first.",
        "",
        "> Bash  ls -la",
        "    total 1",
        "    a.py",
        "1,200 in, 34 out, ~$0.0123",
    ]
    assert result.stderr == f"Follow it: oddish logs {trial.trial_id} -f\n"


def test_a_trial_that_waits_says_why(trial: Running) -> None:
    result = logs(trial.trial_id)
    assert result.exit_code == 0, result.output
    assert "Nothing was said yet: next in the queue" in result.stdout


def test_following_tells_of_a_retry_and_ends_with_the_trial(trial: Running) -> None:
    with following(trial) as follower:
        begin_and_speak(trial)
        follower.has_printed("a.py")
        trial.begin()
        trial.says("Once more.")
        follower.has_printed("Once more.")
        trial.spends(5, 6, None)
        trial.ends()
    assert follower.code == 0
    lines = follower.printed.splitlines()
    again = lines.index("--- retried: attempt 2 ---")
    assert lines.index("I look first.") < again < lines.index("Once more.")
    assert lines[-3:] == [
        "5 in, 6 out, cost unknown",
        f"{trial.trial_id}  success  reward –",
        f"All its files:  oddish pull {trial.trial_id}",
    ]


def test_following_says_why_the_trial_waits_and_when_that_changes(
    trial: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.05)
    trial.server.sql("UPDATE queue_keys SET paused = true")
    with following(trial) as follower:
        follower.has_printed("is paused ---\n")
        trial.server.sql("UPDATE queue_keys SET paused = false")
        follower.has_printed("--- waiting: next in the queue ---\n")
        trial.begin()
        follower.has_printed("--- starting ---\n")
        trial.says("Hello.")
        follower.has_printed("Hello.")
        trial.fails_for_now("the model is overloaded")
        follower.has_printed("the next attempt starts at 12:00:00 UTC ---\n")
        trial.begin()
        follower.has_printed("--- retried: attempt 2 ---\n--- starting ---\n")
        trial.says("Once more.")
        follower.has_printed("Once more.")
        trial.ends()
    lines = iter(follower.printed.splitlines())
    expected = [
        "--- waiting: next in the queue; the queue of nop_oracle is paused ---",
        "--- waiting: next in the queue ---",
        "--- starting ---",
        "Hello.",
        "--- waiting: attempt 1 of 6 failed: the model is overloaded; the next attempt starts at 12:00:00 UTC ---",
        "--- retried: attempt 2 ---",
        "--- starting ---",
        "Once more.",
    ]
    assert [line for line in expected if line in lines] == expected, follower.printed


def test_a_followed_trial_that_fails_ends_with_one(trial: Running) -> None:
    trial.begin()
    trial.ends("failed")
    assert logs(trial.trial_id, "-f").exit_code == 1
    assert logs(trial.trial_id).exit_code == 0


def test_an_interrupt_ends_the_following_and_not_the_trial(trial: Running) -> None:
    with following(trial) as follower:
        trial.begin()
        trial.says("Hello.")
        follower.has_printed("Hello.")
        follower.process.send_signal(signal.SIGINT)
    assert follower.code == 130
    assert "No longer following; the trial goes on." in follower.errors
    assert "Traceback" not in follower.errors


def test_every_event_is_a_line_of_json(trial: Running) -> None:
    begin_and_speak(trial)
    state, *events = map(json.loads, logs(trial.trial_id, "--json").stdout.splitlines())
    assert [(event["attempt"], event["seq"], event["kind"]) for event in events] == [
        (1, 1, "message"),
        (1, 2, "tool_use"),
        (1, 3, "tool_result"),
    ]
    assert (state["kind"], state["done"], state["usage"]["cost_usd"]) == ("state", False, 0.0123)
    trial.ends()
    state, *events = map(json.loads, logs(trial.trial_id, "-f", "--json").stdout.splitlines())
    assert (len(events), state["done"]) == (3, True)


def test_what_has_ended_is_read_from_its_files(server: Server, trial: Running) -> None:
    begin_and_speak(trial)
    refused = logs(trial.trial_id, "--finished")
    assert refused.exit_code == 1
    assert f"oddish logs {trial.trial_id} -f" in refused.stderr
    trial.ends()
    trial.purged()
    pointed = logs(trial.trial_id)
    assert pointed.exit_code == 0
    assert f"oddish logs {trial.trial_id} --finished" in pointed.stdout
    big = "".join(f"line {number}\n" for number in range(30_000))
    server.sql("DELETE FROM attempts")
    files = {"agent/nop.txt": big.encode(), "agent/deep/other.txt": b"no", "verifier/out.txt": b"no"}
    server.leave_files(trial.trial_id, files)
    result = logs(trial.trial_id, "--finished")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:30_000] == big.splitlines()
    assert lines[30_000:] == [
        f"{trial.trial_id}  success  reward –",
        f"All its files:  oddish pull {trial.trial_id}",
    ]
    *events, state = map(json.loads, logs(trial.trial_id, "--finished", "--json").stdout.splitlines())
    assert (len(events), events[-1]["payload"], events[-1]["seq"]) == (30_000, {"text": "line 29999"}, 30_000)
    assert state["done"]


def test_where_not_all_was_shown_live_the_rest_is_named(trial: Running) -> None:
    trial.begin()
    trial.says("One.")
    trial.writes("summary", '{"text": "Only the first 1 events are shown live.", "incomplete": true}')
    trial.ends()
    for result in (logs(trial.trial_id), logs(trial.trial_id, "-f")):
        assert result.stdout.splitlines()[-2:] == [
            f"All that was said:  oddish logs {trial.trial_id} --finished",
            f"All its files:  oddish pull {trial.trial_id}",
        ]


@pytest.mark.parametrize("state", ["cancelled", "skipped"])
def test_a_trial_that_never_ran_sends_nobody_to_what_will_not_be(trial: Running, state: str) -> None:
    trial.server.sql("UPDATE jobs SET state = %s, finished_at = now() WHERE subject_id = %s", state, trial.trial_id)
    for result in (logs(trial.trial_id), logs(trial.trial_id, "-f")):
        headline, rest = result.stdout.splitlines()
        assert headline.startswith(f"{trial.trial_id}  {state}")
        assert rest == "It never ran: nothing was said, and there are no files."
    refused = logs(trial.trial_id, "--finished")
    assert refused.exit_code == 1
    assert f"Trial '{trial.trial_id}' has no files, for it never ran." in refused.stderr
    assert "when an attempt ends" not in refused.stderr


def test_files_are_promised_only_before_the_end(trial: Running) -> None:
    def refusal() -> str:
        with Client(trial.server.url, KEY) as client, pytest.raises(ApiError) as refused:
            client.evidence.files(trial.trial_id)
        return refused.value.message

    trial.begin()
    assert refusal() == f"Trial '{trial.trial_id}' has no files yet."
    trial.ends("failed")
    assert refusal() == f"Trial '{trial.trial_id}' has left no files."


def test_a_task_or_an_experiment_is_answered_with_its_trials(trial: Running) -> None:
    task_id = trial.trial_id.rpartition("-")[0]
    for reference in (task_id, "mine"):
        result = logs(reference)
        assert result.exit_code == 1
        assert f"Its trials: {trial.trial_id}. As in: oddish logs {trial.trial_id} -f" in result.stderr
    trial.begin()
    assert f"Its running trials: {trial.trial_id}." in logs(task_id).stderr
    (line,) = logs("absent", "--json").stdout.splitlines()
    assert json.loads(line)["code"] == "not_found"
    assert logs(trial.trial_id, "-f", "--finished").exit_code == 2


@dataclass
class Follower:
    """``oddish logs -f`` as a process of its own."""

    process: subprocess.Popen[str]
    printed: str = ""
    errors: str = ""
    code: int | None = None

    def has_printed(self, text: str) -> None:
        assert self.process.stdout is not None
        while text not in self.printed:
            line = self.process.stdout.readline()
            assert line, self.printed
            self.printed += line


@contextmanager
def following(trial: Running) -> Iterator[Follower]:
    """Ends with the command, which has to end within the block or because of it."""
    command = [*PROGRAM, "logs", trial.trial_id, "-f"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        follower = Follower(process)
        try:
            yield follower
            rest, follower.errors = process.communicate(timeout=30)
        finally:
            process.kill()
        follower.printed += rest
        follower.code = process.returncode
