"""Text is shown as its writer meant it, as far as that does no harm."""

import re
import time
from collections.abc import Callable

import pytest

from oddish.web.rendering.code import code
from oddish.web.rendering.diff import diff
from oddish.web.rendering.markdown import markdown
from oddish.web.rendering.terminal import MOST_COLOURS, terminal
from oddish.web.rendering.visible import visible
from support.pages import Markup

PATIENCE = 3.0
"""Seconds of computing for the slowest text of the allowed length."""


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "<p>plain</p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("**a** `b` ~~c~~", "<p><strong>a</strong> <code>b</code> <s>c</s></p>"),
        ("## Title", '<p class="heading level-2">Title</p>'),
        ("```python\nx < 1\n```", "<pre><code>x &lt; 1\n</code></pre>"),
        ("<b>no</b>", "<p>&lt;b&gt;no&lt;/b&gt;</p>"),
        (
            "[x](https://a.example/?a=1&b=2)",
            '<p><a href="https://a.example/?a=1&amp;b=2" rel="noopener noreferrer nofollow">x</a></p>',
        ),
        ("[x](/signout)", '<p><a rel="noopener noreferrer nofollow">x</a></p>'),
        (
            "![a *b*](https://a.example/i.png)",
            '<p><a href="https://a.example/i.png" rel="noopener noreferrer nofollow">image: a b</a></p>',
        ),
        ("3. x", '<ol start="3">\n<li>x</li>\n</ol>'),
    ],
)
def test_markdown_without_html_and_images(text: str, html: str) -> None:
    assert str(markdown(text).html).strip() == html


def test_markdown_has_tables() -> None:
    found = Markup(str(markdown("|a|b|\n|-|-|\n|1|2|").html))
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td"}


def colours(text: str) -> list[str]:
    return sorted(Markup(str(terminal(text).html)).values("class") - {"terminal"})


@pytest.mark.parametrize(
    ("codes", "classes"),
    [
        ("31", ["ansi31"]),
        ("1;32", ["ansi1 ansi32"]),
        ("97;104", ["ansi97 ansi104"]),
        ("38;5;9", ["ansi91"]),
        ("38;5;196", ["ansi91"]),
        ("38;5;244", ["ansi90"]),
        ("48;5;22", ["ansi42"]),
        ("38;2;250;10;10", ["ansi91"]),
        ("38:2::10:10:120", ["ansi34"]),
        ("38;2;0;0;0", ["ansi30"]),
        ("38;5;300", []),
        ("38;7", []),
        ("4:3", ["ansi4"]),
        ("8", []),
        ("5;31", ["ansi31"]),
        ("", []),
        ("9" * 50, []),
    ],
)
def test_colours_are_classes_that_a_stylesheet_can_list(codes: str, classes: list[str]) -> None:
    assert colours(f"\x1b[{codes}mx\x1b[0m") == classes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07$ ls", "$ ls"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("one\x1b[2K\x1b[1Atwo", "onetwo"),
        ("\x1b[8mconcealed", "concealed"),
        ("10%\r50%\r100%\r\nend", "\u240d100%\nend"),
        ("bell\x07", "bell\u2407"),
        ("\x1b", "\u241b"),
        ("\x1b]0;never ended", "0;never ended"),
        ("", ""),
    ],
)
def test_a_terminal_shows_its_text_and_obeys_nothing_else(text: str, shown: str) -> None:
    assert Markup(str(terminal(text).html)).text.strip("\n") == shown


def test_many_lines_are_folded_and_keep_their_colour() -> None:
    html = str(terminal("\x1b[31m" + "\n".join(map(str, range(100)))).html)
    head, _, rest = html.partition("<details")
    assert "60 more lines" in rest
    assert ("39" in head, "40" in head, 'class="ansi31">40' in rest) == (True, False, True)
    assert "1 more line<" in str(code("\n".join(map(str, range(41)))).html)
    assert "<details" not in str(code("\n".join(map(str, range(40)))).html)


def test_a_diff_shows_what_changed_and_counts_what_did_not() -> None:
    old = [f"line {number}" for number in range(30)]
    new = [*old[:15], "new", *old[16:]]
    shown = Markup(str(diff("\n".join(old), "\n".join(new)).html))
    lines = shown.text.strip("\n").split("\n")
    assert lines[:6] == ["⋯ 12 lines", " line 12", " line 13", " line 14", "−line 15", "+new"]
    assert lines[6:] == [" line 16", " line 17", " line 18", "⋯ 11 lines"]
    assert {"ins", "del"} <= shown.tags


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("\0\x1b\x7f\x85", "\u2400\u241b\u2421[U+0085]"),
        ("\u202eabc\u2069", "[U+202E]abc[U+2069]"),
        ("👩\u200d💻 é ü \u00a0 日本", "👩\u200d💻 é ü \u00a0 日本"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("render", "unit"),
    [
        *((markdown, unit) for unit in ("![", "[a](", "**a_", "> ", "a|b\n-|-\n")),
        *((terminal, unit) for unit in ("\x1b[31m", "\x1b]8", "\x1b[38;5;", "a\r")),
        (lambda text: diff(text, text[::-1]), "1\n"),
        (code, "<\n"),
    ],
)
def test_no_text_takes_long(render: Callable[[str], object], unit: str) -> None:
    began = time.thread_time()
    render(unit * (30_000 // len(unit)))
    assert time.thread_time() - began < PATIENCE


def test_a_text_that_changes_its_colour_all_the_time_loses_colours_and_no_character() -> None:
    shown = str(terminal("\x1b[31mx\x1b[32my" * MOST_COLOURS, most=10**6, lines=10).html)
    assert "Only the first 20,000 changes of colour are shown." in shown
    assert shown.count("<span") < MOST_COLOURS
    assert "".join(re.findall(r"[xy]", re.sub(r"<[^>]*>", "", shown).partition("Only")[0])) == "xy" * MOST_COLOURS
    assert "Only the first" not in str(terminal("\x1b[31mx" * 100).html)
