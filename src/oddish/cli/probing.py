"""Running oracle and nop on tasks, all at once, as one experiment."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from oddish.cli.credentials import Granted
from oddish.cli.judgement import NOP, ORACLE
from oddish.cli.progress import for_output
from oddish.cli.session import connect
from oddish.cli.trials import grouped, live_trials
from oddish.cli.watch import RETRY, Snapshot, watch_until_done
from oddish.client import Client
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError
from oddish.client.types import Submitted, SweepConfig, SweepRequest, Trial
from oddish.errors import OddishError

CONCURRENCY = 4
ATTEMPTS = 2
"""What has nothing to do with the task may go wrong once."""


@dataclass(frozen=True)
class Probe:
    """Which trials a task gets."""

    directory: Path
    has_solution: bool


@dataclass(frozen=True)
class Request:
    experiment: str
    repeat: int
    environment: str | None
    credentials: Granted = field(default_factory=Granted, repr=False)

    def sweep(self, probe: Probe, task_id: str, content_hash: str) -> SweepRequest:
        agents = [*([ORACLE] if probe.has_solution else []), NOP]
        request: SweepRequest = {
            "task_id": task_id,
            "configs": [self._config(agent) for agent in agents],
            "priority": "high",
            "experiment_id": self.experiment,
            "content_hash": content_hash,
            "max_trial_attempts": ATTEMPTS,
        }
        if given := self.credentials.for_task(probe.directory):
            request["credentials"] = given
        return request

    def _config(self, agent: str) -> SweepConfig:
        config: SweepConfig = {"agent": agent, "model": None, "n_trials": self.repeat}
        if self.environment is not None:
            config["environment"] = self.environment
        return config


@dataclass
class Probed:
    """What came of it, by the directory of the task."""

    submitted: dict[Path, Submitted] = field(default_factory=dict)
    refused: dict[Path, OddishError] = field(default_factory=dict)
    trials: dict[Path, list[Trial]] = field(default_factory=dict)
    failure: OddishError | None = None
    """Why there are no trials of those that were submitted."""

    @property
    def experiment_id(self) -> str | None:
        return next((task["experiment_id"] for task in self.submitted.values()), None)

    def of(self, directory: Path, agent: str) -> list[Trial]:
        return [trial for trial in self.trials.get(directory, []) if trial["agent"] == agent]


def run_probes(
    endpoint: Endpoint,
    probes: Sequence[Probe],
    request: Request,
    *,
    quiet: bool,
    started: Callable[[int], None],
) -> Probed:
    """``started`` is told how many trials there are. What goes wrong is in the answer; only Ctrl-C is raised."""
    probed = Probed()
    try:
        with connect(endpoint) as client:
            _submit(client, probes, request, probed)
        if probed.submitted:
            started(sum(len(task["new_trial_ids"]) for task in probed.submitted.values()))
            with connect(endpoint, retry=RETRY) as client:
                _watch(client, probed, quiet=quiet)
    except OddishError as error:
        probed.failure = error
    return probed


def blames_task(error: OddishError) -> bool:
    """Whether a server has refused a task for what it is."""
    return isinstance(error, ApiError) and error.problem_code == "invalid_task"


def _submit(client: Client, probes: Sequence[Probe], request: Request, probed: Probed) -> None:
    def send(probe: Probe) -> None:
        try:
            version = client.upload(probe.directory)
            sweep = request.sweep(probe, version["task_id"], version["content_hash"])
            probed.submitted[probe.directory] = client.sweep(sweep)
        except OddishError as error:
            probed.refused[probe.directory] = error

    send(probes[0])
    refusal = probed.refused.get(probes[0].directory)
    if refusal is not None and not blames_task(refusal):
        probed.failure = refusal  # it would be the same for the others
        return
    pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="submit")
    try:
        list(pool.map(send, probes[1:]))
    finally:
        pool.shutdown(cancel_futures=True)


def _watch(client: Client, probed: Probed, *, quiet: bool) -> None:
    experiment = probed.experiment_id
    assert experiment is not None  # noqa: S101 - something was submitted

    def fetch() -> Snapshot:
        tasks = client.experiment_tasks(experiment)
        mine = [trial for task in tasks for trial in live_trials(task) if trial["experiment_id"] == experiment]
        return Snapshot(tasks, mine)

    end = watch_until_done(fetch, for_output(quiet=quiet))
    by_task = grouped(end.trials, lambda trial: trial["task_id"])
    for directory, submitted in probed.submitted.items():
        probed.trials[directory] = by_task.get(submitted["id"], [])
