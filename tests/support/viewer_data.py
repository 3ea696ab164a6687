"""A results directory as people have it: an evaluation, the recorded Harbor jobs, and training runs.

The same at each call, so that pictures of it can be compared.
"""

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from oddish.pull.folder import Folder
from oddish.viewer.attempts import TrialDirectory
from oddish.viewer.exporting import export
from oddish.viewer.projects import Dataset, Project, Support
from oddish.viewer.runs import Run
from oddish.viewer.summaries import Attempt, Cell, Summary, Task
from oddish.viewer.taskfiles import TaskFiles
from oddish.viewer.traces import Message, ToolCall, Trace
from oddish.viewer.writing import Writer
from oddish.web.viewer.links import Links
from support.harbor_jobs import JOBS, TRIALS
from support.results import write

BENCH, EVAL = "data-agent", "eval-v1"
RECORDED, JOBS_DATASET = "recorded-jobs", "harbor-0.26"
RUNS = ("grpo-2b", "grpo-2b-high-kl", "sft-warmup")
MODELS = ("Qwen/Qwen3.5-2B", "anthropic/claude-sonnet-4-5")
HARNESSES = ("mini-swe-agent", "opencode")
K_MAX = 4
ABILITY = {
    ("Qwen/Qwen3.5-2B", "mini-swe-agent"): 0.35,
    ("Qwen/Qwen3.5-2B", "opencode"): 0.2,
    ("anthropic/claude-sonnet-4-5", "mini-swe-agent"): 0.75,
    ("anthropic/claude-sonnet-4-5", "opencode"): 0.6,
}
QUESTIONS = (
    ("easy", "numeric", "What is the median `fare` of passengers who embarked at Cherbourg?", "29.7"),
    ("easy", "exact", "Which region has the highest total revenue in `sales.csv`?", "North"),
    ("easy", "numeric", "How many rows of `orders.csv` have no `customer_id`?", "118"),
    (
        "medium",
        "numeric",
        "Fit a line of `price` on `area` for flats built after 1990. What is its slope, in EUR per square metre, to "
        "one decimal? Leave out rows in which either is missing, and the five largest flats.",
        "2381.4",
    ),
    ("medium", "llm", "Describe in one sentence how churn changed after the price rise of March 2024.", "It doubled."),
    ("medium", "exact", "In which week did the rolling mean of `visits` (7 days) peak?", "2023-W47"),
    ("hard", "numeric", "What share of the variance do the first three principal components explain?", "0.874"),
    (
        "hard",
        "llm",
        "Which two columns leak the target, and why?",
        "`settled_at` and `final_amount`: known afterwards.",
    ),
    ("hard", "exact", "Which `sensor_id` drifts first?", "S-0417"),
)
TERMINAL = (
    "\x1b[1m\x1b[32m$\x1b[0m head -3 data/titanic.csv\n"
    "PassengerId,Survived,Pclass,Name,Sex,Age,Fare,Embarked\n"
    '1,0,3,"Braund, Mr. Owen Harris",male,22,7.25,S\n'
    '2,1,1,"Cumings, Mrs. John Bradley",female,38,71.2833,C\n'
    "\x1b[33mWARNING\x1b[0m: 177 rows have no \x1b[36mAge\x1b[0m"
)
SCRIPT = "import pandas as pd\n\ntable = pd.read_csv('data/titanic.csv')\nprint(table.fare.median())\n"


def realistic(root: Path) -> Path:
    with Folder(root) as folder:
        writer = Writer(folder)
        _bench(writer)
        for name in RUNS:
            writer.run(BENCH, name, Run(name, "GRPO on the training split, 8 rollouts a step."))
        _recorded(writer, folder)
    for seed, name in enumerate(RUNS):
        lines = "".join(f"{json.dumps(step)}\n" for step in _steps(seed))
        write(root, f"projects/{BENCH}/runs/{name}/train/metrics.jsonl", lines)
    return root


def _bench(writer: Writer) -> None:
    support = {
        "mini-swe-agent": Support("stable"),
        "opencode": Support("experimental", ("no step limit; about 17% of rollouts are tried again after exit 137",)),
    }
    description = "Verified data-analysis tasks over public tables, graded exactly, numerically or by a judge."
    source = {"hf_dataset": "example/data-agent"}
    writer.project(BENCH, Project(BENCH, "Data-Agent Bench", description, source, support))
    tasks = tuple(_task(writer, index) for index in range(len(QUESTIONS)))
    writer.dataset(
        BENCH, EVAL, Dataset("Evaluation, first version", "Temperature 0.7, four attempts, 30 turns at most.")
    )
    writer.summary(BENCH, EVAL, Summary(K_MAX, MODELS, HARNESSES, tasks))


def _task(writer: Writer, index: int) -> Task:
    difficulty, mode, question, answer = QUESTIONS[index % len(QUESTIONS)]
    identity = f"{index:04}_{416 + index * 7}_qa_{index % 5}"
    level = ("easy", "medium", "hard").index(difficulty)
    random = Random(index)
    cells = tuple(_cell(writer, random, identity, key, level, index) for key in ABILITY)
    return Task(identity, cells, index, level, difficulty, question, answer, mode)


def _cell(writer: Writer, random: Random, task: str, key: tuple[str, str], level: int, index: int) -> Cell:
    attempts = []
    for number in range(1, (K_MAX if index % 6 else 2) + 1):
        reward = _reward(random, ABILITY[key] - 0.15 * level, index)
        name = f"traces/{task}-{MODELS.index(key[0])}-{key[1]}-{number}.json"
        turns, seconds = random.randint(3, 30), round(random.uniform(20, 900), 1)
        writer.trace(BENCH, EVAL, name, _trace(task, key, number, reward, turns, seconds))
        attempts.append(Attempt(number, reward, turns, seconds, name))
    passed = next((attempt.attempt for attempt in attempts if attempt.reward == 1), None)
    return Cell(*key, passed, tuple(attempts))


