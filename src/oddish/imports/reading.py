"""A finished trial as its directory records it, whatever release of Harbor wrote it. Nothing else is believed."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oddish.documents import is_file, mapping, read_object, sequence, text
from oddish.engine.evidence import TrialEvidence, read_evidence, with_texts
from oddish.engine.redaction import Redactor, secret_values
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.imports.errors import UnreadableTrial
from oddish.outcome import AttemptFacts, Outcome, judge
from oddish.secrecy import SHORTEST_SECRET
from oddish.storable import storable
from oddish.storage.manifest import Manifest
from oddish.tasks.characters import value_flaw
from oddish.trials.confidential import plain_secrets, split_env
from oddish.trials.recording import Report
from oddish.trials.reporting import Tidy, report_of
from oddish.trials.settlement import claimed

RESULT = "result.json"
RESULT_LIMIT = 8 * 1024 * 1024
REPORT_LIMIT = 1024 * 1024
"""Bytes of all that is kept of a trial in the database."""
NAME_LIMIT = 255
UNKNOWN = "unknown"

_TEMPLATE = re.compile(r"\$\{.*\}", re.DOTALL)


@dataclass(frozen=True)
class Recorded:
    """What a trial directory says, and the verdict on it."""

    external_id: str | None
    """Of the engine that ran it."""
    trial_name: str | None
    agent: str
    model: str | None
    environment: str
    agent_config: Mapping[str, Any]
    harbor_config: Mapping[str, Any]
    started_at: str | None
    """As it was written, like ``finished_at``."""
    finished_at: str | None
    outcome: Outcome
    _facts: TrialFacts
    _evidence: TrialEvidence
    _judged: AttemptFacts
    _tidy: Tidy

    def report(self, manifest: Manifest, prefix: str, provenance: Mapping[str, object]) -> Report:
        """For the record, with where the trial is from. Raises ``UnreadableTrial`` when it is too much to be kept."""
        spending = claimed(self._facts.usage)
        report = report_of(self._facts, self._evidence, self._judged, self._tidy, manifest, prefix, spending)
        report = replace(report, facts={**report.facts, "imported": storable(dict(provenance))})
        _check_size(report, self.agent_config)
        return report


def has_record(directory: Path) -> bool:
    return is_file(directory, RESULT)


def read_recorded(directory: Path) -> Recorded:
    """The trial in ``directory``, whose files are rid of the secrets that its configuration names.

    Raises ``UnreadableTrial`` when its record cannot be used.
    """
    try:
        return _read(directory)
    except RecursionError:
        raise UnreadableTrial(f"Its {RESULT} is nested too deeply.", fix="Leave this trial out.") from None


def _read(directory: Path) -> Recorded:
    document, problem = read_object(directory, RESULT, RESULT_LIMIT)
    if problem == "missing":
        raise UnreadableTrial(
            f"It has no {RESULT}: it was interrupted, or has not ended yet.", fix="Import it when it has ended."
        )
    if problem is not None:
        raise UnreadableTrial(f"Its {RESULT} is {problem.replace('_', ' ')}.", fix="Leave this trial out.")
    config = mapping(document.get("config"))
    if not (config or "agent_info" in document or "verifier_result" in document):
        raise UnreadableTrial(f"Its {RESULT} is no record of a trial.", fix="Name the directory of a Harbor job.")
    agent, environment = mapping(config.get("agent")), mapping(config.get("environment"))
    redactor = Redactor(_secrets(config))
    redactor.directory(directory)
    facts = read_trial(directory)
    evidence = read_evidence(directory, [step.name for step in facts.steps])
    judged = attempt_facts(facts, None, "done", evidence.reported_tests)
    name = text(document.get("trial_name")) or text(config.get("trial_name"))
    shown, _ = split_env(_texts(agent.get("env")))
    return Recorded(
        external_id=_name(document.get("id")),
        trial_name=_name(name),
        agent=_name(facts.agent) or _name(agent.get("name")) or _class_name(agent.get("import_path")) or UNKNOWN,
        model=_name(facts.model) or _name(agent.get("model_name")),
        environment=_name(environment.get("type")) or _class_name(environment.get("import_path")) or UNKNOWN,
        agent_config=storable({"env": shown, "kwargs": with_texts(mapping(agent.get("kwargs")), redactor.text)}),
        harbor_config={"verifier": {"disable": True}} if facts.verifier_disabled else {},
        started_at=facts.started_at,
        finished_at=facts.finished_at,
        outcome=judge(judged),
        _facts=facts,
        _evidence=evidence,
        _judged=judged,
        _tidy=Tidy(redactor, _places(config, name)),
    )


def _secrets(config: Mapping[str, Any]) -> frozenset[str]:
    """The values of secret-named variables, headers and arguments that stand in the configuration, templates aside."""
    headers = list(map(_texts, _under(config, "headers")))
    tokens = ({name: value.rpartition(" ")[2] for name, value in sent.items()} for sent in headers)
    found = secret_values(*map(_texts, _under(config, "env")), *headers, *tokens)
    found |= {value for kwargs in _under(config, "kwargs") for value in plain_secrets(kwargs)}
    return frozenset(value for value in found if len(value) >= SHORTEST_SECRET and not _TEMPLATE.fullmatch(value))


def _under(value: object, name: str) -> Iterator[object]:
    """What members of that name hold, however deep: of the agent, its servers, the environments, the verifier."""
    if isinstance(value, dict):
        if name in value:
            yield value[name]
        for member in value.values():
            yield from _under(member, name)
    for member in sequence(value):
        yield from _under(member, name)


def _places(config: Mapping[str, Any], name: str | None) -> list[Path]:
    """Where the trial was on the machine that ran it, to be left out of messages."""
    folder = text(config.get("trials_dir"))
    if not folder or not folder.startswith("/") or len(folder) < 2 or not name or "/" in name:
        return []
    return [Path(folder, name), Path(folder)]


def _texts(env: object) -> dict[str, str]:
    return {name: value for name, value in mapping(env).items() if isinstance(value, str)}


def _name(value: object) -> str | None:
    """A text that can stand in a column and an index, at most ``NAME_LIMIT`` bytes of it."""
    named: str = storable((text(value) or "").strip()[:NAME_LIMIT])
    return named.encode()[:NAME_LIMIT].decode(errors="ignore") or None


def _class_name(import_path: object) -> str | None:
    return _name((text(import_path) or "").rpartition(":")[2])


def _check_size(report: Report, agent_config: Mapping[str, Any]) -> None:
    document = {
        "agent_config": dict(agent_config),
        "failure": report.failure,
        "facts": dict(report.facts),
        "result": report.result,
        "timing": report.phase_timing,
    }
    if (flaw := value_flaw(document)) is not None:
        raise UnreadableTrial(f"Its record cannot be kept: {flaw}.", fix="Leave this trial out.")
    if (size := len(json.dumps(document))) > REPORT_LIMIT:
        raise UnreadableTrial(f"Its record takes {size} bytes, more than {REPORT_LIMIT}.", fix="Leave this trial out.")
