"""Markup as a browser takes it: its elements, their attributes and the text between them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Seen:
    tags: set[str] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    text: str = ""

    def values(self, name: str) -> set[str]:
        return {value for found, value in self.attributes if found == name}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.tags.add(tag)
        self.seen.attributes |= {(name, value or "") for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.seen.text += data

    def handle_comment(self, data: str) -> None:
        self.seen.tags.add("!--")

    def handle_decl(self, decl: str) -> None:
        self.seen.tags.add("!")

    def handle_pi(self, data: str) -> None:
        self.seen.tags.add("?")


def seen(html: str) -> Seen:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.seen


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x></svg>",
    "<svg><script href=data:,alert(1) /></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    "</pre></code></details><script>alert(1)</script>",
    "</textarea></title><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "<form action=/signout><button formaction=javascript:alert(1)>x</button></form>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example>",
    "<style>*{background:url(https://evil.example)}</style>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php system('id') ?>",
    "<input autofocus onfocus=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox)",
    "[x](file:///etc/passwd)",
    "[x](/signout)",
    "[x](//evil.example)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "![x](https://evil.example/seen.png)",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zy8+)",
    '![x" onerror="alert(1)](https://evil.example/" onerror="alert(1))',
    '[x](https://evil.example "\\" onmouseover=\\"alert(1)")',
    '```x" onmouseover="alert(1)\ncode\n```',
    "```\n</code></pre><script>alert(1)</script>\n```",
    "`<script>alert(1)</script>`",
    "# <script>alert(1)</script>",
    "|a|\n|-|\n|<script>alert(1)</script>|",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
    '\x1b]8;;https://evil.example/" onmouseover="alert(1)\x07click\x1b]8;;\x07',
    '\x1b[31"><script>alert(1)</script>m',
    "\x1b[<script>alert(1)</script>m",
    '\x1b[38;5;1" onmouseover="alert(1)m<b>',
    "safe\rhidden <img src=x onerror=alert(1)>",
    "rm -rf /\x1b[1A\x1b[2Kls",
    "\x1b[8mconcealed\x1b[0m",
    "user\u202egnp.exe",
    "a\u200b\u2066b\u2069\ufeff\U000e0041",
    "\0<script>alert(1)</script>",
    "<scr\0ipt>alert(1)</scr\0ipt>",
    "<a id=location name=cookie>x</a>",
    "{{7*7}}{% for x in y %}${7*7}",
]
"""Of somebody who wants a reader's browser to run or load something, or a reader to see something else."""
