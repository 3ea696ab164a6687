"""What a trial is given of credentials: the variables that its agent and its task name, and no others. Pure.

Sources in this order: the submission, the organisation's secrets, the worker's own environment as far as its deployment
allows. What ``agent_config.env`` sets goes before all of them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from oddish.credentials import Needs, Table, needs_of
from oddish.errors import InvalidInput
from oddish.queue.keys import BASELINE_AGENTS
from oddish.secrecy import is_secret_name
from oddish.tasks.variables import references
from oddish.variables import can_be_handed_over, inherited, is_variable_name

OTHER_ACCESS = ("api_base", "api_key", "auth", "config", "credential", "token", "url")
"""Words in arguments of agents that may stand for an access of its own, which nobody here can judge."""


class MissingCredential(InvalidInput):
    """A trial whose agent or task names a credential that nobody offers."""

    code = "missing_credential"

    def __init__(self, message: str, *, names: Sequence[str], fix: str | None) -> None:
        """``names`` of the variables that would do, all of them together."""
        super().__init__(message, fix=fix)
        self.names = names


@dataclass(frozen=True)
class Reference:
    """A variable that a trial's configuration takes from the outside."""

    name: str
    place: str
    """``verifier.env of task.toml``, ``agent_config.env`` ..."""
    required: bool
    """False when there is a default."""


@dataclass(frozen=True)
class TrialNames:
    """The variables that one trial names."""

    agent: str
    model: str | None
    needs: Needs
    """Of the agent."""
    references: tuple[Reference, ...]
    agent_env: frozenset[str]
    """Names that ``agent_config.env`` sets."""
    other_access: bool
    """The agent may have been given an access by its arguments."""

    @property
    def names(self) -> frozenset[str]:
        """Everything that may be handed over."""
        named = {*self.needs.names, *(reference.name for reference in self.references)}
        return frozenset(filter(can_be_handed_over, named))

    def hand_over(self, sources: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """The variables of the attempt's process. Once a source gives the agent a key, the later ones give no other."""
        given: dict[str, str] = {}
        keys = {name for group in self.needs.one_of for name in group if is_secret_name(name)}
        for source in sources:
            settled = bool(keys & (self.agent_env | given.keys()))
            wanted = [
                name for name in self.needs.names if name not in self.agent_env and not (settled and name in keys)
            ]
            wanted += [reference.name for reference in self.references]
            given |= {
                name: source[name]
                for name in wanted
                if name in source and name not in given and can_be_handed_over(name)
            }
        return given

    def check(self, offered: Collection[str]) -> None:
        """Raises ``MissingCredential`` when the agent would not start or a variable of the task has no value."""
        explicit = self.other_access or any(is_secret_name(name) for name in self.agent_env)
        if not explicit and not self.needs.met_by({*offered, *self.agent_env}):
            raise MissingCredential(
                f"The agent {self.agent!r} with the model {self.model!r} has no credentials: "
                f"it takes {self.needs.wording()}.",
                names=self.needs.one_of[0],
                fix=_fix_of_agent(self.needs.one_of[0]),
            )
        for reference in self.references:
            if reference.required and reference.name not in offered and not inherited(reference.name):
                raise MissingCredential(
                    f"{reference.place} takes the variable {reference.name!r} from the outside, and nobody gives it.",
                    names=[reference.name],
                    fix=_fix_of_task(reference.name),
                )


def names_of(
    *,
    agent: str,
    model: str | None,
    agent_config: Mapping[str, object],
    harbor: Mapping[str, object],
    definition: Mapping[str, object],
    table: Table | None,
) -> TrialNames:
    """``table`` is what the engine says of its agents; without one, or for an agent not in it, nothing is required."""
    env = _object(agent_config, "env")
    return TrialNames(
        agent=agent,
        model=model,
        needs=needs_of(table, agent, model),
        references=(*_in_task(agent, harbor, definition), *_in_env(env, "agent_config.env"), *_in_harbor(harbor)),
        agent_env=frozenset(env),
        other_access=any(word in name.lower() for name in _object(agent_config, "kwargs") for word in OTHER_ACCESS),
    )


def refuse_unusable(credentials: Iterable[str]) -> None:
    """Raise ``InvalidInput`` for a name that no attempt can be given."""
    for name in credentials:
        if not is_variable_name(name):
            raise InvalidInput(
                f"{name!r} is not the name of a variable.",
                fix="Name it with letters, digits and underscores of ASCII, and no digit first.",
            )
        if not can_be_handed_over(name):
            raise InvalidInput(
                f"The variable {name} cannot be handed to a trial: it steers programs on the worker.",
                fix="Set it for the agent inside the sandbox instead, in agent_config.env.",
            )


def _in_task(agent: str, harbor: Mapping[str, object], definition: Mapping[str, object]) -> Iterable[Reference]:
    variables = definition.get("variables")
    for variable in variables if isinstance(variables, list) else ():
        section = variable["section"]
        of_verifier = "verifier" in section.split(".")
        unused = (
            (section.startswith("solution.") and agent != "oracle")
            or (section.endswith(".headers") and agent in BASELINE_AGENTS)
            or (of_verifier and _object(harbor, "verifier").get("disable") is True)
        )
        if not unused:
            yield Reference(variable["name"], f"{section} of task.toml", variable["required"])


def _in_harbor(harbor: Mapping[str, object]) -> Iterable[Reference]:
    for section in ("environment", "verifier"):
        yield from _in_env(_object(_object(harbor, section), "env"), f"harbor.{section}.env")


def _in_env(env: Mapping[str, object], place: str) -> Iterable[Reference]:
    texts = {name: value for name, value in env.items() if isinstance(value, str)}
    return (Reference(name, place, required) for name, required in references(texts))


def _object(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def _fix_of_agent(names: Sequence[str]) -> str:
    options = " ".join(f"--ae {name}" for name in names)
    return f"Run it with {options}, which takes the value from your shell or from --env-file, or {keeping(names)}."


def _fix_of_task(name: str) -> str:
    return (
        f"Write {name}=VALUE into a file and run it with --env-file FILE (a server on your own machine is also given "
        f"that of the shell), or {keeping([name])}."
    )


def keeping(names: Sequence[str]) -> str:
    """What to do for all trials to come."""
    return f"keep it for the organisation with {' and '.join(f'`oddish secrets set {name}`' for name in names)}"
