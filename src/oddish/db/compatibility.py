"""Whether the schema of a database and this code go together. Pure; standard library only.

A migration either only expands (the code before it goes on working) or contracts (it does not). The database remembers
the oldest code that works with its schema, so that a release may be older than the schema while a deployment moves on.
"""

import json
from dataclasses import dataclass
from typing import Literal

from oddish.db.revision import HEAD
from oddish.errors import OddishError

EXISTS = "SELECT to_regclass('alembic_version') IS NOT NULL"
REVISION = "SELECT version_num, obj_description('alembic_version'::regclass, 'pg_class') FROM alembic_version"

type Fit = Literal["same", "ahead", "behind", "beyond", "absent"]
"""Of a schema to this code. Ahead: newer, and this code works with it. Beyond: newer, and it does not."""


class UnknownSchema(OddishError):
    """The schema of the database is not one that this code works with."""

    code = "unknown_schema"
    status = 503


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database says of its schema; ``revision`` is None when there is none."""

    revision: str | None
    remark: str | None = None
    """As ``remark`` makes it."""

    @property
    def oldest_code(self) -> str | None:
        """The oldest revision whose code works with this schema; None when that is not known of this revision."""
        try:
            said = json.loads(self.remark or "null")
        except ValueError:
            return None
        if not isinstance(said, dict) or said.get("revision") != self.revision:
            return None
        oldest = said.get("oldest_code")
        return oldest if isinstance(oldest, str) else None

    def fit(self, head: str = HEAD) -> Fit:
        """Revisions are numbers of one length, in the order of the chain."""
        if self.revision is None:
            return "absent"
        if self.revision == head:
            return "same"
        if self.revision < head:
            return "behind"
        return "ahead" if self.oldest_code is not None and self.oldest_code <= head else "beyond"

    def check(self, head: str = HEAD) -> None:
        """Raises ``UnknownSchema`` for a schema that code of ``head`` does not work with."""
        match self.fit(head):
            case "same" | "ahead":
                return
            case "beyond":
                raise UnknownSchema(
                    f"The database is at revision {self.revision!r}, of a newer release, which removed what this one "
                    f"(of revision {head!r}) needs.",
                    fix="Run the release that changed the database, or a newer one.",
                )
            case "behind" | "absent":
                state = f"at revision {self.revision!r}" if self.revision else "without a schema"
                raise UnknownSchema(
                    f"The database is {state}, this release needs {head!r}.",
                    fix="Run `python -m oddish.db upgrade` of this release; the local stack does it at its start.",
                )


def remark(revision: str, oldest_code: str) -> str:
    """What a database at ``revision`` keeps to be asked later."""
    return json.dumps({"revision": revision, "oldest_code": oldest_code})
