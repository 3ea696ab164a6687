"""Whatever a text holds, its markup runs nothing, loads nothing and hides nothing."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.web.rendering.code import code
from oddish.web.rendering.diff import diff
from oddish.web.rendering.markdown import markdown
from oddish.web.rendering.terminal import terminal
from oddish.web.rendering.visible import Rendered
from support.hostile_text import HOSTILE
from support.pages import Markup

RENDERERS: dict[str, Callable[[str], Rendered]] = {
    "markdown": markdown,
    "terminal": terminal,
    "code": code,
    "diff": lambda text: diff(text, f"{text}\nmore {text}"),
}
TAGS = {
    *("a", "blockquote", "br", "code", "del", "details", "em", "hr", "ins", "li", "ol", "p", "pre", "s", "span"),
    *("strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"class", "href", "rel", "start"}
CLASSES = re.compile(
    r"(heading|level-[1-6]|terminal|code|diff|fold|same|added|removed|(ansi|inv)\d{1,3}|inv_\w+ground| )*"
)
UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)


def harmless(html: str) -> None:
    found = Markup(html)
    assert found.tags <= TAGS
    assert found.attributes <= ATTRIBUTES
    assert all(re.match(r"(https?://|mailto:)", link) for link in found.values("href"))
    assert all(CLASSES.fullmatch(name) for name in found.values("class")), found.values("class")
    assert UNSEEN.search(found.text) is None


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless(renderer: str, text: str) -> None:
    harmless(str(RENDERERS[renderer](text).html))


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(RENDERERS)),
    st.lists(
        st.sampled_from([*HOSTILE, *"<>&\"'`*_[]()!#|~\\\n\r\t-", "\x1b[", "\x1b]", "m", ";", "1", "https://a.example"])
        | st.text(max_size=3),
        max_size=8,
    ).map("".join),
)
def test_so_is_what_is_made_of_it(renderer: str, text: str) -> None:
    harmless(str(RENDERERS[renderer](text).html))


@pytest.mark.parametrize("renderer", ["terminal", "code"])
@pytest.mark.parametrize("text", [text for text in HOSTILE if "\x1b" not in text and "\r" not in text])
def test_what_is_preformatted_shows_every_character(renderer: str, text: str) -> None:
    shown = Markup(str(RENDERERS[renderer](text).html)).text.strip("\n")
    assert re.sub(r"[\u2400-\u2421]|\[U\+[0-9A-F]+\]", "", shown) == UNSEEN.sub("", text)


@pytest.mark.parametrize("renderer", RENDERERS)
def test_long_text_is_cut_and_the_rest_is_counted(renderer: str) -> None:
    assert RENDERERS[renderer]("x" * 40_000).left_out >= 10_000
    assert len(RENDERERS[renderer]("<&\x1b[31m" * 10_000).html) < 1_000_000
