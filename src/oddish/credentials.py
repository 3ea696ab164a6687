"""Which variables an agent can take its credentials from. Pure; standard library only.

An engine describes its agents by rules: for models with these prefixes, one of these groups of variables is enough.
``@keys``, ``@endpoints`` and ``@settings`` in a rule stand for the variables of the model's provider.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from oddish.queue.keys import normalise_model
from oddish.secrecy import is_secret_name
from oddish.variables import can_be_handed_over

UNKNOWN = ""
"""The prefix of a model that names no provider the engine knows."""

_ADDRESS = re.compile("_(URL|BASE|ENDPOINT)$")
_SWITCH = re.compile("_(USE|FORCE)_")
_FAMILY_PREFIX = {"google": "gemini"}
"""Owners of model families whose prefix is another word."""


class ProviderVariables(TypedDict):
    """Variables of one provider, by what they hold."""

    keys: list[str]
    endpoints: list[str]
    """Base URLs; a server of one's own may need no key."""
    settings: list[str]
    """What goes with a key: a region, a project, the other half of a pair."""


class Rule(TypedDict):
    """What an agent takes for models of some providers."""

    prefixes: NotRequired[list[str]]
    """Of ``prefix/model``, "" for models of no known provider. Absent: all that no other rule of the agent names."""
    one_of: list[list[str]]
    """Groups of variables; one whole group is enough."""
    also: list[str]
    """Variables that the agent reads beside them."""
    required: bool
    """Without any of the groups the agent refuses to start or certainly fails."""


class Table(TypedDict):
    """What an engine says of all its agents."""

    providers: dict[str, ProviderVariables]
    """By the prefix of ``prefix/model``."""
    agents: dict[str, list[Rule]]
    """Agents that take no credentials are not in it."""


@dataclass(frozen=True)
class Needs:
    """Variables that something can use, and which of them it cannot do without."""

    one_of: tuple[tuple[str, ...], ...] = ()
    also: tuple[str, ...] = ()
    required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that may be handed over, each once, the best first."""
        return tuple(dict.fromkeys((*(name for group in self.one_of for name in group), *self.also)))

    def met_by(self, offered: Collection[str]) -> bool:
        return not self.required or any(all(name in offered for name in group) for group in self.one_of)

    def wording(self) -> str:
        """The groups as part of a sentence: logins, then addresses of servers that may need none, then switches."""
        switches = [group for group in self.one_of if any(map(_SWITCH.search, group))]
        addresses = [group for group in self.one_of if all(map(_ADDRESS.search, group))]
        logins = [group for group in self.one_of if group not in switches and group not in addresses]
        logins.sort(key=lambda group: not any(map(is_secret_name, group)))
        parts = [
            f"{kind}{' or '.join(' with '.join(group) for group in groups)}"
            for kind, groups in (("", logins), ("an address: ", addresses), ("a switch: ", switches))
            if groups
        ]
        return ", or ".join(parts)


@dataclass(frozen=True)
class AgentRules:
    """What the engine says of one agent, with the variables of the providers it knows by prefix."""

    rules: Sequence[Rule]
    providers: Mapping[str, ProviderVariables]

    def needs(self, model: str | None) -> Needs:
        """The variables for ``model``. A model without a prefix may be of its family's provider, or of none."""
        prefix, slash, _ = (model or "").partition("/")
        if slash:
            return self._needs(prefix)
        family, slash, _ = (normalise_model(model) or "").partition("/")
        family = _FAMILY_PREFIX.get(family, family)
        unknown = self._needs(UNKNOWN)
        if not slash or family not in self.providers:
            return unknown
        known = self._needs(family)
        return Needs(
            one_of=tuple(dict.fromkeys((*known.one_of, *unknown.one_of))),
            also=tuple(dict.fromkeys((*known.also, *unknown.also))),
            required=known.required and unknown.required,
        )

    def _needs(self, prefix: str) -> Needs:
        known = prefix if prefix in self.providers else UNKNOWN
        rule = self._rule(known)
        if rule is None:
            return Needs()
        variables = self.providers.get(known)
        groups = [
            expanded
            for group in rule["one_of"]
            for expanded in ([[name] for name in _expand(group, variables)] if _is_token(group) else [group])
        ]
        also = [*_expand(rule["also"], variables), *(_conventional(prefix) if prefix != known else ())]
        return Needs(tuple(map(tuple, groups)), tuple(also), rule["required"])

    def _rule(self, prefix: str) -> Rule | None:
        others = [rule for rule in self.rules if "prefixes" not in rule]
        named = [rule for rule in self.rules if prefix in rule.get("prefixes", ())]
        return next(iter((*named, *others)), None)


def needs_of(table: Table | None, agent: str, model: str | None) -> Needs:
    """Nothing for an agent that the table does not know."""
    rules = table["agents"].get(agent) if table is not None else None
    return AgentRules(rules, table["providers"]).needs(model) if table is not None and rules else Needs()


def _is_token(group: Sequence[str]) -> bool:
    return len(group) == 1 and group[0].startswith("@")


def _expand(names: Iterable[str], variables: ProviderVariables | None) -> Iterator[str]:
    for name in names:
        if not name.startswith("@"):
            yield name
        elif variables is not None:
            yield from {"@keys": variables["keys"], "@endpoints": variables["endpoints"]}.get(
                name, variables["settings"]
            )


def _conventional(prefix: str) -> Iterator[str]:
    """Where a model library looks for the key of a provider it has no better name for."""
    stem = re.sub(r"[^A-Z0-9]+", "_", prefix.upper())
    if can_be_handed_over(f"{stem}_API_KEY"):
        yield from (f"{stem}_API_KEY", f"{stem}_API_BASE", f"{stem}_BASE_URL")
