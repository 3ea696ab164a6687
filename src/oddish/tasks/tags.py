"""The tags that tasks carry."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import ARRAY, ColumnElement, Text, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import tasks
from oddish.identity.principal import Principal
from oddish.tags import InvalidTag, Tag, too_many
from oddish.tasks.missing import no_task

CHANGE = text("""
UPDATE tasks SET tags = (tags - CAST(:remove AS text[])) || CAST(:add AS jsonb), updated_at = now()
WHERE id = :task_id AND org_id = :org_id AND deleted_at IS NULL AND current_version IS NOT NULL
RETURNING id, name, tags
""").bindparams(bindparam("remove", type_=ARRAY(Text)), bindparam("add", type_=JSONB))


@dataclass(frozen=True)
class TaggedTask:
    task_id: str
    name: str
    user_tags: Mapping[str, str]


def carries(tag: Tag) -> ColumnElement[bool]:
    """Whether a task has the tag: its name with that value, or with any when the tag has none."""
    return tasks.c.tags.contains({tag.name: tag.value}) if tag.value else tasks.c.tags.has_key(tag.name)


def merged(tags: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """``tags`` with others added, which replace those of their names. Raises ``InvalidTag`` for too many."""
    together = {**tags, **added}
    if added:
        _bound(together)
    return together


async def change_tags(
    connection: AsyncConnection,
    principal: Principal,
    task_id: str,
    *,
    add: Mapping[str, str],
    remove: Collection[str],
) -> TaggedTask:
    """Take names away, whether the task has them or not, and add tags, in the caller's transaction.

    Raises ``NotFound``, and ``InvalidTag`` for more tags than a task may have.
    """
    values = {"task_id": task_id, "org_id": principal.org_id, "add": dict(add), "remove": list(remove)}
    row = (await connection.execute(CHANGE, values)).one_or_none()
    if row is None:
        raise no_task(task_id)
    if add:
        _bound(row.tags)
    return TaggedTask(row.id, row.name, row.tags)


def _bound(tags: Mapping[str, str]) -> None:
    if reason := too_many(len(tags)):
        raise InvalidTag(f"No tag was added: {reason}.", fix="Take some away first: oddish tag TASK -NAME")
