"""What the trace of an attempt tells, and what it keeps to itself."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes, session_attributes

from oddish.documents import moment
from oddish.engine.evidence import read_evidence
from oddish.engine.protocol import Done
from oddish.engine.redaction import Redactor
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.engine.trajectory import trajectory
from oddish.outcome import judge
from oddish.tracing.attempt import trace
from oddish.tracing.conversation import MAX_CALLS, PROVIDERS, Reader
from oddish.tracing.spans import Clean, Period, Span, Trace
from oddish.trials.ledger import Spending
from oddish.trials.reporting import Tidy, report_of
from oddish.trials.spec import TrialSpec
from support.harbor_jobs import JOBS, TRIALS
from support.trial_specs import GREET

SOLVED = next((JOBS / "14a-terminus2-solved").glob("greet-script__aics*"))
TURN = Period(100.0, 200.0)
KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes, session_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}


def traced(directory: Path, *, spec: TrialSpec = GREET, contents: bool = False) -> Trace:
    facts = read_trial(directory)
    evidence = read_evidence(directory, [step.name for step in facts.steps])
    done = Done(type="done", trial_dir=str(directory), cancelled=False, failure=None)
    judged = attempt_facts(facts, done, "done", evidence.reported_tests)
    redactor = Redactor(spec.secrets())
    report = report_of(facts, evidence, judged, Tidy(redactor, ()), None, "", Spending(input_tokens=7, cost_usd=0.5))

    def documents(step: str | None) -> Iterator[dict[str, Any]]:
        return trajectory(directory, step)

    return trace(
        spec, 1, lasted(facts), facts, judge(judged), report, documents, redact=redactor.text, contents=contents
    )


def lasted(facts: TrialFacts) -> Period:
    start, end = moment(facts.started_at), moment(facts.finished_at)
    return Period(start or 0.0, end or 1.0)


def spans(span: Span) -> Iterator[Span]:
    yield span
    for part in span.inner:
        yield from spans(part)


def calls(*steps: Mapping[str, Any], model: str | None = None, contents: bool = False) -> list[Span]:
    return Reader(model, Clean(str), contents).calls([{"steps": list(steps)}], TURN)


def agent(**members: object) -> dict[str, Any]:
    return {"source": "agent", "message": "", **members}


def test_an_attempt_has_its_phases_and_the_agent_its_calls() -> None:
    told = traced(SOLVED)
    assert told.root.name == "trial greet"
    assert told.root.error is None
    phases = ["environment_setup", "agent_setup", "invoke_agent terminus-2", "verifier"]
    assert [span.name for span in told.root.inner] == phases
    inner = told.root.inner[2].inner
    assert {span.name for span in inner} == {
        "chat scripted-b",
        "execute_tool bash_command",
        "execute_tool mark_task_complete",
    }
    first = inner[0].attributes
    assert first["gen_ai.provider.name"] == "openai"
    assert first["gen_ai.usage.input_tokens"] == 785
    assert told.root.attributes["oddish.input_tokens"] == 7
    assert told.root.attributes["oddish.reward"] == 1.0
    assert told.everywhere["session.id"] == "e0000000"
    assert told.everywhere["langfuse.trace.metadata.correlation_id"] == "evals-42"


def test_each_step_of_a_trial_has_phases_of_its_own() -> None:
    directory = next(path for path in sorted((JOBS / "10-two-steps").iterdir()) if path.is_dir())
    inner = traced(directory).root.inner
    steps = [span for span in inner if span.name.startswith("step ")]
    assert len(steps) == 2
    assert all(any(part.name.startswith("invoke_agent") for part in step.inner) for step in steps)


def test_what_ended_an_attempt_marks_it_and_the_phase_in_which_it_happened() -> None:
    [directory] = (path for path in (JOBS / "15-agent-raises").iterdir() if path.is_dir())
    root = traced(directory).root
    failed = [span.name for span in root.inner if span.error]
    assert failed == ["invoke_agent terminus-2"]
    assert root.error == root.inner[2].error
    assert root.message
    assert root.message.startswith(str(root.error))


@pytest.mark.parametrize("directory", [trial.directory for trial in TRIALS], ids=lambda path: path.name)
def test_everything_happens_within_what_it_belongs_to(directory: Path) -> None:
    for span in spans(traced(directory).root):
        assert span.period.start <= span.period.end
        for part in span.inner:
            assert span.period.start <= part.period.start
            assert part.period.end <= span.period.end


def test_names_are_those_of_the_conventions() -> None:
    told = traced(SOLVED, contents=True)
    used = {name for span in spans(told.root) for name in span.attributes} | set(told.everywhere)
    foreign = {name for name in used if not name.startswith(("oddish.", "langfuse."))}
    assert foreign >= {"gen_ai.output.messages", "gen_ai.tool.call.arguments", "session.id"}
    assert foreign <= KNOWN
    assert set(PROVIDERS.values()) <= {member.value for member in gen_ai_attributes.GenAiProviderNameValues}


def test_what_was_said_is_told_only_where_it_is_asked_for() -> None:
    said = "It greets ada"
    [directory] = (path for path in (JOBS / "14b-terminus2-failed").iterdir() if path.is_dir())
    assert said not in repr(traced(directory))
    told = traced(directory, contents=True)
    assert said in repr(told)
    messages = [
        json.loads(str(span.attributes["gen_ai.output.messages"])) for span in spans(told.root) if span.kind == "client"
    ]
    assert {message["role"] for [message] in messages} == {"assistant"}
    first = next(span for span in spans(told.root) if span.kind == "client")
    [asked] = json.loads(str(first.attributes["gen_ai.input.messages"]))
    assert asked["role"] == "user"


def test_secrets_are_kept_also_where_they_were_written_in_another_way(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    spec = replace(GREET, env={"SERVICE_TOKEN": secret})
    (tmp_path / "agent").mkdir()
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    call = f'{{"tool_call_id": "{escaped}", "function_name": "{escaped}", "arguments": {{"{escaped}": "{escaped}"}}}}'
    step = f'{{"source": "agent", "message": "{escaped}", "model_name": "{escaped}", "tool_calls": [{call}]}}'
    (tmp_path / "agent" / "trajectory.json").write_text(f'{{"schema_version": "ATIF-v1.8", "steps": [{step}]}}')
    timing = '{"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:01Z"}'
    (tmp_path / "result.json").write_text(f'{{"agent_execution": {timing}}}')
    told = repr(traced(tmp_path, spec=spec, contents=True).root)
    assert secret not in told
    assert "chat [REDACTED]" in told


def test_a_call_lasts_from_the_step_before_and_never_leaves_the_phase_of_the_agent() -> None:
    times = ["1970-01-01T00:02:00Z", "1970-01-01T00:01:00Z", "2999-01-01T00:00:00Z", None, "nonsense"]
    found = calls(*[agent(timestamp=time) for time in times])
    assert [(span.period.start, span.period.end) for span in found] == [
        (100.0, 120.0),
        (120.0, 120.0),
        (120.0, 200.0),
        (200.0, 200.0),
        (200.0, 200.0),
    ]


def test_steps_without_a_model_and_steps_copied_from_elsewhere_call_none() -> None:
    tool = {"function_name": "ls", "tool_call_id": "1", "arguments": {}}
    found = calls(agent(llm_call_count=0, tool_calls=[tool]), agent(is_copied_context=True), {"source": "user"})
    assert [span.name for span in found] == ["execute_tool ls"]


def test_a_model_that_is_not_named_is_the_one_asked_for() -> None:
    [span] = calls(agent(), model="gemini/gemini-3-pro")
    assert span.attributes["gen_ai.request.model"] == "gemini/gemini-3-pro"
    assert span.attributes["gen_ai.provider.name"] == "gcp.gemini"


def test_more_calls_than_a_trace_holds_are_counted() -> None:
    reader = Reader(None, Clean(str), contents=False)
    assert len(reader.calls([{"steps": [agent()] * (MAX_CALLS + 3)}], TURN)) == MAX_CALLS
    assert reader.left_out == 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = ("timestamp", "message", "model_name", "tool_calls", "observation", "metrics", "reasoning_content")


@given(st.lists(st.fixed_dictionaries({"source": st.just("agent")}, optional=dict.fromkeys(MEMBERS, JSON)), max_size=4))
def test_nothing_in_a_trajectory_raises(steps: Iterable[dict[str, Any]]) -> None:
    for span in calls(*steps, contents=True):
        assert TURN.start <= span.period.start <= span.period.end <= TURN.end


def test_attempts_of_a_trial_share_a_trace_and_trials_do_not() -> None:
    told = traced(SOLVED)
    assert told.number == traced(SOLVED, spec=replace(GREET, agent="nop")).number
    assert told.number != traced(SOLVED, spec=replace(GREET, trial_id="greet-0a1b2c3d-1")).number
