"""Queue keys: the canonical ``provider/model`` whose concurrency is limited."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

BASELINE_KEY = "nop_oracle"
BASELINE_AGENTS = frozenset({"nop", "oracle"})
DEFAULT_KEY = "default"

_UNNAMED = frozenset({"", "none", "default", "auto"})
_PROVIDER_ALIASES = {
    "gemini": "google",
    "vertex_ai": "google",
    "claude": "anthropic",
    "azure_openai": "azure",
    "z-ai": "zai",
    "glm": "zai",
    "kimi": "moonshot",
    "moonshotai": "moonshot",
    "fw": "fireworks",
    "fireworks_ai": "fireworks",
    "x-ai": "xai",
    "grok": "xai",
    "meta-llama": "meta",
}
_FAMILIES = (
    (re.compile(r"(gpt|chatgpt|codex|o\d)(\b|-)"), "openai"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini|gemma"), "google"),
    (re.compile(r"grok"), "xai"),
    (re.compile(r"glm"), "zai"),
    (re.compile(r"kimi|moonshot"), "moonshot"),
    (re.compile(r"minimax|abab"), "minimax"),
    (re.compile(r"llama"), "meta"),
    (re.compile(r"deepseek"), "deepseek"),
    (re.compile(r"mistral|codestral|devstral"), "mistral"),
    (re.compile(r"qwen"), "qwen"),
)


@dataclass(frozen=True)
class QueueKey:
    provider: str
    key: str


def normalise_model(model: str | None) -> str | None:
    """``provider/model`` in one spelling, or None when no model is named. A bare model gets its family's provider."""
    text = re.sub(r"\s+", "_", (model or "").strip().lower()).strip("/")
    if text in _UNNAMED:
        return None
    provider, slash, name = text.partition("/")
    if slash and name:
        return f"{normalise_provider(provider)}/{name}"
    for family, owner in _FAMILIES:
        if family.match(text):
            return f"{owner}/{text}"
    return text


def normalise_provider(provider: str) -> str:
    """In the spelling that keys begin with."""
    name = provider.strip().lower()
    return _PROVIDER_ALIASES.get(name, name)


def queue_key(agent: str, model: str | None) -> QueueKey:
    """The key a trial of ``agent`` with ``model`` counts against."""
    if agent.lower() in BASELINE_AGENTS:
        return QueueKey(provider=DEFAULT_KEY, key=BASELINE_KEY)
    normalised = normalise_model(model)
    if normalised is None:
        return QueueKey(provider=DEFAULT_KEY, key=DEFAULT_KEY)
    provider, slash, _ = normalised.partition("/")
    return QueueKey(provider=provider if slash else DEFAULT_KEY, key=normalised)


@dataclass(frozen=True)
class Limits:
    """The deployment's limits of running jobs; an admin's override in the database goes before each of them."""

    default: int
    """Per key."""
    baseline: int
    """Of the key that nop and oracle share."""
    overrides: Mapping[str, int]
    """By key."""
    providers: Mapping[str, int] = field(default_factory=dict)
    """By provider, over all its keys; none where there is no entry."""
    organisation: int | None = None
    """Of each organisation, over all keys."""
    gateway: int | None = None
    """Of each organisation, over the trials of its gateway jobs."""
    archives: int | None = None
    """Of each organisation, over the archives that are fetched for its gateway jobs."""
    authoritative: bool = True
    """False in a process that makes what is new, and leaves the limits of what is there to the API servers."""

    def of(self, key: str) -> int:
        if key in self.overrides:
            return self.overrides[key]
        return self.baseline if key == BASELINE_KEY else self.default

    def setting_of(self, key: str) -> str:
        """The setting that the limit of a key comes from."""
        if key in self.overrides:
            return "ODDISH_MODEL_CONCURRENCY_OVERRIDES"
        return "ODDISH_BASELINE_CONCURRENCY" if key == BASELINE_KEY else "ODDISH_DEFAULT_CONCURRENCY"

    def of_cap(self, name: str) -> int | None:
        """The limit of a cap by its name, as those below make it."""
        kind, _, owner = name.partition(":")
        if kind == "provider":
            return self.providers.get(owner)
        return {"gateway": self.gateway, "archive": self.archives}.get(kind, self.organisation)

    def setting_of_cap(self, name: str) -> str:
        """The setting that the limit of a cap comes from, if there is one."""
        kind, _, _ = name.partition(":")
        return f"ODDISH_{'ORGANISATION' if kind == 'org' else kind.upper()}_CONCURRENCY"


def provider_cap(provider: str) -> str:
    return f"provider:{provider}"


def organisation_cap(org_id: str) -> str:
    return f"org:{org_id}"


def gateway_quota(org_id: str) -> str:
    """The name of the cap on an organisation's gateway trials, and of the lanes that they share."""
    return f"gateway:{org_id}"


def archive_quota(org_id: str) -> str:
    """As ``gateway_quota``, of the archives that are fetched for its gateway jobs: they come from hosts that anybody
    named, and may take their time."""
    return f"archive:{org_id}"
