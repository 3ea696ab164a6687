"""Sends traces by OTLP over HTTP. The only module that knows OpenTelemetry, which is imported when the first one is
sent.

Where to, and how: by OpenTelemetry's own variables, such as ``OTEL_EXPORTER_OTLP_*`` and ``OTEL_SERVICE_NAME``. Nothing
here raises or waits for the receiver; a trace that cannot be sent is left out and logged.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import batched
from queue import SimpleQueue
from typing import TYPE_CHECKING

import structlog

from oddish import __version__
from oddish.tracing.spans import Span, Trace

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

log = structlog.get_logger()

MAX_WAITING = 100
"""Traces; those that come while so many wait are left out."""
SPANS_AT_A_TIME = 100
"""With all contents that is a request of at most a few MB, which receivers accept."""
SERVICE = "oddish-worker"


def available() -> bool:
    """Whether what is needed is installed."""
    try:
        return all(map(find_spec, ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")))
    except ModuleNotFoundError:
        return False


class Sender:
    """Sends in a thread of its own, which begins with the first trace."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Trace | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._exporter: SpanExporter | None = None
        self._given_up = False

    @property
    def waiting(self) -> int:
        """Traces that are not being sent yet."""
        return self._waiting.qsize()

    def send(self, trace: Trace) -> None:
        """Soon; not thread-safe."""
        if self.waiting >= MAX_WAITING:
            log.warning("trace left out", trial_id=trace.trial_id, error="Too many wait to be sent.")
            return
        self._waiting.put(trace)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
            self._thread.start()

    def close(self, seconds: float) -> None:
        """Send what waits, for at most ``seconds``."""
        if self._thread is None:
            return
        self._waiting.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._given_up = True
            log.warning("traces left out", error=f"The receiver did not take them within {seconds:g} s.")
        if self._exporter is not None:
            self._exporter.shutdown()

    def _run(self) -> None:
        while (trace := self._waiting.get()) is not None and not self._given_up:
            try:
                exporter = self._exporter = self._exporter or _exporter()
                if not all(_sent(exporter, spans) for spans in batched(_spans(trace), SPANS_AT_A_TIME)):
                    log.warning("trace left out", trial_id=trace.trial_id, error="The receiver did not take all of it.")
            except Exception:
                log.exception("trace left out", trial_id=trace.trial_id)


def _exporter() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _sent(exporter: SpanExporter, spans: Sequence[ReadableSpan]) -> bool:
    from opentelemetry.sdk.trace.export import SpanExportResult

    return exporter.export(spans) is SpanExportResult.SUCCESS


def _spans(trace: Trace) -> list[ReadableSpan]:
    """Those of OpenTelemetry, made as if everything happened now, but at the times when it did."""
    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

    class OneTrace(RandomIdGenerator):
        def generate_trace_id(self) -> int:
            return trace.number

    class Collected(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            collected.append(span)

    def tell(span: Span, context: Context) -> None:
        told = tracer.start_span(
            span.name,
            context,
            SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            {**trace.everywhere, **span.attributes, **({"error.type": span.error} if span.error else {})},
            start_time=_nanoseconds(span.period.start),
        )
        for part in span.inner:
            tell(part, set_span_in_context(told, context))
        if span.error:
            told.set_status(Status(StatusCode.ERROR, span.message))
        told.end(_nanoseconds(span.period.end))

    collected: list[ReadableSpan] = []
    # Ours yields to what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say.
    resource = Resource({"service.name": SERVICE, "service.version": __version__}).merge(
        OTELResourceDetector().detect()
    )
    provider = TracerProvider(resource=resource, id_generator=OneTrace(), shutdown_on_exit=False)
    provider.add_span_processor(Collected())
    tracer = provider.get_tracer("oddish", __version__)
    tell(trace.root, Context())
    return collected


def _nanoseconds(moment: float) -> int:
    return int(moment * 1e9)
