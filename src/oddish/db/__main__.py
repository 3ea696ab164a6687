"""``python -m oddish.db upgrade``: bring the database of ``ODDISH_DATABASE_URL`` to the newest revision."""

import os
import sys

from oddish.db import upgrade
from oddish.db.compatibility import UnknownSchema
from oddish.db.revision import HEAD

USAGE = "usage: ODDISH_DATABASE_URL=postgresql+psycopg://... python -m oddish.db upgrade"


def main(argv: list[str]) -> int:
    if argv in (["--help"], ["-h"]):
        sys.stdout.write(f"{USAGE}\n")
        return 0
    url = os.environ.get("ODDISH_DATABASE_URL")
    if argv != ["upgrade"] or not url:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    try:
        fit = upgrade(url)
    except UnknownSchema as error:
        sys.stderr.write(f"{error}\n")
        return 1
    newer = " or newer, which works with this release; nothing was changed" if fit == "ahead" else ""
    sys.stdout.write(f"The database is at revision {HEAD}{newer}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
