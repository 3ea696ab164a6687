"""Long preformatted text: its beginning, and the rest for whoever asks."""

from markupsafe import Markup

LINES = 40
"""That are shown before a reader asks for the rest."""


def folded(head: Markup, rest: Markup, count: int) -> Markup:
    """``count`` lines are in ``rest``."""
    return Markup('{}<details class="fold"><summary>{} more {}</summary>{}</details>').format(
        head, f"{count:,}", "line" if count == 1 else "lines", rest
    )
