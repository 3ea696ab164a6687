"""Traces reach their receiver, and a receiver that does not take them is no trouble."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Literal

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Told
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from oddish.documents import moment
from oddish.engine.results import attempt_facts, read_trial
from oddish.outcome import judge
from oddish.settings import UnreadableSetting
from oddish.tracing.export import MAX_WAITING, SPANS_AT_A_TIME, Sender
from oddish.tracing.spans import Period, Span, Trace
from oddish.trials.recording import Report
from oddish.worker.traces import Traces
from support.harbor_jobs import JOBS
from support.trace_receiver import Receiver, attributes, receiver
from support.trial_specs import GREET

FAILED = next((JOBS / "14b-terminus2-failed").glob("greet-script__*"))
CALL, SAID = "chat scripted-b", "It greets ada"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiver() as there:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", there.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20abc")
        yield there


def trace(*inner: Span, trial_id: str = "t-0", error: str | None = None) -> Trace:
    root = Span("trial t", Period(1.5, 3.0), {"oddish.reasons": ["no_report"]}, inner, error, error and "It broke.")
    return Trace(trial_id, {"session.id": "e0000000"}, root)


def send(*traces: Trace) -> None:
    sender = Sender()
    for one in traces:
        sender.send(one)
    sender.close(30)


def test_spans_arrive_as_one_trace_with_their_times_and_parents(there: Receiver) -> None:
    tool = Span("execute_tool ls", Period(2.0, 2.0), {"gen_ai.tool.name": "ls"})
    sent = trace(Span("chat gpt-5", Period(1.75, 2.0), {"gen_ai.usage.input_tokens": 7}, [tool], kind="client"))
    send(sent)
    root, chat, inner = there.named("trial t"), there.named("chat gpt-5"), there.named("execute_tool ls")
    assert {span.trace_id for span in there.spans} == {sent.number.to_bytes(16)}
    assert (root.parent_span_id, chat.parent_span_id, inner.parent_span_id) == (b"", root.span_id, chat.span_id)
    assert (root.start_time_unix_nano, root.end_time_unix_nano) == (1_500_000_000, 3_000_000_000)
    assert (chat.kind, root.kind) == (Told.SPAN_KIND_CLIENT, Told.SPAN_KIND_INTERNAL)
    assert attributes(chat) == {"session.id": "e0000000", "gen_ai.usage.input_tokens": 7}
    assert attributes(root) == {"session.id": "e0000000", "oddish.reasons": ["no_report"]}
    assert root.status.code == Status.STATUS_CODE_UNSET
    assert there.resource["service.name"] == "oddish-worker"
    assert there.headers[0]["Authorization"] == "Basic abc"


def test_what_failed_says_so(there: Receiver) -> None:
    send(trace(error="AgentTimeoutError"))
    [root] = there.spans
    assert (root.status.code, root.status.message) == (Status.STATUS_CODE_ERROR, "It broke.")
    assert attributes(root)["error.type"] == "AgentTimeoutError"


def test_the_variables_of_opentelemetry_decide(there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "evals")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    send(trace())
    assert there.resource["service.name"] == "evals"
    assert there.headers[0]["Content-Encoding"] == "gzip"
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    send(trace())
    assert len(there.spans) == 1


def test_a_long_trace_is_sent_in_parts(there: Receiver) -> None:
    send(trace(*[Span("chat", Period(2, 2))] * (2 * SPANS_AT_A_TIME)))
    assert (len(there.headers), len(there.spans)) == (3, 2 * SPANS_AT_A_TIME + 1)


def test_a_receiver_that_refuses_costs_that_trace_alone(there: Receiver) -> None:
    there.status = 400
    sender = Sender()
    sender.send(trace(trial_id="t-0"))
    while not there.headers:
        time.sleep(0.01)
    there.status = 200
    sender.send(trace(trial_id="t-1"))
    sender.close(30)
    assert len({span.trace_id for span in there.spans}) == 2


def test_a_receiver_that_does_not_answer_is_not_waited_for(there: Receiver) -> None:
    there.answering.clear()
    sender = Sender()
    before = time.monotonic()
    for number in range(MAX_WAITING + 10):
        sender.send(trace(trial_id=f"t-{number}"))
    sender.close(0.2)
    assert time.monotonic() - before < 5
    assert sender.waiting <= MAX_WAITING + 1
    there.answering.set()
    sender.close(30)
    assert len(there.headers) <= 1


@pytest.mark.anyio
@pytest.mark.parametrize(("asked", "told"), [("off", set()), ("spans", {CALL}), ("contents", {CALL, SAID})])
async def test_a_setting_says_how_much_is_told(
    there: Receiver, asked: Literal["off", "spans", "contents"], told: set[str]
) -> None:
    traces, facts = Traces(asked), read_trial(FAILED)
    times = [moment(facts.started_at), moment(facts.finished_at)]
    outcome = judge(attempt_facts(facts, None, "done"))
    await traces.tell(GREET, 1, Period(*filter(None, times)), facts, FAILED, outcome, Report())
    await asyncio.to_thread(traces.close)
    assert {words for words in (CALL, SAID) if words in repr(there.spans)} == told


def test_who_asks_for_traces_without_what_they_need_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    with pytest.raises(UnreadableSetting, match=r"oddish\[otel\]"):
        Traces("spans")
    Traces("off").close()


def test_a_worker_does_not_load_opentelemetry_before_it_has_something_to_send() -> None:
    code = (
        "import sys; from oddish.worker import traces; traces.Traces('spans').close();"
        "print([name for name in sys.modules if name.startswith('opentelemetry.') and 'exporter' not in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
