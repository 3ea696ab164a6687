"""Logs of real agent programs against servers that reported known tokens; what we count in them, beside that.

``python tests/support/agent_logs.py`` prints the table. The logs are in a folder beside the checkout, or where
``ODDISH_TEST_AGENT_LOGS`` says; a few are kept in ``tests/data/agent-logs``.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from oddish.transcript import Adapter, Event, Usage, adapter

HERE = Path(__file__).resolve()
KEPT = HERE.parents[1] / "data" / "agent-logs"
AGENTS = {"qwen-code": "qwen-coder"}
"""Harbor's name of a program where it differs."""
FIGURES = ("input", "cached", "cache_write", "output")

type Totals = dict[str, int]

TITLE = "the request that makes up a title is in no line that the program prints"
TITLE_AND_TOOL = f"{TITLE}; neither is a step whose tool was interrupted"
CUT = "the part of a cut answer that had arrived stays in the log, and its tokens were paid for"
NOT_YET_WRITTEN = "the program writes a step when its command has ended, and this one was killed"
REASONS: dict[tuple[str, str], str] = {
    ("claude-code", "cut-stream"): CUT,
    ("claude-code", "cut-stream-late"): CUT,
    ("mini-swe-agent", "interrupted-in-tool"): NOT_YET_WRITTEN,
    ("mini-swe-agent", "harbor-timeout"): f"{NOT_YET_WRITTEN}; it also went on asking after the timeout",
    ("opencode", "interrupted-in-tool"): TITLE_AND_TOOL,
    ("opencode", "harbor-timeout"): TITLE_AND_TOOL,
}

TOOL_REASONS: dict[tuple[str, str], str] = {
    ("codex", "tool-error"): "a call of view_image that fails is in no line",
    ("gemini-cli", "interrupted-in-tool"): "calls are recorded when they have ended",
    ("gemini-cli", "interrupted-group"): "calls are recorded when they have ended",
    ("gemini-cli", "harbor-timeout"): "calls are recorded when they have ended",
    ("mini-swe-agent", "interrupted-in-tool"): NOT_YET_WRITTEN,
    ("mini-swe-agent", "harbor-timeout"): NOT_YET_WRITTEN,
    ("opencode", "interrupted-in-tool"): "calls are printed when they have ended",
    ("opencode", "harbor-timeout"): "calls are printed when they have ended",
    ("opencode", "cut-stream-late"): "the call had arrived when the answer was cut, and was made again",
    ("qwen-code", "cut-stream-late"): "the call had arrived when the answer was cut",
}


def corpus() -> Path | None:
    """The folder of all captured logs, where there is one."""
    named = os.environ.get("ODDISH_TEST_AGENT_LOGS")
    folder = Path(named) if named else HERE.parents[3] / "shared" / "data" / "agent-logs"
    return folder if folder.is_dir() else None


@dataclass(frozen=True)
class Capture:
    """One run of one program."""

    folder: Path

    @property
    def name(self) -> str:
        return f"{self.program}/{self.variant}"

    @property
    def program(self) -> str:
        return self.folder.parent.name

    @property
    def variant(self) -> str:
        return self.folder.name

    @property
    def agent(self) -> str:
        return AGENTS.get(self.program, self.program)

    @cached_property
    def expected(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "expected.json").read_text())
        return document

    @property
    def server(self) -> Totals:
        """What the server reported, all input counted as such."""
        totals = self.expected["totals"]
        whole = totals["input"] + totals["cached"] + totals["cache_write"]
        return {"input": whole} | {name: totals[name] for name in FIGURES[1:]}

    @property
    def tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = self.expected["tools"]
        return tools

    def files(self) -> Iterator[tuple[str, Path]]:
        """Paths as Harbor lays them out, and the files, in reading order. A path that comes again was written anew."""
        files = sorted(self.folder.rglob("*.*"), key=lambda file: (file.name.endswith(".2.txt"), file))
        paths = [(self._laid_out(str(file.relative_to(self.folder))), file) for file in files]
        for source in adapter(self.agent).sources:
            yield from ((path, file) for path, file in paths if source.matches(path))

    def _laid_out(self, path: str) -> str:
        if path == f"{self.program}.2.txt":
            return f"{self.program}.txt"
        if self.program == "gemini-cli" and path.startswith("sessions/"):
            return "gemini-cli.trajectory.jsonl"
        if self.program == "qwen-code" and path.startswith("sessions/"):
            return f"qwen-{path}"
        return path

    def read(self, *, printed_only: bool = False) -> tuple[list[Event], Adapter]:
        """The events, and the adapter that read them."""
        reader, met, events = adapter(self.agent), set[str](), list[Event]()
        for path, file in self.files():
            if printed_only and not path.endswith(".txt"):
                continue
            if path in met:
                reader.restart(path)
            met.add(path)
            events += reader.feed(path, file.read_bytes())
        return events + reader.finish(), reader

    @property
    def difference(self) -> Totals:
        """Ours minus the server's, where there is one."""
        ours = figures(self.read()[1].usage)
        return {name: ours[name] - self.server[name] for name in FIGURES if ours[name] != self.server[name]}

    @property
    def reason(self) -> str | None:
        """Why there is one."""
        return REASONS.get((self.program, self.variant), TITLE if self.program == "opencode" else None)


def figures(usage: Usage) -> Totals:
    """In the words of the captures."""
    numbers = (usage.input_tokens, usage.cache_tokens, usage.cache_write_tokens, usage.output_tokens)
    return dict(zip(FIGURES, numbers, strict=True))


def captures(folder: Path) -> list[Capture]:
    """All that are in a folder."""
    return [Capture(file.parent) for file in sorted(folder.glob("*/*/expected.json"))]


def main() -> int:
    """Print the table; how many differences have no reason, and reasons no difference."""
    found, equal, wrong = captures(corpus() or KEPT), 0, 0
    for capture in found:
        ours, difference = figures(capture.read()[1].usage), capture.difference
        equal += not difference
        wrong += bool(difference) != bool(capture.reason)
        pairs = "".join(f"{name} {ours[name]:>5} / {capture.server[name]:>5}  " for name in FIGURES)
        verdict = "equal" if not difference else capture.reason or "NOT EXPLAINED"
        sys.stdout.write(f"{capture.name:36}{pairs}{verdict}\n")
    sys.stdout.write(
        f"{len(found)} logs, ours / server's: {equal} equal, {len(found) - equal} differ, {wrong} wrongly\n"
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
