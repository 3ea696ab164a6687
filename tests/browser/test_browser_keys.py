"""What JavaScript adds to pages, and that it is no more than that."""

import re

from playwright.sync_api import expect

from support.browsing import Visit
from support.viewer_data import ADDRESSES


def test_the_chosen_colours_stay_on_every_page(visit: Visit) -> None:
    with visit(color_scheme="light") as watched:
        page = watched.open("/")
        backgrounds = [page.evaluate("getComputedStyle(document.body).backgroundColor")]
        page.get_by_label("Colours").select_option("dark")
        another = watched.open(ADDRESSES["project"])
        assert another.get_by_label("Colours").input_value() == "dark"
        backgrounds += [shown.evaluate("getComputedStyle(document.body).backgroundColor") for shown in (page, another)]
        assert backgrounds[0] != backgrounds[1] == backgrounds[2]
        another.get_by_label("Colours").select_option("system")
        expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_keys_are_explained_and_obeyed(visit: Visit) -> None:
    with visit() as watched:
        page = watched.open(ADDRESSES["project"])
        page.keyboard.press("?")
        keys = page.get_by_role("dialog", name="Keys")
        expect(keys).to_contain_text("Go to the first page")
        page.keyboard.press("Escape")
        expect(keys).to_have_count(0)
        page.keyboard.press("u")
        page.wait_for_url(f"{watched.base}/")


def test_filters_exchange_the_tasks_and_nothing_else(visit: Visit) -> None:
    with visit() as watched:
        page = watched.open(ADDRESSES["dataset"])
        page.evaluate("window.kept = true")
        rows = page.get_by_role("region", name="Tasks").locator("tbody tr")
        expect(rows).to_have_count(9)
        page.get_by_label("hard").check()
        expect(rows).to_have_count(3)
        expect(page).to_have_url(re.compile("difficulty=hard"))
        expect(page.get_by_label("hard")).to_be_checked()
        expect(page.locator("#status")).to_have_text("3 tasks")
        assert page.evaluate("window.kept")
        page.go_back()
        expect(rows).to_have_count(9)


def test_links_of_the_page_lead_on_without_javascript(visit: Visit) -> None:
    with visit(java_script_enabled=False) as watched:
        page = watched.open("/")
        assert page.get_by_label("Colours").is_hidden()
        assert page.get_by_role("button").count() == 0
        page.get_by_role("link", name="Data-Agent Bench").click()
        page.wait_for_url(f"{watched.base}{ADDRESSES['project']}")
        assert page.locator("h1").inner_text() == "Data-Agent Bench"


def test_keys_lead_through_a_trace(visit: Visit) -> None:
    with visit() as watched:
        page = watched.open(ADDRESSES["trace"])
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator("#m2")).to_be_focused()
        page.keyboard.press("k")
        expect(page.locator("#m1")).to_be_focused()
        page.keyboard.press("n")
        expect(page.locator("#m5")).to_be_focused()
        page.keyboard.press("/")
        field = page.get_by_label("Find in all 11 messages")
        expect(field).to_be_focused()
        page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))")
        expect(field, "what arrives late takes the focus from nobody who types").to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**#found")
        expect(page.locator("#found")).to_be_in_viewport()
        page.keyboard.press("]")
        expect(page.locator(".attempt[aria-current]")).to_have_text("4")
        task = page.locator(".stepping code").inner_text()
        page.keyboard.press("t")
        expect(page.locator(".stepping code")).not_to_have_text(task)
        page.keyboard.press("T")
        expect(page.locator(".stepping code")).to_have_text(task)
        page = watched.open(ADDRESSES["traces-apart"])
        page.keyboard.press("d")
        page.wait_for_url("**#r7")
        expect(page.locator("#r7")).to_be_focused()


def test_a_link_to_a_message_of_another_piece_leads_there(visit: Visit) -> None:
    with visit() as watched:
        address = ADDRESSES["trace"].partition("?")[0]
        page = watched.open(f"{address}?limit=3#m9")
        page.wait_for_url("**?limit=3&from=7#m9")
        expect(page.locator("#m9")).to_be_focused()
        page.get_by_role("link", name="Earlier messages").first.click()
        page.wait_for_url("**?from=4&limit=3")
        expect(page.locator("#m5")).to_be_visible()
        expect(page.locator("#m9")).to_have_count(0)


def test_filters_are_plain_forms_without_javascript(visit: Visit) -> None:
    with visit(java_script_enabled=False) as watched:
        page = watched.open(ADDRESSES["dataset"])
        page.get_by_label("hard").check()
        page.get_by_role("button", name="Apply").click()
        page.wait_for_url("**difficulty=hard**")
        assert page.get_by_role("region", name="Tasks").locator("tbody tr").count() == 3
