"""What becomes of each option of `harbor run` here: both programs' own lists, and what only people can say of them."""

import functools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from oddish.cli import cli
from oddish.cli.harbor_ways import WAYS

LISTING = Path(__file__).with_name("harbor_options.py")


@dataclass(frozen=True)
class Flag:
    """An option of one of the two programs."""

    names: tuple[str, ...]
    off: tuple[str, ...]
    """Names that switch it off."""
    switch: bool
    """It takes no value."""
    repeated: bool
    hidden: bool = False

    @property
    def key(self) -> str:
        """Its first name of more than two letters."""
        return next(name for name in self.names if len(name) > len("--xx"))

    @property
    def all_names(self) -> set[str]:
        return {*self.names, *self.off}


@dataclass(frozen=True)
class Same:
    """All its names mean the same here."""

    note: str = ""


@dataclass(frozen=True)
class Other:
    """An option of another name does it."""

    option: str
    note: str = ""
    collides: bool = False
    """A name of it means something else here."""


@dataclass(frozen=True)
class How:
    """It is done in another way."""

    way: str
    collides: bool = False


@dataclass(frozen=True)
class Not:
    """It is not done."""

    reason: str


type Handling = Same | Other | How | Not

DOORS = "Where the deployment [allows it](../passthrough.md)"
FILE = "In a file for `-c`: "
HUB = "It belongs to Harbor's own hosted service."
SIMULATED = "Users are not simulated: an agent gets the instruction of the task, and that is all."
TRACES = "Trajectories are downloaded as they are: `oddish pull`."
ENDPOINT = "As the variable of the agent that names it"

HANDLING: Mapping[str, Handling] = {
    "--config": Same("One file, a sweep or a job of Harbor's; options go before it."),
    "--diff": Not("An experiment starts what it lacks, whatever was run elsewhere."),
    "--print-config": Other("--dry-run", "Says what would be submitted."),
    "--job-name": Same("It is the name of the experiment, which a second run adds to."),
    "--jobs-dir": How(WAYS["--jobs-dir"]),
    "--n-attempts": Same(),
    "--timeout-multiplier": Same(),
    "--agent-timeout-multiplier": Same(),
    "--verifier-timeout-multiplier": Same(),
    "--agent-setup-timeout-multiplier": Same(),
    "--environment-build-timeout-multiplier": Same(),
    "--quiet": Same("Also what is said at the start."),
    "--debug": Not("Workers keep their logs themselves."),
    "--n-concurrent": How(WAYS["--n-concurrent"]),
    "--n-concurrent-agents": How("A limit of its model: `oddish admin limits set KEY N`."),
    "--max-retries": Same("By default the server tries again what may pass; Harbor does not."),
    "--retry-include": Not("Which failures are worth another attempt is one policy, for all runs."),
    "--retry-exclude": Not("Which failures are worth another attempt is one policy, for all runs."),
    "--agent": Same(f"`claude-code` by default, not `oracle`. {DOORS}: `module:Class`."),
    "--agent-import-path": Other("--agent", f"{DOORS}."),
    "--model": Same("One; a file for `-c` names several."),
    "--base-url": Other("--agent-env", f"{ENDPOINT}."),
    "--api-key-name": Other("--agent-env", f"{ENDPOINT}."),
    "--api-format": Not("Agents choose it by their model."),
    "--skip-model-parsing-and-provider-mapping": Not("A model's provider decides on its limits and credentials."),
    "--agent-kwarg": Same(),
    "--effort": Same(),
    "--allow-agent-host": Same("The host of the model is allowed anyway."),
    "--resume-trajectory": Not("Steps of a task begin a session of their own."),
    "--load-trajectory": Not("Every attempt begins afresh."),
    "--agent-env": Same("A name alone takes its value from `--env-file` or the shell."),
    "--agent-include-logs": How(f"{FILE}`harbor.agent.include_logs`"),
    "--agent-exclude-logs": How(f"{FILE}`harbor.agent.exclude_logs`"),
    "--mcp-config": How(f"{FILE}`harbor.mcp_servers`. {DOORS}."),
    "--skill": Not("Skills are the task's."),
    "--user-agent": Not(SIMULATED),
    "--user-model": Not(SIMULATED),
    "--user-agent-kwarg": Not(SIMULATED),
    "--user-persona-path": Not(SIMULATED),
    "--user-prompt-template-path": Not(SIMULATED),
    "--bridge": Not(SIMULATED),
    "--bridge-prompt-path": Not(SIMULATED),
    "--bridge-kwarg": Not(SIMULATED),
    "--env": Same(f"By default what workers prefer, not `docker`. {DOORS}: `module:Class`."),
    "--allow-environment-host": Same(),
    "--environment-import-path": Other("--env", f"{DOORS}."),
    "--force-build": Same(),
    "--delete": Not("No environment outlives its attempt."),
    "--stream": Not("Nobody signs in to an environment."),
    "--cpus": Same(),
    "--memory": Same(),
    "--override-cpus": Same(),
    "--override-memory-mb": Same(),
    "--override-storage-mb": Same(),
    "--override-gpus": Same(),
    "--override-tpu": How(f"{FILE}`harbor.environment.override_tpu`"),
    "--mounts": Same(f"{DOORS}."),
    "--extra-docker-compose": Same(f"A file of the worker's machine. {DOORS}."),
    "--environment-kwarg": Same(),
    "--yes": Same("Agrees to the credentials that are sent."),
    "--env-file": Same("Only what the agent and the tasks name is taken from it."),
    "--verifier-env": Same(f"{DOORS}. Not for credentials, which tasks name themselves."),
    "--verifier-include-logs": How(f"{FILE}`harbor.verifier.include_logs`"),
    "--verifier-exclude-logs": How(f"{FILE}`harbor.verifier.exclude_logs`"),
    "--allow-verifier-host": Same(),
    "--verifier": Same(f"{DOORS}."),
    "--verifier-import-path": Other("--verifier", f"{DOORS}."),
    "--verifier-kwarg": Same(f"{DOORS}."),
    "--disable-verification": Same(),
    "--install-only": Not("A trial is a whole run; `oddish check` tells whether a task is sound."),
    "--path": Same(),
    "--extra-instruction-path": Not("A task is run as it is written."),
    "--extra-instruction": Not("A task is run as it is written."),
    "--task-git-url": Not("Fetch the task first, and name its directory."),
    "--task-git-commit": Not("Fetch the task first, and name its directory."),
    "--dataset": Same(),
    "--registry-url": Same(),
    "--registry-path": Same(),
    "--repo": Not("Fetch the repository first, and name a directory of it."),
    "--task": Other(
        "--dataset", "`--task` names a task of the server to add trials to, and `-t` is `--task-name`.", collides=True
    ),
    "--include-task-name": Same("Also `-t`, `--task-name`."),
    "--exclude-task-name": Same(),
    "--n-tasks": Same(),
    "--export-traces": Not(TRACES),
    "--export-sharegpt": Not(TRACES),
    "--export-episodes": Not(TRACES),
    "--export-push": Not(TRACES),
    "--export-repo": Not(TRACES),
    "--export-instruction-metadata": Not(TRACES),
    "--export-verifier-metadata": Not(TRACES),
    "--artifact": Same(),
    "--plugin": Not("Plugins belong to the loop of `harbor run`; here workers take trials from a queue."),
    "--plugin-kwarg": Not("Plugins belong to the loop of `harbor run`; here workers take trials from a queue."),
    "--upload": How("Every run is kept by the server; `oddish upload` brings jobs that Harbor has run."),
    "--launch": Other("--api", "Every run is the server's."),
    "--server": Other("--api", "Files are sent, and the key goes with it."),
    "--watch": Same("The default."),
    "--skip-credential-checks": Not("Nothing is checked but what is missing, which is said."),
    "--dry-run": Same("Nothing is created."),
    "--use-static-ip": Not(HUB),
    "--credential-mode": Not(HUB),
    "--one-off-secret": Other("--agent-env", "Values of variables with secret names are kept encrypted."),
    "--stored-secret": How("Trials get what their agent and task name: `oddish secrets set NAME`."),
    "--no-secrets": How("Nothing is sent that neither agent nor task names, and never without consent."),
    "--registry-secret": Other("--registry-login"),
    "--public": Other("--publish", "The experiment, not the job."),
    "--share": Not("An organisation sees its own experiments, and everybody a published one."),
    "--share-user": Not("An organisation sees its own experiments, and everybody a published one."),
    "--org": How("It is that of the key."),
}


