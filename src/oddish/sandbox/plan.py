"""What a Dockerfile does to a sandbox: instructions to steps, without running anything.

``FROM`` stands for this machine's own system. What cannot be done faithfully without a container engine is refused
with its line.
"""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypedDict

from oddish.errors import InvalidTask
from oddish.sandbox import variables
from oddish.sandbox.dockerfile import USE_DOCKER, Heredoc, Instruction, exec_form, needs_engine, refuse
from oddish.sandbox.durations import BadDuration, seconds
from oddish.sandbox.platforms import predefined
from oddish.sandbox.spec import PATH

_IGNORED = frozenset({"LABEL", "EXPOSE", "CMD", "MAINTAINER", "STOPSIGNAL", "ONBUILD"})
"""Harbor gives the container its own command; the rest says nothing to whoever runs in it."""
_MOST_CHARACTERS = 1024 * 1024
"""Of all variables together: half of what the kernel usually passes to a command, arguments included."""
_OCTAL = re.compile(r"[0-7]{1,4}")
_PLAIN_MOUNTS = frozenset({"cache", "tmpfs"})
_HARMLESS_RUN_FLAGS = frozenset({("network", "default"), ("security", "sandbox")})
_COPY_FLAGS = frozenset({"chown", "chmod", "link"})
_KEEP_RUNNING = ("sh", "-c", "sleep infinity")
"""The command that Harbor gives to a container."""


