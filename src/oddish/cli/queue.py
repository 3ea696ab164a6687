"""``oddish status --queue``: why something is queued and does not run, and who works on the queue."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from oddish.cli.output import print_json, say, warn
from oddish.cli.overview import NO_WORKER
from oddish.cli.tables import print_table, table
from oddish.cli.text import age, brief, duration, number, one_line, plural
from oddish.client import Client
from oddish.client.errors import ApiError
from oddish.client.queuestate import (
    Capacity,
    Component,
    OrphanedState,
    QueueHealth,
    QueueStatus,
    Slots,
    TrialSample,
    WorkerJobs,
)

MINUTES = (1, 240)
"""Between which ``--stale-after`` may be."""
STALE_AFTER = 15
KEYS_SHOWN = 40
MESSAGE_LENGTH = 120
NOT_HERE = "not available on this server"


@dataclass(frozen=True)
class Part[Body]:
    """One of the reads: what was answered, what was refused, or neither where the server does not know it."""

    body: Body | None = None
    error: ApiError | None = None

    @classmethod
    def read(cls, ask: Callable[[], Body]) -> "Part[Body]":
        try:
            return cls(body=ask())
        except ApiError as error:
            return cls() if error.http_status == 404 else cls(error=error)

    @property
    def document(self) -> object:
        if self.error is None:
            return self.body
        return {"error": self.error.message, "status": self.error.http_status}


@dataclass(frozen=True)
class State:
    """The five reads."""

    queue_health: Part[QueueHealth]
    queue_status: Part[QueueStatus]
    slots: Part[Slots]
    orphaned_state: Part[OrphanedState]
    worker_jobs: Part[WorkerJobs]

    @classmethod
    def read(cls, client: Client, stale_after: int) -> "State":
        ask = client.diagnostics
        return cls(
            queue_health=Part.read(ask.queue_health),
            queue_status=Part.read(ask.queue_status),
            slots=Part.read(ask.slots),
            orphaned_state=Part.read(lambda: ask.orphaned_state(stale_after_minutes=stale_after)),
            worker_jobs=Part.read(lambda: ask.worker_jobs(stale_after_minutes=stale_after)),
        )

    @property
    def errors(self) -> list[ApiError]:
        return [part.error for part in vars(self).values() if part.error is not None]

    @property
    def refused(self) -> ApiError | None:
        """What refused all of them, when it was one thing."""
        errors = self.errors
        alike = {(error.http_status, error.message) for error in errors}
        return errors[0] if len(alike) == 1 and len(errors) == len(vars(self)) else None


def show(client: Client, *, stale_after: int, as_json: bool) -> bool:
    """Whether every read was answered, by a server that may not know some. Raises what refuses all of them."""
    state = State.read(client, stale_after)
    if as_json:
        print_json({name: part.document for name, part in vars(state).items()})
    else:
        if (refused := state.refused) is not None:
            raise refused
        _print(state)
    return not state.errors


def _print(state: State) -> None:
    _panel("Queue health", state.queue_health, _health)
    say()
    _panel("Queue status", state.queue_status, _status)
    say()
    _panel("Slot leases", state.slots, _slots)
    say()
    _panel("Stuck", state.orphaned_state, _stuck)
    say()
    _panel("Worker jobs", state.worker_jobs, _jobs)


def _panel[Body](title: str, part: Part[Body], draw: Callable[[str, Body], None]) -> None:
    if part.error is not None:
        warn(f"{title}: not read, {one_line(part.error.message)}")
    elif part.body is None:
        say(f"{title}: {NOT_HERE}")
    else:
        draw(title, part.body)


def _health(title: str, health: QueueHealth) -> None:
    say(f"{title}  {health['totals_queued']} queued, {health['totals_running']} running")
    dispatcher, reconciler = health["dispatcher"], health["reconciler"]
    if health["totals_queued"] and (dispatcher is None or dispatcher["payload"].get("workers_alive") == 0):
        warn(NO_WORKER)
    say(f"  dispatcher: {_component(dispatcher, 'last sign of life of a worker')}")
    say(f"  reconciler: {_component(reconciler, 'done with all that was due')}")
    for pace in health["throughput"]:
        say(
            f"  {one_line(pace['kind'])}s: {pace['started_5m']} started and {pace['finished_5m']} ended in 5 minutes, "
            f"{pace['started_60m']} and {pace['finished_60m']} in an hour"
        )
    busy = sorted(filter(_busy, health["capacity"]), key=lambda key: (-key["queued"], key["queue_key"]))
    if not busy:
        return
    say()
    numbers = ("Ready", "Scheduled", "Held", "Running", "Limit", "Fill", "Oldest", "Waited")
    made = table("Key", *numbers, "", right=numbers, whole=("Key", *numbers))
    for key in busy[:KEYS_SHOWN]:
        made.add_row(
            one_line(key["queue_key"]),
            str(key["queued"]),
            str(key["queued_scheduled"]),
            str(key.get("queued_held", "–")),
            str(key["running"]),
            str(key["limit"]),
            f"{key['fill']:.0%}",
            _seconds(key["oldest_queued_age_seconds"]),
            _spread(key["wait_p50_seconds"], key["wait_p95_seconds"]),
            "paused" if key.get("paused") else "",
        )
    print_table(made)
    _rest(len(busy) - KEYS_SHOWN, "key")
    say("Waited: p50 and p95 of those that run now.")


def _component(component: Component | None, meaning: str) -> str:
    if component is None:
        return "there has been no worker"
    told = ", ".join(
        f"{one_line(name).replace('_', ' ')} {age(value) if isinstance(value, str) else one_line(value)}"
        for name, value in component["payload"].items()
        if value is not None
    )
    return f"{meaning} {duration(component['age_seconds'])} ago" + (f" ({told})" if told else "")


def _busy(key: Capacity) -> bool:
    waiting = key["queued"] + key["queued_scheduled"] + key.get("queued_held", 0)
    return bool(waiting or key["running"] or key.get("paused"))


def _status(title: str, status: QueueStatus) -> None:
    kinds: dict[str, list[int]] = {}
    for queue in status["queues"]:
        total = kinds.setdefault(queue["kind"], [0, 0])
        total[0] += queue["queued"]
        total[1] += queue["running"]
    told = "; ".join(
        f"{one_line(kind)}: {queued} queued, {running} running" for kind, (queued, running) in kinds.items()
    )
    say(f"{title}  {told or 'nothing is queued and nothing runs'}")


def _slots(title: str, slots: Slots) -> None:
    say(f"{title}  {slots['total_active']} of {slots['total_slots']}")
    held = [key for key in slots["queue_keys"] if key["active_slots"]]
    if not held:
        return
    made = table("Key", "Leased", "Slots", right=("Leased", "Slots"), whole=("Key",))
    for key in sorted(held, key=lambda key: (-key["active_slots"], key["queue_key"]))[:KEYS_SHOWN]:
        made.add_row(one_line(key["queue_key"]), str(key["active_slots"]), str(key["total_slots"]))
    print_table(made)
    _rest(len(held) - KEYS_SHOWN, "key")


def _stuck(title: str, found: OrphanedState) -> None:
    counts, silence = found["counts"], plural(found["stale_after_minutes"], "minute")
    told = {
        f"running without a sign of life for {silence}": counts["running_stale_heartbeat"],
        "running on a lease that has ended": counts.get("running_lease_ended", 0),
        "waiting to be repeated where no worker lives": counts["retrying_without_worker"],
        "of tasks without an active trial": counts["active_tasks_without_active_trials"],
    }
    if not any(told.values()):
        say(f"{title}  nothing")
        return
    warn(title)
    for what, count in told.items():
        if count:
            say(f"  {count} {what}")
    if found["trial_samples"]:
        _samples(found["trial_samples"])
    for task in found["task_samples"]:
        say(f"  task {one_line(task['task_id'])}")


def _samples(samples: Iterable[TrialSample]) -> None:
    made = table("Trial", "Key", "Stage", "Worker", "Slot", "Last heartbeat", right=("Slot",), whole=("Trial",))
    for sample in samples:
        slot = sample["current_queue_slot"]
        made.add_row(
            one_line(sample["trial_id"]),
            one_line(sample["queue_key"]),
            one_line(sample["harbor_stage"] or "–"),
            one_line(sample["current_worker_id"] or "–"),
            "–" if slot is None else str(slot),
            age(sample["heartbeat_at"]),
        )
    print_table(made)


def _jobs(title: str, jobs: WorkerJobs) -> None:
    told = "; ".join(
        f"{one_line(kind)}: " + ", ".join(f"{count} {one_line(state)}" for state, count in sorted(states.items()))
        for kind, states in jobs["counts"].items()
    )
    say(f"{title}  {told or 'none'}")
    if durations := jobs["durations_last_hour"]:
        say()
        made = table("Last hour", "Kind", "Ended", "p50", "p95", right=("Ended", "p50", "p95"), whole=("Last hour",))
        for entry in sorted(durations, key=lambda entry: (-entry["sample_count"], entry["queue_key"]))[:KEYS_SHOWN]:
            made.add_row(
                one_line(entry["queue_key"]),
                one_line(entry["kind"]),
                str(entry["sample_count"]),
                _seconds(entry["p50"]),
                _seconds(entry["p95"]),
            )
        print_table(made)
        _rest(len(durations) - KEYS_SHOWN, "key")
    if failures := jobs["recent_failures"]:
        say()
        made = table("Failed", "Key", "When", "Why", whole=("Failed",))
        for failure in failures:
            why = failure["last_heartbeat_error"] or failure["error_message"] or "–"
            name = failure.get("subject_id") or failure["id"]
            made.add_row(
                one_line(name), one_line(failure["queue_key"]), age(failure["finished_at"]), brief(why, MESSAGE_LENGTH)
            )
        print_table(made)


def _rest(hidden: int, noun: str) -> None:
    if hidden > 0:
        say(f"and {plural(hidden, noun)} more; --json has all of them")


def _spread(p50: float | None, p95: float | None) -> str:
    return "–" if p50 is None or p95 is None else f"{_seconds(p50)}, {_seconds(p95)}"


def _seconds(value: float | None) -> str:
    """Of what is over in less than a minute, with a tenth."""
    if value is None:
        return "–"
    return f"{number(round(value, 1))}s" if value < 60 else duration(value)
