"""The documents that make a folder of trials a Harbor job: its configuration and its result. Pure.

They follow what the trials' own documents say. Whatever these hold is taken as hostile: what is not as Harbor writes it
does not count.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from oddish.documents import mapping, mappings
from oddish.stats import Attempts, pass_at_k

ADHOC = "adhoc"
"""The dataset of trials that belong to none."""
UNSET = ("n_concurrent", "concurrency_group")
"""Members of an agent's configuration that say how a job ran, not what."""
CANCELLED = "CancelledError"
HUGE = 1e290
"""Numbers beyond it are taken for none: a few of them would overflow their sum."""

type Document = Mapping[str, Any]


@dataclass(frozen=True)
class TrialRecord:
    """What counts of one trial. ``name`` is that of its directory."""

    name: str
    task_config: Document | None = None
    agent_config: Document | None = None
    environment: str | None = None
    ended: bool = False
    """It has a result."""
    agent: str = ""
    model: str | None = None
    dataset: str = ADHOC
    task: str = ""
    rewards: Mapping[str, float] | None = None
    """None unless Harbor calls them valid."""
    exceptions: Sequence[str] = ()
    usage: Mapping[str, float] = field(default_factory=dict)
    started_at: str | None = None
    finished_at: str | None = None


def record(name: str, config: object, result: object) -> TrialRecord:
    """From the documents of a trial's ``config.json`` and ``result.json``, as far as they are there."""
    outcome = mapping(result)
    settings = mapping(config) or mapping(outcome.get("config"))
    task, agent = mapping(settings.get("task")), mapping(settings.get("agent"))
    place = _text(mapping(settings.get("environment")).get("type"))
    configured = TrialRecord(name, task or None, agent or None, place)
    if not outcome:
        return configured
    info = mapping(outcome.get("agent_info"))
    return TrialRecord(
        name=name,
        task_config=configured.task_config,
        agent_config=configured.agent_config,
        environment=configured.environment,
        ended=True,
        agent=_text(info.get("name")) or _text(agent.get("name")) or "unknown",
        model=_text(mapping(info.get("model_info")).get("name")),
        dataset=_text(outcome.get("source")) or ADHOC,
        task=_text(outcome.get("task_name")) or name,
        rewards=_valid_rewards(outcome),
        exceptions=[_text(error.get("exception_type")) or "unknown" for error in _exceptions(outcome)],
        usage=_usage(outcome),
        started_at=_moment(outcome.get("started_at")),
        finished_at=_moment(outcome.get("finished_at")),
    )


def job_config(records: Sequence[TrialRecord], *, name: str, parent: str) -> dict[str, Any]:
    environments = {entry.environment for entry in records if entry.environment}
    return {
        "schema_version": 1,
        "job_name": name,
        "jobs_dir": parent,
        "agents": _distinct(
            {key: value for key, value in entry.agent_config.items() if key not in UNSET}
            for entry in records
            if entry.agent_config
        ),
        "tasks": _distinct(dict(entry.task_config) for entry in records if entry.task_config),
        "datasets": [],
        **({"environment": {"type": environments.pop()}} if len(environments) == 1 else {}),
    }


def job_result(records: Sequence[TrialRecord], *, identity: str, running: int, pending: int) -> dict[str, Any]:
    """``running`` and ``pending`` are the trials that have not ended. ``identity`` makes the job's id."""
    ended = [entry for entry in records if entry.ended]
    total = len(ended) + running + pending
    started = min((entry.started_at for entry in ended if entry.started_at), default="1970-01-01T00:00:00Z")
    latest = max((entry.finished_at for entry in ended if entry.finished_at), default=started)
    evals: defaultdict[str, list[TrialRecord]] = defaultdict(list)
    for entry in ended:
        evals["__".join(filter(None, (entry.agent, entry.model, entry.dataset)))].append(entry)
    return {
        "schema_version": 1,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"oddish:{identity}")),
        "started_at": started,
        "updated_at": latest,
        "finished_at": None if running or pending else latest,
        "n_total_trials": total,
        "stats": {
            "n_completed_trials": len(ended),
            "n_errored_trials": sum(bool(entry.exceptions) for entry in ended),
            "n_running_trials": running,
            "n_pending_trials": pending,
            "n_cancelled_trials": sum(CANCELLED in entry.exceptions for entry in ended),
            "n_retries": 0,
            "evals": {key: _eval(entries) for key, entries in evals.items()},
            **{name: _sum(ended, name) for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")},
        },
    }


