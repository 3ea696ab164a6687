"""What an id or a name on the command line means: a trial, a task or an experiment."""

from collections.abc import Callable
from dataclasses import dataclass

from oddish.cli.trials import live_trials
from oddish.cli.watch import Snapshot
from oddish.client import Client
from oddish.client.errors import ApiError
from oddish.client.types import Task, Trial
from oddish.errors import InvalidInput, NotFound
from oddish.tasks.definition import task_name


@dataclass(frozen=True)
class FoundTrial:
    trial: Trial

    @property
    def document(self) -> object:
        return self.trial

    def snapshot(self) -> Snapshot:
        return Snapshot([], [self.trial])

    def again(self, client: Client) -> "FoundTrial":
        return FoundTrial(client.trial(self.trial["id"]))


@dataclass(frozen=True)
class FoundTask:
    task: Task

    @property
    def document(self) -> object:
        return self.task

    def snapshot(self) -> Snapshot:
        return Snapshot([self.task], live_trials(self.task))

    def again(self, client: Client) -> "FoundTask":
        return FoundTask(client.task(self.task["id"]))


@dataclass(frozen=True)
class FoundExperiment:
    reference: str
    tasks: list[Task]

    @property
    def document(self) -> object:
        return self.tasks

    def snapshot(self) -> Snapshot:
        return Snapshot(self.tasks, [trial for task in self.tasks for trial in live_trials(task)])

    def again(self, client: Client) -> "FoundExperiment":
        return FoundExperiment(self.reference, client.experiment_tasks(self.reference))


type Found = FoundTrial | FoundTask | FoundExperiment


def find(client: Client, reference: str) -> Found:
    """The trial of that id, else the task, else the experiment, of that id or name."""
    found: Found | None = find_trial(client, reference) or find_task(client, reference)
    if found is not None:
        return found
    tasks = _experiment_tasks(client, reference)
    if not tasks:
        raise NotFound(
            f"{reference!r} is no task, trial or experiment here.", fix="`oddish status` lists the newest experiments."
        )
    return FoundExperiment(reference, tasks)


def find_trial(client: Client, reference: str) -> FoundTrial | None:
    """A trial id is a task id, a hyphen and a number; anything else is not asked for."""
    if not reference.rpartition("-")[2].isdecimal():
        return None
    trial = _if_there(lambda: client.trial(reference))
    return None if trial is None else FoundTrial(trial)


def find_task(client: Client, reference: str) -> FoundTask | None:
    task = _if_there(lambda: of_task(client, reference, client.task))
    return None if task is None else FoundTask(task)


def of_task[T](client: Client, reference: str, ask: Callable[[str], T]) -> T:
    """What ``ask`` answers about the task of that id, else about the one of that name.

    Raises what ``ask`` raises of the id where nothing has the name.
    """
    try:
        return ask(reference)
    except ApiError as error:
        if error.http_status != 404 or (named := task_named(client, reference)) is None:
            raise
        return ask(named["id"])


def task_named(client: Client, name: str) -> Task | None:
    """The task of that name, without its trials."""
    try:
        known_as = task_name(name)
    except InvalidInput:
        return None
    found = client.tasks(name=known_as, limit=1, include_trials=False)
    return next((task for task in found if task["name"] == known_as), None)  # other servers ignore the parameter


def find_experiment(client: Client, reference: str) -> FoundExperiment:
    tasks = _experiment_tasks(client, reference)
    if not tasks:
        raise NotFound(
            f"There is no experiment {reference!r} with tasks.", fix="`oddish status` lists the newest experiments."
        )
    return FoundExperiment(reference, tasks)


def _experiment_tasks(client: Client, reference: str) -> list[Task]:
    return _if_there(lambda: client.experiment_tasks(reference)) or []


def _if_there[T](read: Callable[[], T]) -> T | None:
    try:
        return read()
    except ApiError as error:
        if error.http_status != 404:
            raise
        return None
    except InvalidInput:
        return None
