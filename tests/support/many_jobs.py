"""Many Harbor jobs of small trials, each a copy of a recorded one under an id of its own.

``python tests/support/many_jobs.py DIRECTORY --trials 10000`` writes them, and the task they ran, below DIRECTORY.
"""

import argparse
import json
import shutil
import uuid
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
MODEL = DATA / "harbor-jobs" / "01-hello-oracle"
TRIAL = "hello-world__2RJ3NiW"
TASK = DATA / "tasks" / "hello-world"


def write_jobs(root: Path, trials: int, *, per_job: int = 500) -> Path:
    """The directory with the jobs, below ``root``; every fourth trial earned nothing."""
    jobs = root / "jobs"
    kept = {
        path.relative_to(MODEL / TRIAL): path.read_text(encoding="utf-8")
        for path in (MODEL / TRIAL).rglob("*")
        if path.is_file()
    }
    for number in range(trials):
        job = jobs / f"job-{number // per_job:03}"
        if number % per_job == 0:
            job.mkdir(parents=True)
            for path in MODEL.glob("*.*"):
                shutil.copy(path, job)
        name = f"hello-world__{number:07}"
        result = json.loads(kept[Path("result.json")])
        result |= {"id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{job.name}/{name}")), "trial_name": name}
        if number % 4 == 3:
            result["verifier_result"] = {"rewards": {"reward": 0.0}}
        for relative, text in kept.items():
            target = job / name / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(result) if relative.name == "result.json" else text, encoding="utf-8")
    return jobs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--per-job", type=int, default=500)
    arguments = parser.parse_args()
    write_jobs(arguments.directory, arguments.trials, per_job=arguments.per_job)
    shutil.copytree(TASK, arguments.directory / "tasks" / TASK.name)


if __name__ == "__main__":
    main()
