"""A job of Harbor, as ``harbor run --config`` reads it and ``config.json`` of a job's directory keeps it. Pure.

What decides how a trial goes is translated or refused; what is about Harbor's own process is left out and named.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from oddish.cli.datasets import Dataset
from oddish.cli.run_options import MOST_ATTEMPTS
from oddish.cli.sweep.keys import (
    AGENT_CONFIG,
    ARTIFACTS,
    HARBOR_ENVIRONMENT,
    HARBOR_VERIFIER,
    LOGS,
    MOST_AGENTS,
    MULTIPLIERS,
    N_TRIALS,
    agent_config,
    read_dataset,
    said,
)
from oddish.cli.sweep.shapes import (
    MAPPING,
    SWITCH,
    TEXT,
    TEXTS,
    Each,
    Fixed,
    Flaw,
    Kind,
    Members,
    Shape,
    places,
    whole,
)
from oddish.cli.sweep.sweep import Agent, Source, Sweep
from oddish.client.types import JSON
from oddish.secrecy import is_secret_name

DEFAULT_AGENT = "oracle"
REDACTED = "****"
"""What Harbor writes in place of secrets."""

ANYTHING = Kind("anything", lambda value: True)
OF_MODEL = Fixed("The model of an agent is named with model_name; its address and key are variables in env.", (False,))
RETRY = Members(
    {
        "max_retries": whole(0, MOST_ATTEMPTS - 1),
        "include_exceptions": TEXTS,
        "exclude_exceptions": TEXTS,
        "wait_multiplier": ANYTHING,
        "min_wait_sec": ANYTHING,
        "max_wait_sec": ANYTHING,
    }
)
AGENT: Mapping[str, Shape] = {
    "name": TEXT,
    "import_path": TEXT,
    "model_name": TEXT,
    **{name: shape for name, shape in AGENT_CONFIG.items() if name != "disable_web_tools"},
    **LOGS,
    "mcp_servers": Each(MAPPING),
    "n_concurrent": whole(1),
    "concurrency_group": TEXT,
    "base_url": OF_MODEL,
    "model_api_key_name": OF_MODEL,
    "model_api_format": OF_MODEL,
    "skip_model_parsing": OF_MODEL,
    "skills": Fixed("Leave skills out, or make them part of the task.", ([],)),
    "resume_trajectory": Fixed("Leave it out: each step of a task begins a session of its own.", (False,)),
    "load_trajectory": Fixed("Leave it out: every trial begins without a trajectory."),
}
ENVIRONMENT: Mapping[str, Shape] = {
    **HARBOR_ENVIRONMENT,
    "type": TEXT,
    "import_path": TEXT,
    "delete": Fixed("Leave it out: a sandbox is always removed after its trial.", (True,)),
    "stream": SWITCH,
    "suppress_override_warnings": SWITCH,
    "mounts_json": Each(MAPPING),
}
LOCAL_ONLY = Fixed("Fetch the tasks first, and name their directory with path or on the command line.")
DATASET: Mapping[str, Shape] = {
    "path": TEXT,
    "task_names": TEXTS,
    "exclude_task_names": TEXTS,
    "n_tasks": whole(1),
    "overwrite": SWITCH,
    "download_dir": TEXT,
    **dict.fromkeys(("name", "version", "ref", "registry_url", "registry_path"), TEXT),
    **dict.fromkeys(("registry", "repo"), LOCAL_ONLY),
}
TASK: Mapping[str, Shape] = {
    "path": TEXT,
    "overwrite": SWITCH,
    "download_dir": TEXT,
    "source": TEXT,
    **dict.fromkeys(("git_url", "git_commit_id", "name", "ref"), LOCAL_ONLY),
}
JOB = Members(
    {
        "schema_version": Kind("1, the only version there is", lambda value: value == 1),
        "job_name": TEXT,
        "jobs_dir": TEXT,
        "n_attempts": N_TRIALS,
        "install_only": Fixed("Leave it out: a trial runs its agent.", (False,)),
        "skip_credential_checks": SWITCH,
        **MULTIPLIERS,
        "debug": SWITCH,
        "n_concurrent_trials": whole(1),
        "quiet": SWITCH,
        "retry": RETRY,
        "orchestrator": Members(
            {"type": TEXT, "n_concurrent_trials": whole(1), "quiet": SWITCH, "retry": RETRY, "kwargs": MAPPING}
        ),
        "plugins": ANYTHING,
        "override_error_policy": Fixed("Leave it out: which errors are tried again is decided here.", ({},)),
        "environment": Members(ENVIRONMENT),
        "verifier": Members(HARBOR_VERIFIER),
        "metrics": Each(MAPPING),
        "agents": Each(Members(AGENT), least=1, most=MOST_AGENTS),
        "user_agent": Fixed("Leave it out: no user is simulated."),
        "datasets": Each(Members(DATASET)),
        "tasks": Each(Members(TASK)),
        "artifacts": ARTIFACTS,
        "extra_instruction_paths": Fixed("Leave it out, or add it to instruction.md of the task.", ([],)),
        "extra_instructions": Fixed("Leave it out, or add it to instruction.md of the task.", ([],)),
        "source_jobs": Fixed("Leave it out: trials are run, not derived from others.", ([],)),
    }
)
ELSEWHERE = places(JOB) | {"n_trials": ["n_attempts"], "model": ["agents[].model_name"]}
SECTION_DEFAULTS: Mapping[str, object] = {
    "force_build": False,
    "disable": False,
    "cpu_enforcement_policy": "auto",
    "memory_enforcement_policy": "auto",
}
UNUSED: Mapping[str, object] = {
    "jobs_dir": "jobs",
    "n_concurrent_trials": 4,
    "skip_credential_checks": False,
    "debug": False,
    "quiet": False,
    "metrics": [],
    "plugins": [],
}
"""Keys about Harbor's process, and what they are when nobody says anything."""
RETRY_DEFAULTS: Mapping[str, object] = {"wait_multiplier": 1.0, "min_wait_sec": 1.0, "max_wait_sec": 60.0}
OF_ALL_AGENTS = ("include_logs", "exclude_logs", "mcp_servers")
"""Members that a submission has once, for all of its agents."""


