"""The keys of a sweep file, and what they come to. Pure.

The members of ``harbor`` are those that a server passes on, which a test compares with its own list.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from oddish.cli import tuning
from oddish.cli.agent_choices import MOST_TRIALS
from oddish.cli.datasets import Dataset
from oddish.cli.run_options import MOST_ATTEMPTS
from oddish.cli.sweep.shapes import (
    MAPPING,
    POSITIVE,
    SWITCH,
    TEXT,
    TEXTS,
    Each,
    Flaw,
    Kind,
    Members,
    Shape,
    Variables,
    one_of,
    places,
    text,
    whole,
)
from oddish.cli.sweep.sweep import Agent, Source, Sweep
from oddish.client.types import JSON, AgentConfig
from oddish.errors import InvalidInput
from oddish.labels import LONGEST_LINK
from oddish.variants.reference import REPOSITORY, Reference

MOST_AGENTS = 100
N_TRIALS = whole(1, MOST_TRIALS)
AGENT_CONFIG: Mapping[str, Shape] = {
    "env": Variables(),
    "kwargs": MAPPING,
    "override_setup_timeout_sec": POSITIVE,
    "override_timeout_sec": POSITIVE,
    "max_timeout_sec": POSITIVE,
    "extra_allowed_hosts": TEXTS,
    "disable_web_tools": SWITCH,
}
AGENT: Mapping[str, Shape] = {
    "name": TEXT,
    "import_path": TEXT,
    "model_name": TEXT,
    "n_trials": N_TRIALS,
    "environment": TEXT,
    **AGENT_CONFIG,
    "agent_config": Members(AGENT_CONFIG),
}
LOGS: Mapping[str, Shape] = {"include_logs": TEXTS, "exclude_logs": TEXTS}
ENFORCEMENT = one_of(*tuning.POLICIES)
ARTIFACTS = Each(
    Kind("a path, or a mapping with a source", lambda value: isinstance(value, str | dict) and len(value) > 0)
)
MULTIPLIERS: Mapping[str, Shape] = dict.fromkeys(tuning.MULTIPLIERS, POSITIVE)
TIMEOUTS: Mapping[str, Shape] = {"max_timeout_sec": POSITIVE, "override_timeout_sec": POSITIVE}
HARBOR_AGENT: Mapping[str, Shape] = {
    **TIMEOUTS,
    **LOGS,
    "override_setup_timeout_sec": POSITIVE,
    "extra_allowed_hosts": TEXTS,
}
HARBOR_ENVIRONMENT: Mapping[str, Shape] = {
    "override_cpus": POSITIVE,
    "override_memory_mb": whole(1),
    "override_gpus": whole(0),
    "override_storage_mb": whole(1),
    "override_tpu": MAPPING,
    "force_build": SWITCH,
    "kwargs": MAPPING,
    "extra_allowed_hosts": TEXTS,
    "cpu_enforcement_policy": ENFORCEMENT,
    "memory_enforcement_policy": ENFORCEMENT,
    "mounts": Each(MAPPING),
    "extra_docker_compose": TEXTS,
    "env": Variables(),
}
HARBOR_VERIFIER: Mapping[str, Shape] = {
    **TIMEOUTS,
    **LOGS,
    "disable": SWITCH,
    "extra_allowed_hosts": TEXTS,
    "import_path": TEXT,
    "kwargs": MAPPING,
    "env": Variables(),
}
HARBOR: Mapping[str, Shape] = {
    "source": TEXT,
    "ref": TEXT,
    "artifacts": ARTIFACTS,
    **MULTIPLIERS,
    "mcp_servers": Each(MAPPING),
    "agent": Members(HARBOR_AGENT),
    "environment": Members(HARBOR_ENVIRONMENT),
    "verifier": Members(HARBOR_VERIFIER),
}
OPTIONS: Mapping[str, tuple[str, Shape]] = {
    "experiment": ("experiment", TEXT),
    "priority": ("priority", one_of("low", "high")),
    "max_trial_attempts": ("max_trial_attempts", whole(1, MOST_ATTEMPTS)),
    "max_cost": ("max_cost", POSITIVE),
    "user": ("user", TEXT),
    "baseline_gate": ("baseline_gate", SWITCH),
    "force_new_version": ("force_new_version", SWITCH),
    "tags": ("tags", TEXTS),
    "link": ("link", text(LONGEST_LINK)),
    "github_user": ("github_user", TEXT),
    "github_meta": ("github_meta", MAPPING),
    "publish": ("publish", SWITCH),
    "run_analysis": ("run_analysis", SWITCH),
    "run_probe": ("run_probe", SWITCH),
    "task_names": ("include", TEXTS),
    "exclude_task_names": ("exclude", TEXTS),
    "n_tasks": ("n_tasks", whole(1)),
}
"""Keys that stand for options of ``oddish run``: the parameter of each, and what it takes."""
SWEEP = Members(
    {
        "agents": Each(Members(AGENT), least=1, most=MOST_AGENTS),
        "n_trials": N_TRIALS,
        "environment": TEXT,
        "path": TEXT,
        "dataset": TEXT,
        "registry_path": TEXT,
        "registry_url": TEXT,
        "task": TEXT,
        **{name: shape for name, (_, shape) in OPTIONS.items()},
        "harbor": Members(HARBOR),
    }
)
ELSEWHERE = places(SWEEP) | {
    "agent": ["agents[].name"],
    "model": ["agents[].model_name"],
    "env": ["environment, where trials run, or agents[].env, variables of an agent"],
    "n_attempts": ["n_trials"],
    "disable_verification": ["harbor.verifier.disable"],
    "retry": ["max_trial_attempts"],
    "tasks": ["path"],
    "datasets": ["path", "dataset"],
    "job_name": ["experiment"],
    "experiment_id": ["experiment"],
    "gate_baselines": ["baseline_gate"],
    "api": ["the option --api"],
    "registry_auth": ["the option --registry-login"],
    "credentials": ["the option --env-file"],
}


def contradictions(values: Mapping[str, JSON]) -> Iterable[Flaw]:
    """What is wrong with a sweep whose every value is of the right kind."""
    try:
        Reference.asked_for(_section(values, "harbor"), repository=REPOSITORY)
    except InvalidInput as error:
        yield Flaw(("harbor", "ref"), f"names no Harbor: {error.message.removesuffix('.')}", error.fix or "")
    for index, agent in enumerate(_agents(values)):
        place = ("agents", index)
        named = [name for name in ("name", "import_path") if agent.get(name) is not None]
        if not named:
            yield Flaw(place, "has no name", "Give it one, such as oracle, or module:Class for an agent of your own.")
        elif len(named) == 2:
            yield Flaw((*place, "import_path"), "names the agent a second time", "Keep name or import_path.")
        for name in agent.get("agent_config") or {}:
            if agent.get(name) is not None:
                yield Flaw((*place, "agent_config", name), f"is there twice, also as {name} of the agent", "Keep one.")
    yield from _of_sources(values)
    for name in ("task_names", "exclude_task_names", "n_tasks"):
        if values.get(name) is not None and values.get("task") is not None:
            yield Flaw((name,), "chooses among the tasks of a directory, and task names one", "Leave one of them out.")


def _of_sources(values: Mapping[str, JSON]) -> Iterable[Flaw]:
    sent = [name for name in ("path", "dataset") if values.get(name) is not None]
    if sent and values.get("task") is not None:
        fix = "Keep one of them."
        yield Flaw(("task",), f"is a task that the server has, and {sent[0]} names tasks to send", fix)
    if len(sent) == 2:
        yield Flaw(("dataset",), "names other tasks than path does", "Keep one of them.")
    if (dataset := _dataset(values)) is None:
        for name in ("registry_path", "registry_url"):
            if values.get(name) is not None:
                yield Flaw((name,), "says where to look for a dataset, and none is named", "Name it with dataset.")
    elif (flaw := dataset.flaw) is not None:
        yield Flaw(("dataset",), "cannot be looked for", flaw)


def _dataset(values: Mapping[str, JSON]) -> Dataset | None:
    return None if values.get("dataset") is None else read_dataset({**values, "name": values["dataset"]})


def read_dataset(values: Mapping[str, JSON]) -> Dataset:
    """From its ``name`` with or without a version, and its registry."""
    path, url = values.get("registry_path"), values.get("registry_url")
    return Dataset(
        str(values["name"]).strip(),
        None if path is None else Path(str(path)).expanduser(),
        None if url is None else str(url),
    )


def read_sweep(values: Mapping[str, JSON]) -> Sweep:
    """``values`` are without flaws."""
    path = values.get("path")
    tasks = _dataset(values) if path is None else Path(str(path)).expanduser()
    return Sweep(
        agents=[_agent(agent) for agent in _agents(values)],
        n_trials=cast("int | None", values.get("n_trials")),
        environment=cast("str | None", values.get("environment")),
        sources=[] if tasks is None else [Source(tasks)],
        task=cast("str | None", values.get("task")),
        harbor=_harbor(_section(values, "harbor")),
        options={
            parameter: _as_typed(values[name])
            for name, (parameter, _) in OPTIONS.items()
            if values.get(name) is not None
        },
    )


def _as_typed(value: JSON) -> JSON:
    """As it would be given on a command line, where mappings are JSON."""
    return json.dumps(value) if isinstance(value, dict) else value


def _section(values: Mapping[str, JSON], name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", values.get(name) or {})


def _agents(values: Mapping[str, JSON]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", values.get("agents") or [])


def _agent(values: Mapping[str, Any]) -> Agent:
    return Agent(
        name=(values.get("name") or values["import_path"]).strip(),
        model=values.get("model_name"),
        n_trials=values.get("n_trials"),
        environment=values.get("environment"),
        config=agent_config({**said(values), **said(values.get("agent_config") or {})}),
    )


def agent_config(values: Mapping[str, Any]) -> AgentConfig:
    """What ``values`` of an agent say of how it is started."""
    return cast("AgentConfig", {name: values[name] for name in AGENT_CONFIG if name in values})


def _harbor(block: Mapping[str, JSON]) -> dict[str, JSON]:
    sections = {name: said(value) if isinstance(value, dict) else value for name, value in block.items()}
    return said(sections)


def said(values: Mapping[str, Any], defaults: Mapping[str, object] = {}) -> dict[str, Any]:
    """The members that are neither empty nor what is taken for granted."""
    return {
        name: value
        for name, value in values.items()
        if value not in (None, {}, []) and not (name in defaults and value == defaults[name])
    }
