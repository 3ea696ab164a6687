"""Groups of options that a command gets as one argument."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

type Command = Callable[..., Any]
type Option = Callable[[Any], Any]


def gathered(name: str, kind: type[Any], options: Sequence[Option]) -> Callable[[Command], Command]:
    """A decorator that adds ``options`` and hands them over as ``name``, a dataclass of fields called like them."""
    parameters = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathering(*args: Any, **given: Any) -> Any:
            given[name] = kind(**{parameter: given.pop(parameter) for parameter in parameters})
            return command(*args, **given)

        decorated: Command = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
