"""The numbers of a task's ``metrics.json`` in words: those with agreed names under their meaning and unit."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from oddish.cli.text import number, one_line
from oddish.client.types import JSON

SHOWN = 30
LENGTH = 100


class Metric(NamedTuple):
    label: str
    unit: str


METRICS: Mapping[str, Metric] = {
    "latency_ms": Metric("Latency", "ms"),
    "step_time_ms": Metric("Step time", "ms"),
    "ttft_ms": Metric("Time to first token", "ms"),
    "throughput_tokens_per_sec": Metric("Throughput", "tokens/s"),
    "mxu_utilization_pct": Metric("MXU utilization", "%"),
    "routing_overhead_ms": Metric("Routing overhead", "ms"),
    "gating_overhead_ms": Metric("Gating overhead", "ms"),
    "ici_time_ms": Metric("ICI time", "ms"),
    "expert_load_balance": Metric("Expert load balance", ""),
}
"""The recommended keys, in the order in which they are shown."""
APART = "schema_version"


def rows(result: Mapping[str, JSON] | None) -> list[tuple[str, str]]:
    """Labels and values: the recommended keys first, then the task's own under their names."""
    own = {key: value for key, value in (result or {}).items() if not key.startswith("_") and key != APART}
    known = [key for key in METRICS if key in own]
    others = [key for key in own if key not in METRICS]
    shown = [(METRICS[key].label, _value(own[key], METRICS[key].unit)) for key in known]
    shown += [(one_line(key, LENGTH), _value(own[key], "")) for key in others[: SHOWN - len(known)]]
    hidden = len(own) - len(shown)
    return [*shown, ("and more", f"{hidden}, with --json")] if hidden else shown


def _value(value: JSON, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), LENGTH)
    return f"{number(value)}{'' if unit == '%' else ' '}{unit}".strip()
