"""A browser in which nothing goes wrong unseen."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Playwright,
    Request,
    Response,
    StorageState,
    expect,
)

OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
"""No name is looked up, so that nothing can leave this machine; that something tried is seen all the same."""
WAIT_MS = 60_000
"""More than anything takes on a busy machine: pages are watched while other rings run."""
expect.set_options(timeout=WAIT_MS)
LOOKS: dict[str, tuple[int, int, Literal["light", "dark"]]] = {
    "narrow": (360, 740, "light"),
    "dark": (1280, 800, "dark"),
    "light": (1280, 800, "light"),
}
"""Width, height and colours."""
AXE: dict[str, dict[str, Any]] = {
    "narrow": {"rules": {"color-contrast": {"enabled": False}}},
    "dark": {"runOnly": ["color-contrast"]},
    "light": {"runOnly": ["color-contrast"]},
}
FOCUSABLE = (
    "a[href], button, input, select, textarea, summary, iframe, [contenteditable], [tabindex]:not([tabindex='-1'])"
)


@dataclass(frozen=True)
class Site:
    """What ``oddish view`` shows."""

    base: str
    state: StorageState
    """Of a browser that is signed in."""


@dataclass
class Watched:
    """A context of its own, and what went wrong in it."""

    context: BrowserContext
    base: str
    wrong: list[str] = field(default_factory=list)
    _expected: set[str] = field(default_factory=set)
    """Pages that are errors, of which the console tells."""

    def __post_init__(self) -> None:
        self.context.set_default_timeout(WAIT_MS)
        self.context.on("console", self._on_console)
        self.context.on("weberror", lambda error: self.wrong.append(f"script: {error.error}"))
        self.context.on("dialog", self._on_dialog)
        self.context.on("request", self._on_request)

    def open(self, path: str, *, status: int = 200, page: Page | None = None) -> Page:
        """The page at ``path`` once everything in it is there."""
        page = page or self.context.new_page()
        address = f"{self.base}{path}"
        if status >= 400:
            self._expected.add(address)
        answer: Response | None = page.goto(address, wait_until="load")
        assert answer is not None
        assert answer.status in {status, 304}, f"{path}: {answer.status}, {page.inner_text('body')[:1000]}"
        return page

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and message.location["url"] not in self._expected:
            self.wrong.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and f"{parts.scheme}://{parts.netloc}" != self.base:
            self.wrong.append(f"request: {request.url}")


type Visit = Callable[..., AbstractContextManager[Watched]]
"""Opens a context that is signed in somewhere; takes the options of a context of playwright."""


@contextmanager
def watched(browser: Browser, base: str, **options: Any) -> Iterator[Watched]:
    """Ends with an error when something went wrong."""
    context = browser.new_context(**options)
    try:
        seen = Watched(context, base)
        yield seen
        assert not seen.wrong, "\n".join(seen.wrong)
    finally:
        context.close()


def launched(playwright: Playwright, program: str) -> Browser:
    return playwright.chromium.launch(executable_path=program, args=[*OPTIONS])


def accessibility_flaws(page: Page, like: str) -> list[str]:
    """What axe finds, with the elements; what cannot differ from another of ``LOOKS`` is looked at in one of them."""
    found = Axe().run(page, options={"resultTypes": ["violations"], **AXE[like]}).response["violations"]
    return [
        f"{flaw['id']}: {node['html'][:200]} | {node['failureSummary']}" for flaw in found for node in flaw["nodes"]
    ]


def unreachable(page: Page) -> list[str]:
    """Elements that can be used and that the Tab key does not reach, or does not show that it did."""
    count = page.evaluate(
        """selector => {
          window.reached = new Set();
          window.unmarked = [];
          document.addEventListener("focusin", ({target}) => {
            window.reached.add(target);
            const {outlineStyle, outlineWidth} = getComputedStyle(target);
            if (outlineStyle === "none" || !parseFloat(outlineWidth)) window.unmarked.push(target.outerHTML);
          });
          window.usable = [...document.querySelectorAll(selector)].filter(
            element => element.checkVisibility({visibilityProperty: true}) && !element.disabled
          );
          return window.usable.length;
        }""",
        FOCUSABLE,
    )
    for _ in range(count + 1):
        page.keyboard.press("Tab")
    found: list[str] = page.evaluate(
        """() => [
          ...window.usable.filter(element => !window.reached.has(element)).map(element => element.outerHTML),
          ...window.unmarked,
        ]"""
    )
    return [html[:200] for html in found]


def look(page: Page, like: str) -> None:
    """Show the page as one of ``LOOKS``."""
    width, height, scheme = LOOKS[like]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)


def overflow(page: Page) -> int:
    """Pixels by which a page is wider than its window; what is wider than the page should scroll by itself."""
    found: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return found
