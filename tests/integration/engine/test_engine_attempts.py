"""Attempts end to end: a real fork server, a real Harbor trial, a real sandbox."""

import asyncio
import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from oddish.engine.client import Attempt, AttemptCrashed, AttemptLost, EngineUnavailable, ForkServer
from oddish.engine.protocol import Done, FromChild, Run
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.outcome import Outcome, judge
from support.engine_kit import MakeRun, MakeTask, family, running
from support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.anyio]

SLEEP = "touch /app/started; sleep 600"
"""A solution that is still there when the test wants to end it."""


async def finish(server: ForkServer, run: Run) -> tuple[Done, list[FromChild]]:
    async with server.attempt(run) as attempt:
        lines = [line async for line in attempt]
    assert attempt.done is not None
    assert await attempt.wait() == 0
    return attempt.done, lines


def verdict(done: Done) -> tuple[TrialFacts | None, Outcome]:
    facts = read_trial(Path(done["trial_dir"])) if done["trial_dir"] else None
    return facts, judge(attempt_facts(facts, done, "done"))


def names(directory: str) -> set[str]:
    return {path.name for path in Path(directory).iterdir()}


def first_line(run: Run) -> str:
    """Of what the child printed."""
    return Path(run["trials_dir"], "runner.log").read_text().partition("\n")[0]


async def agent_started(attempt: Attempt, run: Run) -> None:
    """Read on until the sleeping solution runs."""
    async for line in attempt:
        if line["type"] == "stage" and line["stage"] == "agent_running":
            break
    started = Path(run["trials_dir"]) / f"{run['trial_name']}__env.root" / "app" / "started"
    await until(started.exists)


async def test_the_oracle_solves_the_task(server: ForkServer, make_task: MakeTask, make_run: MakeRun) -> None:
    run = make_run(make_task(), correlation_id="found-again")
    done, lines = await finish(server, run)
    stages = [line["stage"] for line in lines if line["type"] == "stage"]
    assert stages == ["trial_started", "environment_setup", "agent_running", "verification", "completed"]
    assert (
        lines[-1]
        == done
        == Done(type="done", trial_dir=str(Path(run["trials_dir"], run["trial_name"])), cancelled=False, failure=None)
    )
    facts, outcome = verdict(done)
    assert facts is not None
    assert facts.rewards == {"reward": 1.0}
    assert list(facts.timing) == ["environment_setup", "agent_setup", "agent_execution", "verifier"]
    assert (outcome.status, outcome.reward, outcome.reasons) == ("success", 1.0, ())
    assert names(run["trials_dir"]) == {"runner.log", run["trial_name"]}
    assert first_line(run) == f"attempt={run['attempt']} correlation_id=found-again"


