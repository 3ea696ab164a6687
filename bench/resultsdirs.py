"""Large results directories."""

import json
import random
from pathlib import Path
from typing import Any

PROJECT, DATASET = "bench", "large"
MODELS = [f"vendor-{number}/model-{number}" for number in range(5)]
HARNESSES = ["mini-swe-agent", "opencode"]
QUESTION = "Which column of the table has the highest median among the rows that the filter of the report leaves? "
_SEED = 1


def large_dataset(root: Path, *, tasks: int, attempts: int) -> Path:
    """A dataset of as many tasks, each with a cell of every model and harness; its ``summary.json``."""
    draw = random.Random(_SEED)
    document = {
        "k_max": attempts,
        "models": MODELS,
        "harnesses": HARNESSES,
        "tasks": [_task(draw, number, attempts) for number in range(tasks)],
    }
    project = root / "projects" / PROJECT
    file = project / "datasets" / DATASET / "summary.json"
    file.parent.mkdir(parents=True)
    support = {
        HARNESSES[0]: {"tier": "stable"},
        HARNESSES[1]: {"tier": "experimental", "caveats": ["knows no limit of steps"]},
    }
    (project / "project.json").write_text(
        json.dumps({"project_id": PROJECT, "label": "Large tables", "support": support})
    )
    file.write_text(json.dumps(document))
    return file


def _task(draw: random.Random, number: int, attempts: int) -> dict[str, Any]:
    level = draw.randrange(5)
    return {
        "id": f"{number:04d}_{draw.randrange(1000)}_{draw.randrange(10**6)}_qa_{draw.randrange(9)}",
        "index": number,
        "difficulty_level": level,
        "difficulty": ("easy", "simple", "medium", "hard", "hardest")[level],
        "question": QUESTION * draw.randint(1, 5),
        "answer": str(draw.random()),
        "reward_mode": draw.choice(("exact", "numeric", "llm")),
        "cells": {
            f"{model}|{harness}": _cell(draw, f"{number:04d}-{place}-{harness}", attempts, chance=0.05 + 0.1 * place)
            for place, model in enumerate(MODELS)
            for harness in HARNESSES
        },
    }


def _cell(draw: random.Random, name: str, attempts: int, *, chance: float) -> dict[str, Any]:
    rewards = [draw.choices((None, 1.0, 0.0), (0.05, chance, 0.95 - chance))[0] for _ in range(attempts)]
    return {
        "passed_at": rewards.index(1.0) + 1 if 1.0 in rewards else None,
        "attempts": [
            {
                "attempt": number,
                "reward": reward,
                "n_turns": draw.randint(1, 60),
                "elapsed_sec": round(draw.uniform(5, 900), 1),
                "trace": f"traces/{name}-{number}.json",
            }
            for number, reward in enumerate(rewards, start=1)
        ],
    }
