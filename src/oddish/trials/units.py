"""The unit of comparison of a submission: which trials are the same measurement. Pure.

Unit = agent, normalised model, agent configuration, another Harbor if one is asked for and whether nobody verifies,
without the values of secret-named variables, on one task version in one experiment. The environment is not part of it:
whoever leaves it to the server is content with any, whoever names one is given trials in that one (see ``planning``).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oddish.credentials import Table
from oddish.environments import read_environments
from oddish.errors import InvalidInput
from oddish.queue.keys import BASELINE_AGENTS, QueueKey, normalise_model, queue_key
from oddish.tasks.fit import findings
from oddish.trials.catalogue import ACP_AGENT, Catalogue, Offer
from oddish.trials.confidential import refuse_plain_secrets, split_env
from oddish.trials.credentials import TrialNames, names_of
from oddish.trials.doors import Door, Doors, check_services, require
from oddish.trials.environments import Environments
from oddish.trials.passthrough import check_harbor, check_kwargs, check_worker_files
from oddish.trials.web_tools import is_closed, with_web_tools
from oddish.variants.reference import Reference


class UnfitTask(InvalidInput):
    """A task that the chosen agent or environment can never run."""

    code = "unfit_task"


class NoSolution(UnfitTask):
    """A task that the oracle is to solve, and that brings no solution."""

    code = "oracle_solution_missing"


@dataclass(frozen=True)
class TrialConfig:
    """One agent and model of a submission, and how many trials shall exist."""

    agent: str
    model: str | None
    n_trials: int
    environment: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    kwargs: Mapping[str, object] = field(default_factory=dict)
    overrides: Mapping[str, object] = field(default_factory=dict)
    """Members of Harbor's agent section."""
    disable_web_tools: bool | None = None
    """None: they are off where the task closes the internet to the agent."""


@dataclass(frozen=True)
class Unit:
    """A checked configuration, in the form in which its trials are stored."""

    agent: str
    model: str | None
    count: int
    explicit_environment: str | None
    offer: Offer
    key: QueueKey
    agent_config: Mapping[str, object]
    hidden: Mapping[str, str] = field(repr=False)
    harbor: Mapping[str, object]
    hash: bytes
    doors: Doors
    disable_web_tools: bool | None = None
    offered: Sequence[str] = ()
    """The environments that trials here can choose among."""

    def agent_config_on(self, definition: Mapping[str, object]) -> dict[str, object]:
        """The configuration of its trials on one task, as it is stored and shown."""
        kwargs = self.agent_config["kwargs"]
        assert isinstance(kwargs, Mapping)  # noqa: S101
        closed = is_closed(definition)
        kwargs = with_web_tools(self.agent, kwargs, disabled=self.disable_web_tools, closed=closed)
        return {**self.agent_config, "kwargs": kwargs}

    @property
    def unverified(self) -> bool:
        """Nobody looks at what its trials come to."""
        return _unverified(self.harbor)

    def check_task(self, definition: Mapping[str, object]) -> None:
        """Refuse what would fail the same way in every attempt. Raises ``UnfitTask``."""
        if self.agent == "oracle" and definition.get("has_solution") is False:
            raise NoSolution(
                "The agent 'oracle' runs the task's own solution, and this task has none.",
                fix="Add solution/solve.sh, or use another agent.",
            )
        if found := findings(self._overridden(definition), self.offer.environment):
            fix = found[0].fix if found[0].what == "Dockerfile" else self._elsewhere(definition)
            raise UnfitTask(found[0].sentence, fix=fix)
        check_services(definition, self.doors)

    def _elsewhere(self, definition: Mapping[str, object]) -> str:
        """Which of the offered environments have what the task asks for."""
        able = [name for name in self.offered if not findings(self._overridden(definition), name)]
        if able:
            return f"Run it in an environment that has it: {' or '.join(f'-e {name}' for name in able)}."
        return (
            f"No environment that workers offer here has it ({', '.join(self.offered)}); whoever runs the server can "
            "add one."
        )

    def _overridden(self, definition: Mapping[str, object]) -> Mapping[str, object]:
        """``definition`` with the GPUs and TPUs that the submission asks for instead."""
        declared, overrides = definition.get("environment"), self.harbor.get("environment")
        if not isinstance(declared, Mapping) or not isinstance(overrides, Mapping):
            return definition
        changed = dict(declared)
        if overrides.get("override_gpus") is not None:
            changed["gpus"] = overrides["override_gpus"]
        if overrides.get("override_tpu") is not None:
            changed["needs_tpu"] = True
        return {**definition, "environment": changed}

    def names(self, definition: Mapping[str, object], table: Table | None) -> TrialNames:
        """The variables that its trials take from the outside."""
        shown = self.agent_config["env"]
        assert isinstance(shown, Mapping)  # noqa: S101
        return names_of(
            agent=self.agent,
            model=self.model,
            agent_config={**self.agent_config, "env": {**shown, **self.hidden}},
            harbor=self.harbor,
            definition=definition,
            table=table,
        )

    def memory_mb(self, definition: Mapping[str, object]) -> int:
        """What a trial reserves on its worker. Raises ``TooLittleMemory`` when no worker has it."""
        facts = read_environments().get(self.offer.environment)
        if facts is not None and not facts["on_the_worker"]:
            return 0
        declared, overridden = definition.get("environment"), self.harbor.get("environment")
        wanted = overridden.get("override_memory_mb") if isinstance(overridden, Mapping) else None
        if wanted is None and isinstance(declared, Mapping):
            wanted = declared.get("memory_mb")
        memory_mb = wanted if isinstance(wanted, int) else 0
        self.offer.check_memory(memory_mb)
        return memory_mb


