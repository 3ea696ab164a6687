"""Lenient reader of a Harbor job directory: the job's own record and where its trials are. No Harbor here.

As with trials, the record may be unfinished, damaged or hostile: what has not the expected shape is left out.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oddish.documents import (
    Problem,
    finite_number,
    is_file,
    mapping,
    mappings,
    read_object,
    sequence,
    text,
    whole_number,
)
from oddish.engine.results import RESULT_LIMIT, Usage, usage

NUMBER_OF = {
    "completed": "n_completed_trials",
    "errored": "n_errored_trials",
    "running": "n_running_trials",
    "pending": "n_pending_trials",
    "cancelled": "n_cancelled_trials",
    "retries": "n_retries",
}
OLDER_NAMES = {"n_completed_trials": "n_trials", "n_errored_trials": "n_errors"}
"""What the counts were called before Harbor told running trials from finished ones."""


@dataclass(frozen=True, slots=True)
class EvalFacts:
    """The figures of one agent, model and dataset in a job."""

    valid: int
    """Trials with a valid reward, by Harbor's flag."""
    errored: int
    metrics: tuple[Mapping[str, float], ...]
    """The finite numbers of each metric by name."""
    pass_at_k: Mapping[int, float]
    rewards: Mapping[str, Mapping[float, tuple[str, ...]]]
    """Name of a reward -> value -> names of the trials."""
    exceptions: Mapping[str, tuple[str, ...]]
    """Class name -> names of the trials."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a job directory says."""

    problem: Problem | None = None
    """Set when there is no usable ``result.json``: everything else but ``trials`` is then empty."""
    started_at: str | None = None
    """ISO 8601 as Harbor wrote it, of the machine's local time if it has no zone. So are the next two."""
    updated_at: str | None = None
    finished_at: str | None = None
    """None while it runs, and for ever after a crash."""
    planned: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """For ``completed`` (errored and cancelled ones are among them), ``errored``, ``running``, ``pending``,
    ``cancelled``, ``retries``, as far as the record has them."""
    usage: Usage = field(default_factory=Usage)
    evals: Mapping[str, EvalFacts] = field(default_factory=dict)
    trials: tuple[str, ...] = ()
    """Names of the trial directories, sorted."""


def read_job(directory: Path) -> JobFacts:
    """The facts of a job directory, whatever state it is in. Never raises for what it finds there."""
    document, problem = read_object(directory, "result.json", RESULT_LIMIT)
    trials = trial_directories(directory)
    if problem is not None:
        return JobFacts(problem=problem, trials=trials)
    stats = mapping(document.get("stats"))
    numbers = {
        name: number
        for name, key in NUMBER_OF.items()
        if (number := whole_number(stats.get(key, stats.get(OLDER_NAMES.get(key, key))))) is not None
    }
    return JobFacts(
        started_at=text(document.get("started_at")),
        updated_at=text(document.get("updated_at")),
        finished_at=text(document.get("finished_at")),
        planned=whole_number(document.get("n_total_trials")),
        counts=numbers,
        usage=usage(stats),
        evals={key: eval_facts(item) for key, item in mapping(stats.get("evals")).items() if isinstance(item, dict)},
        trials=trials,
    )


def trial_directories(directory: Path) -> tuple[str, ...]:
    """The directories of a job that hold the configuration of a trial, none behind a symbolic link."""
    try:
        names = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return ()
    return tuple(name for name in names if is_file(directory, f"{name}/config.json"))


def eval_facts(document: Mapping[str, Any]) -> EvalFacts:
    """One entry of ``stats.evals``."""
    return EvalFacts(
        valid=whole_number(document.get("n_trials")) or 0,
        errored=whole_number(document.get("n_errors")) or 0,
        metrics=tuple(_numbers(item) for item in mappings(document.get("metrics"))),
        pass_at_k={int(k): rate for k, rate in _numbers(document.get("pass_at_k")).items() if _is_k(k)},
        rewards={
            name: {
                value: _names(trials)
                for written, trials in mapping(values).items()
                if (value := _parsed(written)) is not None
            }
            for name, values in mapping(document.get("reward_stats")).items()
        },
        exceptions={name: _names(trials) for name, trials in mapping(document.get("exception_stats")).items()},
    )


def _numbers(document: object) -> Mapping[str, float]:
    return {name: n for name, value in mapping(document).items() if (n := finite_number(value)) is not None}


def _names(document: object) -> tuple[str, ...]:
    return tuple(item for item in sequence(document) if isinstance(item, str))


def _parsed(written: str) -> float | None:
    try:
        return finite_number(float(written))
    except ValueError:
        return None


def _is_k(written: str) -> bool:
    return written.isascii() and written.isdecimal() and len(written) <= len(str(2**31))
