"""A trial directory is read as it is recorded, whatever release wrote it and whatever is in it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.imports.errors import UnreadableTrial
from oddish.imports.reading import RESULT, Recorded, read_recorded
from oddish.imports.rows import time_of
from oddish.storage.manifest import Manifest
from support.harbor_jobs import TRIALS, Expected

NOTHING = Manifest((), (), 0, None)
SECRET = "sk-very-secret-0123456789"

type Change = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize("expected", TRIALS, ids=lambda expected: expected.trial)
def test_a_recorded_trial_gets_the_verdict_of_its_facts(expected: Expected, tmp_path: Path) -> None:
    directory = shutil.copytree(expected.directory, tmp_path / "trial")
    if not expected.has_result:
        with pytest.raises(UnreadableTrial, match=r"no result\.json"):
            read_recorded(directory)
        return
    recorded = read_recorded(directory)
    verdict = expected.verdict
    assert (recorded.outcome.status, recorded.outcome.reasons) == (verdict.status, verdict.reasons)
    assert recorded.outcome.overridden is verdict.overridden
    assert (recorded.agent, recorded.model, recorded.environment) == (expected.agent, expected.model, "docker")
    report = recorded.report(NOTHING, "p", {"job_name": expected.job})
    assert report.rewards == expected.rewards
    spending = report.spending
    assert (spending.input_tokens, spending.cost_usd) == (expected.tokens[0], pytest.approx(expected.cost_usd))
    assert report.has_trajectory is (expected.steps is not None)
    assert report.facts["imported"] == {"job_name": expected.job}
    assert "/data/harbor-jobs" not in json.dumps(report.facts)


def changed(tmp_path: Path, change: Change, *, trial: str = "14a-terminus2-solved/greet-script__GDNaiHE") -> Path:
    expected = next(expected for expected in TRIALS if expected.trial == trial)
    directory = shutil.copytree(expected.directory, tmp_path / "trial", dirs_exist_ok=True)
    document = json.loads((directory / RESULT).read_text())
    change(document)
    (directory / RESULT).write_text(json.dumps(document))
    return directory


def test_a_record_of_an_old_release_is_read_for_what_it_has(tmp_path: Path) -> None:
    def age(document: dict[str, Any]) -> None:
        for name in ("schema_version", "reward_valid", "id", "trial_uri", "step_results", "agent_setup"):
            del document[name]
        document["started_at"] = "2025-06-01T10:00:00"
        document["finished_at"] = "tomorrow"
        document["agent_info"] = {"name": "custom", "version": None, "model_info": None}
        document["config"] = {"agent": {"import_path": "my.agents:Custom"}, "environment": {"import_path": "a.b:Own"}}

    directory = changed(tmp_path, age)
    for name in ("lock.json", "config.json", "agent/trajectory.json"):
        (directory / name).unlink()
    recorded = read_recorded(directory)
    assert (recorded.external_id, recorded.agent, recorded.model) == (None, "custom", None)
    assert (recorded.environment, recorded.outcome.status) == ("Own", "success")
    assert str(time_of(recorded.started_at)) == "2025-06-01 10:00:00+00:00"
    assert time_of(recorded.finished_at) is None
    assert time_of("9999-12-31T23:59:59.999999") is None, "seconds of that size have no such fractions"
    report = recorded.report(NOTHING, "p", {})
    assert (report.has_trajectory, report.total_steps) == (False, None)


def test_secrets_of_the_configuration_are_in_no_file_and_no_row(tmp_path: Path) -> None:
    def confide(document: dict[str, Any]) -> None:
        agent = document["config"]["agent"]
        agent["env"] = {"OPENAI_API_KEY": SECRET, "LANG": "C", "OTHER_KEY": "${OTHER_KEY}"}
        agent["kwargs"]["api_key"] = f"{SECRET}-2"
        headers = {"Authorization": f"Bearer {SECRET}-3", "X-Api-Key": "${MCP_KEY}"}
        agent["mcp_servers"] = [{"name": "search", "headers": headers, "env": {"SEARCH_TOKEN": f"{SECRET}-4"}}]
        document["config"]["verifier"]["environment"] = {"env": {"JUDGE_KEY": f"{SECRET}-5"}}
        document["exception_info"] = {"exception_type": "AgentTimeoutError", "exception_message": f"with {SECRET}"}

    directory = changed(tmp_path, confide)
    (directory / "agent" / "log.txt").write_text(" ".join(f"{SECRET}-{number}" for number in range(2, 6)) + SECRET)
    recorded = read_recorded(directory)
    report = recorded.report(NOTHING, "p", {})
    assert SECRET not in json.dumps([recorded.agent_config, report.facts, report.failure])
    assert recorded.agent_config["env"] == {"OPENAI_API_KEY": None, "LANG": "C", "OTHER_KEY": None}
    assert not any(SECRET in path.read_text(errors="replace") for path in directory.rglob("*") if path.is_file())
    kept = (directory / RESULT).read_text()
    assert "${OTHER_KEY}" in kept
    assert "${MCP_KEY}" in kept


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "malformed"),
        ("[]", "malformed"),
        ("{}", "no record of a trial"),
        ('{"n_total_trials": 3}', "no record of a trial"),
        (" " * (9 * 1024 * 1024), "too large"),
        ('{"config": {"agent": {"kwargs": ' + '{"a": ' * 200 + "1" + "}" * 203, "levels of lists"),
        ('{"config": {"agent": {"kwargs": ' + '{"a": ' * 990 + "1" + "}" * 993, "malformed|nested|levels"),
        ('{"config": {"agent": {"kwargs": {"a": "' + "x" * 2_000_000 + '"}}}}', "bytes, more than"),
    ],
)
def test_a_record_that_is_none_is_refused_by_name(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / RESULT).write_text(content)
    with pytest.raises(UnreadableTrial, match=reason):
        read_recorded(tmp_path).report(NOTHING, "p", {})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
sections = st.dictionaries(
    st.sampled_from(["env", "kwargs", "name", "import_path", "type", "disable", "model_name", "rewards", "model_info"]),
    json_values | st.dictionaries(st.sampled_from(["API_KEY", "name", "provider", "reward"]), json_values),
)
records = st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "trial_name": json_values,
        "config": st.dictionaries(st.sampled_from(["agent", "environment", "verifier", "trials_dir"]), sections),
        "agent_info": sections,
        "verifier_result": sections,
        "exception_info": st.dictionaries(st.sampled_from(["exception_type", "occurred_at"]), json_values),
        "step_results": st.lists(sections | json_values, max_size=2),
        "started_at": json_values,
        "agent_execution": sections | json_values,
    },
)


@given(records)
def test_no_record_is_met_with_anything_but_a_reading_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, Any]
) -> None:
    directory = tmp_path_factory.getbasetemp() / "any-record"
    directory.mkdir(exist_ok=True)
    (directory / RESULT).write_text(json.dumps(record))
    try:
        recorded = read_recorded(directory)
        report = recorded.report(NOTHING, "p", {})
    except UnreadableTrial:
        return
    assert isinstance(recorded, Recorded)
    assert json.loads(json.dumps(report.facts, allow_nan=False))["judged"]
    time_of(recorded.started_at)
