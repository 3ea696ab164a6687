"""docs/reference, derived from the code: settings, the command line, HTTP. The same on every machine."""

import ast
import difflib
import importlib
import inspect
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import harbor_flags
import python_members

import oddish
from oddish import own_variables
from oddish.api.app import create_app
from oddish.api.description import template
from oddish.api.routing import GuardedRoute
from oddish.api.scopes import access
from oddish.cli import cli
from oddish.environments import EC2, Facts, read_environments
from oddish.errors import OddishError
from oddish.own_variables import CLIENT, STACK, TESTS
from oddish.settings import Settings, variable
from oddish.trials.environments import is_open

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "oddish"
LIST = Path(own_variables.__file__)
REFERENCE = ROOT / "docs" / "reference"
COMMAND = "scripts/reference"
NOTICE = f"<!-- Written by {COMMAND} from the code. -->"
VARIABLE = r"(?:ODDISH|SANDBOX)_[A-Z0-9_]*[A-Z0-9]"
WIDTH = 100
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
LAYOUT: dict[str, Any] = {"terminal_width": WIDTH, "max_content_width": WIDTH}
MIB = 1024 * 1024

ELSEWHERE = ("engine", "sandbox", "worker", "doctor")
"""Packages whose errors end up in logs and trials, not in answers."""
LOCAL = ("cli", "client", "stack")
NEVER_ANSWERED = frozenset({"key_missing", "unknown_schema", "stale_claim", "unreadable_setting"})
"""Codes of errors that end a start, or that workers meet."""

SETTINGS = """{notice}

# Settings

Everything is set by environment variables.

## Server and worker

A value that cannot be read stops the process and is named. Lists and maps are JSON.

{settings}

## Command line

{client}

## The stack of one machine

What `oddish up` starts, and every command that needs a server and is told of none. It reads the settings of server and
worker as well.

{stack}

## Tests

{tests}
"""
HTTP = """{notice}

# HTTP

The server describes parameters and bodies itself: `GET /openapi.json` (OpenAPI 3.1). Every route with GET answers HEAD
with the same headers. A key goes into the header `Authorization: Bearer ok_...` or `X-Api-Key: ok_...`. A key of scope
`full` may do what `tasks` may, and that what `read` may; where a role is named, the key's user must have it as well.
What belongs to another organisation is answered like what does not exist.

## Routes

{routes}

## Refusals

A refusal is a problem document (RFC 9457, `application/problem+json`): `detail` names the value and the reason, `fix`
says what to do, and `code`, on which programs branch, is one of these.

{refusals}

Commands with `--json` print the same documents, and these of their own:

{local}
"""

ENVIRONMENTS = """{notice}

# Environments

What Harbor's environments need on a worker, and what they can give a task. [How one is enabled](../environments.md).
"?": only the library of its provider knows.

{needs}

## What they can give

"Services" is a Compose file of the task's own. "No network" and "allowed hosts" are values of `network_mode`, for tasks
without services.

{gives}

## Options

What `harbor.environment.kwargs` may name, as far as the deployment does not set it. Those in parentheses need
`ODDISH_ALLOW_ACCOUNT_OPTIONS`, `ODDISH_ALLOW_MOUNTS`, `ODDISH_ALLOW_EXTRA_COMPOSE` or `ODDISH_ALLOW_WORKER_FILES`, as a
refusal says; those in bold have to be given by one of the two.

{options}
"""

HARBOR_FLAGS = """{notice}

# Options of `harbor run`

What becomes of each option of Harbor {version} with `oddish run`. "The same": it is accepted under all its names, and
means the same. An option in the second column does what Harbor's does.

{options}

## Only here

Options of `oddish run` that none of Harbor's leads to: {ours}. [What all of them do](cli.md#oddish-run).
"""

PYTHON = """{notice}

# Python

What a `Client` does; [how it is used](../python.md). What is returned is the JSON of [the routes](http.md); its types
are in `oddish.client.types`.

{members}
"""


class Undescribed(Exception):
    """Something in the code that the reference could not say anything about."""


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--check"]):
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    try:
        if not arguments:
            write()
        stale = "".join(differences(name) for name in PAGES)
    except Undescribed as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 1
    if stale:
        print(f"{stale}docs/reference is out of date. Run: {COMMAND}")
        return 1
    return 0


def write() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")


def differences(name: str) -> str:
    """What writing docs/reference would change in one page, as a diff; empty when nothing."""
    path = REFERENCE / name
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    label = f"docs/reference/{name}"
    return "".join(difflib.unified_diff(there.splitlines(True), PAGES[name]().splitlines(True), label, label))


