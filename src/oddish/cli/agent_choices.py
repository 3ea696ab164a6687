"""Options of ``oddish run`` about the agents, and what they and a file come to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from oddish.cli.completion import environment_names
from oddish.cli.credentials import Sources
from oddish.cli.gathering import gathered
from oddish.cli.pairs import split_values, split_variables
from oddish.cli.sweep.sweep import Agent, Sweep
from oddish.cli.text import joined
from oddish.cli.trials import BASELINES
from oddish.client.types import JSON, AgentConfig, SweepConfig

DEFAULT_AGENT = "claude-code"
DEFAULT_TRIALS = 1
MOST_TRIALS = 10_000
"""Of one task, that a server creates at once."""


def _only(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The one value; the same one again is no other."""
    if len(set(given)) > 1:
        raise click.BadParameter(f"{joined(given)}: one is run. Name several in a file, for -c.", ctx, option)
    return given[0] if given else None


AGENT_OPTIONS = (
    click.option(
        "-a",
        "--agent",
        multiple=True,
        callback=_only,
        help=f"Agent that attempts the tasks, {DEFAULT_AGENT} where none is named.",
    ),
    click.option(
        "-m",
        "--model",
        multiple=True,
        callback=_only,
        help="Model for the agent, as provider/model. The agents oracle and nop need none.",
    ),
    click.option(
        "--n-trials",
        "-k",
        "--n-attempts",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Trials of each agent on each task, else {DEFAULT_TRIALS}.",
    ),
    click.option(
        "-e",
        "--env",
        metavar="NAME",
        shell_complete=environment_names,
        help="Where trials run: local, docker, daytona, ec2, e2b, modal, runloop or gke. Else the server decides.",
    ),
    click.option(
        "--ae",
        "--agent-env",
        "agent_env",
        multiple=True,
        metavar="KEY[=VALUE]",
        help="Variable for the agent; KEY alone takes its value from --env-file or the shell.",
    ),
    click.option(
        "--ak", "--agent-kwarg", "agent_kwarg", multiple=True, metavar="key=value", help="Setting of the agent."
    ),
    click.option("--effort", metavar="LEVEL", help="How much the agent reasons: --ak reasoning_effort=LEVEL."),
)


@dataclass(frozen=True)
class AgentChoices:
    """None and empty: as the file has it, else the default."""

    agent: str | None = None
    model: str | None = None
    n_trials: int | None = None
    env: str | None = None
    agent_env: tuple[str, ...] = ()
    agent_kwarg: tuple[str, ...] = ()
    effort: str | None = None

    def configs(self, sweep: Sweep, engine: AgentConfig, sources: Sources) -> list[SweepConfig]:
        """What is submitted of each agent; ``engine`` is what other options say of all of them.

        Raises ``click.UsageError`` naming the option.
        """
        said: AgentConfig = {**engine}
        if self.agent_env:
            said["env"] = split_variables(sources.complete(self.agent_env, "--ae"), "--ae")
        effort: dict[str, JSON] = {} if self.effort is None else {"reasoning_effort": self.effort}
        if kwargs := effort | split_values(self.agent_kwarg, "--ak"):
            said["kwargs"] = kwargs
        configs = [self._config(agent, sweep, said) for agent in self._agents(sweep)]
        total = sum(config["n_trials"] for config in configs)
        if total > MOST_TRIALS:
            raise click.UsageError(f"{total} trials of each task are more than {MOST_TRIALS}. Ask for fewer.")
        return configs

    def _agents(self, sweep: Sweep) -> Sequence[Agent]:
        """``-a`` takes the place of all agents of the file; ``-m`` alone is about the one that takes a model."""
        if self.agent is not None or not sweep.agents:
            return [Agent(self.agent or DEFAULT_AGENT, self.model)]
        if self.model is None:
            return sweep.agents
        taking = [agent for agent in sweep.agents if agent.name not in BASELINES]
        if len(taking) != 1:
            names = joined(agent.name for agent in taking) or "none"
            raise click.UsageError(
                f"-m {self.model} is the model of one agent, and the file has {len(taking)} that take one ({names}). "
                "Name the agent as well, with -a, or change model_name in the file."
            )
        return [replace(agent, model=self.model) if agent is taking[0] else agent for agent in sweep.agents]

    def _config(self, agent: Agent, sweep: Sweep, said: AgentConfig) -> SweepConfig:
        config: SweepConfig = {
            "agent": agent.name,
            "model": agent.model,
            "n_trials": self.n_trials or agent.n_trials or sweep.n_trials or DEFAULT_TRIALS,
        }
        if environment := self.env or agent.environment or sweep.environment:
            config["environment"] = environment
        if agent_config := overlaid(agent.config, said):
            config["agent_config"] = agent_config
        return config


def overlaid(file: AgentConfig, flags: AgentConfig) -> AgentConfig:
    """Flags win, variables and settings one by one; hosts are those of both."""
    config: AgentConfig = {**file, **flags}
    if "env" in file and "env" in flags:
        config["env"] = {**file["env"], **flags["env"]}
    if "kwargs" in file and "kwargs" in flags:
        config["kwargs"] = {**file["kwargs"], **flags["kwargs"]}
    if "extra_allowed_hosts" in file and "extra_allowed_hosts" in flags:
        config["extra_allowed_hosts"] = [*dict.fromkeys([*file["extra_allowed_hosts"], *flags["extra_allowed_hosts"]])]
    return config


agent_options = gathered("agents", AgentChoices, AGENT_OPTIONS)
"""The command gets them as ``agents``."""
