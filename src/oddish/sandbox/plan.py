"""What a Dockerfile does to a sandbox: instructions to steps, without running anything.

``FROM`` stands for this machine's own system; that is recorded as a note. What cannot be done faithfully without a
container engine is refused with its line.
"""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from oddish.errors import InvalidTask
from oddish.sandbox.dockerfile import Heredoc, Instruction, refuse
from oddish.sandbox.spec import PATH
from oddish.sandbox.variables import expand, words

_IGNORED = frozenset({"LABEL", "EXPOSE", "CMD", "MAINTAINER", "STOPSIGNAL"})
_NOTED = frozenset({"ENTRYPOINT", "HEALTHCHECK", "ONBUILD"})
_OCTAL = re.compile(r"[0-7]{1,4}")
_USE_DOCKER = "Use the docker environment for this task."


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


@dataclass(slots=True)
class Plan:
    """Steps in order, and the state that commands find afterwards. ``notes`` say where this differs from an engine."""

    steps: list[Step] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    workdir: str = "/"
    user: str = "root"
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    notes: list[str] = field(default_factory=list)

    @property
    def has_commands(self) -> bool:
        return any(isinstance(step, Run) for step in self.steps)


class _Planner:
    def __init__(self, arguments: dict[str, str]) -> None:
        self.plan = Plan()
        self.given = arguments
        self.args: dict[str, str] = {}
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
        }

    def variables(self) -> dict[str, str]:
        return self.args | self.plan.env

    def apply(self, instruction: Instruction) -> None:
        name = instruction.name
        if name in _IGNORED:
            return
        if name in _NOTED:
            self.plan.notes.append(f"line {instruction.line}: {name} has no effect in the local sandbox")
            return
        handler = self.handlers.get(name)
        if handler is None:
            raise refuse(instruction.line, f"unknown instruction {name!r}.", "Correct it.")
        if not self.from_line and name not in {"FROM", "ARG"}:
            raise refuse(instruction.line, f"{name} before FROM.", "Begin with FROM.")
        handler(instruction)

    def base(self, instruction: Instruction) -> None:
        if self.from_line:
            raise refuse(
                instruction.line,
                f"a second FROM (the first is on line {self.from_line}); the local sandbox has no multi-stage builds.",
                _USE_DOCKER,
            )
        self.from_line = instruction.line
        image = (words(instruction.value, self.args) or [""])[0]
        if not image:
            raise refuse(instruction.line, "FROM without an image.", "Name one.")
        self.args = {}
        self.plan.notes.append(f"line {instruction.line}: this machine's own system stands in for the image {image}")

    def argument(self, instruction: Instruction) -> None:
        for word in words(instruction.value, self.variables()):
            name, has_default, default = word.partition("=")
            if name in self.given:
                self.args[name] = self.given[name]
            elif has_default:
                self.args[name] = default

    def environment(self, instruction: Instruction) -> None:
        first = instruction.value.split(None, 1)
        if first and "=" not in first[0]:
            if len(first) < 2:
                raise refuse(instruction.line, f"ENV {first[0]} has no value.", "Write ENV name=value.")
            self.plan.env[first[0]] = expand(first[1], self.variables())
            return
        before = self.variables()
        for word in words(instruction.value, before):
            name, separator, value = word.partition("=")
            if not separator or not name:
                raise refuse(instruction.line, f"ENV cannot read {word!r}.", "Write ENV name=value.")
            self.plan.env[name] = value

    def workdir(self, instruction: Instruction) -> None:
        path = expand(instruction.value, self.variables()).strip("\"'")
        if not path:
            raise refuse(instruction.line, "WORKDIR without a path.", "Give one.")
        self.plan.workdir = posixpath.normpath(posixpath.join(self.plan.workdir, path))
        self.plan.steps.append(MakeDirectory(instruction.line, self.plan.workdir))

    def user(self, instruction: Instruction) -> None:
        self.plan.user = expand(instruction.value, self.variables()).strip() or "root"

    def shell(self, instruction: Instruction) -> None:
        argv = instruction.exec_form()
        if not argv:
            raise refuse(instruction.line, "SHELL needs a JSON array.", 'Write SHELL ["/bin/bash", "-c"].')
        self.plan.shell = argv

    def run(self, instruction: Instruction) -> None:
        for flag, value in instruction.flags:
            kind = dict(part.partition("=")[::2] for part in value.split(","))
            if flag == "mount" and kind.get("type", "bind") in {"cache", "tmpfs"}:
                continue
            raise refuse(instruction.line, f"RUN --{flag}={value} needs a container engine.", _USE_DOCKER)
        argv = instruction.exec_form()
        if argv is None:
            argv = (*self.plan.shell, _script(instruction))
        environment = self.args | {"HOME": "/root"} | self.plan.env
        self.plan.steps.append(
            Run(instruction.line, argv, tuple(sorted(environment.items())), self.plan.workdir, self.plan.user)
        )

    def copy(self, instruction: Instruction) -> None:
        flags = dict(instruction.flags)
        for flag in flags:
            if flag == "from":
                raise refuse(
                    instruction.line,
                    f"{instruction.name} --from={flags[flag]} takes files from another image.",
                    _USE_DOCKER,
                )
            if flag not in {"chown", "chmod", "link"}:
                raise refuse(instruction.line, f"{instruction.name} --{flag} is not supported.", _USE_DOCKER)
        arguments = instruction.exec_form() or tuple(words(instruction.value, self.variables()))
        if len(arguments) < 2:
            raise refuse(instruction.line, f"{instruction.name} needs a source and a target.", "Give both.")
        *sources, target = arguments
        if remote := next((source for source in sources if "://" in source or source.startswith("git@")), None):
            raise refuse(instruction.line, f"{instruction.name} from {remote!r} needs a container engine.", _USE_DOCKER)
        texts = []
        for document in instruction.heredocs:
            texts.append((document.word, self._text(document)))
            sources = [source for source in sources if document.word not in source or "<<" not in source]
        mode = expand(flags.get("chmod", ""), self.variables())
        if mode and not _OCTAL.fullmatch(mode):
            raise refuse(instruction.line, f"{instruction.name} --chmod={mode} is not octal.", "Write --chmod=755.")
        absolute = posixpath.join(self.plan.workdir, target)
        self.plan.steps.append(
            Copy(
                line=instruction.line,
                sources=tuple(sources),
                texts=tuple(texts),
                target=posixpath.normpath(absolute) + ("/" if target.endswith(("/", "/.")) or target == "." else ""),
                unpack=instruction.name == "ADD",
                owner=expand(flags.get("chown", ""), self.variables()),
                mode=mode,
            )
        )

    def _text(self, document: Heredoc) -> str:
        return expand(document.text, self.variables()) if document.expand else document.text

    def volume(self, instruction: Instruction) -> None:
        for path in instruction.exec_form() or words(instruction.value, self.variables()):
            self.plan.steps.append(MakeDirectory(instruction.line, posixpath.join("/", path)))


def _script(instruction: Instruction) -> str:
    if not instruction.heredocs:
        return instruction.value
    if len(instruction.heredocs) == 1 and instruction.value.startswith("<<"):
        return instruction.heredocs[0].text
    documents = "".join(f"{document.text}{document.word}\n" for document in instruction.heredocs)
    return f"{instruction.value}\n{documents}"


def make(instructions: tuple[Instruction, ...], arguments: dict[str, str] | None = None) -> Plan:
    """``arguments`` are build arguments. Raises ``InvalidTask`` naming line, reason and fix."""
    planner = _Planner(arguments or {})
    for instruction in instructions:
        planner.apply(instruction)
    if not planner.from_line:
        raise InvalidTask("The Dockerfile has no FROM.", fix="Begin it with FROM and the image the task is made for.")
    return planner.plan
