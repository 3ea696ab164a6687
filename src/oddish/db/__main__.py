"""``python -m oddish.db upgrade``: bring the database of ``ODDISH_DATABASE_URL`` to the newest revision."""

import os
import sys

from oddish.db import upgrade


def main(argv: list[str]) -> int:
    url = os.environ.get("ODDISH_DATABASE_URL")
    if argv != ["upgrade"] or not url:
        print("usage: ODDISH_DATABASE_URL=postgresql+psycopg://... python -m oddish.db upgrade", file=sys.stderr)  # noqa: T201
        return 2
    upgrade(url)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
