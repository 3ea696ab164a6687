"""A state machine that drives the queue as workers that die, pause, resume and report late would.

Time is moved, not waited for: ``time_passes`` shifts every timestamp that the queue compares with the clock.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oddish.db.engine import connect
from oddish.queue.claim import Claim
from oddish.queue.finish import StaleClaim, fence, finish, retry
from oddish.queue.keys import Limits
from oddish.queue.lease import renew, retire
from oddish.queue.policy import MAX_LOSSES
from oddish.queue.pruning import UNUSED_SECONDS, prune
from oddish.queue.reap import reap, release
from oddish.queue.schedule import release_groups
from support.queues import ORG, Queue

LEASE_SECONDS = 1000.0
MAX_ATTEMPTS = 3
KEYS = ("p/a", "p/b", "q/a")
USERS = ("u", "v")
CAPS = ("provider:p", "provider:q", f"org:{ORG}")
POOLS = ("local@x", "docker@x")
MEMORY_MB = 1000
TERMINAL = ("done", "failed", "cancelled")

INDEX = st.integers(0, 1000)

STATISTICS: Counter[str] = Counter()


@dataclass
class Life:
    """A worker as it sees itself."""

    id: str
    pools: tuple[str, ...]
    held: list[Claim] = field(default_factory=list)


def pick[Item](items: list[Item], index: int) -> Item:
    return items[index % len(items)]


def holding(lives: list[Life]) -> list[Life]:
    return [life for life in lives if life.held]


class QueueMachine(RuleBasedStateMachine):
    database_url: str

    def __init__(self) -> None:
        super().__init__()
        STATISTICS["runs"] += 1
        self.runner = asyncio.Runner()
        self.queue = Queue(connect(self.database_url, role="machine", pool_size=2), Limits(2, 256, {}))
        self.names = iter(range(10**6))
        self.recorded: Counter[str] = Counter()
        self.cancelled: set[str] = set()
        self.claims: Counter[str] = Counter()
        self.released: Counter[str] = Counter()
        self.groups: list[str] = []
        self.alive: list[Life] = []
        self.silent: list[Life] = []
        self.run(self._reset())

    def run(self, coroutine):
        STATISTICS["steps"] += 1
        return self.runner.run(coroutine)

    def teardown(self) -> None:
        try:
            self.run(self._drain())
        finally:
            self.runner.run(self.queue.engine.dispose())
            self.runner.close()

    async def _reset(self) -> None:
        await self.queue.execute("TRUNCATE organisations, queue_keys, queue_caps, workers CASCADE")
        await self.queue.execute("INSERT INTO organisations (id, name) VALUES (:id, :id)", id=ORG)

    # What users do ----------------------------------------------------------------------------------------------------

    @rule(
        count=st.integers(1, 4),
        key=st.sampled_from(KEYS),
        user=st.sampled_from(USERS),
        pool=st.sampled_from(POOLS),
        priority=st.sampled_from([0, 1]),
        memory_mb=st.sampled_from([0, 400, 900]),
    )
    def add(self, count, key, user, pool, priority, memory_mb) -> None:
        self.run(self._add(count, key, user, pool, priority, memory_mb, None))

    @rule(count=st.integers(2, 5), max_running=st.sampled_from([1, 2, None]), follow=st.booleans())
    def add_group(self, count, max_running, follow) -> None:
        after = self.groups[-1] if follow and self.groups else None
        group = f"g{next(self.names)}"
        self.run(self.queue.group(group, max_running=max_running, after=after))
        self.groups.append(group)
        self.run(self._add(count, KEYS[0], USERS[0], POOLS[0], 0, 0, group))

    async def _add(self, count, key, user, pool, priority, memory_mb, group) -> None:
        await self.queue.add(
            *(f"s{next(self.names)}" for _ in range(count)),
            key=key,
            user=user,
            pool=pool,
            priority=priority,
            max_attempts=MAX_ATTEMPTS,
            memory_mb=memory_mb,
            group=group,
        )

    @rule(data=st.data())
    def cancel(self, data) -> None:
        subjects = sorted(self.run(self.queue.states()))
        if subjects:
            chosen = data.draw(st.lists(st.sampled_from(subjects), min_size=1, max_size=3, unique=True))
            before = self.run(self.queue.states())
            self.run(self.queue.cancel(*chosen))
            self.cancelled |= {subject for subject in chosen if before[subject] not in TERMINAL}

    @rule(key=st.sampled_from(KEYS), limit=st.sampled_from([0, 1, 2, 4, 5, None]))
    def limit_key(self, key, limit) -> None:
        self.run(
            self.queue.execute("UPDATE queue_keys SET override_limit = :limit WHERE key = :key", limit=limit, key=key)
        )

    @rule(cap=st.sampled_from(CAPS), limit=st.sampled_from([0, 2, 4, 8, None]))
    def limit_cap(self, cap, limit) -> None:
        self.run(
            self.queue.execute(
                "UPDATE queue_caps SET override_limit = :limit WHERE name = :name", limit=limit, name=cap
            )
        )

    # What workers do --------------------------------------------------------------------------------------------------

    @initialize()
    def a_busy_day(self) -> None:
        for key in KEYS:
            for user in USERS:
                self.run(self._add(2, key, user, POOLS[0], 0, 0, None))
        for pools in (POOLS, POOLS[:1]):
            self.start_worker(pools)
            self.run(self._claim(self.alive[-1], 3))

    @rule(pools=st.sampled_from([POOLS, POOLS[:1]]))
    def start_worker(self, pools) -> None:
        life = Life(f"w{next(self.names)}", pools)
        self.run(self.queue.worker(life.id, pool=pools[0], lease_seconds=LEASE_SECONDS))
        self.alive.append(life)

    @precondition(lambda self: self.alive)
    @rule(index=INDEX, slots=st.integers(1, 5))
    def claim(self, index, slots) -> None:
        life = pick(self.alive, index)
        if self.run(self._leased(life.id)):
            self.run(self._claim(life, slots))

    async def _claim(self, life: Life, slots: int) -> list[Claim]:
        reserved = sum(claim.memory_mb for claim in life.held)
        fitting = await self._claimable(life.pools, MEMORY_MB - reserved)
        claims = await self.queue.claim(life.id, slots=slots, pools=life.pools, memory_mb=MEMORY_MB - reserved)
        STATISTICS["claims"] += len(claims)
        assert bool(claims) == bool(fitting), f"claimed {claims}, could have run {fitting}"
        assert len(claims) <= slots
        assert sum(claim.memory_mb for claim in claims) <= MEMORY_MB - reserved
        for claim in claims:
            assert claim.subject_id not in self.cancelled, "cancel is final"
            self.claims[claim.subject_id] += 1
        life.held += claims
        ids = [claim.id for claim in claims]
        keys = {key for (key,) in await self.queue.rows("SELECT key FROM jobs WHERE id = ANY (:ids)", ids=ids)}
        for key, running, limit in await self.queue.rows(
            "SELECT key, running, coalesce(override_limit, deploy_limit) FROM queue_keys"
        ):
            assert key not in keys or running <= limit, f"{key} runs {running} of {limit}"
        for name, running, limit in await self.queue.rows("SELECT name, running, override_limit FROM queue_caps"):
            touched = any(name in (f"provider:{key.partition('/')[0]}", f"org:{ORG}") for key in keys)
            assert not touched or limit is None or running <= limit, f"{name} runs {running} of {limit}"
        return claims

    async def _claimable(self, pools, memory_mb) -> list[tuple]:
        """Heads of lanes that pass every limit, found the slow way."""
        return await self.queue.rows(
            """
            SELECT j.subject_id FROM jobs j JOIN queue_keys k USING (key) JOIN queue_lanes l USING (key, lane)
            WHERE j.state = 'ready' AND j.pool = ANY (:pools) AND j.memory_mb <= :memory_mb AND NOT k.paused
              AND (SELECT count(*) FROM jobs r WHERE r.key = j.key AND r.state = 'running')
                < coalesce(k.override_limit, k.deploy_limit)
              AND NOT EXISTS (
                SELECT FROM queue_caps c WHERE c.name = ANY (l.caps) AND c.override_limit <= (
                  SELECT count(*) FROM jobs r JOIN queue_lanes rl USING (key, lane)
                  WHERE r.state = 'running' AND c.name = ANY (rl.caps)))
              AND NOT EXISTS (
                SELECT FROM jobs o WHERE o.state = 'ready' AND o.pool = j.pool AND o.key = j.key AND o.lane = j.lane
                  AND o.priority = j.priority AND (o.ready_at, o.id) < (j.ready_at, j.id))
            """,
            pools=list(pools),
            memory_mb=memory_mb,
        )

    @precondition(lambda self: self.alive)
    @rule(index=INDEX)
    def beat(self, index) -> None:
        self.run(self._beat(pick(self.alive, index)))

    async def _beat(self, life: Life) -> None:
        async with self.queue.engine.begin() as connection:
            mine = await renew(connection, life.id, lease_seconds=LEASE_SECONDS)
        if mine is None:
            STATISTICS["self-fenced"] += 1
            life.held.clear()
            return
        owned = {(entry.id, entry.epoch) for entry in mine}
        life.held[:] = [claim for claim in life.held if (claim.id, claim.epoch) in owned]

    @precondition(lambda self: holding(self.alive))
    @rule(index=INDEX, ending=st.sampled_from(["done", "failed", "retry", "lost"]))
    def report(self, index, ending) -> None:
        life = pick(holding(self.alive), index)
        self.run(self._report(life.held.pop(index % len(life.held)), ending))

    async def _report(self, claim: Claim, ending: str) -> bool:
        """As the worker does it: fenced, cancel first, retries within the budget. False when refused."""
        owner = await self.queue.rows("SELECT epoch, claim_id, state FROM jobs WHERE id = :id", id=claim.id)
        current = owner == [(claim.epoch, claim.claim_id, "running")]
        try:
            async with self.queue.engine.begin() as connection:
                cancelled = await fence(connection, claim)
                if cancelled:
                    await finish(connection, claim, "cancelled")
                elif ending == "retry" and claim.attempt < claim.max_attempts:
                    await retry(connection, claim, delay_seconds=30, error="again", cause="failed")
                elif ending == "lost":
                    await retry(connection, claim, delay_seconds=1, error="lost", cause="released")
                    self.released[claim.subject_id] += 1
                else:
                    await finish(connection, claim, "done" if ending == "done" else "failed")
                    self.recorded[claim.subject_id] += 1
        except StaleClaim:
            STATISTICS["stale reports refused"] += 1
            assert not current
            return False
        assert current, "a stale execution was recorded"
        if cancelled:
            self.recorded[claim.subject_id] += 1
        return True

    @precondition(lambda self: holding(self.alive))
    @rule(index=INDEX)
    def fall_silent(self, index) -> None:
        """The machine is gone, or only its network: what it runs may still report, late."""
        STATISTICS["workers fell silent"] += 1
        life = pick(holding(self.alive), index)
        self.alive.remove(life)
        self.silent.append(life)

    @precondition(lambda self: holding(self.silent))
    @rule(index=INDEX, ending=st.sampled_from([None, "done", "failed", "retry"]))
    def taken_for_dead(self, index, ending) -> None:
        """The others live on while the leases of the silent ones end, and run what they left; then one may report."""
        self.run(self._everybody_beats())
        self.run(self._time_passes(LEASE_SECONDS * 0.6))
        self.start_worker(POOLS)
        self.run(self._everybody_beats())
        self.run(self._time_passes(LEASE_SECONDS * 0.6))
        self.run(self._reap())
        self.run(self._time_passes(60))
        self.run(self.queue.promote())
        self.run(self._claim(self.alive[-1], 5))
        if ending is not None:
            life = pick(holding(self.silent), index)
            self.run(self._report(life.held.pop(), ending))

    @precondition(lambda self: holding(self.alive))
    @rule(index=INDEX, ending=st.sampled_from(["done", "failed", "retry"]))
    def partition(self, index, ending) -> None:
        """A worker is cut off for a while and then reports what others have run meanwhile."""
        self.fall_silent(index)
        self.taken_for_dead(index, ending)

    @precondition(lambda self: holding(self.alive) and len(self.claims) % 3 == 0)
    @rule()
    def outage(self) -> None:
        """Nobody can renew: the database was away, or the whole site."""
        self.run(self._time_passes(2 * LEASE_SECONDS))
        self.run(self._reap())

    async def _everybody_beats(self) -> None:
        for life in self.alive:
            await self._beat(life)

    @precondition(lambda self: holding(self.silent))
    @rule(index=INDEX, ending=st.sampled_from(["done", "failed", "retry"]))
    def report_late(self, index, ending) -> None:
        life = pick(holding(self.silent), index)
        self.run(self._report(life.held.pop(index % len(life.held)), ending))

    @precondition(lambda self: self.silent)
    @rule(index=INDEX)
    def resume(self, index) -> None:
        """A laptop opens again: the worker beats, and drops what is no longer its own."""
        life = pick(self.silent, index)
        self.silent.remove(life)
        self.run(self._beat(life))
        self.alive.append(life)

    @precondition(lambda self: self.alive)
    @rule(index=INDEX)
    def stop_in_good_order(self, index) -> None:
        life = pick(self.alive, index)
        self.alive.remove(life)
        self.run(self._stop(life))

    async def _stop(self, life: Life) -> None:
        for claim in life.held:
            try:
                async with self.queue.engine.begin() as connection:
                    cancelled = await fence(connection, claim)
                    await release(connection, claim)
            except StaleClaim:
                continue
            if cancelled:
                self.recorded[claim.subject_id] += 1
            else:
                self.released[claim.subject_id] += 1
        async with self.queue.engine.begin() as connection:
            await retire(connection, life.id)

    async def _leased(self, worker_id: str) -> bool:
        [(leased,)] = await self.queue.rows(
            "SELECT lease_until > now() AND stopped_at IS NULL FROM workers WHERE id = :id", id=worker_id
        )
        return leased

    # What time and housekeeping do ------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([10, 100, 700, 2000]))
    def time_passes(self, seconds) -> None:
        self.run(self._time_passes(seconds))

    async def _time_passes(self, seconds: float) -> None:
        await self.queue.pass_time(seconds)

    @rule()
    def promote(self) -> None:
        self.run(self.queue.promote())

    @rule(idle=st.booleans(), user=st.sampled_from(USERS))
    def put_away(self, idle, user) -> None:
        """What has ended leaves the hot table, and what it needed goes; at times hours after a user has left."""
        if idle:
            self.run(self._leave(user))
            self.run(self.queue.pass_time(2 * UNUSED_SECONDS, leases=False))
        self.run(self._put_away(idle))

    async def _leave(self, user: str) -> None:
        live = await self.queue.rows(
            "SELECT subject_id FROM jobs WHERE lane = :user AND state <> ALL (:final)", user=user, final=list(TERMINAL)
        )
        subjects = {subject for (subject,) in live}
        await self.queue.cancel(*subjects)
        self.cancelled |= subjects
        for life in self.alive:
            for claim in [claim for claim in life.held if claim.subject_id in subjects]:
                life.held.remove(claim)
                await self._report(claim, "done")

    async def _put_away(self, idle: bool) -> None:
        before = await self.queue.states()
        STATISTICS["jobs archived"] += await self.queue.archive()
        pruned = await prune(self.queue.engine)
        STATISTICS["lanes pruned"] += pruned.lanes
        STATISTICS["keys pruned"] += pruned.keys
        STATISTICS["groups pruned"] += pruned.groups
        assert await self.queue.states() == before, "putting away changed or lost a job"
        ended = await self.queue.rows("SELECT id FROM jobs WHERE state = ANY (:final)", final=list(TERMINAL))
        assert not (idle and ended), "what has ended stays in the hot table"
        unused = await self.queue.rows(
            "SELECT lane FROM queue_lanes l "
            "WHERE NOT EXISTS (SELECT FROM jobs j WHERE (j.key, j.lane) = (l.key, l.lane))"
        )
        assert not (idle and unused), "a lane outlives its jobs"
        assert not await self.queue.rows(
            "SELECT key FROM queue_keys k WHERE override_limit IS NULL AND NOT paused "
            "AND NOT EXISTS (SELECT FROM queue_lanes l WHERE l.key = k.key)"
        ), "a key outlives its lanes"

    @rule()
    def release_groups(self) -> None:
        self.run(self._release_groups())

    async def _release_groups(self) -> None:
        async with self.queue.engine.begin() as connection:
            assert await release_groups(connection) == 0, "an end of a job left room unused"

    @rule()
    def reap(self) -> None:
        self.run(self._reap())

    async def _reap(self) -> int:
        [(alive,)] = await self.queue.rows("SELECT count(*) FROM workers WHERE lease_until > now()")
        dying = await self.queue.rows(
            """SELECT subject_id, cancel_requested, losses FROM jobs JOIN workers w ON w.id = jobs.worker_id
            WHERE state = 'running' AND w.lease_until < now() ORDER BY jobs.id"""
        )
        taken = 0
        async with self.queue.engine.begin() as connection:
            while count := await reap(connection):
                taken += count
        assert alive or not taken, "reaped while nobody was seen alive"
        assert not alive or taken == len(dying), "a dead worker's jobs were left running"
        STATISTICS["jobs reaped"] += taken
        if taken:
            for subject, cancel_requested, losses in dying:
                if cancel_requested or losses + 1 >= MAX_LOSSES:
                    self.recorded[subject] += 1
        return taken

    # What is always true ----------------------------------------------------------------------------------------------

    @invariant()
    def promises_hold(self) -> None:
        self.run(self._check())

    async def _check(self) -> None:
        assert await self.queue.miscounted() == []
        shown = "subject_id, state, attempt, losses, epoch"
        jobs = await self.queue.rows(
            f"SELECT {shown}, false FROM jobs UNION ALL SELECT {shown}, true FROM finished_jobs"  # noqa: S608
        )
        for subject, state, attempt, losses, epoch, archived in jobs:
            assert not archived or state in TERMINAL, f"{subject} was archived while {state}"
            cancelled_before_running = state == "cancelled" and self.recorded[subject] == 0
            expected = 1 if state in TERMINAL and not cancelled_before_running else 0
            assert self.recorded[subject] == expected, f"{subject} is {state}, recorded {self.recorded[subject]} times"
            assert subject not in self.cancelled or state in ("cancelled", "running"), f"{subject} is {state}"
            assert attempt <= MAX_ATTEMPTS
            assert epoch == self.claims[subject]
            assert attempt + losses + self.released[subject] in (epoch, epoch - 1), "an attempt was lost or given away"
        crowded = await self.queue.rows(
            """SELECT g.id FROM job_groups g JOIN jobs j ON j.group_id = g.id
            WHERE j.state IN ('ready', 'scheduled', 'running') GROUP BY g.id HAVING count(*) > g.max_running"""
        )
        assert crowded == []

    # Nobody starves ---------------------------------------------------------------------------------------------------

    async def _drain(self) -> None:
        await self.queue.execute("UPDATE queue_keys SET override_limit = 2")
        await self.queue.execute("UPDATE queue_caps SET override_limit = 2")
        last = Life("last", POOLS)
        await self.queue.worker(last.id, pool=POOLS[0], lease_seconds=10**9)
        patience = 4 * await self._unfinished() + 4
        while patience and await self._unfinished():
            patience -= 1
            await self._time_passes(2000)
            await self._reap()
            await self.queue.promote()
            await self._claim(last, 5)
            while last.held:
                await self._report(last.held.pop(), "done")
        assert await self._unfinished() == 0, "a job starved"
        await self.queue.pass_time(2 * UNUSED_SECONDS, leases=False)
        await self._put_away(idle=True)

    async def _unfinished(self) -> int:
        return sum(state not in TERMINAL for state in (await self.queue.states()).values())
