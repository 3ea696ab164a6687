"""Tasks are chosen without leaving the page, with JavaScript and without."""

from playwright.sync_api import Page, expect

from support.browsing import Visit
from support.viewer_data import ADDRESSES

ROWS = "table.tasks tbody tr"


def first_id(page: Page) -> str:
    return page.locator(f"{ROWS} th code").first.inner_text()


def test_what_is_typed_chooses_tasks_and_stays_where_it_is_typed(visit: Visit) -> None:
    with visit() as watched:
        page = watched.open(ADDRESSES["dataset"])
        wanted = first_id(page)
        page.evaluate("() => { window.sameDocument = true; }")
        search = page.get_by_role("searchbox", name="Search")
        search.press_sequentially(wanted)
        page.wait_for_url(f"**q={wanted}**")
        expect(page.locator(ROWS)).to_have_count(1)
        expect(search).to_be_focused()
        expect(search).to_have_value(wanted)
        search.press("Backspace")
        expect(search).to_have_value(wanted[:-1])
        page.get_by_role("link", name="Show all").click()
        page.wait_for_url(lambda url: "q=" not in url)
        assert page.evaluate("window.sameDocument")


def test_tasks_are_chosen_without_javascript(visit: Visit) -> None:
    with visit(java_script_enabled=False) as watched:
        page = watched.open(ADDRESSES["dataset"])
        page.get_by_role("searchbox", name="Search").fill("no task says this")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("No task passes these filters.")).to_be_visible()
        page.get_by_role("link", name="Show all").click()
        assert page.locator(ROWS).count() > 1
