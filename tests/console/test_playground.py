import json
import re
from urllib.parse import parse_qs

from playwright.sync_api import Page, Route, expect

from console.browsing import Served, Visit, column, search_box
from support import tool
from toolsearch import CatalogSettings


def names(page: Page, strategy: str = "auto") -> list[str]:
    found: list[str] = column(page, strategy).locator(".match").evaluate_all("items => items.map(item => item.dataset.name)")
    return found


def test_the_first_screen_is_a_search_box_that_has_the_focus(visit: Visit) -> None:
    page = visit()
    expect(search_box(page)).to_be_focused()
    expect(page.get_by_role("combobox", name="Catalog")).to_have_value("default")
    expect(page.locator(".lead")).to_contain_text("107 entries from 12 servers")


def test_an_example_from_the_catalogs_own_entries_finds_something(visit: Visit) -> None:
    page = visit()
    page.locator(".example").first.click()
    expect(column(page, "auto").locator(".match").first).to_be_visible()


def test_results_come_while_one_types(visit: Visit) -> None:
    page = visit()
    search_box(page).press_sequentially("open a bug rep")
    first = column(page, "auto").locator(".match").first
    expect(first).to_contain_text("github.open_issue")
    expect(first.locator(".relevance")).to_contain_text(re.compile(r"0\.\d\d"))
    expect(first.locator(".reason")).to_contain_text("matches open in the name")
    expect(first.locator(".parts")).to_have_attribute("aria-label", re.compile(r"^score .*words .*meaning"))
    expect(page.get_by_role("status").filter(has_text="auto: 10 matches")).to_be_attached()


def test_strategies_stand_side_by_side_and_the_same_match_is_marked_in_all(visit: Visit) -> None:
    page = visit("#/playground?q=open+a+bug+report")
    page.get_by_role("checkbox", name="semantic").check()
    page.get_by_role("checkbox", name="fuzzy").check()
    expect(page.locator(".column")).to_have_count(3)
    expect(page.get_by_role("checkbox", name="regex")).to_be_disabled()
    column(page, "auto").locator(".match", has_text="github.open_issue").hover()
    expect(page.locator(".match.linked")).to_have_count(2)
    expect(column(page, "semantic").locator(".match.linked .elsewhere")).to_contain_text("auto #1")


def test_an_older_answer_never_replaces_a_newer_one(visit: Visit) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "invoice" in json.loads(route.request.post_data or "{}")["queries"][0]:
            held.append(route)
        else:
            route.continue_()

    page = visit()
    page.route("**/v1/SearchTools", hold)
    search_box(page).fill("create invoice")
    expect(page.locator(".column[aria-busy]")).to_be_attached()
    search_box(page).fill("open a bug report")
    expect(column(page, "auto").locator(".match").first).to_contain_text("github.open_issue")
    for route in held:
        route.continue_()
    page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 0))")
    assert held
    assert names(page)[0] == "github.open_issue"


def test_filters_narrow_the_matches_and_are_in_the_address(visit: Visit) -> None:
    page = visit("#/playground?q=create")
    expect(column(page, "auto").locator(".match").first).to_be_visible()
    servers = page.get_by_role("combobox", name="Servers")
    servers.fill("jira")
    servers.press("Enter")
    page.get_by_label("not destructive").check()
    expect(column(page, "auto").locator(".match").first).to_contain_text("jira.")
    assert all(name.startswith("jira.") for name in names(page))
    shared = parse_qs(page.url.partition("?")[2])
    assert shared == {"q": ["create"], "server": ["jira"], "harmless": ["1"]}
    again = visit(page.url.partition("/#")[2].join(["#", ""]))
    expect(again.get_by_role("button", name="Remove jira")).to_be_visible()
    expect(again.get_by_label("not destructive")).to_be_checked()


def test_nothing_found_says_so_and_offers_near_names(visit: Visit) -> None:
    page = visit("#/playground?q=opnisue&s=bm25")
    expect(column(page, "bm25").locator(".empty")).to_contain_text("nothing matches")
    page.get_by_role("button", name="github.open_issue").click()
    expect(page.get_by_role("dialog", name="github.open_issue")).to_be_visible()


