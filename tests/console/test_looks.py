"""How it looks: pictures of every page as artefacts, nothing wider than its window, and what axe-core finds."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from console.browsing import Routes, Served, Visit, column
from console.hostile import hostile_tools
from support import tool

ROOT = Path(__file__).parents[2]
PICTURES = Path(os.environ.get("CONSOLE_PICTURES") or ROOT / ".cache" / "console-screenshots")
AXE = ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

VIEWS = {
    "first": "",
    "playground": "#/playground?q=open+a+bug+report&s=auto&s=bm25&s=semantic",
    "nothing-found": "#/playground?q=opnisue&s=bm25&server=git*",
    "entry": "#/playground?q=open+a+bug+report&entry=github.open_issue",
    "catalogs": "#/catalogs",
    "plan": "#/plan?purpose=triage+new+bug+reports",
    "health": "#/health",
    "hostile": "#/playground?catalog=pictured&q=attack&s=bm25&s=semantic",
    "hostile-entry": "#/playground?catalog=pictured&q=attack&entry=evil.unseen",
    "nothing-there": "#/playground?catalog=emptied",
    "sign-in": "",
    "no-connection": "",
}


def refuse(route: Route) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "CREDENTIAL_REQUIRED"}
    route.fulfill(status=401, json={"code": 16, "message": "send authorization: Bearer KEY", "details": [info]})


ROUTES: dict[str, Routes] = {
    "sign-in": {"**/v1/status": refuse},
    "no-connection": {"**/v1/status": lambda route: route.abort()},
}


@pytest.fixture(scope="module", autouse=True)
def pictured(served: Served) -> None:
    with served.client("pictured") as client:
        client.sync_server("evil", hostile_tools())
    with served.client("emptied") as client:
        client.sync_server("gone", [tool("one")])
        client.delete_server("gone")


def settled(page: Page, view: str) -> None:
    """Until what belongs to the view is there."""
    match view:
        case "first":
            expect(page.locator(".example").first).to_be_visible()
        case "playground":
            expect(column(page, "semantic").locator(".match").first).to_be_visible()
        case "nothing-found":
            expect(page.locator(".column .empty")).to_be_visible()
        case "hostile":
            expect(column(page, "bm25").locator(".match").first).to_be_visible()
        case "entry" | "hostile-entry":
            expect(page.locator(".facts")).to_be_visible()
        case "catalogs":
            expect(page.locator(".entries li").first).to_be_visible()
            expect(page.locator(".feed-state")).to_have_text("live")
        case "plan":
            expect(page.get_by_role("table", name="Deferred")).to_be_visible()
        case "nothing-there":
            expect(page.get_by_role("heading", name="There is nothing in this catalog yet")).to_be_visible()
        case "sign-in":
            expect(page.get_by_label("API key")).to_be_focused()
        case "no-connection":
            expect(page.get_by_role("alert")).to_contain_text("No connection")
        case "health":
            expect(page.get_by_role("img", name="Latency")).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_page_fits_and_can_be_read_by_everybody(visit: Visit, view: str, width: str, scheme: str) -> None:
    page = visit(VIEWS[view], routes=ROUTES.get(view), width=width, color_scheme=scheme, reduced_motion="reduce")
    settled(page, view)
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{view}-{width}-{scheme}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.evaluate(AXE.read_text())
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    found = page.evaluate("(options) => axe.run(document, options)", options)["violations"]
    assert [f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}" for each in found] == []


def test_the_theme_is_chosen_by_a_button_and_kept(visit: Visit) -> None:
    page = visit(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Theme: auto").click()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Theme: light").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate(ground) == dark


def test_nothing_moves_for_those_who_want_that(visit: Visit) -> None:
    page = visit(VIEWS["playground"], reduced_motion="reduce")
    settled(page, "playground")
    moving = (
        "[...document.querySelectorAll('*')].filter((element) => getComputedStyle(element).transitionDuration !== '0s').length"
    )
    assert page.evaluate(moving) == 0
    assert page.evaluate("document.getAnimations().length") == 0
