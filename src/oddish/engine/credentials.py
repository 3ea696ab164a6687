"""Which variables the agents of the installed engine take their credentials from, as a table that is quick to read.

The table is made from Harbor itself, by ``scripts/agent-credentials``; a test proves that both agree.
"""

import functools
import json
from pathlib import Path
from typing import cast

from oddish.credentials import Table

TABLE = Path(__file__).with_name("credentials.json")


@functools.cache
def read_table() -> Table:
    return cast(Table, json.loads(TABLE.read_text(encoding="utf-8")))