async def test_a_wrong_answer_is_a_success_with_reward_zero(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    done, _ = await finish(server, make_run(make_task(), agent="nop"))
    _, outcome = verdict(done)
    assert (outcome.status, outcome.reward) == ("success", 0.0)


async def test_a_failed_build_is_recorded_with_its_phase(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    done, _ = await finish(server, make_run(make_task(build="false")))
    assert done["failure"] is not None
    assert (done["failure"]["type"], done["failure"]["phase"]) == ("RuntimeError", "environment_setup")
    _, outcome = verdict(done)
    assert (outcome.status, outcome.retry) == ("failed", "backoff")


async def test_an_attempt_that_takes_too_much_memory_outside_of_its_sandbox_fails_by_name(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(), agent="support.plain_agent:Hoarding")
    done, _ = await finish(server, run | {"memory_mb": 1024})
    assert done["failure"] is not None
    assert done["failure"]["type"] == "MemoryError"


async def test_an_unknown_exception_leaves_no_valid_reward(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    done, _ = await finish(server, make_run(make_task(), agent="support.plain_agent:Raising"))
    facts, outcome = verdict(done)
    assert facts is not None
    assert facts.reward_valid is True
    assert (outcome.status, outcome.overridden, outcome.reward, outcome.reasons) == (
        "failed",
        True,
        0.0,
        ("LookupError",),
    )


async def test_no_verification_is_a_scoreless_success(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    done, _ = await finish(server, make_run(make_task(), harbor={"verifier": {"disable": True}}))
    _, outcome = verdict(done)
    assert (outcome.status, outcome.reward, outcome.reasons) == ("success", None, ("verification_disabled",))


@pytest.mark.parametrize(
    ("members", "kind", "words"),
    [
        ({"task_dir": "/nonexistent"}, "FileNotFoundError", "/nonexistent"),
        ({"agent": "nobody"}, "ValueError", "nobody"),
        ({"environment": "moon"}, "InvalidInput", "moon"),
        ({"harbor": {"environment": {"privileged": True}}}, "InvalidInput", "harbor.environment.privileged"),
        ({"env": {"LD_PRELOAD": "/x.so"}}, "InvalidInput", "LD_PRELOAD"),
        ({"agent_env": {"A": "${NOT_GIVEN}"}}, "ValueError", "NOT_GIVEN"),
    ],
)
async def test_what_cannot_be_created_is_a_failure_that_is_not_retried(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun, members: dict[str, object], kind: str, words: str
) -> None:
    done, _ = await finish(server, make_run(make_task(), **members))
    assert done["failure"] is not None
    assert (done["failure"]["type"], done["failure"]["phase"]) == (kind, "creation")
    assert words in done["failure"]["message"]
    _, outcome = verdict(done)
    assert (outcome.status, outcome.reasons, outcome.retry) == ("failed", ("misconfigured",), "never")


async def test_each_side_gets_only_its_own_variables(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    task = make_task(
        extra='[verifier.env]\nGRADER_API_KEY = "${GRADER_API_KEY}"',
        test='cp /app/env /logs/verifier/; [ "$GRADER_API_KEY" = grader-secret ] && echo 1 > /logs/verifier/reward.txt',
    )
    run = make_run(
        task,
        agent="support.plain_agent:Talking",
        env={"GRADER_API_KEY": "grader-secret", "MODEL_API_KEY": "model-secret"},
        agent_env={"PATH_LIKE": "plain", "AGENT_TOKEN": "${MODEL_API_KEY}"},
    )
    done, lines = await finish(server, run)
    assert done["failure"] is None
    text = "".join(line["text"] for line in lines if line["type"] == "log" and line["phase"] == "agent")
    assert text.startswith("first\n")
    assert "PATH_LIKE=plain" in text
    assert "AGENT_TOKEN=[REDACTED]" in text
    assert "grader-secret" not in text
    assert "ODDISH_" not in text
    trial = Path(str(done["trial_dir"]))
    assert json.loads((trial / "config.json").read_text())["agent"]["env"]["AGENT_TOKEN"] == "${MODEL_API_KEY}"
    assert (trial / "verifier" / "reward.txt").read_text() == "1\n"


async def test_cancel_ends_the_trial_in_order(server: ForkServer, make_task: MakeTask, make_run: MakeRun) -> None:
    run = make_run(make_task(solve=SLEEP))
    async with server.attempt(run) as attempt:
        await agent_started(attempt, run)
        await attempt.cancel()
        async for _ in attempt:
            pass
    assert attempt.done is not None
    assert attempt.done["cancelled"]
    facts, outcome = verdict(attempt.done)
    assert facts is not None
    assert facts.exceptions[0].type == "CancelledError"
    assert facts.exceptions[0].phase == "agent_execution"
    assert (outcome.status, outcome.retry) == ("cancelled", "never")


async def test_the_deadline_ends_the_trial_in_order(server: ForkServer, make_task: MakeTask, make_run: MakeRun) -> None:
    done, _ = await finish(server, make_run(make_task(solve=SLEEP), deadline_sec=1.0))
    assert done["failure"] is not None
    assert done["failure"]["type"] == "AttemptDeadlineError"
    assert not done["cancelled"]
    _, outcome = verdict(done)
    assert (outcome.status, outcome.reasons, outcome.retry) == ("failed", ("deadline",), "never")


@pytest.mark.parametrize("agent", ["oracle", "support.plain_agent:Blocking"])
async def test_the_end_of_the_connection_kills_the_whole_group(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun, agent: str
) -> None:
    run = make_run(make_task(solve=SLEEP), agent=agent)
    async with server.attempt(run) as attempt:
        if agent == "oracle":
            await agent_started(attempt, run)
        else:
            log = Path(run["trials_dir"], "runner.log")
            await until(lambda: log.exists() and "blocking" in log.read_text())
        assert attempt.pid is not None
        processes = family(attempt.pid)
        assert len(processes) > (1 if agent == "oracle" else 0)
        attempt.disconnect()
        assert await attempt.wait() == -signal.SIGKILL
        await until(lambda: not running(processes))


async def test_kill_ends_an_attempt_whose_loop_is_blocked(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(), agent="support.plain_agent:Blocking")
    async with server.attempt(run) as attempt:
        log = Path(run["trials_dir"], "runner.log")
        await until(lambda: log.exists() and "blocking" in log.read_text())
        await attempt.kill()
        assert attempt.ended
        with pytest.raises(AttemptCrashed, match="SIGKILL"):
            async for _ in attempt:
                pass


async def test_leaving_the_context_kills_the_attempt(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(solve=SLEEP))
    async with server.attempt(run) as attempt:
        await agent_started(attempt, run)
        assert attempt.pid is not None
        processes = family(attempt.pid)
    await until(lambda: not running(processes))


async def test_a_killed_child_is_a_crash_with_its_signal(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(solve=SLEEP))
    async with server.attempt(run) as attempt:
        await agent_started(attempt, run)
        assert attempt.pid is not None
        os.kill(attempt.pid, signal.SIGSEGV)
        with pytest.raises(AttemptCrashed, match="SIGSEGV"):
            async for _ in attempt:
                pass
    outcome = judge(attempt_facts(None, None, "crashed"))
    assert (outcome.status, outcome.retry) == ("failed", "backoff")


async def test_a_killed_fork_server_takes_its_attempts_along_and_can_be_started_again(
    own_server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(solve=SLEEP))
    async with own_server.attempt(run) as attempt:
        await agent_started(attempt, run)
        assert attempt.pid is not None
        assert own_server.pid is not None
        processes = family(attempt.pid)
        os.kill(own_server.pid, signal.SIGKILL)
        with pytest.raises(AttemptLost):
            async for _ in attempt:
                pass
        await until(lambda: not running(processes))
    with pytest.raises(EngineUnavailable):
        async with own_server.attempt(make_run(make_task(), "t-1.1-abc")):
            pass
    await own_server.start()
    done, _ = await finish(own_server, make_run(make_task(), "t-2.1-abc"))
    assert done["failure"] is None


async def test_closing_the_server_ends_what_runs(
    own_server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(solve=SLEEP))
    async with own_server.attempt(run) as attempt:
        await agent_started(attempt, run)
        assert own_server.pid is not None
        processes = family(own_server.pid)
        await own_server.close()
        with pytest.raises(AttemptLost):
            await attempt.wait()
    await until(lambda: not running(processes))


async def test_attempts_run_side_by_side(server: ForkServer, make_task: MakeTask, make_run: MakeRun) -> None:
    task = make_task()
    runs = [make_run(task, f"t-{number}.1-abc") for number in range(8)]
    ended = await asyncio.gather(*(finish(server, run) for run in runs))
    assert [verdict(done)[1].reward for done, _ in ended] == [1.0] * 8
    assert psutil.Process(server.pid).children(recursive=True) == []


async def test_a_label_runs_once_at_a_time(server: ForkServer, make_task: MakeTask, make_run: MakeRun) -> None:
    run = make_run(make_task(solve=SLEEP))
    async with server.attempt(run):
        with pytest.raises(ValueError, match="already running"):
            async with server.attempt(run):
                pass


async def test_an_attempt_with_a_model_does_not_hold_up_others(
    own_server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    task = make_task()
    order: list[str] = []

    async def note(run: Run) -> Done:
        done, _ = await finish(own_server, run)
        order.append(run["attempt"])
        return done

    first = asyncio.create_task(note(make_run(task, "model.1-a", model="openai/some-model")))
    async with asyncio.TaskGroup() as group:
        await asyncio.sleep(0)
        others = [group.create_task(note(make_run(task, f"plain-{number}.1-a"))) for number in range(3)]
    done = await first
    assert [task.result()["failure"] for task in others] == [None] * 3
    assert done["failure"] is None
    assert order[-1] == "model.1-a"
    again = await note(make_run(task, "model.2-a", model="openai/some-model"))
    assert again["failure"] is None
