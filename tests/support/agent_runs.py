"""Real agents run at their scripts through ``oddish run``: what comes of it, and what is seen of it meanwhile."""

import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent_programs import CACHE

from oddish import Client
from oddish.client.live import LivePage
from support.agent_scripts import SAYS, RealAgent
from support.command_line import Cli
from support.model_servers import Conversation, ModelServer, Script

EXPERIMENT = "real"
PATIENCE = 300.0
"""Seconds until each has been seen at work."""
FILES = {
    "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 300\n[verifier]\ntimeout_sec = 60\n',
    "instruction.md": "Write hello.txt with a greeting and check it.\n",
    "tests/test.sh": "#!/bin/sh\ngrep -qx 'hello world' /app/hello.txt && echo 1 > /logs/verifier/reward.txt\n",
}
DOCKERFILE = """FROM {image}
ENV PATH={path}
RUN mkdir -p /root/.nvm && touch /root/.nvm/nvm.sh
WORKDIR /app
"""


def spoken(events: Sequence[Mapping[str, Any]]) -> str:
    """All that was said."""
    return "\n".join(event["payload"]["text"] for event in events if event["kind"] == "message")


@dataclass
class AgentRun:
    """What was told of one trial: ``seen`` while its model was asked for the second time, ``told`` from its files."""

    agent: RealAgent
    trial: Mapping[str, Any]
    conversation: Conversation
    gate: threading.Event
    seen: LivePage | None = None
    told: Sequence[Mapping[str, Any]] = ()

    def watch(self, client: Client) -> bool:
        """Let it go on once all was seen that can be; whether it may."""
        page = client.live.page(self.trial["id"])
        if SAYS[0] in spoken(page["events"]) and (page["usage"]["input_tokens"] or not self.agent.live_usage):
            self.seen = page
        if self.seen or not self.agent.live:
            self.gate.set()
        return self.gate.is_set()


def run_agents(
    directory: Path, agents: Sequence[RealAgent], environment: str, image: str, address: str = "127.0.0.1"
) -> dict[str, AgentRun]:
    """By the agents' names. The programs are mounted where they are on this machine."""
    cli = Cli(directory / "home")
    task = write_task(directory / "greeting", agents, image)
    try:
        cli("up")
        with ModelServer(address).serving() as server:
            runs = start(cli, task, agents, environment, server)
            with cli.client() as client:
                watch(client, runs)
            cli.answer("status", "-e", EXPERIMENT, "--watch")
        for run in runs:
            run.trial = cli.json("status", run.trial["id"])
            run.told = [json.loads(line) for line in cli("logs", run.trial["id"], "--finished", "--json").splitlines()]
    finally:
        cli("down")
    return {run.agent.name: run for run in runs}


def start(cli: Cli, task: Path, agents: Sequence[RealAgent], environment: str, server: ModelServer) -> list[AgentRun]:
    gates = {agent.name: threading.Event() for agent in agents}
    conversations = {agent.name: server.add(agent.name, gated(agent.script, gates[agent.name])) for agent in agents}
    sweep = {
        "agents": [agent.config(conversations[agent.name].url) for agent in agents],
        "environment": environment,
        "experiment": EXPERIMENT,
        "max_trial_attempts": 1,
        "harbor": {
            "environment": {
                "mounts": [{"type": "bind", "source": at, "target": at, "read_only": True} for at in mounted()]
            }
        },
    }
    file = task.with_name("sweep.json")
    file.write_text(json.dumps(sweep))
    cli.json("run", task, "-c", file, "--yes")
    [sent] = cli.json("status", "-e", EXPERIMENT)
    trials = {trial["agent"]: trial for trial in sent["trials"]}
    return [AgentRun(agent, trials[agent.name], conversations[agent.name], gates[agent.name]) for agent in agents]


def mounted() -> list[str]:
    """Directories of the programs, and of the Python that those of PyPI run on, unless images have it themselves."""
    return [str(place) for place in (CACHE, Path(sys.base_prefix)) if place.is_dir() and place != Path("/usr")]


def write_task(directory: Path, agents: Sequence[RealAgent], image: str) -> Path:
    places = dict.fromkeys(str(program.executable.parent) for agent in agents for program in agent.needs)
    dockerfile = DOCKERFILE.format(image=image, path=":".join((*places, "$PATH")))
    for path, content in {**FILES, "environment/Dockerfile": dockerfile}.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(content)
    return directory


def gated(script: Script, gate: threading.Event) -> Script:
    """Its second answer waits."""
    first, second, *others = script.turns
    return replace(script, turns=(first, replace(second, gate=gate), *others))


def watch(client: Client, runs: Sequence[AgentRun]) -> None:
    deadline = time.monotonic() + PATIENCE
    waiting = list(runs)
    while waiting and time.monotonic() < deadline:
        waiting = [run for run in waiting if not run.watch(client)]
        time.sleep(0.1)
    for run in waiting:
        run.gate.set()
