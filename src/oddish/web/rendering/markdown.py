"""Markdown without HTML and without images, which would tell whoever serves them that somebody reads this."""

from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from oddish.web.rendering.visible import CHARACTERS, Rendered, clipped, visible

_TAGS = frozenset(
    "a blockquote br code del em hr li ol p pre s strong table tbody td th thead tr ul".split()  # noqa: SIM905
)
_HEADINGS = frozenset(f"heading level-{level}" for level in range(1, 7))
_CLEANER = nh3.Cleaner(
    tags=set(_TAGS),
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    allowed_classes={"p": {name for heading in _HEADINGS for name in heading.split()}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
)


def markdown(text: str, most: int = CHARACTERS) -> Rendered:
    """Links to other sites stay; headings become paragraphs, because the page has headings of its own."""
    shown, left_out = clipped(text, most)
    return Rendered(Markup(_CLEANER.clean(_MARKDOWN.render(visible(shown)))), left_out)  # noqa: S704


def _image(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    label = self.renderInlineAsText(token.children or [], options, env) or "without a description"
    return f'<a href="{escape(str(token.attrGet("src") or ""))}">image: {escape(label)}</a>'


def _heading_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return f'<p class="heading level-{tokens[place].tag[1:]}">'


def _heading_close(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return "</p>\n"


def _made() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    made.add_render_rule("image", _image)
    made.add_render_rule("heading_open", _heading_open)
    made.add_render_rule("heading_close", _heading_close)
    return made


_MARKDOWN = _made()
