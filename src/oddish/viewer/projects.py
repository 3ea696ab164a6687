"""``project.json`` and ``dataset.json``. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oddish.documents import mapping
from oddish.viewer.fields import Fields, shown, without_nothing
from oddish.viewer.findings import Notes

EXPERIMENTAL = "experimental"


@dataclass(frozen=True, slots=True)
class Support:
    """How far a harness can be relied on."""

    tier: str | None
    """``stable`` or ``experimental``; others are shown as they are."""
    caveats: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Project:
    project_id: str | None = None
    label: str | None = None
    description: str | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    support: Mapping[str, Support] = field(default_factory=dict)
    """By harness."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    label: str | None = None
    notes: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_project(document: Mapping[str, Any], notes: Notes) -> Project:
    fields = Fields(document, "", notes)
    return Project(
        project_id=fields.text("project_id"),
        label=fields.text("label"),
        description=fields.text("description"),
        source=fields.members("source"),
        support={
            harness: _read_support(f"support.{harness}", entry, notes)
            for harness, entry in fields.members("support").items()
        },
        extra=fields.rest,
    )


def _read_support(place: str, entry: object, notes: Notes) -> Support:
    if not isinstance(entry, dict):
        notes.warning(place, f"is {shown(entry)}, not an object.")
    fields = Fields(mapping(entry), place, notes)
    found = Support(fields.text("tier"), fields.texts("caveats"), fields.rest)
    if found.tier is None:
        notes.warning(place, "has no tier.", 'Add "tier": "stable" or "experimental".')
    if found.tier == EXPERIMENTAL and not any(caveat.strip() for caveat in found.caveats):
        notes.error(place, "is experimental and does not say what does not work.", "Add its caveats, a list of texts.")
    return found


def project_document(project: Project) -> dict[str, Any]:
    """What ``read_project`` reads as ``project``."""
    return without_nothing(
        project_id=project.project_id,
        label=project.label,
        description=project.description,
        source=dict(project.source),
        support={
            harness: without_nothing(tier=entry.tier, caveats=list(entry.caveats)) | dict(entry.extra)
            for harness, entry in project.support.items()
        },
    ) | dict(project.extra)


def read_dataset(document: Mapping[str, Any], notes: Notes) -> Dataset:
    fields = Fields(document, "", notes)
    return Dataset(fields.text("label"), fields.text("notes"), fields.rest)


def dataset_document(dataset: Dataset) -> dict[str, Any]:
    """What ``read_dataset`` reads as ``dataset``."""
    return without_nothing(label=dataset.label, notes=dataset.notes) | dict(dataset.extra)
