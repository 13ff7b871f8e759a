from pathlib import Path

from playwright.sync_api import expect

from console.browsing import Served, Visit, serving
from support import tool


def test_a_catalog_is_shown_with_what_it_costs(visit: Visit) -> None:
    page = visit("#/catalogs")
    tiles = page.locator(".tiles")
    expect(tiles).to_contain_text("107")
    expect(tiles).to_contain_text("up to date")
    costs = page.locator(".bars").first.locator(".number")
    without_search, five = (int(text.replace(",", "")) for text in costs.all_inner_texts())
    assert five < without_search / 10
    servers = page.locator(".bars").nth(1)
    expect(servers.locator("li")).to_have_count(12)
    widths = servers.locator(".bar-value").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths == sorted(widths, reverse=True)


def test_catalogs_are_chosen_from_the_list_or_the_bar(visit: Visit, served: Served) -> None:
    with served.client("second") as client:
        client.sync_server("one", [tool("only")])
    page = visit("#/catalogs")
    page.get_by_role("table", name="Catalogs").get_by_role("button", name="second").click()
    expect(page.get_by_role("heading", name="second")).to_be_visible()
    assert "catalog=second" in page.url
    page.get_by_role("combobox", name="Catalog").select_option("default")
    expect(page.get_by_role("heading", name="default")).to_be_visible()


def test_servers_are_sorted_and_lead_to_their_entries(visit: Visit) -> None:
    page = visit("#/catalogs")
    servers = page.get_by_role("table", name="By server")
    expect(servers.locator("tbody tr").first).to_contain_text("github")
    servers.get_by_role("button", name="Server", exact=True).click()
    expect(servers.locator("tbody tr").first).to_contain_text("browser")
    servers.get_by_role("button", name="jira").click()
    entries = page.locator(".entries li")
    expect(entries.first).to_contain_text("jira.")
    entries.first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text("Parameters")


def test_changes_are_shown_as_they_happen(visit: Visit, served: Served) -> None:
    with served.client("live") as client:
        client.sync_server("desk", [tool("first"), tool("second")])
        page = visit("#/catalogs?catalog=live")
        expect(page.locator(".feed-state")).to_have_text("live")
        client.sync_server("desk", [tool("second"), tool("third")])
        feed = page.locator(".feed li").first
        expect(feed).to_contain_text("revision 2")
        expect(feed.locator(".added")).to_contain_text("1 entry added or changed: desk.third")
        expect(feed.locator(".removed")).to_contain_text("1 entry deleted: desk.first")
        expect(page.locator(".entries")).to_contain_text("desk.third")
        expect(page.locator(".tiles").get_by_text("2", exact=True).first).to_be_visible()


def test_a_server_that_goes_away_and_comes_back_is_taken_up_again(visit: Visit, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"
    with serving("--store", store, "--sample") as server:
        page = visit("#/catalogs", url=server.url)
        expect(page.locator(".feed-state")).to_have_text("live")
        target, http = server.target, server.url.removeprefix("http://")
    expect(page.locator(".feed-state")).to_contain_text("not connected")
    with serving("--store", store, listen=target, http=http) as server:
        with server.client() as client:
            client.sync_server("github", [tool("fresh")])
        expect(page.locator(".feed")).to_contain_text("github.fresh")
        expect(page.locator(".feed-state")).to_have_text("live")
