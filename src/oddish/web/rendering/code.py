"""Text as it is written, preformatted: programs, JSON, whatever has no form of its own."""

from collections.abc import Iterable

from markupsafe import Markup

from oddish.web.rendering.folding import LINES, folded
from oddish.web.rendering.visible import CHARACTERS, Rendered, clipped, visible


def code(text: str, most: int = CHARACTERS, lines: int = LINES) -> Rendered:
    """Lines beyond ``lines`` are folded."""
    shown, left_out = clipped(text, most)
    written = visible(shown).rstrip("\n").split("\n")
    head, rest = _preformatted(written[:lines]), written[lines:]
    return Rendered(folded(head, _preformatted(rest), len(rest)) if rest else head, left_out)


def _preformatted(lines: Iterable[str]) -> Markup:
    return Markup('<pre class="code">\n{}</pre>').format("\n".join(lines))
