"""What submissions are refused for, in the words of requests to the gateway."""

from collections.abc import Iterator
from contextlib import contextmanager

from oddish.errors import OddishError
from oddish.trials.credentials import MissingCredential, keeping

WORDS = {
    "agent_config.env": "harbor_extensions.agent_env",
    "agent_config.kwargs": "harbor_extensions.kwargs",
    ", for example with -m": "",
}
"""Of submissions, and here."""


@contextmanager
def in_words_of_requests() -> Iterator[None]:
    try:
        yield
    except OddishError as error:
        if isinstance(error, MissingCredential):
            error.fix = f"Give it in harbor_extensions.agent_env, or {keeping(error.names)}."
        error.message = _reworded(error.message)
        error.fix = None if error.fix is None else _reworded(error.fix)
        raise


def _reworded(text: str) -> str:
    for submitted, requested in WORDS.items():
        text = text.replace(submitted, requested)
    return text
