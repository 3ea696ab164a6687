"""What tests of Harbor's files share: strategies for plain values, and documents from a later version."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

in_a_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

offsets = st.integers(-720, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=offsets) | st.datetimes(
    datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 2), timezones=offsets
)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = words.filter(bool)
tokens = st.none() | st.integers(0, 2**40)
costs = st.none() | st.floats(0, 1e6)


def written(directory: Path, content: str | bytes, relative: str = "result.json") -> Path:
    """The directory, with the file in it."""
    (directory / relative).parent.mkdir(parents=True, exist_ok=True)
    (directory / relative).write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def with_members(document: Any, name: str) -> Any:
    """An unknown member in every object whose names are not the task's own."""
    if isinstance(document, list):
        return [with_members(item, name) for item in document]
    if not isinstance(document, dict):
        return document
    own = {
        key: value if key in ("rewards", "metadata") else with_members(value, name) for key, value in document.items()
    }
    return own | {name: {"any": ["thing", 1, None]}}