def settings_page() -> str:
    properties = Settings.model_json_schema(by_alias=False)["properties"]
    described = {variable(name): _setting(name, schema) for name, schema in properties.items()}
    used, known = variables_in(SOURCE), {*described, *CLIENT, *STACK, *TESTS}
    if missing := sorted(used - known):
        raise Undescribed(f"{', '.join(missing)}: read in src and described neither in Settings nor in {LIST}")
    if gone := sorted({*CLIENT, *STACK} - used):
        raise Undescribed(f"{', '.join(gone)}: described in {LIST} and not read anywhere")
    return SETTINGS.format(
        notice=NOTICE,
        settings=_table(
            ("Variable", "Value", "Default", "Meaning"), ((_code(name), *described[name]) for name in described)
        ),
        client=_table(("Variable", "Meaning"), ((_code(name), meaning) for name, meaning in CLIENT.items())),
        stack=_table(("Variable", "Meaning"), ((_code(name), meaning) for name, meaning in STACK.items())),
        tests=_table(("Variable", "Meaning"), ((_code(name), meaning) for name, meaning in TESTS.items())),
    )


def _setting(name: str, schema: Mapping[str, Any]) -> tuple[str, str, str]:
    """Value, default and meaning. A description ends with "Default: ..." where the default is no constant."""
    meaning, _, said = str(schema.get("description", "")).partition(" Default: ")
    if not meaning:
        raise Undescribed(f"oddish.settings.Settings.{name} has no description")
    constant = Settings.model_fields[name].get_default(call_default_factory=False)
    if said:
        default = said.removesuffix(".")
    elif "default" in schema and constant is not None:
        default = _constant(constant)
    elif constant is None:
        default = "not set"
    else:
        default = _constant(Settings.model_fields[name].get_default(call_default_factory=True, validated_data={}))
        if schema.get("type") not in ("object", "array"):
            raise Undescribed(
                f"the default of oddish.settings.Settings.{name} is computed; end its description with it"
            )
    return _kind(schema), default, meaning


def _constant(value: object) -> str:
    if value in ("", None):
        return "not set"
    if isinstance(value, int) and value >= MIB and value % MIB == 0:
        return f"{value} ({value // MIB} MiB)"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | dict):
        return _code(str(value).replace("'", '"'))
    return str(value) if isinstance(value, int) else _code(str(value))


def _kind(schema: Mapping[str, Any]) -> str:
    for option in schema.get("anyOf", ()):
        if option.get("type") != "null":
            return _kind(option)
    if "enum" in schema:
        return ", ".join(_code(value) for value in schema["enum"])
    kind = {"integer": "integer", "number": "number", "boolean": "`true` or `false`"}.get(str(schema.get("type")))
    if kind is not None:
        bounds = {"minimum": "from {}", "maximum": "to {}", "exclusiveMinimum": "above {}"}
        return " ".join([kind, *(words.format(schema[name]) for name, words in bounds.items() if name in schema)])
    if schema.get("type") == "object":
        return "JSON map"
    if schema.get("type") == "array":
        return "JSON list"
    return {"path": "directory", "password": "secret"}.get(str(schema.get("format")), "text")


def variables_in(directory: Path) -> set[str]:
    """The names of variables that are string constants of their own below ``directory``, but not in ``LIST``."""
    found: set[str] = set()
    for path in directory.rglob("*.py"):
        if path == LIST:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if re.fullmatch(VARIABLE, node.value) else set()
    return found


def cli_page() -> str:
    lines = [NOTICE, "", "# Command line", ""]
    for names, command, context in commands(cli, click.Context(cli, info_name="oddish", **HELP, **LAYOUT)):
        lines += [f"{'#' * min(len(names) + 1, 4)} {' '.join(names)}", "", "```text"]
        lines += [line.rstrip() for line in command.get_help(context).splitlines()]
        lines += ["```", ""]
    return "\n".join(lines)


def commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[list[str], click.Command, click.Context]]:
    """Every command below ``command`` after it, with the words that call it."""
    yield context.command_path.split(), command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is None or below.hidden:
                continue
            settings = {**HELP, **LAYOUT, **below.context_settings}
            yield from commands(below, click.Context(below, info_name=name, parent=context, **settings))


def environments_page() -> str:
    known = read_environments()
    return ENVIRONMENTS.format(
        notice=NOTICE,
        needs=_table(
            ["environment", "feature of Harbor", "program", "login", "also reads"], map(_needs, known.items())
        ),
        gives=_table(
            ["environment", "GPUs", "TPUs", "services", "no network", "allowed hosts"], map(_gives, known.items())
        ),
        options=_table(["environment", "options"], map(_options, known.items())),
    )


def _needs(entry: tuple[str, Facts]) -> Sequence[str]:
    name, facts = entry
    extra = _code(f"harbor[{facts['extra']}]") if facts["extra"] else ""
    ways = [" with ".join(map(_code, group)) for group in facts["login"]]
    ways += [_code(f"~/{file}") for file in facts["files"]]
    ways += [_code(facts["command"])] if facts["command"] and not ways else []
    return [
        _code(name),
        extra,
        " or ".join(map(_code, facts["programs"])),
        " or ".join(ways),
        ", ".join(map(_code, facts["also"])),
    ]


