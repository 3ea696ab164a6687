"""``python -m oddish.doctor``: print the report as one JSON document and exit with 0 when trials can run, else 1."""

import json
import os
import sys

from oddish.doctor.report import report


def main() -> int:
    made = report()
    print(json.dumps(made.document(), ensure_ascii=False))  # noqa: T201
    sys.stdout.flush()
    return 0 if made.usable else 1


if __name__ == "__main__":
    # Looks that have not returned are left behind: the interpreter must not wait for them.
    os._exit(main())
