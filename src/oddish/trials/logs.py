"""The text files of a trial, as people read them: all in a row, or by who wrote them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from oddish.storage.manifest import ManifestFile
from oddish.storage.store import ArtifactStore
from oddish.trials.evidence import Evidence

SUFFIXES = frozenset({".txt", ".log", ".out", ".err", ".stdout", ".stderr"})
MAX_FILE_BYTES = 256 * 1024
"""Of one file; its end is kept."""
MAX_FILES = 50
_STEP = re.compile(r"steps/[^/]+/")
_COMMAND = re.compile(r"agent/(?P<name>command-\d{1,9})/stdout\.txt")


@dataclass(frozen=True)
class NamedText:
    name: str
    content: str


@dataclass
class AgentTexts:
    oracle: str | None = None
    setup: str | None = None
    commands: list[NamedText] = field(default_factory=list)


@dataclass
class VerifierTexts:
    stdout: str | None = None
    stderr: str | None = None


@dataclass
class StructuredLogs:
    """What Harbor's agents, the verifier and Harbor itself wrote, and under ``other`` the rest of the text files.

    In a trial with steps a member holds what all of them wrote, each under its path.
    """

    agent: AgentTexts = field(default_factory=AgentTexts)
    verifier: VerifierTexts = field(default_factory=VerifierTexts)
    other: list[NamedText] = field(default_factory=list)
    exception: str | None = None


async def read_logs(store: ArtifactStore, evidence: Evidence) -> str:
    """The ends of the text files, each under its path."""
    texts = _texts(evidence)
    parts = [_headed(file.path, await _end(store, evidence, file)) for file in texts[:MAX_FILES]]
    if len(texts) > MAX_FILES:
        parts.append(f"=== {len(texts) - MAX_FILES} more files ===\n")
    return "\n".join(parts)


async def read_structured_logs(store: ArtifactStore, evidence: Evidence) -> StructuredLogs:
    """The ends of the first ``MAX_FILES`` text files, sorted."""
    found = [(file.path, await _end(store, evidence, file)) for file in _texts(evidence)[:MAX_FILES]]
    return structured(found)


def structured(texts: Sequence[tuple[str, str]]) -> StructuredLogs:
    """Paths and contents of text files, sorted. Pure."""
    logs = StructuredLogs()
    for path, content in texts:
        step = _STEP.match(path)
        place = path[step.end() :] if step else path
        text = _headed(path, content) if step else content
        if place == "agent/oracle.txt":
            logs.agent.oracle = _joined(logs.agent.oracle, text)
        elif place == "agent/setup/stdout.txt":
            logs.agent.setup = _joined(logs.agent.setup, text)
        elif command := _COMMAND.fullmatch(place):
            logs.agent.commands.append(NamedText((step[0] if step else "") + command["name"], content))
        elif place == "verifier/test-stdout.txt":
            logs.verifier.stdout = _joined(logs.verifier.stdout, text)
        elif place == "verifier/test-stderr.txt":
            logs.verifier.stderr = _joined(logs.verifier.stderr, text)
        elif path == "exception.txt":
            logs.exception = content
        else:
            logs.other.append(NamedText(path, content))
    return logs


def _texts(evidence: Evidence) -> list[ManifestFile]:
    return [file for file in evidence.files if file.size and PurePosixPath(file.path).suffix in SUFFIXES]


async def _end(store: ArtifactStore, evidence: Evidence, file: ManifestFile) -> str:
    start = max(0, file.size - MAX_FILE_BYTES)
    data = await store.get_range(evidence.key(file), start=start, length=MAX_FILE_BYTES)
    left_out = f"... {start} bytes left out ...\n" if start else ""
    return left_out + data.decode(errors="replace")


def _headed(path: str, content: str) -> str:
    return f"=== {path} ===\n{content}"


def _joined(before: str | None, text: str) -> str:
    return text if before is None else f"{before}\n{text}"
