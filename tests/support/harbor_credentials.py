"""What the installed Harbor says about the credentials of its agents, asked by trying every agent with every provider.

``python -m support.harbor_credentials`` prints the table that fork servers publish; a test compares the two. Asking
takes seconds (it loads every agent and the model library), reading the table none.
"""

import functools
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from harbor.agents.agent_auth_resolution import (
    PROVIDERS,
    MissingModelCredentialError,
    parse_model_name,
    provider_aliases,
)
from harbor.agents.base import BaseAgent
from harbor.agents.factory import AgentFactory
from harbor.models.agent.name import AgentName

from oddish.credentials import UNKNOWN, AgentRules, ProviderVariables, Rule, Table
from oddish.secrecy import is_secret_name

VALUE = "https://model.example/v1"
NOT_ASKED = {"github_copilot"}
"""Prefixes that the model library cannot read without asking a server."""
NO_CREDENTIALS = {"MODEL_NAME", "NVIDIA_NAT_LLM_TYPE", "SWEAGENT_CONFIG", "VIBE_BACKEND"}
"""Variables that agents read while they look for credentials and that choose how they work instead."""
TOKENS: Mapping[str, str] = {"@keys": "keys", "@endpoints": "endpoints", "@settings": "settings"}


@dataclass(frozen=True)
class OwnLogin:
    """A way in that the agent's program has of its own and that Harbor leaves to it, also when nothing is there."""

    prefixes: tuple[str, ...]
    one_of: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    required: bool = True
    """The program can do nothing without one of these or the variables that Harbor knows."""


