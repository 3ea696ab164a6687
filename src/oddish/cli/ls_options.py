"""The options of ``ls``: one for each filter that a server knows."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from oddish.browsing import Browse, InvalidFilter, parameters, parse
from oddish.browsing.parameters import GROUPS, LIMIT, MOST, SORTS
from oddish.browsing.table import PARAMETERS, Parameter
from oddish.browsing.values import (
    AGENT_MODELS,
    FLAG,
    MINIMUMS,
    MODELS,
    MOMENT,
    NO,
    NUMBER,
    SEARCH,
    TAGS,
    WHOLE,
    WORD,
    WORDS,
    YES,
)

type Command = Callable[..., Any]

SHOWN = ("limit", "offset", "sort", "count_only")
METAVARS = {
    SEARCH: "WORDS",
    WORDS: "NAME",
    WORD: "NAME",
    TAGS: "TAG",
    MODELS: "MODEL",
    AGENT_MODELS: "AGENT:MODEL",
    MINIMUMS: "NAME=N",
    MOMENT: "TIME",
    WHOLE: "N",
    NUMBER: "X",
}


def browse_options(command: Command) -> Command:
    """Adds the filters and what is shown of the tasks that pass; the command gets them as ``wanted``, a ``Browse``."""

    @functools.wraps(command)
    def gathering(*args: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in (*PARAMETERS, GROUPS, *SHOWN)}
        return command(*args, wanted=read(given), **options)

    decorated: Command = gathering
    for option in reversed([*map(_option, PARAMETERS, PARAMETERS.values()), *_OTHERS]):
        decorated = option(decorated)
    return decorated


def read(given: Mapping[str, Any]) -> Browse:
    """What was asked for, by the names of parameters. Raises ``click.UsageError`` in the words of the command line."""
    try:
        return parse(_pairs(given), label=_label)
    except InvalidFilter as error:
        raise click.UsageError(str(error)) from None


def _pairs(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        if value is None or value == ():
            continue
        if name == GROUPS:
            yield name, f"[{','.join(value)}]"
        elif name == "tool_count_mins":
            yield name, _minimums(value)
        elif isinstance(value, bool):
            yield name, YES if value else NO
        elif isinstance(value, tuple):
            yield from ((name, one) for one in value)
        else:
            yield name, str(value)


def _minimums(given: tuple[str, ...]) -> str:
    counts: dict[str, int] = {}
    for text in given:
        name, equals, count = text.rpartition("=")
        if not (equals and name and count.isascii() and count.isdecimal()):
            raise InvalidFilter(f"--tool-min is {text!r}.", fix="It is the name of a tool and a count: bash=5.")
        if name in counts:
            raise InvalidFilter(f"--tool-min names {name!r} twice.", fix="Give the count once.")
        counts[name] = int(count)
    return json.dumps(counts)


def words(wanted: Browse) -> list[str]:
    """The words of a command line that asks for it."""
    found: list[str] = []
    for name, text in parameters(wanted).items():
        kind = PARAMETERS[name].kind if name in PARAMETERS else None
        if kind is FLAG or name == "count_only":
            found.append(_flag(name, text))
        elif kind is MINIMUMS:
            found += [word for tool, least in json.loads(text).items() for word in (_label(name), f"{tool}={least}")]
        elif name == GROUPS:
            found += [word for group in json.loads(text) for word in (_label(name), json.dumps(group))]
        else:
            found += [_label(name), text]
    return found


def _flag(name: str, text: str) -> str:
    if name not in PARAMETERS:
        return "--count"
    positive, _, negative = PARAMETERS[name].option.partition("/")
    return positive if text == YES else negative


def _label(name: str) -> str:
    """The option of a parameter."""
    if name in PARAMETERS:
        option = PARAMETERS[name].option
        return option if PARAMETERS[name].kind is FLAG else option.rpartition("/")[2]
    return "--or" if name == GROUPS else f"--{name}"


def _option(name: str, parameter: Parameter) -> Callable[[Command], Command]:
    kind = parameter.kind
    if kind is FLAG:
        return click.option(parameter.option, name, default=None, help=parameter.help)
    metavar = "|".join(kind.choices) or METAVARS[kind]
    several = kind.several or kind is MINIMUMS
    return click.option(*parameter.option.split("/"), name, multiple=several, metavar=metavar, help=parameter.help)


_OTHERS = (
    click.option(
        "--or",
        GROUPS,
        multiple=True,
        metavar="JSON",
        help='One of these groups of filters has to pass as well: \'{"agents": "codex", "min_steps": 9}\'.',
    ),
    click.option("--sort", metavar="|".join(SORTS), help="Default: the newest first."),
    click.option("-n", "--limit", type=click.IntRange(1, MOST), metavar="N", help=f"So many. Default: {LIMIT}."),
    click.option("--offset", type=click.IntRange(0), metavar="N", help="Leave out so many before them."),
    click.option("--count", "count_only", is_flag=True, default=None, help="Only how many there are."),
)