def contradictions(values: Mapping[str, JSON]) -> Iterator[Flaw]:
    """What is wrong with a job whose every value is of the right kind."""
    agents = _entries(values, "agents")
    for index, agent in enumerate(agents):
        for name, value in (agent.get("env") or {}).items():
            if REDACTED in value and is_secret_name(name):
                fix = f"Write ${{{name}}} to take it from your shell."
                yield Flaw(("agents", index, "env", name), "is redacted, as Harbor keeps secrets", fix)
    for (index, one), (_, other) in pairwise(enumerate(agents)):
        for name in OF_ALL_AGENTS:
            if (one.get(name) or []) != (other.get(name) or []):
                yield Flaw(
                    ("agents", index + 1, name), "is not that of the agent before", "Run them one after the other."
                )
    for index, source in enumerate(_entries(values, "datasets")):
        yield from (Flaw(("datasets", index), reason, fix) for reason, fix in _of_dataset(source))
    for index, source in enumerate(_entries(values, "tasks")):
        if source.get("path") is None:
            yield Flaw(("tasks", index), "has no path", "Name a directory of this machine.")


def _of_dataset(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    named = [name for name in ("path", "name") if values.get(name) is not None]
    if len(named) != 1:
        yield "has a path and a name" if named else "has no path", "Name a directory of this machine, or a dataset."
    elif named == ["name"]:
        if values.get("version") is not None and values.get("ref") is not None:
            yield "has a version and a ref", "Keep one of them."
        elif (flaw := _dataset(values).flaw) is not None:
            yield "cannot be looked for", flaw


def _dataset(values: Mapping[str, Any]) -> Dataset:
    version = values.get("version") if values.get("ref") is None else values["ref"]
    name = values["name"] if version is None else f"{values['name']}@{version}"
    return read_dataset({**values, "name": name})


def read_job(values: Mapping[str, JSON]) -> Sweep:
    """``values`` are without flaws."""
    old = _section(values, "orchestrator")
    values = {**{name: old[name] for name in ("n_concurrent_trials", "quiet", "retry") if name in old}, **values}
    environment = _section(values, "environment")
    place = environment.get("import_path") or environment.get("type")
    retry = _section(values, "retry")
    options: dict[str, object] = {}
    if values.get("job_name") is not None:
        options["experiment"] = values["job_name"]
    if retry.get("max_retries") is not None:
        options["max_trial_attempts"] = retry["max_retries"] + 1
    return Sweep(
        agents=[_agent(agent) for agent in _entries(values, "agents") or [{}]],
        n_trials=cast("int | None", values.get("n_attempts")),
        environment=place,
        sources=[_source(source) for kind in ("datasets", "tasks") for source in _entries(values, kind)],
        harbor=_harbor(values),
        options=options,
        unused=list(_unused(values)),
    )


def _agent(values: Mapping[str, Any]) -> Agent:
    name = values.get("import_path") or values.get("name") or DEFAULT_AGENT
    return Agent(name.strip(), values.get("model_name"), config=agent_config(said(values)))


def _source(values: Mapping[str, Any]) -> Source:
    return Source(
        _dataset(values) if values.get("path") is None else Path(values["path"]).expanduser(),
        include=values.get("task_names") or (),
        exclude=values.get("exclude_task_names") or (),
        limit=values.get("n_tasks"),
    )


def _harbor(values: Mapping[str, JSON]) -> dict[str, JSON]:
    environment = _section(values, "environment")
    environment.setdefault("mounts", environment.get("mounts_json"))
    agent = next(iter(_entries(values, "agents")), {})
    block = {
        **{name: values[name] for name in MULTIPLIERS if values.get(name) not in (None, 1)},
        "artifacts": values.get("artifacts"),
        "mcp_servers": agent.get("mcp_servers"),
        "agent": said({name: agent.get(name) for name in LOGS}),
        "environment": said({name: environment.get(name) for name in HARBOR_ENVIRONMENT}, SECTION_DEFAULTS),
        "verifier": said({name: _section(values, "verifier").get(name) for name in HARBOR_VERIFIER}, SECTION_DEFAULTS),
    }
    return said(block)


def _unused(values: Mapping[str, JSON]) -> Iterable[str]:
    yield from said({name: values.get(name) for name in UNUSED}, UNUSED)
    retry = _section(values, "retry")
    if retry.get("max_retries"):
        others = {name: value for name, value in retry.items() if name != "max_retries"}
        yield from (f"retry.{name}" for name in said(others, RETRY_DEFAULTS))
    for index, agent in enumerate(_entries(values, "agents")):
        limits = said({name: agent.get(name) for name in ("n_concurrent", "concurrency_group")})
        yield from (f"agents[{index}].{name}" for name in limits)
    if _section(values, "environment").get("stream"):
        yield "environment.stream"


def _section(values: Mapping[str, JSON], name: str) -> dict[str, Any]:
    return dict(cast("Mapping[str, Any]", values.get(name) or {}))


def _entries(values: Mapping[str, JSON], name: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", values.get(name) or [])
