"""Which adapter reads the logs of which agent."""

from collections.abc import Callable, Mapping

from oddish.transcript.adapter import Adapter
from oddish.transcript.events import Scribe
from oddish.transcript.plain import PlainText

ADAPTERS: Mapping[str, Callable[[Scribe], Adapter]] = {}
"""By the name that Harbor gives the agent; every other agent's logs are plain text."""


def adapter(agent: str | None, redact: Callable[[str], str] | None = None) -> Adapter:
    """A new adapter for one execution of ``agent``. ``redact`` takes secrets out of a text.

    It is asked before a text is cut, because a secret that was cut in two is no longer found.
    """
    return ADAPTERS.get(agent or "", PlainText)(Scribe(redact))
