"""What the engine's messages say, for people: without places of the worker's machine, the reason first. Pure."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

_REWARD_FILE = re.compile(r"(?:steps/([^/\s]+)/)?verifier/(reward\.(?:txt|json))")
_COMMAND = re.compile(
    r"Command failed \(exit (?P<code>-?\d+)\): (?P<command>.*?)\nstdout: (?P<stdout>.*)\nstderr: (?P<stderr>.*)",
    re.DOTALL,
)
_COMPOSE = re.compile(
    r"Docker compose command failed for environment \S+\. Command: (?P<command>.*?)\. Return code: (?P<code>-?\d+)\. "
    r"Stdout: (?P<stdout>.*)\. Stderr: (?P<stderr>.*?)\.? *",
    re.DOTALL,
)
_NOTHING = ("", "None")


def readable(kind: str, message: str) -> str:
    """The message of an exception whose class is called ``kind``; one that is not known stays as it is."""
    if kind == "FileNotFoundError" and "has no environment definition" in message:
        return (
            "Nothing says what the task runs in. Add environment/Dockerfile, or set docker_image under [environment] "
            "in task.toml."
        )
    if (told := _REWARDS.get(kind)) is not None and (found := _REWARD_FILE.search(message)):
        where = f" (step {found[1]})" if found[1] else ""
        return told(f"/logs/verifier/{found[2]}") + where
    if (failed := _COMMAND.fullmatch(message) or _COMPOSE.fullmatch(message)) is not None:
        return _of_command(failed)
    return message


def without_places(text: str, places: Iterable[Path]) -> str:
    """``text`` with what lies below ``places`` named from there."""
    for name in sorted(map(str, places), key=len, reverse=True):
        text = text.replace(f"{name}/", "").replace(name, ".")
    return text


_REWARDS: dict[str, Callable[[str], str]] = {
    "RewardFileNotFoundError": lambda _: (
        "The tests wrote no reward: neither /logs/verifier/reward.txt nor /logs/verifier/reward.json is there"
    ),
    "RewardFileEmptyError": lambda file: f"The tests left {file} empty",
    "VerifierOutputParseError": lambda file: f"What the tests wrote to {file} is no reward",
}


def _of_command(failed: re.Match[str]) -> str:
    """What it printed last, then all of it, then the command, which may be long."""
    outputs = {name: text for name in ("stderr", "stdout") if (text := failed[name].strip()) not in _NOTHING}
    last = next(iter(outputs.values()), "it printed nothing").splitlines()[-1].strip()
    sections = [f"{name}:\n{text}" for name, text in outputs.items()]
    return "\n".join([f"exit code {failed['code']}: {last}", *sections, f"command: {failed['command']}"])
