"""Sending tasks and asking for their trials."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oddish.cli.costlimit import CostLimit
from oddish.cli.credentials import Granted
from oddish.cli.labels import Labels
from oddish.cli.lookup import of_task
from oddish.cli.registry import as_members
from oddish.cli.sending import Sending, Shown, Sizes, Steps, Unclear, Unseen, is_overspent, understood
from oddish.cli.text import command, plural, quoted
from oddish.cli.trials import BASELINES
from oddish.cli.versions import change
from oddish.client import Client
from oddish.client.types import JSON, Priority, Submitted, SweepConfig, SweepRequest, UploadedVersion
from oddish.errors import OddishError
from oddish.registries import RegistryLogin


@dataclass(frozen=True)
class Plan:
    """What every task of a run is given."""

    experiment: str
    agents: Sequence[SweepConfig]
    user: str | None = None
    force_new_version: bool = False
    priority: Priority = "low"
    max_trial_attempts: int | None = None
    """The first one included; None: what the server is set to."""
    harbor: Mapping[str, JSON] = field(default_factory=dict)
    """What is said of the engine."""
    logins: Sequence[RegistryLogin] = field(default=(), repr=False)
    """At the registries that images come from."""
    credentials: Granted = field(default_factory=Granted, repr=False)
    """Variables that agents or tasks name."""
    gate_baselines: bool = False
    """Oracle and nop run first, once each unless the experiment has them, and decide whether the others run."""
    labels: Labels = field(default_factory=Labels)
    cost_limit: CostLimit | None = None

    @property
    def configs(self) -> list[SweepConfig]:
        """The agents, after the baselines that a gate needs and nobody asked for."""
        asked = {config["agent"] for config in self.agents}
        needed = [agent for agent in BASELINES if agent not in asked] if self.gate_baselines else []
        return [*map(self._baseline, needed), *self.agents]

    @property
    def trials_of_task(self) -> int:
        """How many each task shall have."""
        return sum(config["n_trials"] for config in self.configs)

    def _baseline(self, agent: str) -> SweepConfig:
        config: SweepConfig = {"agent": agent, "model": None, "n_trials": 1}
        environments = {other.get("environment") for other in self.agents}
        if len(environments) == 1 and (environment := environments.pop()) is not None:
            config["environment"] = environment
        return config

    def request(self, task_id: str, directory: Path | None) -> SweepRequest:
        """What is asked for of a task; ``directory`` is where its content is, unless only the server has it."""
        request: SweepRequest = {
            "task_id": task_id,
            "configs": self.configs,
            "priority": self.priority,
            "experiment_id": self.experiment,
        }
        self.labels.add_to(request)
        if self.user is not None:
            request["user"] = self.user
        if self.max_trial_attempts is not None:
            request["max_trial_attempts"] = self.max_trial_attempts
        if self.cost_limit is not None:
            request["max_cost_usd"] = self.cost_limit.usd
            request["budget"] = self.cost_limit.budget(self.experiment)
        if self.gate_baselines:
            request["gate_baselines"] = True
        if self.harbor:
            request["harbor"] = dict(self.harbor)
        if self.logins:
            request["registry_auth"] = as_members(self.logins)
        if given := self.credentials.for_task(directory):
            request["credentials"] = given
        return request


class PartlySubmitted(OddishError):
    """Some tasks of a run were accepted before others were refused."""

    code = "partly_submitted"


def submit(
    client: Client,
    tasks: Sequence[Path],
    plan: Plan,
    *,
    concurrency: int | None = None,
    shown: Shown | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Submitted]:
    """The first task goes alone, so that a refusal of the plan leaves nothing behind; the others go side by side.

    ``tell`` is told, from any thread, which tasks changed; ``shown`` how far it is, also when this is interrupted.
    """
    if concurrency is not None:
        client.send_at_once(concurrency)
    sizes = Sizes.of(concurrency)

    def request(task: Path, version: UploadedVersion) -> SweepRequest:
        asked = plan.request(version["task_id"], task)
        asked["content_hash"] = version["content_hash"]
        return asked

    def accepted(version: UploadedVersion, submitted: Submitted) -> None:
        if text := change(version, submitted):
            tell(text)

    steps = Steps(lambda task: client.upload(task, force_new_version=plan.force_new_version), request, accepted)
    sending = Sending(client, steps, shown or Unseen())
    try:
        sending.first(tasks[0])
    except Unclear as error:
        raise _unclear(error, plan) from error
    sending.others(tasks[1:], sizes)
    if sending.refused or sending.left:
        raise _partly(plan, sending)
    return [sending.done[task] for task in tasks]


def nothing_started(error: OddishError) -> bool:
    """Whether a submission that ended so has certainly left no trial."""
    return not isinstance(error, PartlySubmitted | Unclear)


def append(client: Client, task: str, plan: Plan) -> Submitted:
    """Ask for trials of the current version of a task that the server has, by its id or name."""

    def ask(task_id: str) -> Submitted:
        request = plan.request(task_id, None)
        request["append_to_task"] = True
        return client.sweep(request)

    try:
        return of_task(client, task, ask)
    except OddishError as error:
        judged = understood(error)
        raise _unclear(judged, plan) if isinstance(judged, Unclear) else judged from error


def _unclear(error: Unclear, plan: Plan) -> Unclear:
    again = f"Run the same command with -E {quoted(plan.experiment)}: what was started is not started twice."
    return Unclear(error.message, fix=again)


def _partly(plan: Plan, sending: Sending) -> PartlySubmitted:
    limit = next(filter(is_overspent, sending.refused.values()), None)
    refused = {task: error for task, error in sending.refused.items() if not is_overspent(error)}
    reasons = "".join(f"\n  {task.name}: {error.message}" for task, error in sorted(refused.items())[:10])
    more = f"\n  and {len(refused) - 10} more" if len(refused) > 10 else ""
    untried = f"\n  {plural(len(sending.left), 'task')} not tried" if sending.left and limit is None else ""
    again = f"the same command with -E {quoted(plan.experiment)}"
    watch = command("status", "-e", plan.experiment, "--watch")
    if limit is not None:
        fix = f"{limit.fix}\n  To do so: {again}, which starts nothing twice\n  To watch what was accepted: {watch}"
    else:
        fix = (
            f"What was accepted goes on. To watch it: {watch}\n"
            f"  To stop it: {command('cancel', '--experiment', plan.experiment)}\n"
            f"  To send the others, corrected: {again}, which starts nothing twice; "
            f"to leave them out: {_exclusion(refused)}"
        )
    return PartlySubmitted(
        f"{plural(len(sending.done), 'task')} submitted to experiment {plan.experiment}, "
        f"{len(sending.refused) + len(sending.left)} not:"
        f"{'' if limit is None else f' {limit.message}'}{reasons}{more}{untried}",
        fix=fix,
    )


def _exclusion(refused: Iterable[Path]) -> str:
    """The options that leave these tasks out."""
    return " ".join(f"-x {quoted(task.resolve().name)}" for task in sorted(refused))
