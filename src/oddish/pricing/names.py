"""Names under which lists of prices may know a model, the most specific first."""

import re
from collections.abc import Iterator

from oddish.queue.keys import normalise_model

RESELLERS = frozenset({"aws", "azure", "bedrock", "google", "litellm", "litellm_proxy", "openrouter"})
"""Providers of other providers' models at about their prices; what runs on somebody's own machines is no such thing."""
_ROUTE = re.compile(r"^(?:global|us|eu|apac|jp|au|ca)\.")
_VENDOR = re.compile(r"^(?:anthropic|meta|amazon|mistral|cohere|deepseek|openai|qwen)\.")
"""As Bedrock writes the owner of a model, after the route to it."""
_EDITIONS = (
    re.compile(r"-v\d+:\d+$"),
    re.compile(r":(?!free$)[^:/]*$"),
    re.compile(r"\[[^\]]*\]$"),
    re.compile(r"@(?:\d{8}|default|latest)$"),
    re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$"),
    re.compile(r"-(?:latest|preview)$"),
)
"""What tells editions of a model apart that cost the same. As many are taken off as there are kinds: agents name
models, and each name is looked up."""


def candidates(model: str) -> Iterator[tuple[str | None, str]]:
    """Pairs of a provider, None where it is unknown, and a name without it.

    The full name first, then without its edition; a reseller's model is tried under its owner's name last.
    """
    normalised = normalise_model(model)
    while normalised is not None:
        provider, slash, name = normalised.partition("/")
        if not slash:
            provider, name = "", normalised
        for edition in _editions(name):
            yield provider or None, edition
        inner = normalise_model(_VENDOR.sub("", _ROUTE.sub("", name))) if provider in RESELLERS else None
        normalised = None if inner == normalised else inner


def _editions(name: str) -> Iterator[str]:
    yield name
    for _ in _EDITIONS:
        shorter = (edition.sub("", name, count=1) for edition in _EDITIONS)
        name = next((found for found in shorter if found not in ("", name)), "")
        if not name:
            return
        yield name
