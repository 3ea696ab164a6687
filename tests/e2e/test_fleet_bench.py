"""What the bench of a fleet would say of a deployment that has lost or spoilt something."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from bench.recorded import Attempt, attempts, problems
from bench.stacks import submit

from support.fleet import Fleet


async def spoil(fleet: Fleet, changed: Attempt, lost: Attempt) -> None:
    store = fleet.store()
    await store.put(f"{changed.prefix}/result.json", b"{}")
    await store.delete(f"{lost.prefix}/manifest.json")


def test_every_loss_and_every_damage_is_named(make_task: Callable[..., Path], tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet") as fleet:
        fleet.add_servers(1)
        fleet.add_workers(1, concurrency=4)
        client = fleet.client("server-1")
        trials = submit(client, client.upload(make_task("quick", solve="true"))["task_id"], "whole", trials=4)
        fleet.wait_until_quiet(120)
        assert problems(fleet, trials, ended=[]) == []

        first, second, third, fourth = attempts(fleet, trials)
        asyncio.run(spoil(fleet, first, second))
        fleet.rows("UPDATE attempts SET state = 'lost' WHERE trial_id = %s", third.trial)
        fleet.rows("UPDATE trials SET attempts = 2 WHERE id = %s", fourth.trial)
        fleet.rows("UPDATE queue_keys SET running = 1")
        assert problems(fleet, [*trials, "nowhere-0"], ended=[]) == [
            "5 trials were submitted, 4 are recorded",
            f"{fourth.trial} is success with reward 1.0 and 2 charged attempts",
            f"{third.trial} has 0 recorded outcomes",
            "nowhere-0 has 0 recorded outcomes",
            f"attempt {third.label} was lost by {third.worker_id}, which nobody ended",
            "the counter of key nop_oracle is 1",
            f"attempt {first.label}: result.json is not what its manifest says",
            f'attempt {second.label}: There is no object "{second.prefix}/manifest.json" in the store.',
        ]