OWN_LOGINS: Mapping[str, OwnLogin] = {
    "claude-code": OwnLogin(
        (UNKNOWN, "anthropic", "anthropic_text"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_CODE_USE_BEDROCK"),
        ("CLAUDE_FORCE_OAUTH",),
    ),
    "codex": OwnLogin((UNKNOWN, "openai"), ("CODEX_AUTH_JSON_PATH", "CODEX_FORCE_AUTH_JSON")),
    "gemini-cli": OwnLogin(
        (UNKNOWN, "gemini", "vertex_ai"),
        (
            "GEMINI_OAUTH_CREDS_PATH",
            "GEMINI_FORCE_OAUTH",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ),
    ),
    "qwen-coder": OwnLogin((UNKNOWN, "openai")),
    "copilot-cli": OwnLogin((UNKNOWN,), also=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"), required=False),
    "pi": OwnLogin(("anthropic",), also=("ANTHROPIC_OAUTH_TOKEN",), required=False),
}


class Asked(dict[str, str]):
    """An environment that remembers what was looked for in it."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.names: dict[object, None] = {}

    def get(self, name, default=None):  # type: ignore[no-untyped-def, override]
        self.names[name] = None
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.names[name] = None
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.names[name] = None
        return super().__getitem__(name)

    def first(self, *names: str) -> tuple[str, str] | None:
        """As Harbor looks for the first of several names."""
        found = [(name, self[name]) for name in names if name in self]
        return found[0] if found else None


def missing(agent: type[BaseAgent], model: str | None, env: Asked) -> bool | None:
    """Whether Harbor would refuse ``agent`` with ``model`` for want of credentials; None when it would for another."""
    try:
        connection = agent.resolve_model_connection_for_execution(
            model,
            env.first,
            skip_model_parsing=False,
            explicit_env={},
            base_url=None,
            model_api_key_name=None,
            model_api_format=None,
            kwargs={},
        )
        agent.check_model_credentials(
            connection, kwargs={"model_name": model, "skip_model_parsing": False}, env=env, explicit_env={}
        )
    except MissingModelCredentialError:
        return True
    except (ValueError, KeyError):
        return None
    return False


@functools.cache
def providers() -> dict[str, ProviderVariables]:
    """By the prefix that the model library reads as that provider."""
    known: dict[str, ProviderVariables] = {}
    for prefix in sorted({*PROVIDERS, *provider_aliases()} - NOT_ASKED):
        parsed, _ = parse_model_name(f"{prefix}/model")
        access = PROVIDERS.get(provider_aliases().get(parsed or "", parsed or ""))
        if access is not None:
            known[prefix] = ProviderVariables(
                keys=list(access.api_key_candidate_names),
                endpoints=list(access.base_url_candidate_names),
                settings=list(access.extra_env_names),
            )
    return known


def all_of(variables: ProviderVariables) -> set[str]:
    return {*variables["keys"], *variables["endpoints"], *variables["settings"]}


def rule(name: str, agent: type[BaseAgent], prefix: str) -> Rule:
    """What Harbor says of one agent and one kind of model, with every variable by its name."""
    model = f"{prefix}/model" if prefix else None
    asked = Asked({})
    required = missing(agent, model, asked) is True
    read = [str(name) for name in asked.names]
    enough = [[one] for one in read if required and missing(agent, model, Asked({one: VALUE})) is False]
    if required and not enough:
        read, enough = _pair(agent, model, read)
    own = OWN_LOGINS.get(name)
    own = own if own is not None and prefix in own.prefixes else OwnLogin((), required=False)
    if own.required:
        required = True
        keys = [one for one in read if is_secret_name(one) and one not in (*own.one_of, *own.also)]
        enough = [[one] for one in dict.fromkeys((*keys, *own.one_of, *_endpoints(read)))]
    read = [one for one in read if one in (*own.one_of, *own.also) or not _foreign(one, prefix, agent)]
    relevant = [one for one in dict.fromkeys((*read, *own.one_of, *own.also)) if one not in NO_CREDENTIALS]
    groups = [group for group in enough if set(group) <= set(relevant)]
    required = required and bool(groups)
    if not required:
        groups = [[one] for one in relevant if is_secret_name(one) and one in _keys(prefix, agent)]
    grouped = {one for group in groups for one in group}
    return Rule(one_of=groups, also=[one for one in relevant if one not in grouped], required=required)


def _pair(agent: type[BaseAgent], model: str | None, read: list[str]) -> tuple[list[str], list[list[str]]]:
    """Two variables that are enough together, where no single one is."""
    for first in list(read):
        asked = Asked({first: VALUE})
        missing(agent, model, asked)
        read += [str(name) for name in asked.names if name not in read]
        for second in read:
            if (
                second != first
                and second not in _endpoints(read)
                and missing(agent, model, Asked({first: VALUE, second: VALUE})) is False
            ):
                return read, [[first, second]]
    return read, []


def _foreign(variable: str, prefix: str, agent: type[BaseAgent]) -> bool:
    """Whether a variable is another provider's: a fallback of the agent that this model has no use for."""
    if prefix == UNKNOWN and _default(agent) is None:
        return False
    mine = {variable for one in (prefix, _default(agent)) for variable in all_of(_of(one))}
    return variable not in mine and any(variable in all_of(variables) for variables in providers().values())


def _keys(prefix: str, agent: type[BaseAgent]) -> set[str]:
    spec = agent.MODEL_CONNECTION
    native = spec.agent_provider_access.api_key_candidate_names if spec is not None else []
    return {*_of(prefix)["keys"], *_of(_default(agent))["keys"], *native}


def _endpoints(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.endswith(("_BASE_URL", "_API_BASE"))]


def _default(agent: type[BaseAgent]) -> str | None:
    return agent.MODEL_CONNECTION.default_provider if agent.MODEL_CONNECTION is not None else None


def _of(prefix: str | None) -> ProviderVariables:
    return providers().get(prefix or UNKNOWN, ProviderVariables(keys=[], endpoints=[], settings=[]))


def _with_tokens(plain: Rule, prefix: str) -> Rule:
    single = [group[0] for group in plain["one_of"] if len(group) == 1]
    pairs = [group for group in plain["one_of"] if len(group) > 1]
    one_of = [*([one] for one in _tokens(single, prefix)), *pairs]
    return Rule(one_of=one_of, also=_tokens(plain["also"], prefix), required=plain["required"])


def _tokens(names: list[str], prefix: str) -> list[str]:
    """The names, those of the provider by what stands for them when all of a kind are there."""
    left, tokens = list(names), []
    for token, kind in TOKENS.items():
        known = _of(prefix)[kind]  # type: ignore[literal-required]
        if known and set(known) <= set(left):
            tokens.append(token)
            left = [name for name in left if name not in known]
    return tokens + left


def _says(general: Rule, plain: Rule, prefix: str) -> bool:
    """Whether a rule with tokens comes to the same for models of ``prefix``."""
    needs = AgentRules([Rule(**{**general, "prefixes": [prefix]})], providers()).needs(f"{prefix}/model")
    same = sorted(needs.one_of) == sorted(map(tuple, plain["one_of"])) and sorted(needs.also) == sorted(plain["also"])
    return same and needs.required == plain["required"]


def rules(name: str, agent: type[BaseAgent]) -> list[Rule]:
    """Few rules that together say it for every kind of model; the most frequent one is without prefixes."""
    plain = {prefix: rule(name, agent, prefix) for prefix in (UNKNOWN, *providers())}
    candidates = sorted(
        ((prefix, _with_tokens(one, prefix)) for prefix, one in plain.items()),
        key=lambda entry: -json.dumps(entry[1]).count("@"),
    )
    found: list[tuple[Rule, list[str]]] = []
    left = set(plain)
    for prefix, candidate in candidates:
        if prefix in left:
            same = sorted(other for other in left if _says(candidate, plain[other], other))
            assert prefix in same
            found.append((candidate, same))
            left -= set(same)
    usual = max(range(len(found)), key=lambda index: len(found[index][1]))
    named = [Rule(**{"prefixes": same, **one}) for index, (one, same) in enumerate(found) if index != usual]
    return [*named, found[usual][0]]


def table() -> Table:
    """The table of the installed Harbor."""
    agents = {
        name.value: rules(name.value, AgentFactory.get_agent_class(name))
        for name in sorted(AgentFactory._AGENT_MAP, key=lambda entry: entry.value)
        if name not in (AgentName.ORACLE, AgentName.NOP)
    }
    useful = {name: known for name, known in agents.items() if any(one["one_of"] or one["also"] for one in known)}
    return Table(providers=providers(), agents=useful)


def text(document: Table) -> str:
    """As it is stored: one line per provider and per rule, to be read in a comparison of versions."""
    lines = ["{", ' "providers": {']
    entries = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in document["providers"].items()]
    lines += [",\n".join(entries), " },", ' "agents": {']
    agents = []
    for name, known in document["agents"].items():
        inner = ",\n".join(f"   {json.dumps(one)}" for one in known)
        agents.append(f"  {json.dumps(name)}: [\n{inner}\n  ]")
    return "\n".join([*lines, ",\n".join(agents), " }", "}", ""])


if __name__ == "__main__":
    sys.stdout.write(text(table()))
