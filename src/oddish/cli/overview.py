"""What ``status`` shows without an id: the system and its newest experiments."""

from collections import Counter
from dataclasses import dataclass, field

from oddish import __version__
from oddish.cli.output import print_json, say, warn
from oddish.cli.session import LOCAL, skew
from oddish.cli.tables import print_table, table
from oddish.cli.tally import ORDER
from oddish.cli.text import age, joined, one_line, plural
from oddish.cli.trials import counts, grouped, live_trials, state
from oddish.client import Client
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError
from oddish.client.types import PAGE, ExperimentRef, Health, Load, LoadTotals, Task, Trial

NEWEST = 8
NO_WORKER = "No worker is alive: nothing runs now."


@dataclass
class Experiment:
    id: str
    name: str
    tasks: int = 0
    newest: str = ""
    counts: Counter[str] = field(default_factory=Counter)


def show(client: Client, endpoint: Endpoint, *, limit: int | None, verbose: bool, as_json: bool) -> None:
    """The newest ``limit`` experiments, None being all. A few are found among the newest tasks."""
    health = client.health()
    load = _load(client)
    tasks = client.tasks() if limit is not None and limit <= NEWEST else client.all_tasks()
    experiments = by_experiment(tasks)
    earlier = of_earlier_versions(tasks, experiments)
    if as_json:
        print_json(_document(endpoint, health, load, experiments[:limit], earlier))
        return
    say(f"Server {endpoint.url}  {one_line(health['status'])}{_version(health)}")
    if verbose:
        say(f"  database {one_line(health['database'])}, chosen by {endpoint.source}, client {__version__}")
        say(f"  tasks: {_tally(Counter(map(state, tasks))) or 'none'}")
    totals = _unfinished(load, experiments)
    if endpoint.source != LOCAL and (text := skew(health)):
        say(text)
    say(f"{plural(totals['queued'], 'trial')} queued, {totals['running']} running, {totals['retrying']} retrying")
    if load is not None and load["workers"]["alive"] == 0 and any(totals.values()):
        warn(NO_WORKER)
    say()
    if not experiments:
        say("Nothing has been run yet. Start with: oddish run examples/hello-world -a oracle")
        return
    shown = experiments[:limit]
    statuses = [status for status in ORDER if status == "success" or any(entry.counts[status] for entry in shown)]
    numbers = ("Tasks", *(status.capitalize() for status in statuses))
    made = table("Experiment", *numbers, "Newest trial", right=numbers, whole=("Experiment", *numbers))
    for entry in shown:
        counted = (str(entry.counts[status]) for status in statuses)
        made.add_row(one_line(entry.name), str(entry.tasks), *counted, age(entry.newest))
    print_table(made)
    if hidden := len(experiments) - len(shown):
        say(f"and {hidden} older; show them with: oddish status --all")
    elif len(tasks) == PAGE:
        say(f"These are the newest {PAGE} tasks; show all with: oddish status --all")
    if earlier:
        names = joined((one_line(entry["name"]) for entry in earlier), NEWEST if limit is not None else len(earlier))
        say(f"Only with trials of earlier versions of their tasks: {names}")


def by_experiment(tasks: list[Task]) -> list[Experiment]:
    """Newest first. A task counts for each experiment that one of its trials belongs to."""
    experiments: dict[str, Experiment] = {}
    for task in tasks:
        names = {experiment["id"]: experiment["name"] for experiment in task.get("experiments") or []}
        if task["experiment_id"]:
            names.setdefault(task["experiment_id"], task.get("experiment_name") or task["experiment_id"])
        for experiment_id, trials in _trials_by_experiment(task).items():
            name = names.get(experiment_id, experiment_id)
            experiment = experiments.setdefault(experiment_id, Experiment(experiment_id, name))
            experiment.tasks += 1
            newest = max((trial["created_at"] for trial in trials), default=task["created_at"])
            experiment.newest = max(experiment.newest, newest)
            experiment.counts.update(counts(trials))
    return sorted(experiments.values(), key=lambda experiment: experiment.newest, reverse=True)


def of_earlier_versions(tasks: list[Task], shown: list[Experiment]) -> list[ExperimentRef]:
    """Experiments of these tasks beside the ``shown``: all their trials are of versions that are not current."""
    known = {experiment.id for experiment in shown}
    found = (experiment for task in tasks for experiment in task.get("experiments") or [])
    return list({experiment["id"]: experiment for experiment in found if experiment["id"] not in known}.values())


def _trials_by_experiment(task: Task) -> dict[str, list[Trial]]:
    home = task["experiment_id"]
    found: dict[str, list[Trial]] = {} if home is None else {home: []}
    return found | grouped(live_trials(task), lambda trial: trial["experiment_id"])


def alive_workers(client: Client) -> int | None:
    """None where the server does not tell."""
    load = _load(client)
    return None if load is None else load["workers"]["alive"]


def _load(client: Client) -> Load | None:
    """None where the server does not tell."""
    try:
        return client.load()
    except ApiError as error:
        if error.http_status != 404:
            raise
        return None


def _unfinished(load: Load | None, experiments: list[Experiment]) -> LoadTotals:
    """Of all tasks and versions where the server tells, else of the experiments that were read."""
    if load is not None and (told := load.get("totals")) is not None:
        return told
    counted: Counter[str] = sum((experiment.counts for experiment in experiments), Counter())
    return {"queued": counted["queued"], "running": counted["running"], "retrying": counted["retrying"]}


def _document(
    endpoint: Endpoint,
    health: Health,
    load: Load | None,
    experiments: list[Experiment],
    earlier: list[ExperimentRef],
) -> dict[str, object]:
    return {
        "api_url": endpoint.url,
        "health": health,
        "workers": {"alive": load and load["workers"]["alive"]},
        "trials": _unfinished(load, experiments),
        "experiments": [
            {
                "id": experiment.id,
                "name": experiment.name,
                "tasks": experiment.tasks,
                "trials": dict(experiment.counts),
                "newest_at": experiment.newest,
            }
            for experiment in experiments
        ],
        "of_earlier_versions": [{"id": experiment["id"], "name": experiment["name"]} for experiment in earlier],
    }


def _version(health: Health) -> str:
    version = health.get("version")
    return f", version {one_line(version)}" if version else ""


def _tally(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {one_line(name)}" for name, count in sorted(counts.items()))
