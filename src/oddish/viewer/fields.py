"""The members of a JSON object that somebody else wrote, taken one by one with the type they should have. Pure.

A member of another type is as good as absent, and noted; null is absent without a word. What was not taken is left in
``rest``, so that nothing which this release does not know is lost.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from oddish.documents import finite_number, whole_number
from oddish.viewer.findings import Notes

SHOWN = 60
"""Characters of a value in a finding."""
_WRITTEN = json.JSONEncoder(ensure_ascii=False).encode


class Fields:
    def __init__(self, document: Mapping[str, Any], place: str, notes: Notes) -> None:
        self.rest = dict(document)
        self.place = place
        self._notes = notes

    def text(self, name: str) -> str | None:
        """A text; a number or a truth value is written as JSON does it."""
        value = self._pop(name)
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        if value is None or isinstance(value, str):
            return value
        self._refuse(name, value, "a text")
        return None

    def number(self, name: str) -> float | None:
        """A finite number."""
        value = self._pop(name)
        if value is None:
            return None
        number = finite_number(value)
        if number is None:
            self._refuse(name, value, "a finite number")
        return number

    def count(self, name: str, *, least: int = 0, most: int | None = None) -> int | None:
        """A whole number; one that is written with a fraction of zero is one."""
        value = self._pop(name)
        if value is None:
            return None
        whole = whole_number(int(value) if isinstance(value, float) and value.is_integer() else value)
        if whole is None or whole < least or (most is not None and whole > most):
            self._refuse(name, value, f"a whole number from {least}" + (f" to {most}" if most else ""))
            return None
        return whole

    def members(self, name: str) -> dict[str, Any]:
        """Those of an object; none where it is absent."""
        value = self._pop(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._refuse(name, value, "an object")
        return {}

    def items(self, name: str) -> list[Any]:
        """Those of a list; none where it is absent."""
        value = self._pop(name)
        if isinstance(value, list):
            return value
        if value is not None:
            self._refuse(name, value, "a list")
        return []

    def objects(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        """The objects in a list, each with its place."""
        return self.objects_in(name, self.items(name))

    def objects_in(self, name: str, items: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
        """The objects among the items of a list that was taken."""
        found = [(f"{self._at(name)}[{index}]", item) for index, item in enumerate(items)]
        for place, item in found:
            if not isinstance(item, dict):
                self._notes.warning(place, f"is {shown(item)}, not an object, and is left out.")
        return [(place, item) for place, item in found if isinstance(item, dict)]

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts in a list."""
        found = self.items(name)
        for index, item in enumerate(found):
            if not isinstance(item, str):
                self._notes.warning(f"{self._at(name)}[{index}]", f"is {shown(item)}, not a text, and is left out.")
        return tuple(item for item in found if isinstance(item, str))

    def _pop(self, name: str) -> Any:
        return self.rest.pop(name, None)

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def _refuse(self, name: str, value: object, wanted: str) -> None:
        self.rest[name] = value
        self._notes.warning(self._at(name), f"is {shown(value)}, not {wanted}, and is left out.")


def shown(value: object) -> str:
    """A value of a document, short enough for a sentence. Long lists and objects are not written out first."""
    if isinstance(value, list | dict) and value:
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    text = _WRITTEN(value[: SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def without_nothing(**members: Any) -> dict[str, Any]:
    """The members that are there: no null, no empty list or object."""
    return {name: value for name, value in members.items() if value is not None and value not in ([], {})}
