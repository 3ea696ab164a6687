"""Logs of a sandbox that is not on this machine's disk, and passes no output on, are fetched while the agent runs."""

from pathlib import Path

import pytest

from oddish.engine.client import ForkServer
from support.engine_kit import MakeRun, MakeTask
from support.waiting import until

pytestmark = pytest.mark.anyio


async def test_logs_are_fetched_while_the_agent_runs(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(), agent="support.plain_agent:Logging")
    inside = Path(run["trials_dir"]) / f"{run['trial_name']}__env.root" / "app"
    places: list[Path] = []
    async with server.attempt(run) as attempt:
        async for line in attempt:
            if line["type"] == "logs":
                places.append(Path(line["base"], line["below"]))
                for words in ("one\n", "one\ntwo\n"):
                    await until(lambda words=words: (places[0] / "own.txt").read_text() == words)
                    (inside / f"seen-{words.split()[-1]}").touch()
    assert attempt.done is not None
    assert attempt.done["failure"] is None
    assert len(places) == 1
    assert not places[0].is_relative_to(str(attempt.done["trial_dir"]))


async def test_what_an_agent_keeps_elsewhere_is_fetched_from_there(
    server: ForkServer, make_task: MakeTask, make_run: MakeRun
) -> None:
    run = make_run(make_task(), agent="support.plain_agent:Keeping")
    inside = Path(run["trials_dir"]) / f"{run['trial_name']}__env.root" / "app"
    found: list[Path] = []
    async with server.attempt(run) as attempt:
        async for line in attempt:
            if line["type"] == "logs":
                found.append(Path(line["base"], line["below"], "own.record"))
                (inside / "seen-one").touch()
    assert [file.read_text() for file in found] == ["one\n"]
