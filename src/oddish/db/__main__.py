"""``python -m oddish.db upgrade``: bring the database of ``ODDISH_DATABASE_URL`` to the newest revision.

``python -m oddish.db check`` says what that would mean for those who use the database now, and changes nothing.
"""

import os
import sys

from oddish.db.compatibility import UnknownSchema
from oddish.db.migration import schema_at, shuts_out, upgrade
from oddish.db.revision import HEAD

USAGE = "usage: ODDISH_DATABASE_URL=postgresql+psycopg://... python -m oddish.db upgrade|check"


def main(argv: list[str]) -> int:
    if argv in (["--help"], ["-h"]):
        sys.stdout.write(f"{USAGE}\n")
        return 0
    url = os.environ.get("ODDISH_DATABASE_URL")
    if argv not in (["upgrade"], ["check"]) or not url:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    try:
        if argv == ["check"]:
            return check(url)
        fit = upgrade(url)
    except UnknownSchema as error:
        sys.stderr.write(f"{error}\n")
        return 1
    newer = " or newer, which works with this release; nothing was changed" if fit == "ahead" else ""
    sys.stdout.write(f"The database is at revision {HEAD}{newer}.\n")
    return 0


def check(url: str) -> int:
    """1 when servers and workers of the release that runs now have to be stopped for the upgrade.

    Raises ``UnknownSchema`` for a schema that the upgrade would refuse.
    """
    schema = schema_at(url)
    fit = schema.fit()
    if fit == "beyond":
        schema.check()
    if fit in ("same", "ahead"):
        newer = f", newer than {HEAD}, which works with this release" if fit == "ahead" else ""
        sys.stdout.write(f"There is nothing to do: the database is at revision {schema.revision}{newer}.\n")
        return 0
    if fit == "absent":
        sys.stdout.write(f"The database has no schema yet; `upgrade` brings it to revision {HEAD}.\n")
        return 0
    if shuts_out(url):
        sys.stdout.write(
            f"Bringing the database to revision {HEAD} removes what the release before it needs: stop all its servers "
            "and workers first.\n"
        )
        return 1
    sys.stdout.write(f"Servers and workers may go on running while the database is brought to revision {HEAD}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
