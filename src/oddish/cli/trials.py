"""What a trial's state means in words, and the table of a run's results."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from oddish.cli.text import brief, clean, number, one_line
from oddish.client.types import JSON, UNFINISHED, QueueInfo, Task, Trial

CANCELLED = "cancelled"
AMBIGUOUS = "ambiguous"
IMPORTED = "imported"
NOT_VERIFIED = "not verified"
NOTE_LENGTH = 100
BASELINES = ("oracle", "nop")
STAGES = {
    "trial_started": "starting",
    "engine_setup": "installing its Harbor",
    "environment_setup": "preparing the environment",
    "agent_setup": "installing the agent",
    "agent_running": "agent at work",
    "verification": "verifying",
    "waiting_for_capacity": "waiting for capacity",
    "image_build_failed": "image build failed",
    "cancelled": "cancelled",
    "completed": "completed",
}


def finished(trial: Trial) -> bool:
    return trial["status"] not in UNFINISHED


def waiting(trial: Trial) -> bool:
    """It has not begun, or not begun again."""
    return not finished(trial) and trial["status"] != "running"


def succeeded(trial: Trial) -> bool:
    return trial["status"] == "success"


def unverified(trial: Trial) -> bool:
    """It ran to its end and nobody looked at what came of it: verification was disabled."""
    verifier = (trial.get("harbor_config") or {}).get("verifier")
    return succeeded(trial) and isinstance(verifier, dict) and verifier.get("disable") is True


def score(trial: Trial) -> float | None:
    """The reward of a successful trial: nobody vouches for what a failed one recorded."""
    return trial["reward"] if succeeded(trial) and not unverified(trial) else None


def mean(rewards: Sequence[float]) -> float | None:
    count = len(rewards)
    return math.fsum(reward / count for reward in rewards) if count else None


def reward_label(trial: Trial) -> str:
    return NOT_VERIFIED if unverified(trial) else number(trial["reward"])


def ambiguous(trial: Trial) -> bool:
    """Its verifier gave several rewards, and none of them is the primary one."""
    return succeeded(trial) and trial["reward"] is None and AMBIGUOUS in (trial.get("reasons") or [])


def named_rewards(trial: Trial) -> str | None:
    """Each reward under its name; None where there is none, or only one that goes without."""
    rewards = trial.get("rewards") or {}
    if not rewards or (rewards.keys() == {"reward"} and trial["reward"] is not None):
        return None
    return ", ".join(f"{one_line(name)} {_value(value)}" for name, value in rewards.items())


def _value(value: JSON) -> str:
    return number(value) if isinstance(value, int | float) else one_line(value)


def cancelled(trial: Trial) -> bool:
    """Someone stopped it: the server calls that ``failed`` at the stage ``cancelled``."""
    return trial["status"] == "failed" and trial.get("harbor_stage") == CANCELLED


def skipped(trial: Trial) -> bool:
    """It never ran, for its task proved faulty."""
    return trial["status"] == "skipped"


def never_ran(trial: Trial) -> bool:
    """It ended before any attempt at it began: nothing was said, and there are no files."""
    return finished(trial) and trial["started_at"] is None and trial.get("origin") != IMPORTED


def errored(trial: Trial) -> bool:
    """It ran and ended, neither well nor because someone stopped it."""
    return finished(trial) and not (succeeded(trial) or cancelled(trial) or skipped(trial))


def word(trial: Trial) -> str:
    """What the state of a trial is called."""
    return CANCELLED if cancelled(trial) else trial["status"]


def counts(trials: Iterable[Trial]) -> Counter[str]:
    """How many there are of each state; ``pending`` is another word for ``queued``."""
    return Counter("queued" if trial["status"] == "pending" else word(trial) for trial in trials)


def note(trial: Trial) -> str | None:
    """What happened beside the reward of a successful trial: the first line of its error; or why it has no reward."""
    lines = clean(trial.get("error_message") or "").strip().splitlines()
    if succeeded(trial) and lines:
        return one_line(lines[0], NOTE_LENGTH)
    if not ambiguous(trial):
        return None
    return one_line(f"{AMBIGUOUS}: no reward is called `reward`, there are {named_rewards(trial)}", 2 * NOTE_LENGTH)


def short_note(trial: Trial) -> str | None:
    """The name of the exception where the note begins with one, else the note."""
    text = note(trial)
    name = (text or "").partition(":")[0]
    return name if name.isidentifier() else text


def live_trials(task: Task) -> list[Trial]:
    """The trials of a task that nothing has replaced."""
    return [trial for trial in task.get("trials") or [] if not trial.get("superseded_by_trial_id")]


def state(task: Task) -> str:
    """The state of a task: the server calls one without trials ``pending`` too, though it waits for nothing."""
    return one_line(task["status"]) if live_trials(task) else "without trials"


def grouped[Key](trials: Iterable[Trial], key: Callable[[Trial], Key]) -> dict[Key, list[Trial]]:
    """The trials by what ``key`` says of them, in their order."""
    groups: dict[Key, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(key(trial), []).append(trial)
    return groups


def index(trial: Trial) -> str:
    return trial["id"].rpartition("-")[2]


def place(trial: Trial) -> int:
    """By which the trials of a task are ordered."""
    return int(index(trial)) if index(trial).isdecimal() else 0


def model_label(model: str | None) -> str:
    return one_line(model) if model else "–"


def detail(trial: Trial) -> str:
    """Why the trial is where it is: its place in the queue, its stage, or the reason it ended for."""
    status = trial["status"]
    stage = trial.get("harbor_stage")
    error = trial.get("error_message")
    if status in ("queued", "pending"):
        return waiting_reason(trial)
    if status == "retrying":
        queue = trial.get("queue_info")
        wait = queue.get("reason") if queue else None
        return "; ".join([_before(trial), *([one_line(wait)] if wait else [])])
    if status == "running":
        return "recording the result" if stage == "completed" else stage_label(stage or "running")
    if stage == "cancelled":
        return brief(error or "cancelled")
    if ambiguous(trial):
        return note(trial) or AMBIGUOUS
    return brief(error) if error else (stage_label(stage) if stage else status)


def _before(trial: Trial) -> str:
    """What became of the execution before. One that was lost or given back has used up no attempt."""
    error, charged = trial.get("error_message"), trial["attempts"]
    if charged == 0:
        return brief(error) if error else "given back by a worker, starts again"
    tries = f"attempt {charged} of {trial['max_attempts']} failed"
    return brief(f"{tries}: {error}" if error else tries)


def waiting_reason(trial: Trial) -> str:
    queue = trial.get("queue_info")
    stage = trial.get("harbor_stage")
    reasons = [stage_label(stage)] if stage and stage != "trial_started" else []
    if queue:
        reasons += _queue_reasons(queue, trial)
    return "; ".join(reasons) or brief(trial.get("error_message") or "queued")


def _queue_reasons(queue: QueueInfo, trial: Trial) -> list[str]:
    reasons = []
    if queue.get("ahead"):
        reasons.append(f"{queue['ahead']} ahead in the queue")
    elif queue.get("position"):
        reasons.append("next in the queue")
    if reason := queue.get("reason"):
        reasons.append(one_line(reason))
    else:
        running, limit = queue.get("running_count"), queue.get("concurrency_limit")
        if running is not None and limit is not None and running >= limit:
            reasons.append(f"{running} of at most {limit} running for {_sharers(trial)}")
    return reasons


def _sharers(trial: Trial) -> str:
    """Those that have one limit together."""
    if trial["model"]:
        return "this model"
    return " and ".join(BASELINES) if trial["agent"] in BASELINES else "agents without a model"


def stage_label(stage: str) -> str:
    return STAGES.get(stage, one_line(stage.replace("_", " ")))


@dataclass
class Row:
    """The trials of one agent and model on one task."""

    task: str
    agent: str
    model: str | None
    trials: list[Trial] = field(default_factory=list)

    @property
    def rewards(self) -> list[float]:
        return [reward for trial in self.trials if (reward := score(trial)) is not None]

    @property
    def mean(self) -> float | None:
        return mean(self.rewards)

    @property
    def passed(self) -> int:
        return sum(reward == 1 for reward in self.rewards)

    @property
    def unverified(self) -> int:
        return sum(map(unverified, self.trials))


def rows(tasks: Iterable[Task], trials: Sequence[Trial]) -> list[Row]:
    names = {task["id"]: task["name"] for task in tasks}
    grouped: dict[tuple[str, str, str | None], Row] = {}
    for trial in sorted(trials, key=lambda trial: (trial["task_id"], place(trial))):
        name = names.get(trial["task_id"], trial["task_id"])
        key = (trial["task_id"], trial["agent"], trial["model"])
        grouped.setdefault(key, Row(name, trial["agent"], trial["model"])).trials.append(trial)
    return sorted(grouped.values(), key=lambda row: (row.task, row.agent, row.model or ""))
