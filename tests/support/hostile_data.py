"""A results directory of somebody who wants a reader's browser to run something, and of programs that write badly."""

import json
import os
from pathlib import Path
from typing import Any

from oddish.viewer.results import SUMMARY_LIMIT
from oddish.web.viewer.links import Links
from support.results import write

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
BREAKS_OUT = f"\"'></td></pre></textarea></title>{SCRIPT}{IMAGE}<svg onload=alert(1)>"
"""Out of an attribute, an element or a document."""
PROJECT = "p <b>&amp;?x=1#y%2F'\""
DATASET = f"d {IMAGE}"
RUN = f"r {IMAGE.upper()}"
BROKEN, ODD, HUGE, NOTHING = "broken", "odd", "huge", "nothing"
TASK = f"t {BREAKS_OUT}"
MODEL, HARNESS = f"m{IMAGE}", f"h{SCRIPT}"
KEY = f"{MODEL}|{HARNESS}"
TRACES = ("hostile", "binary", "no-list", "broken", "absent", "../../../project.json", "many", "long")
BINARY = "\0\x01\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07 \ufffe\u202e"
SAID = (
    BREAKS_OUT,
    BINARY,
    "[x](javascript:alert(1)) ![x](https://evil.example/seen.png) <a href=javascript:alert(1)>x</a>",
    "<style>*{background:url(https://evil.example)}</style><base href=https://evil.example>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe><input autofocus onfocus=alert(1)>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "```\n</code></pre><script>alert(1)</script>\n```",
)


def hostile(root: Path) -> Path:
    project = f"projects/{PROJECT}"
    support = {HARNESS: {"tier": BREAKS_OUT, "caveats": [BREAKS_OUT]}, "bare": {"tier": "experimental"}, "none": 7}
    write(root, f"{project}/project.json", _everywhere("project_id", "label", "description") | {"support": support})
    write(root, f"{project}/datasets/{DATASET}/dataset.json", _everywhere("label", "notes"))
    write(root, f"{project}/datasets/{DATASET}/summary.json", _summary())
    for name in TRACES:
        if (document := _trace(name)) is not None:
            write(root, f"{project}/datasets/{DATASET}/traces/{name}.json", document)
    write(root, f"{project}/datasets/{BROKEN}/summary.json", '{"k_max": 4, "tasks": [{"id": "half')
    write(root, f"{project}/datasets/{BROKEN}/dataset.json", "[]")
    write(root, f"{project}/datasets/{ODD}/summary.json", _odd())
    write(root, f"{project}/datasets/{NOTHING}/summary.json", {})
    os.truncate(write(root, f"{project}/datasets/{HUGE}/summary.json", "{"), SUMMARY_LIMIT + 1)
    write(root, f"{project}/runs/{RUN}/run.json", _everywhere("label", "description"))
    write(root, f"{project}/runs/{RUN}/train/metrics.jsonl", _metrics())
    write(root, f"{project}/runs/{BROKEN}/run.json", "{")
    write(root, f"{project}/runs/{NOTHING}/run.json", {})
    write(root, f"projects/{BROKEN}/project.json", '{"label": ')
    write(root, f"projects/{NOTHING}/readme.txt", SCRIPT)
    return root


def _everywhere(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, BREAKS_OUT) | {BREAKS_OUT: BREAKS_OUT, "source": {BREAKS_OUT: {IMAGE: [SCRIPT]}}}


def _summary() -> dict[str, Any]:
    attempts = [
        {"attempt": number, "reward": number % 2, "n_turns": 1e300, "elapsed_sec": -1, "trace": _path(name)}
        for number, name in enumerate(TRACES, start=1)
    ]
    texts = _everywhere("difficulty", "question", "answer", "reward_mode")
    task = texts | {"id": TASK, "cells": {KEY: {"passed_at": 1, "attempts": attempts}, "other|h": {"attempts": []}}}
    return {"k_max": 8, "models": [MODEL, "other"], "harnesses": [HARNESS, "h"], "tasks": [task]}


def _path(name: str) -> str:
    return name if name.startswith("..") else f"traces/{name}.json"


def _trace(name: str) -> object:
    texts = _everywhere("task_id", "model", "harness", "reward_method", "gold", "predicted")
    match name:
        case "hostile":
            return texts | {"attempt": 1, "reward": 1, "messages": [said for text in SAID for said in _said(text)]}
        case "binary":
            return json.dumps({"messages": [{"role": BINARY, "content": [BINARY, {"type": BINARY}, 7, None]}]})
        case "no-list":
            return {"reward": "high", "messages": "none", "n_turns": -3}
        case "broken":
            return '{"messages": [{"role": "user", "content": "only the beg'
        case "many":
            return {"messages": [{"role": "user", "content": f"message {number}"} for number in range(2000)]}
        case "long":
            return {
                "messages": [{"role": "tool", "content": "word " * 200_000}, {"role": "tool", "content": "x" * 90_000}]
            }
        case _:
            return None


def _said(text: str) -> list[dict[str, Any]]:
    call = {"id": text, "function": {"name": text, "arguments": {text: text, "old_str": text, "new_str": text}}}
    answer = {"role": "tool", "tool_call_id": text, "content": [{"type": "text", "text": text}, {"type": text}]}
    return [{"role": text, "content": text}, {"role": "assistant", "content": text, "tool_calls": [call]}, answer]