def _reward(random: Random, ability: float, index: int) -> float | None:
    """Of one task in seven the machine failed every time, and of the others sometimes."""
    if index % 7 == 6 or random.random() < 0.08:
        return None
    return 1.0 if random.random() < ability else random.choice((0.0, 0.0, 0.5))


def _trace(task: str, key: tuple[str, str], number: int, reward: float | None, turns: int, seconds: float) -> Trace:
    _, mode, question, answer = QUESTIONS[int(task[:4]) % len(QUESTIONS)]
    return Trace(
        task_id=task,
        model=key[0],
        harness=key[1],
        attempt=number,
        reward=reward,
        reward_method=mode,
        n_turns=turns,
        elapsed_sec=seconds,
        gold=answer,
        predicted=None if reward is None else answer if reward == 1 else "29",
        messages=tuple(_conversation(question, answer if reward == 1 else "29", number)),
    )


def _conversation(question: str, answer: str, number: int) -> Iterator[Message]:
    yield Message("system", "You answer questions about the tables in `data/`. End with the answer alone.")
    yield Message("user", question)
    yield _calling("I look at the **table** first:\n\n- its columns\n- its types", "bash", "a", command="head -3 *.csv")
    yield Message("tool", TERMINAL, tool_call_id="a")
    yield _calling("Now a script.", "write_file", "b", path="median.py", content=SCRIPT)
    yield Message("tool", "wrote median.py", tool_call_id="b")
    if number > 1:
        yield _calling(
            "The column is called `Fare`.",
            *("str_replace", "c"),
            path="median.py",
            old_str="print(table.fare.median())",
            new_str="print(table.Fare.dropna().median())",
        )
        yield Message("tool", "median.py: 1 line changed", tool_call_id="c")
    yield _calling("", "bash", "d", command="python median.py")
    yield Message("tool", [{"type": "text", "text": "\n".join(f"row {n}: ok" for n in range(60))}], tool_call_id="d")
    yield Message("assistant", f"| question | answer |\n|---|---|\n| asked | {answer} |\n\nThe answer is **{answer}**.")


def _calling(said: str, name: str, identity: str, **arguments: str) -> Message:
    return Message("assistant", said, (ToolCall(name, arguments, identity),))


@cache
def _steps(seed: int) -> tuple[dict[str, Any], ...]:
    """A run that learns; some steps are flat, some have no reward, and the second run comes to an early end."""
    random = Random(seed)
    return tuple(_step(random, number, seed) for number in range(25 if seed == 1 else 60))


def _step(random: Random, number: int, seed: int) -> dict[str, Any]:
    reward = round(0.85 - 0.6 * math.exp(-number / (30 + 20 * seed)) + random.gauss(0, 0.03), 4)
    return {
        "step": number,
        "reward": None if number % 37 == 36 else reward,
        "reward_std": 0.0 if number % 29 == 28 else round(abs(random.gauss(0.12, 0.03)), 4),
        "loss": round(0.6 * math.exp(-number / 50) + random.gauss(0, 0.02), 4),
        "ratio": round(random.gauss(1, 0.002), 5),
        "kl": round(0.0004 * number * (1 + seed) + abs(random.gauss(0, 0.003)), 5),
        "entropy": round(0.9 * math.exp(-number / 120) + random.gauss(0, 0.01), 4),
        "n_rollouts": 8,
        "n_unscorable": 1 if random.random() < 0.2 else 0,
        "wall_s": round(random.gauss(47, 6), 1),
    }


def _recorded(writer: Writer, folder: Folder) -> None:
    support = {
        "terminus-2": Support("stable"),
        "oracle": Support("stable"),
        "nop": Support("stable"),
    }
    description = "What Harbor left behind of real trials, good and bad."
    writer.project(RECORDED, Project(RECORDED, "Recorded Harbor jobs", description, support=support))
    trials = [
        TrialDirectory(trial.job, trial.directory, TaskFiles(trial.task, JOBS.parent / "tasks" / trial.task))
        for trial in TRIALS
        if trial.has_result
    ]
    export(trials, folder, RECORDED, JOBS_DATASET)
    writer.dataset(RECORDED, JOBS_DATASET, Dataset("Harbor 0.26, Docker"))


TRACES = tuple(f"traces/0001_423_qa_1-{place}-mini-swe-agent-3.json" for place in (0, 1))
"""Of two models at one task."""
_LINKS = Links()
ADDRESSES = {
    "projects": "/",
    "project": _LINKS.project(BENCH),
    "dataset": _LINKS.dataset(BENCH, EVAL),
    "dataset-chosen": _LINKS.dataset(BENCH, EVAL, pivot="model", show="answer", passed="any", sort="-turns"),
    "dataset-recorded": _LINKS.dataset(RECORDED, JOBS_DATASET),
    "trace": _LINKS.trace(BENCH, EVAL, TRACES[1], find="median"),
    "trace-recorded": _LINKS.trace(RECORDED, JOBS_DATASET, "traces/greet-script__GDNaiHE.json"),
    "traces-apart": _LINKS.compare(BENCH, EVAL, *TRACES),
    "run": _LINKS.run(BENCH, RUNS[0]),
    "runs": _LINKS.runs(BENCH, []),
    "runs-chosen": _LINKS.runs(BENCH, [*RUNS]),
    "runs-found": _LINKS.runs(BENCH, [*RUNS], metric="rollouts"),
}
"""Of every page of this directory, by a name for it."""