def test_a_definition_is_shown_with_its_parameters_and_as_it_was_given(visit: Visit, served: Served) -> None:
    definition = {
        "name": "plan_trip",
        "description": "Plans a trip.",
        "inputSchema": {
            "type": "object",
            "$defs": {"Stop": {"type": "object", "properties": {"city": {"type": "string"}, "next": {"$ref": "#/$defs/Stop"}}}},
            "properties": {
                "first": {"$ref": "#/$defs/Stop", "description": "Where it begins."},
                "class": {"enum": ["first", "second"], "default": "second"},
                "seats": {"type": "integer", "minimum": 1, "const": 12345678901234567890},
            },
            "required": ["first"],
        },
    }
    with served.client("definitions") as client:
        client.sync_server("travel", [definition])
    page = visit("#/playground?catalog=definitions&entry=travel.plan_trip")
    dialog = page.get_by_role("dialog", name="travel.plan_trip")
    expect(dialog.locator(".schema > li").first).to_contain_text("first")
    expect(dialog.get_by_text("required")).to_be_visible()
    expect(dialog.get_by_text('"second"').first).to_be_visible()
    nested = dialog.locator(".schema .schema")
    expect(nested.first).to_contain_text("city")
    for depth in range(1, 5):  # a schema that contains itself opens as far as one likes
        nested.nth(depth - 1).locator("> li > details > summary").click()
        expect(nested).to_have_count(depth + 1)
    dialog.get_by_text(re.compile(r"^Definition")).click()
    shown = dialog.get_by_label("Definition", exact=True).inner_text()
    assert "12345678901234567890" in shown
    assert json.loads(shown) == definition
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert "entry=" not in page.url


def test_why_a_tool_did_not_come_up_is_told(visit: Visit, served: Served) -> None:
    tools = [tool(f"report_{number:03}", "Writes a report about a bug.") for number in range(130)]
    with served.client("why") as client:
        client.sync_server("desk", [*tools, tool("bake_bread", "Mixes flour and water."), tool("old_report", "A bug report.")])
        client.update_settings(CatalogSettings(banned=("*.old_*",)))

    page = visit("#/playground?catalog=why&q=bug+report&s=bm25")
    page.get_by_text("Why did a tool not come up?").click()

    def ask(name: str) -> None:
        page.get_by_label("Tool", exact=True).fill(name)
        page.get_by_role("button", name="Find out").click()

    told = page.locator(".why-answer")
    ask("desk.report_000")
    expect(told).to_contain_text("It is shown.")
    ask("desk.report_129")
    expect(told).to_contain_text("not among the first 100 of 130")
    search_box(page).fill("flour")
    expect(told).to_contain_text("The search is another one now")
    ask("desk.report_000")
    expect(told).to_contain_text("does not match")
    ask("desk_old_report")
    expect(told).to_contain_text("banned by the catalog's settings (*.old_*)")
    ask("desk.repport_000")
    expect(told).to_contain_text("There is no entry with this name")
    page.get_by_label("only reads").check()
    ask("desk.report_000")
    expect(told).to_contain_text("The filters leave it out: it does not only read")


def test_everything_can_be_done_from_the_keyboard(visit: Visit) -> None:
    page = visit("#/playground?s=auto&s=semantic")
    expect(search_box(page)).to_be_focused()
    page.keyboard.type("open a bug report")
    for strategy in ("auto", "semantic"):
        expect(column(page, strategy).locator(".match").nth(1)).to_be_visible()
    expect(page.locator(".column[aria-busy]")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(column(page, "auto").locator(".match .name").nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(column(page, "semantic").locator(".match .name").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Parameters")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(column(page, "semantic").locator(".match .name").nth(1)).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(search_box(page)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Catalogs")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()


def test_who_chooses_a_catalog_by_keyboard_stays_at_the_choice(visit: Visit, served: Served) -> None:
    with served.client("chosen") as client:
        client.sync_server("one", [tool("only")])
    page = visit()
    expect(page.locator(".lead")).to_contain_text("default")
    choice = page.get_by_role("combobox", name="Catalog")
    choice.focus()
    choice.select_option("chosen")
    expect(page.locator(".lead")).to_contain_text("chosen")
    expect(choice).to_be_focused()
    expect(choice).to_have_value("chosen")


def test_a_catalog_without_entries_says_how_to_fill_it(visit: Visit, served: Served) -> None:
    with served.client("emptied") as client:
        client.sync_server("gone", [tool("one")])
        client.delete_server("gone")
    page = visit("#/playground?catalog=emptied")
    expect(page.get_by_role("heading", name="There is nothing in this catalog yet")).to_be_visible()


def test_a_pattern_that_is_refused_says_why(visit: Visit) -> None:
    page = visit("#/playground?q=(%3F%3D&s=regex")
    expect(column(page, "regex").get_by_role("alert")).to_contain_text("The service refused this")
