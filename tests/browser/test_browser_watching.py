"""The browser of these tests notices what must not happen."""

import pytest

from support.browsing import Visit, accessibility_flaws, unreachable

LATER = "() => new Promise(done => setTimeout(done, 0))"


def run(visit: Visit, script: str) -> None:
    with visit() as watched:
        page = watched.open("/")
        page.evaluate(f"async () => {{ await {script} }}")
        page.evaluate(LATER)


@pytest.mark.parametrize(
    ("script", "noticed"),
    [
        ("alert('here')", "dialog: here"),
        ("console.error('here')", "console: here"),
        ("setTimeout(() => { throw new Error('here') })", "script: here"),
        ("fetch('/absent')", "console: Failed to load resource"),
        ("fetch('https://evil.example').catch(() => null)", "console: Connecting to 'https://evil.example/' violates"),
        ("document.body.setAttribute('style', 'color: red')", "console: Applying inline style violates"),
    ],
)
def test_nothing_goes_wrong_unseen(visit: Visit, script: str, noticed: str) -> None:
    with pytest.raises(AssertionError, match=noticed):
        run(visit, script)


def test_what_some_cannot_use_is_found(visit: Visit) -> None:
    with visit() as watched:
        page = watched.open("/")
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        page.evaluate("document.querySelector('main a').tabIndex = -1")
        assert ["button-name" in flaw for flaw in accessibility_flaws(page, "narrow")] == [True]
        assert ["<a" in element for element in unreachable(page)] == [True]