@functools.cache
def harbor() -> tuple[str, Sequence[Flag]]:
    """The version of the installed Harbor, and the options of its `run`."""
    listed = subprocess.run([sys.executable, str(LISTING)], check=True, capture_output=True, text=True)
    document: Mapping[str, Any] = json.loads(listed.stdout)
    flags = [
        Flag(tuple(entry["names"]), tuple(entry["off"]), entry["switch"], entry["repeated"], entry["hidden"])
        for entry in document["options"]
    ]
    return document["version"], flags


@functools.cache
def own() -> Sequence[Flag]:
    """The options of `oddish run`."""
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    return [
        Flag(tuple(option.opts), tuple(option.secondary_opts), option.is_flag, option.multiple)
        for option in command.params
        if isinstance(option, click.Option)
    ]


def unhandled() -> Sequence[str]:
    """Options of Harbor that ``HANDLING`` does not know, and those that it knows and Harbor has no longer."""
    return sorted({flag.key for flag in harbor()[1]} ^ HANDLING.keys())


def meaning_the_same(flag: Flag) -> Flag | None:
    """The option of `oddish run` that has all the names."""
    return next((mine for mine in own() if flag.all_names <= mine.all_names), None)


def rows() -> Iterator[tuple[str, str, str]]:
    """Harbor's option, what it is here, and what there is to say about it."""
    for flag in harbor()[1]:
        yield _names(flag), *_here(flag, HANDLING[flag.key])


def ours_only() -> Iterator[str]:
    """Options of `oddish run` that no option of Harbor's leads to."""
    led_to = {handling.option for handling in HANDLING.values() if isinstance(handling, Other)}
    same = {name for flag in harbor()[1] if isinstance(HANDLING[flag.key], Same) for name in flag.all_names}
    for mine in own():
        if not mine.all_names & (led_to | same):
            yield _names(mine)


def _here(flag: Flag, handling: Handling) -> tuple[str, str]:
    match handling:
        case Same(note):
            mine = meaning_the_same(flag)
            as_what = f", as `{mine.key}`" if mine is not None and mine.key != flag.key else ""
            return f"the same{as_what}", note
        case Other(option, note):
            return f"`{option}`", note
        case How(way):
            return "otherwise", way
        case Not(reason):
            return "no", reason


def _names(flag: Flag) -> str:
    return ", ".join(f"`{name}`" for name in (*flag.names, *flag.off))