def _odd() -> str:
    """NaN, what is missing, keys that name no harness, attempts out of order, ids twice, rewards of unknown modes."""
    cell = {"passed_at": 2, "attempts": [{"attempt": 3, "reward": 0}, {"attempt": 1}, {"reward": float("nan")}, 7]}
    tasks = [
        {"id": "same", "cells": {"no-harness": cell, "m|h": cell}, "reward_mode": "by-the-moon", "index": "first"},
        {"id": "same", "cells": None, "question": 5},
        {"cells": {"m|h": {"passed_at": 99, "attempts": {}}, "|": {}, "x|y": []}},
        "no task",
    ]
    return json.dumps({"k_max": "four", "models": "m", "tasks": tasks, "by_model": [1], "summary": []})


def _metrics() -> str:
    lines = [
        '{"step": 1, "reward": 0.5, "reward_std": 0.1, "loss": NaN}',
        f'{{"step": 2, "reward": "{SCRIPT}", "kl": 1e308, "entropy": -1e308}}',
        "no JSON",
        '{"step": 1, "reward": 0.7, "kl": 0.1, "<img src=x onerror=alert(1)>": 3}',
        '{"reward": 0.4, "reward_std": 0}',
        '{"step": -5, "reward": 1e18, "wall_s": null}',
        '{"step": 3, "rew',
    ]
    return "\n".join(lines)


_LINKS = Links()
ADDRESSES = {
    "projects": "/",
    "project": _LINKS.project(PROJECT),
    "project-broken": _LINKS.project(BROKEN),
    "dataset": _LINKS.dataset(PROJECT, DATASET, show="answer"),
    "dataset-addressed": _LINKS.dataset(PROJECT, DATASET, **{"q": IMAGE, BREAKS_OUT: SCRIPT}),
    "dataset-refused": _LINKS.dataset(PROJECT, DATASET, sort=SCRIPT),
    "dataset-broken": _LINKS.dataset(PROJECT, BROKEN),
    "dataset-odd": _LINKS.dataset(PROJECT, ODD),
    "dataset-huge": _LINKS.dataset(PROJECT, HUGE),
    "dataset-nothing": _LINKS.dataset(PROJECT, NOTHING),
    **{f"trace-{name}": _LINKS.trace(PROJECT, DATASET, _path(name)) for name in TRACES if not name.startswith("..")},
    "trace-found": _LINKS.trace(PROJECT, DATASET, _path("hostile"), find=SCRIPT),
    "traces-apart": _LINKS.compare(PROJECT, DATASET, _path("hostile"), _path("binary")),
    "traces-apart-broken": _LINKS.compare(PROJECT, DATASET, _path("broken"), _path("no-list")),
    "run": _LINKS.run(PROJECT, RUN),
    "run-broken": _LINKS.run(PROJECT, BROKEN),
    "runs": _LINKS.runs(PROJECT, [RUN, NOTHING]),
    "runs-refused": _LINKS.runs(PROJECT, [RUN, IMAGE]),
}
"""Of every page of this directory, by a name for it."""
REFUSED = {"dataset-refused": 400, "runs-refused": 404}
"""The status of those that have an error page."""
SAYS: dict[str, tuple[str, ...]] = {
    "projects": (
        BREAKS_OUT,
        "projects/broken/project.json",
        "is no JSON object, or only the beginning of one.",
        "is not shown: it has no file project.json.",
    ),
    "project": (
        BREAKS_OUT,
        IMAGE,
        "support.bare",
        "is experimental and does not say what does not work.",
        "datasets/broken/dataset.json",
        "runs/broken/run.json",
    ),
    "project-broken": ("is no JSON object, or only the beginning of one.", "There is no dataset in this project yet."),
    "dataset": (BREAKS_OUT, TASK, MODEL, HARNESS, "n_turns", "is 1e+300, not a whole number from 0, and is left out."),
    "dataset-addressed": (IMAGE, BREAKS_OUT[:10], "is no parameter of this page."),
    "dataset-refused": (SCRIPT[:10], "which is not there to choose."),
    "dataset-broken": ("summary.json", "is no JSON object, or only the beginning of one.", "cannot be shown"),
    "dataset-odd": (
        "is not known and taken to be",
        "lists its attempts out of order.",
        'has the id "same" of an earlier task.',
        "has a key that does not name a model and a harness.",
        "is NaN, not a finite number, and is left out.",
        "by-the-moon",
    ),
    "dataset-huge": ("has more than 67108864 bytes.", "cannot be shown"),
    "trace-hostile": (BREAKS_OUT, "has the task_id", "[U+202E]", "image: x", "<input autofocus onfocus=alert(1)>"),
    "trace-binary": ("red",),
    "trace-no-list": ("messages", "not a list, and is left out.", "This trace has no messages."),
    "trace-broken": ("ends in the middle.", "This trace has no messages."),
    "trace-absent": ("is missing.",),
    "trace-many": ("message 49", "1 to 50 of 2,000"),
    "trace-long": ("more characters",),
    "trace-found": (BREAKS_OUT, "messages with", SCRIPT),
    "traces-apart": (BREAKS_OUT, "Here they go apart."),
    "traces-apart-broken": ("ends in the middle.", "There is nothing to compare."),
    "run": (
        BREAKS_OUT,
        "line 3",
        "is no JSON object and is left out.",
        "has step 1 after step 2,",
        "has no step.",
    ),
    "run-broken": ("is no JSON object, or only the beginning of one.", "This run has no metrics yet."),
    "runs": (BREAKS_OUT, IMAGE),
    "runs-refused": (IMAGE[:10], "has no run"),
    "dataset-nothing": ("There is no task in this dataset yet.", "is not known and taken to be"),
}
"""What a page shows: hostile texts as they are, and what is wrong with files."""