@dataclass(frozen=True, slots=True)
class Run:
    """Run ``argv`` with exactly ``env``."""

    line: int
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cwd: str
    user: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy ``sources`` (patterns in the build context) and ``texts`` (name, content) to the absolute ``target``."""

    line: int
    sources: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    target: str
    unpack: bool
    owner: str
    mode: str


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    line: int
    path: str


type Step = Run | Copy | MakeDirectory


@dataclass(frozen=True, slots=True)
class Healthcheck:
    """``HEALTHCHECK``; times in seconds."""

    command: str
    interval: float = 30.0
    timeout: float = 30.0
    start_period: float = 0.0
    start_interval: float = 5.0
    retries: int = 3


class _Times(TypedDict, total=False):
    interval: float
    timeout: float
    start_period: float
    start_interval: float
    retries: int


@dataclass(slots=True)
class Plan:
    """Steps in order, and the state that commands find afterwards. ``notes`` say where this differs from an engine."""

    image: str = ""
    platform: str = ""
    """What FROM asks for; empty: any."""
    steps: list[Step] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    workdir: str = "/"
    user: str = "root"
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    entrypoint: tuple[str, ...] = ()
    """What runs beside the commands for as long as the sandbox lives; empty: nothing."""
    healthcheck: Healthcheck | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def has_commands(self) -> bool:
        return any(isinstance(step, Run) for step in self.steps)


class _Planner:
    def __init__(self, arguments: dict[str, str]) -> None:
        self.plan = Plan()
        self.given = predefined() | arguments
        self.args: dict[str, str] = {}
        self.before_from: dict[str, str] = {}
        self.from_line = 0
        self.handlers: dict[str, Callable[[Instruction], None]] = {
            "FROM": self.base,
            "ARG": self.argument,
            "ENV": self.environment,
            "WORKDIR": self.workdir,
            "USER": self.user,
            "SHELL": self.shell,
            "RUN": self.run,
            "COPY": self.copy,
            "ADD": self.copy,
            "VOLUME": self.volume,
            "ENTRYPOINT": self.entrypoint,
            "HEALTHCHECK": self.healthcheck,
        }

    def variables(self) -> dict[str, str]:
        return self.args | self.plan.env if self.from_line else self.given | self.args

    def word(self, text: str, instruction: Instruction) -> str:
        return variables.word(text, self.variables(), instruction.escape)

    def words(self, instruction: Instruction) -> list[str]:
        return variables.words(instruction.value, self.variables(), instruction.escape)

    def apply(self, instruction: Instruction) -> None:
        name = instruction.name
        if name in _IGNORED:
            return
        handler = self.handlers.get(name)
        if handler is None:
            raise refuse(instruction.line, f"unknown instruction {name!r}.", "Correct it.")
        if not self.from_line and name not in {"FROM", "ARG"}:
            raise refuse(instruction.line, f"{name} before FROM.", "Begin with FROM.")
        try:
            handler(instruction)
            self._count_variables()
        except variables.BadSubstitution as error:
            raise needs_engine(instruction.line, f"{name}: {error}.", f"Correct it. {USE_DOCKER}") from error

    def _count_variables(self) -> None:
        if sum(map(len, (*self.args.values(), *self.plan.env.values()))) > _MOST_CHARACTERS:
            raise variables.BadSubstitution(f"all variables together grow beyond {_MOST_CHARACTERS} characters")

    def base(self, instruction: Instruction) -> None:
        if self.from_line:
            raise needs_engine(
                instruction.line,
                f"a second FROM (the first is on line {self.from_line}); the local sandbox has no multi-stage builds.",
            )
        image = (self.words(instruction) or [""])[0]
        if not image:
            raise refuse(instruction.line, "FROM without an image.", "Name one.")
        self.plan.platform = self.word(dict(instruction.flags).get("platform", ""), instruction)
        self.from_line = instruction.line
        self.before_from, self.args = self.args, {}
        self.plan.image = image

    def argument(self, instruction: Instruction) -> None:
        for item in self.words(instruction):
            name, has_default, default = item.partition("=")
            if name in self.given and not (has_default and name in predefined()):
                self.args[name] = self.given[name]
            elif has_default:
                self.args[name] = default
            elif name in self.before_from:
                self.args[name] = self.before_from[name]

    def environment(self, instruction: Instruction) -> None:
        first = instruction.value.split(None, 1)
        if first and "=" not in first[0]:
            if len(first) < 2:
                raise refuse(instruction.line, f"ENV {first[0]} has no value.", "Write ENV name=value.")
            self.plan.env[first[0]] = self.word(first[1], instruction)
            return
        for item in self.words(instruction):
            name, separator, value = item.partition("=")
            if not separator or not name:
                raise refuse(instruction.line, f"ENV cannot read {item!r}.", "Write ENV name=value.")
            self.plan.env[name] = value

    def workdir(self, instruction: Instruction) -> None:
        path = self.word(instruction.value, instruction)
        if not path:
            raise refuse(instruction.line, "WORKDIR without a path.", "Give one.")
        self.plan.workdir = posixpath.normpath(posixpath.join(self.plan.workdir, path))
        self.plan.steps.append(MakeDirectory(instruction.line, self.plan.workdir))

    def user(self, instruction: Instruction) -> None:
        self.plan.user = self.word(instruction.value, instruction).strip() or "root"

    def shell(self, instruction: Instruction) -> None:
        argv = instruction.exec_form()
        if not argv:
            raise refuse(instruction.line, "SHELL needs a JSON array.", 'Write SHELL ["/bin/bash", "-c"].')
        self.plan.shell = argv

    def run(self, instruction: Instruction) -> None:
        for flag, value in instruction.flags:
            self._run_flag(instruction, flag, value)
        argv = instruction.exec_form()
        if argv is None:
            argv = (*self.plan.shell, _script(instruction)) if instruction.value else ()
        if not argv or not argv[0]:
            raise refuse(instruction.line, "RUN without a command.", "Give one.")
        environment = self.args | self.plan.env
        self.plan.steps.append(
            Run(instruction.line, argv, tuple(sorted(environment.items())), self.plan.workdir, self.plan.user)
        )

    def _run_flag(self, instruction: Instruction, flag: str, value: str) -> None:
        if (flag, value) in _HARMLESS_RUN_FLAGS:
            return
        mount = dict(part.partition("=")[::2] for part in self.word(value, instruction).split(","))
        kind = mount.get("type", "bind")
        if flag != "mount" or kind not in _PLAIN_MOUNTS:
            raise needs_engine(instruction.line, f"RUN --{flag}={value} needs a container engine.")
        if target := next((mount[name] for name in ("target", "dst", "destination") if mount.get(name)), None):
            path = posixpath.normpath(posixpath.join(self.plan.workdir, target))
            self.plan.steps.append(MakeDirectory(instruction.line, path))
        self.plan.notes.append(f"line {instruction.line}: the {kind} mount of RUN is an ordinary directory")

    def copy(self, instruction: Instruction) -> None:
        flags = dict(instruction.flags)
        for flag in flags:
            if flag == "from":
                raise needs_engine(
                    instruction.line, f"{instruction.name} --from={flags[flag]} takes files from another image."
                )
            if flag not in _COPY_FLAGS:
                raise needs_engine(instruction.line, f"{instruction.name} --{flag} is not supported.")
        json_form = instruction.exec_form()
        arguments = self.words(instruction) if json_form is None else [self._json(item) for item in json_form]
        if len(arguments) < 2:
            raise refuse(instruction.line, f"{instruction.name} needs a source and a target.", "Give both.")
        marks = {self.word(document.mark, instruction) for document in instruction.heredocs}
        *sources, target = [item for item in arguments if item not in marks]
        if remote := next((source for source in sources if "://" in source or source.startswith("git@")), None):
            raise needs_engine(instruction.line, f"{instruction.name} from {remote!r} needs a container engine.")
        mode = self.word(flags.get("chmod", ""), instruction)
        if mode and not _OCTAL.fullmatch(mode):
            raise needs_engine(
                instruction.line, f"{instruction.name} --chmod={mode} is not octal.", f"Write --chmod=755. {USE_DOCKER}"
            )
        absolute = posixpath.join(self.plan.workdir, target)
        self.plan.steps.append(
            Copy(
                line=instruction.line,
                sources=tuple(sources),
                texts=tuple((document.word, self._text(document, instruction)) for document in instruction.heredocs),
                target=posixpath.normpath(absolute) + ("/" if target.endswith(("/", "/.")) or target == "." else ""),
                unpack=instruction.name == "ADD",
                owner=self.word(flags.get("chown", ""), instruction),
                mode=mode,
            )
        )

    def _json(self, text: str) -> str:
        return variables.expand(text, self.variables())

    def _text(self, document: Heredoc, instruction: Instruction) -> str:
        if not document.expand:
            return document.text
        return variables.expand(document.text, self.variables(), instruction.escape)

    def volume(self, instruction: Instruction) -> None:
        for path in instruction.exec_form() or self.words(instruction):
            self.plan.steps.append(MakeDirectory(instruction.line, posixpath.join("/", path)))

    def entrypoint(self, instruction: Instruction) -> None:
        argv = instruction.exec_form()
        if argv is None:
            argv = (*self.plan.shell, instruction.value)
        self.plan.entrypoint = (*argv, *_KEEP_RUNNING) if argv else ()

    def healthcheck(self, instruction: Instruction) -> None:
        kind, _, command = instruction.value.partition(" ")
        if kind.upper() == "NONE":
            self.plan.healthcheck = None
            return
        argv = exec_form(command.strip())
        script = shell_words(argv) if argv is not None else command.strip()
        if kind.upper() != "CMD" or not script:
            raise refuse(instruction.line, "HEALTHCHECK is neither NONE nor CMD and a command.", "Correct it.")
        self.plan.healthcheck = Healthcheck(script, **self._times(instruction))

    def _times(self, instruction: Instruction) -> "_Times":
        times: _Times = {}
        for flag, value in instruction.flags:
            try:
                if flag == "retries":
                    times["retries"] = int(value)
                elif flag == "interval":
                    times["interval"] = seconds(value)
                elif flag == "timeout":
                    times["timeout"] = seconds(value)
                elif flag == "start-period":
                    times["start_period"] = seconds(value)
                elif flag == "start-interval":
                    times["start_interval"] = seconds(value)
                else:
                    raise BadDuration(f"--{flag} is not known")
            except ValueError as error:
                raise refuse(instruction.line, f"HEALTHCHECK cannot be read: {error}.", "Correct it.") from error
        return times


def shell_words(argv: tuple[str, ...]) -> str:
    """A shell command that runs ``argv``."""
    return " ".join("'" + item.replace("'", "'\\''") + "'" for item in argv)


def _script(instruction: Instruction) -> str:
    if not instruction.heredocs:
        return instruction.value
    if len(instruction.heredocs) == 1 and instruction.value == instruction.heredocs[0].mark:
        text = instruction.heredocs[0].text
        return _interpreted(text) if text.startswith("#!") else text
    documents = "".join(f"{document.text}{document.word}\n" for document in instruction.heredocs)
    return f"{instruction.value}\n{documents}"


def _interpreted(text: str) -> str:
    """A here-document that names its interpreter is a program of its own."""
    quoted = shell_words((text,))
    return (
        f'file=$(mktemp) && printf %s {quoted} > "$file" && chmod 700 "$file" || exit; '
        '"$file"; code=$?; rm -f "$file"; exit $code'
    )


def make(instructions: tuple[Instruction, ...], arguments: dict[str, str] | None = None) -> Plan:
    """``arguments`` are build arguments. Raises ``InvalidTask`` naming line, reason and fix."""
    planner = _Planner(arguments or {})
    for instruction in instructions:
        planner.apply(instruction)
    if not planner.from_line:
        raise InvalidTask("The Dockerfile has no FROM.", fix="Begin it with FROM and the image the task is made for.")
    return planner.plan
