"""Looking at many things at once, each bounded in time. Nothing that a look does can end the report."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddish.doctor.finding import Finding, warning
from oddish.errors import OddishError

PATIENCE = 3.5
"""Seconds until a look counts as unanswered. What it asks others is bounded by 2 s; the rest is for a busy machine."""


@dataclass(frozen=True, slots=True)
class Look:
    """``make`` gathers facts and judges them. ``local``: it is about running trials on this machine."""

    subject: str
    make: Callable[[], Iterable[Finding]]
    local: bool = True
    advice: str = "Try again when the machine is less busy."
    """What to do when nothing comes of it in time."""


def examine(looks: Sequence[Look], patience: float = PATIENCE) -> list[list[Finding]]:
    """The findings of each look, in their order. A look that does not return in time is left behind in its thread."""
    found: list[list[Finding]] = [[] for _ in looks]
    threads = [
        threading.Thread(target=_gather, args=(look, findings), name=look.subject, daemon=True)
        for look, findings in zip(looks, found, strict=True)
    ]
    deadline = time.monotonic() + patience
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [
        [*findings, _unanswered(look, patience)] if thread.is_alive() else findings
        for look, findings, thread in zip(looks, found, threads, strict=True)
    ]


def _gather(look: Look, findings: list[Finding]) -> None:
    try:
        for finding in look.make():
            findings.append(finding)  # noqa: PERF402 - those made before a failure count
    except OddishError as error:
        findings.append(warning(look.subject, error.message, error.fix))
    except subprocess.TimeoutExpired as error:
        program = Path(error.cmd[0] if isinstance(error.cmd, list | tuple) else error.cmd).name
        findings.append(warning(look.subject, f"{program} did not answer in time.", look.advice))
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are still worth reading
        said = " ".join(str(error).split()) or "no reason given"
        findings.append(warning(look.subject, f"It cannot be looked at: {type(error).__name__}: {said}"))


def _unanswered(look: Look, patience: float) -> Finding:
    return warning(look.subject, f"No answer within {patience:g} s.", look.advice)
