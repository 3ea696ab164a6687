"""Nothing that a results directory says is run, loaded or hidden, and what is wrong with it is said."""

import pytest
from playwright.sync_api import Page

from support.browsing import Visit, look, overflow
from support.hostile_data import ADDRESSES, REFUSED, SAYS

FOREIGN = """() => {
  const foreign = "script:not([src^='/assets/']), style, iframe, object, embed, base, img";
  const found = [...document.querySelectorAll(foreign)];
  for (const element of document.querySelectorAll("*")) {
    const named = element.getAttributeNames().filter(name => /^(on.*|style|srcdoc)$/.test(name));
    const led = element.href && !["http:", "https:", "mailto:"].includes(new URL(element.href, location).protocol);
    if (named.length || led) found.push(element);
  }
  return found.map(element => element.outerHTML.slice(0, 200));
}"""
ALL_OPEN = "() => document.querySelectorAll('details').forEach(element => { element.open = true; })"
LINKED = ("projects", "project", "dataset", "trace-hostile", "traces-apart", "run", "runs")
LINKS = "() => [...new Set([...document.links].map(link => link.href.split('#')[0]))]"
GOT_IN = "<script>alert(1)</script><img src=x onerror=alert(1)><style>h1{display:none}</style><p style='color:red'>"


def everything_used(page: Page) -> None:
    """What is folded is opened, what can be pointed at is pointed at, the keys of the page are shown."""
    page.evaluate(ALL_OPEN)
    for place in page.locator("main svg, main [title]").all()[:20]:
        place.dispatch_event("pointermove")
        place.dispatch_event("mouseover")
    page.keyboard.press("?")
    page.keyboard.press("Escape")


@pytest.mark.parametrize("name", ADDRESSES)
def test_what_files_say_is_text_and_what_is_wrong_with_them_is_said(visit_hostile: Visit, name: str) -> None:
    with visit_hostile() as watched:
        page = watched.open(ADDRESSES[name], status=REFUSED.get(name, 200))
        everything_used(page)
        assert page.evaluate(FOREIGN) == []
        text = page.inner_text("body")
        assert [said for said in SAYS[name] if said not in text] == []
        look(page, "narrow")
        assert overflow(page) <= 0


def test_links_of_odd_names_lead_to_pages(visit_hostile: Visit) -> None:
    with visit_hostile() as watched:
        page = watched.context.new_page()
        links = {link for name in LINKED for link in watched.open(ADDRESSES[name], page=page).evaluate(LINKS)}
        own = sorted(link for link in links if link.startswith(watched.base))
        answers = {link: watched.context.request.get(link).status for link in own}
        assert {link: status for link, status in answers.items() if status != 200} == {}


def test_what_got_into_a_page_all_the_same_would_not_run(visit_hostile: Visit) -> None:
    """The last line of defence: the policy that pages are sent with."""
    with visit_hostile() as watched:
        page = watched.open("/")
        page.evaluate("html => { document.querySelector('main').insertAdjacentHTML('beforeend', html); }", GOT_IN)
        page.locator("main img").dispatch_event("error")
        assert page.locator("h1").is_visible()
        assert watched.wrong
        assert not [wrong for wrong in watched.wrong if wrong.startswith(("dialog", "request", "script"))]
        watched.wrong.clear()
