"""``KEY=VALUE`` options."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import click

from oddish.tasks.characters import value_flaw, variable_flaw

if TYPE_CHECKING:
    from oddish.client.types import JSON

WORDS = {"True": True, "False": False, "None": None}


def split_pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """The pairs in order; a later one wins. The refusal shows no more than a name: values may be secrets."""
    pairs: dict[str, str] = {}
    for position, pair in enumerate(given, start=1):
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            shown = repr(pair) if len(pair) <= 16 else f"{pair[:4]!r}… ({len(pair)} characters)"
            raise click.BadParameter(
                f"number {position} is {shown}; a name, an equals sign and a value are needed, for example NAME=value.",
                param_hint=f"'{option}'",
            )
        pairs[key.strip()] = value
    return pairs


def split_variables(given: Iterable[str], option: str) -> dict[str, str]:
    """Pairs that a program can be given as its environment."""
    variables = split_pairs(given, option)
    for name, value in variables.items():
        if reason := variable_flaw(name, value):
            raise click.BadParameter(f"{reason}.", param_hint=f"'{option}'")
    return variables


def split_values(given: Iterable[str], option: str) -> dict[str, "JSON"]:
    """Pairs whose values are JSON where they can be read as such; anything else stays text."""
    values = {key: _value(text) for key, text in split_pairs(given, option).items()}
    if reason := value_flaw(values):
        raise click.BadParameter(f"{reason}.", param_hint=f"'{option}'")
    return values


def _value(text: str) -> "JSON":
    if text in WORDS:
        return WORDS[text]
    try:
        return cast("JSON", json.loads(text, parse_constant=_refuse_constant))
    except ValueError:
        return text


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
