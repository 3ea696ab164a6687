"""What this machine's engine can run: agents by name, environments by name and why the others cannot be used.

Loads no vendor library: what an environment needs is read from package metadata and looked for on the machine.
"""

import importlib.metadata
import re
import shutil
import subprocess
from types import TracebackType
from typing import Self

from harbor.agents.factory import AgentFactory
from harbor.environments import factory
from harbor.models.agent.name import AgentName

from oddish.engine.credentials import read_table
from oddish.engine.environments import registry
from oddish.engine.protocol import VERSION, AgentInfo, Hello
from oddish.environments import read_environments
from oddish.sandbox.support import support

WITHOUT_MODEL = frozenset({AgentName.ORACLE.value, AgentName.NOP.value})
PROBE_TIMEOUT_SEC = 2.0

_REQUIREMENT = re.compile(r"""^([A-Za-z0-9._-]+).*;.*\bextra\s*==\s*["']([^"']+)["']""")


class Probe:
    """Asks the Docker engine and Compose for their versions, while the caller does something else.

    A context: leaving it ends a question that was not answered.
    """

    def __init__(self, program: str = "docker") -> None:
        self._program = program
        self._questions: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        if shutil.which(self._program) is not None:
            for arguments in (("version", "--format", "{{.Server.Version}}"), ("compose", "version", "--short")):
                self._questions.append(
                    subprocess.Popen(
                        [self._program, *arguments],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for question in self._questions:
            question.kill()
            question.communicate()

    def unavailable(self) -> str | None:
        """None when both answered, else the reason."""
        if not self._questions:
            return "The docker program is not installed. Install Docker Engine with the Compose plugin."
        for question, subject in zip(
            self._questions, ("The Docker engine", "The Compose plugin of docker"), strict=True
        ):
            try:
                _, errors = question.communicate(timeout=PROBE_TIMEOUT_SEC)
            except subprocess.TimeoutExpired:
                return f"{subject} did not answer within {PROBE_TIMEOUT_SEC:g} s."
            if question.returncode != 0:
                said = errors.strip().splitlines()
                return f"{subject} does not answer: {said[-1] if said else f'exit code {question.returncode}'}"
        return None


def hello(probe: Probe) -> Hello:
    """The first line of a fork server."""
    unavailable = unavailable_environments(probe)
    preferred = ["docker", "local"]
    names = [*preferred, *(name for name in registry.names() if name not in preferred)]
    return Hello(
        type="hello",
        version=VERSION,
        engine=f"harbor/{importlib.metadata.version('harbor')}",
        agents=[
            AgentInfo(name=name, needs_model=name not in WITHOUT_MODEL) for name in AgentFactory.registered_names()
        ],
        environments=[name for name in names if name not in unavailable],
        unavailable=unavailable,
        credentials=read_table(),
    )


def unavailable_environments(probe: Probe) -> dict[str, str]:
    """Environment name -> why it cannot be used here and what would change that."""
    reasons = {"docker": probe.unavailable(), "local": support().reason}
    missing, environments = missing_extras(), read_environments()
    for kind, entry in factory._ENVIRONMENT_REGISTRY.items():
        name = kind.value
        programs = environments[name]["programs"] if name in environments else []
        if entry.pip_extra in missing:
            reasons[name] = f"It needs the package {missing[entry.pip_extra]}. Install harbor[{entry.pip_extra}]."
        elif programs and name not in reasons and not any(map(shutil.which, programs)):
            reasons[name] = f"It needs the program {' or '.join(programs)}, which is not installed."
    return {name: reason for name, reason in sorted(reasons.items()) if reason is not None}


def missing_extras() -> dict[str, str]:
    """Harbor's optional features that are not installed -> a package they lack."""
    missing: dict[str, str] = {}
    for requirement in importlib.metadata.requires("harbor") or []:
        found = _REQUIREMENT.match(requirement)
        if found is None or found[2] in missing:
            continue
        try:
            importlib.metadata.distribution(found[1])
        except importlib.metadata.PackageNotFoundError:
            missing[found[2]] = found[1]
    return missing
