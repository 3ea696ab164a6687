"""What is owed to the callbacks of jobs, and what came of it.

A callback gets one message after the other, each at least once. Whoever sends one holds it for a while; what is said of
it later is refused. Each function is one statement, for connections that commit each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.gateway.callbacks import Attempted, Kind, Outcome

CHANNEL = "oddish_callbacks"
"""Notified when something is owed."""
MOST_OF_ORGANISATION = 4
"""Messages sent at once for one organisation: when its receivers hang, those of others are not kept waiting."""

ADMITTED = """org_id NOT IN (
    SELECT org_id FROM gateway_callbacks WHERE sending AND due_at > clock_timestamp()
    GROUP BY org_id HAVING count(*) >= :most
  )"""

# The callback that waits longest gets the first event that it has not heard of. Locks: gateway_callbacks (that one).
CLAIM = text(f"""
WITH owed AS MATERIALIZED (
  SELECT job_id, kind, place, events, settled_seq FROM gateway_callbacks
  WHERE due_at <= clock_timestamp() AND {ADMITTED}
  ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), message AS MATERIALIZED (
  SELECT o.job_id, o.kind, o.place, e.* FROM owed o CROSS JOIN LATERAL (
    SELECT seq, event, data, created_at FROM gateway_events
    WHERE job_id = o.job_id AND seq > o.settled_seq AND event = ANY (o.events) ORDER BY seq LIMIT 1
  ) e
)
UPDATE gateway_callbacks c SET sending = true, attempts = attempts + 1,
  due_at = clock_timestamp() + make_interval(secs => CASE c.kind WHEN 'deliver' THEN :upload ELSE :post END)
FROM message m JOIN gateway_jobs j ON j.id = m.job_id LEFT JOIN secrets s ON s.id = j.secret_id
WHERE (c.job_id, c.kind, c.place) = (m.job_id, m.kind, m.place)
RETURNING c.job_id, c.org_id, c.kind, c.place, c.attempts AS attempt, m.seq AS event_seq, m.event, m.data, m.created_at,
  s.ciphertext
""")  # noqa: S608 - of constants

# What came of an attempt, unless somebody else holds the message by now. One that is given up takes with it those that
# came meanwhile, all but the last. Locks: gateway_callbacks (that one).
SETTLE = text("""
WITH came AS (
  SELECT CAST(:event_seq AS bigint) AS seq, CAST(:pause AS double precision) AS pause
), settled AS (
  UPDATE gateway_callbacks SET sending = false,
    settled_seq = CASE WHEN pause IS NOT NULL THEN settled_seq
                       WHEN :given_up THEN greatest(seq, owed_seq - 1) ELSE seq END,
    attempts = CASE WHEN pause IS NULL THEN 0 ELSE attempts END,
    due_at = CASE WHEN pause IS NOT NULL THEN clock_timestamp() + make_interval(secs => pause)
                  WHEN owed_seq > seq THEN clock_timestamp() END
  FROM came
  WHERE (job_id, kind, place) = (:job_id, :kind, :place) AND sending AND attempts = :attempt AND settled_seq < seq
  RETURNING job_id, kind, place
)
INSERT INTO gateway_deliveries (job_id, kind, place, event_seq, attempt, result, status, error, seconds)
SELECT job_id, kind, place, :event_seq, :attempt, :result, CAST(:status AS integer), CAST(:error AS text), :seconds
FROM settled
""")

NEXT_DUE = text(f"""
SELECT extract(epoch FROM min(due_at) - clock_timestamp()) FROM gateway_callbacks
WHERE due_at IS NOT NULL AND (due_at > clock_timestamp() OR {ADMITTED})
""")  # noqa: S608 - of constants

LISTED = text("""
SELECT d.kind, c.url, e.event, d.event_seq, d.attempt, d.result, d.status, d.error, d.seconds, d.ended_at
FROM gateway_deliveries d JOIN gateway_callbacks c USING (job_id, kind, place)
  JOIN gateway_events e ON e.job_id = d.job_id AND e.seq = d.event_seq
WHERE d.job_id = :job_id ORDER BY d.ended_at DESC, d.kind, d.place, d.event_seq, d.attempt LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class Due:
    """A message that is ours to send."""

    job_id: str
    org_id: str
    kind: Kind
    place: int
    attempt: int
    """Counts from 1."""
    event_seq: int
    event: str
    data: Mapping[str, Any]
    created_at: datetime
    """Of the event."""
    ciphertext: bytes | None
    """The whole request of the job, encrypted; None when it is kept no longer."""

    @property
    def message_id(self) -> str:
        """The same in every attempt, so that a receiver can tell that it has the message already."""
        return f"{self.job_id}.{self.kind}.{self.place}.{self.event_seq}"


@dataclass(frozen=True, slots=True)
class Delivery:
    """An attempt as it is shown."""

    kind: Kind
    url: str
    """Without what may be a signature."""
    event: str
    event_seq: int
    attempt: int
    result: Outcome
    status: int | None
    error: str | None
    seconds: float
    ended_at: datetime


async def claim(connection: AsyncConnection, *, post_seconds: float, upload_seconds: float) -> Due | None:
    """Take one message that is due; it is ours for so long, by what is to be done."""
    parameters = {"most": MOST_OF_ORGANISATION, "post": post_seconds, "upload": upload_seconds}
    row = (await connection.execute(CLAIM, parameters)).mappings().one_or_none()
    return None if row is None else Due(**row)


async def settle(connection: AsyncConnection, due: Due, attempted: Attempted) -> bool:
    """Keep what came of it. False when the message is no longer ours."""
    named = {
        "job_id": due.job_id,
        "kind": due.kind,
        "place": due.place,
        "attempt": due.attempt,
        "event_seq": due.event_seq,
    }
    return (await connection.execute(SETTLE, {**named, **asdict(attempted)})).rowcount > 0


async def next_due(connection: AsyncConnection) -> float | None:
    """Seconds until there is one to take; none or less when there is one already."""
    found = await connection.scalar(NEXT_DUE, {"most": MOST_OF_ORGANISATION})
    return None if found is None else float(found)


async def deliveries(connection: AsyncConnection, job_id: str, *, limit: int) -> Sequence[Delivery]:
    """The latest attempts for a job, the newest first."""
    return [
        Delivery(**row) for row in (await connection.execute(LISTED, {"job_id": job_id, "limit": limit})).mappings()
    ]