def unit(
    config: TrialConfig,
    catalogue: Catalogue,
    *,
    inherited_environment: str | None,
    harbor: Mapping[str, object],
    doors: Doors,
    environments: Environments,
) -> Unit:
    """Check ``config`` against what workers offer and what the deployment passes on; raises what it is refused for."""
    reference = Reference.from_record(harbor)
    named, other = config.environment or inherited_environment, reference is not None
    offer = environments.choose(catalogue, named, doors, any_harbor=other)
    if ":" in config.agent and not ACP_AGENT.fullmatch(config.agent):
        require(Door.IMPORT_PATHS, doors, f"The agent {config.agent!r}, an import path,")
    model = None if config.agent in BASELINE_AGENTS else (config.model or "").strip() or None
    offer.check_agent(config.agent, model)
    check_kwargs("agent_config.kwargs", config.kwargs, doors)
    check_worker_files("agent_config.env", config.env, doors)
    refuse_plain_secrets("agent_config.kwargs", config.kwargs)
    passed_on = _with_overrides(harbor, config.overrides)
    check_harbor(passed_on, doors)
    environments.check_options(offer.environment, _environment_kwargs(passed_on), doors, any_harbor=other)
    shown, hidden = split_env(config.env)
    kwargs = with_web_tools(config.agent, config.kwargs, disabled=config.disable_web_tools)
    agent_config = {"env": shown, "kwargs": kwargs}
    variant: dict[str, object] = {"harbor": reference.record()["sha"]} if reference is not None else {}
    if _unverified(passed_on):
        variant["unverified"] = True
    return Unit(
        agent=config.agent,
        model=model,
        count=config.n_trials,
        explicit_environment=config.environment,
        offer=offer,
        key=queue_key(config.agent, model),
        agent_config=agent_config,
        hidden=hidden,
        harbor=passed_on,
        hash=unit_hash(config.agent, model, {**agent_config, **variant, "overrides": dict(config.overrides)}),
        doors=doors,
        disable_web_tools=config.disable_web_tools,
        offered=environments.offered(catalogue, any_harbor=other),
    )


def unit_hash(agent: str, model: str | None, agent_config: Mapping[str, object]) -> bytes:
    try:
        document = json.dumps([agent, normalise_model(model), agent_config], sort_keys=True, allow_nan=False)
    except ValueError as error:
        raise InvalidInput("agent_config holds a number that JSON has no form for.", fix="Leave out NaN.") from error
    return hashlib.sha256(document.encode()).digest()


def _unverified(harbor: Mapping[str, object]) -> bool:
    verifier = harbor.get("verifier")
    return isinstance(verifier, Mapping) and verifier.get("disable") is True


def _environment_kwargs(harbor: Mapping[str, object]) -> Mapping[str, object]:
    section = harbor.get("environment")
    kwargs = section.get("kwargs") if isinstance(section, Mapping) else None
    return kwargs if isinstance(kwargs, Mapping) else {}


def _with_overrides(harbor: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
    if not overrides:
        return dict(harbor)
    section = harbor.get("agent")
    return {**harbor, "agent": {**(section if isinstance(section, Mapping) else {}), **overrides}}
