"""``run.json``: what a training run is called. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oddish.viewer.fields import Fields, without_nothing
from oddish.viewer.findings import Notes


@dataclass(frozen=True, slots=True)
class Run:
    label: str | None = None
    description: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_run(document: Mapping[str, Any], notes: Notes) -> Run:
    fields = Fields(document, "", notes)
    return Run(fields.text("label"), fields.text("description"), fields.rest)


def run_document(run: Run) -> dict[str, Any]:
    """What ``read_run`` reads as ``run``."""
    return without_nothing(label=run.label, description=run.description) | dict(run.extra)