def _gives(entry: tuple[str, Facts]) -> Sequence[str]:
    name, facts = entry
    words = {True: "yes", False: "", None: "?"}
    able = (facts["gpus"], facts["tpus"], facts["compose"], facts["no_network"], facts["allowlist"])
    return [_code(name), *(words[value] for value in able)]


def _options(entry: tuple[str, Facts]) -> Sequence[str]:
    name, facts = entry
    if facts["options"] is None or name == EC2:
        return [_code(name), "?" if facts["options"] is None else "the deployment's alone"]
    shown = [_code(option) if is_open(option) else f"({_code(option)})" for option in facts["options"]]
    bold = [
        f"**{text}**" if option in facts["required"] else text
        for option, text in zip(facts["options"], shown, strict=True)
    ]
    return [_code(name), ", ".join(bold)]


def harbor_flags_page() -> str:
    version, _ = harbor_flags.harbor()
    if unhandled := harbor_flags.unhandled():
        raise Undescribed(f"{', '.join(unhandled)}: of Harbor or of HANDLING in {harbor_flags.__file__} alone")
    return HARBOR_FLAGS.format(
        notice=NOTICE,
        version=version,
        options=_table(["`harbor run`", "`oddish run`", ""], harbor_flags.rows()),
        ours="; ".join(harbor_flags.ours_only()),
    )


def python_page() -> str:
    return PYTHON.format(notice=NOTICE, members=_table(["call", "returns", ""], python_members.rows()))


def http_page() -> str:
    raised = errors_of(lambda package: package not in (*ELSEWHERE, *LOCAL))
    if unknown := NEVER_ANSWERED - {code for code, _ in raised}:
        raise Undescribed(f"{', '.join(sorted(unknown))}: in NEVER_ANSWERED of {__file__} and no code of any error")
    answers = [(code, kind) for code, kind in raised if code not in NEVER_ANSWERED]
    local = errors_of(lambda package: package in LOCAL)
    return HTTP.format(
        notice=NOTICE,
        routes=_table(("Method", "Path", "Scope", "Role", ""), routes()),
        refusals=_table(
            ("Code", "Status", "Meaning"), ((_code(code), str(kind.status), _meaning(kind)) for code, kind in answers)
        ),
        local=_table(("Code", "Meaning"), ((_code(code), _meaning(kind)) for code, kind in local)),
    )


def routes() -> Iterator[tuple[str, str, str, str, str]]:
    with tempfile.TemporaryDirectory() as home:
        app = create_app(Settings(home=Path(home), database_url="postgresql+psycopg://nobody@/none"))
    for route in app.routes:
        assert isinstance(route, GuardedRoute)
        needed = access(route.methods, route.path)
        scope, role = ("none", "") if needed is None else (needed.scope.value, needed.role or "")
        for method in sorted(route.methods):
            yield method, _code(template(route.path)), scope, role, _summary(route)


def _summary(route: GuardedRoute) -> str:
    document = inspect.getdoc(route.endpoint)
    if not document:
        raise Undescribed(f"{route.endpoint.__module__}.{route.endpoint.__name__} ({route.path}) has no docstring")
    return _first_paragraph(document)


def errors_of(wanted: Callable[[str], bool]) -> list[tuple[str, type[OddishError]]]:
    """The error classes with a code of their own in the packages that are wanted, by code."""
    for module in pkgutil.walk_packages(oddish.__path__, "oddish."):
        package = module.name.split(".")[1]
        if (
            wanted(package)
            and not module.name.endswith(("__main__", "migrations.env"))
            and ".versions." not in module.name
        ):
            importlib.import_module(module.name)
    found: dict[str, type[OddishError]] = {}
    for kind in _subclasses(OddishError):
        parts = kind.__module__.split(".")
        if parts[0] != "oddish" or parts[-1] == "__main__" or not wanted(parts[1]) or "code" not in vars(kind):
            continue
        if (other := found.setdefault(kind.code, kind)) is not kind:
            raise Undescribed(f"{kind.__module__}.{kind.__name__} and {other.__name__} share the code {kind.code!r}")
    return sorted(found.items())


def _subclasses(kind: type[OddishError]) -> Iterator[type[OddishError]]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def _meaning(kind: type[OddishError]) -> str:
    if not kind.__doc__:
        raise Undescribed(f"{kind.__module__}.{kind.__name__} has no docstring")
    return _first_paragraph(inspect.cleandoc(kind.__doc__))


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def _code(text: str) -> str:
    return f"`{text}`"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (header, ["---"] * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows))
    return "\n".join(f"| {' | '.join(cells)} |".replace("  |", " |") for cells in lines)


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "cli.md": cli_page,
    "http.md": http_page,
    "environments.md": environments_page,
    "harbor-flags.md": harbor_flags_page,
    "python.md": python_page,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
