"""Results directories to read, and documents to fill them with."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DATASET = "projects/data-agent/datasets/eval-v1"
RUN = "projects/data-agent/runs/rl-1"
MODEL, HARNESS = "Qwen/Qwen3.5-2B", "mini-swe-agent"
KEY = f"{MODEL}|{HARNESS}"
TASK = "0000_416_416942_qa_3"
TRACE = f"traces/{TASK}-2b-mini-1.json"

PROJECT: dict[str, Any] = {
    "project_id": "data-agent",
    "label": "Data-Agent Bench",
    "description": "Questions about tables.",
    "source": {"hf_dataset": "AdithyaSK/data_agent_rl_environment_eval"},
    "support": {
        "mini-swe-agent": {"tier": "stable"},
        "opencode": {"tier": "experimental", "caveats": ["knows no limit of steps"]},
    },
}
ATTEMPT: dict[str, Any] = {"attempt": 1, "reward": 0.0, "n_turns": 12, "elapsed_sec": 41.2, "trace": TRACE}
SUMMARY: dict[str, Any] = {
    "k_max": 4,
    "models": [MODEL],
    "harnesses": ["mini-swe-agent", "opencode"],
    "summary": {
        "tasks_total": 50,
        "tasks_any_pass": 31,
        "attempts_total": 400,
        "attempts_passed": 74,
        "n_all_infra": 0,
    },
    "by_model": [{"model": MODEL, "cells": 100, "pass@1": 0.17, "pass@4": 0.31, "n_measured": 100, "mean_turns": 11.7}],
    "by_harness": [
        {"harness": HARNESS, "cells": 100, "pass@1": 0.17, "pass@4": 0.31, "n_measured": 100, "mean_turns": 11.7}
    ],
    "tasks": [
        {
            "id": TASK,
            "index": 7,
            "difficulty_level": 0,
            "difficulty": "easy",
            "question": "What is the median?",
            "answer": "0.4056",
            "reward_mode": "numeric",
            "cells": {KEY: {"passed_at": 3, "attempts": [ATTEMPT]}},
        }
    ],
}
"""The contract's own example: one of fifty tasks, and of it one of four attempts."""
TRACE_DOCUMENT: dict[str, Any] = {
    "task_id": TASK,
    "model": MODEL,
    "harness": HARNESS,
    "attempt": 1,
    "reward": 0.0,
    "reward_method": "llm",
    "n_turns": 12,
    "elapsed_sec": 41.2,
    "gold": "0.4056",
    "predicted": "0.41",
    "messages": [
        {"role": "user", "content": "What is the median?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"cmd": "ls"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "data.csv"},
    ],
}
STEP: dict[str, Any] = {
    "step": 3,
    "reward": 0.829,
    "reward_std": 0.146,
    "loss": 0.279,
    "ratio": 0.9999,
    "kl": 0.032,
    "entropy": 0.51,
    "n_rollouts": 8,
    "n_unscorable": 1,
    "wall_s": 47.6,
}


def write(root: Path, path: str, document: object) -> Path:
    """A text as it is, everything else as JSON."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def example(root: Path) -> Path:
    """The contract's examples as a directory."""
    write(root, "projects/data-agent/project.json", PROJECT)
    write(root, f"{DATASET}/summary.json", SUMMARY)
    write(root, f"{DATASET}/{TRACE}", TRACE_DOCUMENT)
    write(root, f"{RUN}/run.json", {})
    write(root, f"{RUN}/train/metrics.jsonl", json.dumps(STEP) + "\n")
    return root


EXPORT: dict[str, object] = {
    "projects/data-agent/project.json": PROJECT,
    f"{DATASET}/summary.json": SUMMARY,
    f"{DATASET}/{TRACE}": TRACE_DOCUMENT,
}
"""The files of its dataset alone."""


def packed(files: Mapping[str, object] = EXPORT, *further: tarfile.TarInfo) -> bytes:
    """A ``.tar.gz`` of files, as ``write`` takes them, and of members without content."""
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="w", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as archive:
        for path, document in files.items():
            content = (document if isinstance(document, str) else json.dumps(document)).encode()
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in further:
            archive.addfile(member)
    return target.getvalue()


def cell(rewards: Sequence[float | None], **members: Any) -> dict[str, Any]:
    """A whole cell, which lists all its attempts."""
    first = next((number for number, reward in enumerate(rewards, start=1) if reward == 1), None)
    attempts = [{"attempt": number, "reward": reward} for number, reward in enumerate(rewards, start=1)]
    return {"passed_at": first, "attempts": attempts} | members


def dataset(*tasks: dict[str, dict[str, Any]], k_max: int = 4, **members: Any) -> dict[str, Any]:
    """``summary.json`` with tasks of these cells."""
    cells = [key for task in tasks for key in task]
    return {
        "k_max": k_max,
        "models": sorted({key.rpartition("|")[0] for key in cells}),
        "harnesses": sorted({key.rpartition("|")[2] for key in cells}),
        "tasks": [{"id": f"task-{position}", "cells": task} for position, task in enumerate(tasks)],
    } | members