def _eval(entries: Sequence[TrialRecord]) -> dict[str, Any]:
    scored = [(entry, entry.rewards) for entry in entries if entry.rewards is not None]
    by_value: dict[str, dict[str, list[str]]] = {}
    for entry, rewards in scored:
        for name, value in rewards.items():
            by_value.setdefault(name, {}).setdefault(str(value), []).append(entry.name)
    by_exception: dict[str, list[str]] = {}
    for entry in entries:
        for kind in sorted(set(entry.exceptions)):
            by_exception.setdefault(kind, []).append(entry.name)
    return {
        "n_trials": len(scored),
        "n_errors": sum(bool(entry.exceptions) for entry in entries),
        "metrics": _means([rewards for _, rewards in scored]),
        "pass_at_k": _pass_at_k(scored),
        "reward_stats": by_value,
        "exception_stats": by_exception,
    }


def _means(rewards: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Of a single reward under ``mean``, whatever it is called; of several each under its name, absent ones as 0."""
    names = sorted({name for entry in rewards for name in entry})
    if not rewards or not names:
        return []
    if len(names) == 1:
        return [{"mean": sum(next(iter(entry.values()), 0) for entry in rewards) / len(rewards)}]
    return [{name: sum(entry.get(name, 0) for entry in rewards) / len(rewards) for name in names}]


def _pass_at_k(scored: Sequence[tuple[TrialRecord, Mapping[str, float]]]) -> dict[str, float]:
    """The mean over the tasks, for those numbers of attempts that Harbor shows; only of one reward that is 0 or 1."""
    tasks: defaultdict[str, list[float]] = defaultdict(list)
    for entry, rewards in scored:
        if len(rewards) != 1 or next(iter(rewards.values())) not in (0, 1):
            return {}
        tasks[entry.task] += rewards.values()
    fewest = min(map(len, tasks.values()), default=0)
    shown = {2**power for power in range(1, fewest.bit_length())} | set(range(5, fewest + 1, 5))
    attempts = [Attempts(len(values), int(sum(values))) for values in tasks.values()]
    return {
        str(k): sum(pass_at_k(entry, k) or 0.0 for entry in attempts) / len(attempts)
        for k in sorted(shown)
        if k <= fewest
    }


def _sum(entries: Sequence[TrialRecord], name: str) -> float | None:
    values = [entry.usage[name] for entry in entries if name in entry.usage]
    return sum(values) if values else None


def _usage(outcome: Document) -> dict[str, float]:
    """Of the agent, or of the agent in all steps."""
    whole = mapping(outcome.get("agent_result"))
    parts = [whole] if whole else [mapping(step.get("agent_result")) for step in mappings(outcome.get("step_results"))]
    found: dict[str, float] = {}
    for part in parts:
        for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"):
            if (value := part.get(name)) is not None and _is_number(value):
                found[name] = found.get(name, 0) + value
    return found


def _valid_rewards(outcome: Document) -> Mapping[str, float] | None:
    rewards = mapping(mapping(outcome.get("verifier_result")).get("rewards"))
    numbers = {name: value for name, value in rewards.items() if _is_number(value)}
    valid = outcome.get("reward_valid")
    if valid is None:
        policies = [mapping(error.get("policy")) for error in _exceptions(outcome)]
        valid = all(policy.get("has_valid_reward") is not False for policy in policies)
    return numbers if numbers and valid is True else None


def _exceptions(outcome: Document) -> Iterator[Document]:
    for place in (outcome, *mappings(outcome.get("step_results"))):
        if error := mapping(place.get("exception_info")):
            yield error


def _distinct(documents: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(document, sort_keys=True): document for document in documents}.values())


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _moment(value: object) -> str | None:
    try:
        datetime.fromisoformat(text := _text(value) or "")
    except ValueError:
        return None
    return text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < HUGE
