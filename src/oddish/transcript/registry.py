"""Which adapter reads the logs of which agent."""

from collections.abc import Callable, Mapping

from oddish.transcript.adapter import Adapter
from oddish.transcript.claude_code import ClaudeCode
from oddish.transcript.codex import Codex
from oddish.transcript.cursor_cli import CursorCli
from oddish.transcript.events import Scribe
from oddish.transcript.gemini_cli import GeminiCli
from oddish.transcript.mini_swe_agent import MiniSweAgent
from oddish.transcript.opencode import OpenCode
from oddish.transcript.plain import PlainText
from oddish.transcript.qwen_coder import QwenCoder
from oddish.transcript.terminus_2 import Terminus2

ADAPTERS: Mapping[str, Callable[[Scribe], Adapter]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "cursor-cli": CursorCli,
    "gemini-cli": GeminiCli,
    "mini-swe-agent": MiniSweAgent,
    "opencode": OpenCode,
    "qwen-coder": QwenCoder,
    "terminus-2": Terminus2,
}
"""By the name that Harbor gives the agent; every other agent's logs are plain text."""


def adapter(agent: str | None, redact: Callable[[str], str] | None = None) -> Adapter:
    """A new adapter for one execution of ``agent``. ``redact`` takes secrets out of a text.

    It is asked before a text is cut, because a secret that was cut in two is no longer found.
    """
    return ADAPTERS.get(agent or "", PlainText)(Scribe(redact))
