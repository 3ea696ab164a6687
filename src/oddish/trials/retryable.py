"""Which trials can run again, and why others cannot. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oddish.errors import Conflict, InvalidInput, OddishError
from oddish.registries import RegistryLogin
from oddish.trials.queries import UNFINISHED


class Superseded(InvalidInput):
    """A trial that another one has replaced already."""

    code = "already_superseded"


class Unfinished(InvalidInput):
    """A trial that waits or runs."""

    code = "trial_unfinished"


class Imported(InvalidInput):
    """A trial that ran elsewhere, so that nobody here knows how to run it again."""

    code = "imported_trial"


class OfGatewayJob(InvalidInput):
    """A trial of a job of the gateway, to which no other trials come."""

    code = "of_gateway_job"


class SecretsGone(InvalidInput):
    """A trial whose secret values have been deleted since it was submitted."""

    code = "secrets_gone"


class LostRace(Conflict):
    """A trial that was replaced or deleted while its retry was prepared."""

    code = "lost_race"


@dataclass(frozen=True)
class Ended:
    """A trial of the past, as far as a new one is made like it."""

    id: str
    task_id: str
    task_version_id: str
    experiment_id: str
    agent: str
    model: str | None
    environment: str
    agent_config: Mapping[str, Any]
    harbor_config: Mapping[str, Any]
    secret_id: str | None
    max_attempts: int
    gated: bool
    """Its submission asked for the baseline gate."""
    priority: int
    status: str
    origin: str
    superseded_by_trial_id: str | None
    gateway_job_id: str | None

    def obstacle(self) -> OddishError | None:
        """Why no other trial can take its place, if so."""
        if self.superseded_by_trial_id is not None:
            return Superseded(
                f"Trial {self.id!r} was replaced by {self.superseded_by_trial_id!r}.",
                fix=f"Retry {self.superseded_by_trial_id} instead.",
            )
        if self.status in UNFINISHED:
            return Unfinished(
                f"Trial {self.id!r} has not ended: it is {self.status}.",
                fix=f"Wait for its end, or cancel it first: oddish cancel {self.id}",
            )
        if self.origin == "imported":
            return Imported(
                f"Trial {self.id!r} was imported; it never ran here.",
                fix=f"Run its agent on the task: oddish run --task {self.task_id} -a {self.agent}",
            )
        if self.gateway_job_id is not None:
            return OfGatewayJob(
                f"Trial {self.id!r} is one of the gateway job {self.gateway_job_id!r}, which stays as it is.",
                fix=f"Make up for those that raised with another job: oddish gateway retry {self.gateway_job_id}",
            )
        return None

    def variables(self, hidden: Mapping[str, str], *, kept_days: int) -> dict[str, str]:
        """The variables of its agent, those that are ``hidden`` included. Raises ``SecretsGone``."""
        shown: Mapping[str, str | None] = self.agent_config.get("env") or {}
        if gone := sorted(name for name, value in shown.items() if value is None and name not in hidden):
            given = " ".join(f"--ae {name}" for name in gone)
            raise SecretsGone(
                f"The values of {', '.join(gone)} that it was submitted with are deleted: they are kept for "
                f"{kept_days} days.",
                fix=f"Submit it again with them: oddish run --task {self.task_id} -a {self.agent} {given}",
            )
        return {name: value for name, value in shown.items() if value is not None} | dict(hidden)


@dataclass(frozen=True)
class Refused:
    """A trial that does not run again."""

    trial_id: str
    error: OddishError


def overtaken(trial: Ended) -> Refused:
    error = LostRace(
        f"Trial {trial.id!r} was replaced or deleted meanwhile.", fix=f"Look at what there is: oddish status {trial.id}"
    )
    return Refused(trial.id, error)


def merged(former: Iterable[RegistryLogin], given: Sequence[RegistryLogin]) -> Sequence[RegistryLogin]:
    """The logins of a trial that runs again: those that are ``given``, and the former ones at other registries."""
    registries = {login.registry for login in given}
    return (*given, *(login for login in former if login.registry not in registries))


@dataclass(frozen=True)
class RetryRequest:
    """One of the three. Of a task or an experiment, what failed or was skipped of what it shows."""

    trial_ids: Sequence[str] = ()
    task_id: str | None = None
    experiment: str | None = None
    """Id or name."""
    logins: Sequence[RegistryLogin] = field(default=(), repr=False)
    """In the place of the former ones at the same registries."""
    gate: bool = True
    """Trials that were submitted behind the baseline gate pass it again."""
