"""Very large states: everything still comes, and the page still answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from console.browsing import Served, Visit, column, overflow, serving
from support import tool
from toolsearch import EntryInput

ENTRIES = 100_000
SERVERS = 2_000
PACKS = 20


VERBS = "open close read write list find move copy merge split".split()
THINGS = "ticket invoice page branch bucket pod mail event row file chart map".split()


def described(number: int, server: int) -> dict[str, Any]:
    verb, thing = VERBS[number % len(VERBS)], THINGS[server % len(THINGS)]
    return tool(f"{verb}_{number}", f"Can {verb} a {thing} by number.")


@pytest.fixture(scope="module")
def large() -> Iterator[Served]:
    """100,000 entries of 2,000 servers; no vectors, which is what takes time."""
    with serving("--store", "memory:", "--embeddings", "off") as server, server.client(timeout=300) as client:
        each = ENTRIES // SERVERS
        for pack in range(PACKS):
            client.apply_changes(
                EntryInput(definition=described(number, server_number), server=f"server_{server_number:04}")
                for server_number in range(pack, SERVERS, PACKS)
                for number in range(each)
            )
        client.search("close a ticket", timeout=300)
        yield server


@pytest.mark.timeout(600)
def test_a_catalog_of_100000_entries_and_2000_servers(visit: Visit, large: Served) -> None:
    page = visit("#/catalogs", url=large.url)
    expect(page.locator(".tiles")).to_contain_text("100,000")
    expect(page.locator(".tiles")).to_contain_text("2,000")
    expect(page.locator(".bars").nth(1).locator("li")).to_have_count(30)
    expect(page.get_by_text("And 1,970 more servers")).to_be_visible()
    servers = page.get_by_role("table", name="By server")
    expect(servers.locator("tbody tr")).to_have_count(25)
    page.get_by_role("searchbox", name="Filter By server").fill("server_1999")
    expect(servers.locator("tbody tr")).to_have_count(1)
    servers.get_by_role("button", name="server_1999").click()
    expect(page.locator(".entries li").first).to_contain_text("server_1999.")
    assert overflow(page) <= 0


@pytest.mark.timeout(600)
def test_searching_and_filtering_among_them(visit: Visit, large: Served) -> None:
    page = visit("#/playground?q=close+a+ticket&limit=100&s=bm25&s=fuzzy&s=regex", url=large.url)
    expect(column(page, "bm25").locator(".match")).to_have_count(100)
    page.get_by_role("combobox", name="Servers").fill("server_12")
    expect(page.locator("datalist option[value^='server_12']")).to_have_count(50)
    page.get_by_role("combobox", name="Servers").press("Enter")
    page.get_by_role("button", name="Remove server_12").click()
    page.get_by_role("combobox", name="Servers").fill("server_012?")
    page.get_by_role("combobox", name="Servers").press("Enter")
    expect(column(page, "bm25").locator(".match").first).to_contain_text("server_012")


@pytest.mark.timeout(600)
def test_a_plan_for_them_is_shown_a_page_at_a_time(visit: Visit, large: Served) -> None:
    page = visit("#/plan?provider=openai-chat&model=any", url=large.url)
    expect(page.get_by_role("table", name="Deferred").locator("tbody tr")).to_have_count(25, timeout=120_000)
    page.get_by_text("Payload", exact=True).click()
    expect(page.get_by_label("Payload")).to_contain_text("find_tools", timeout=120_000)


def test_a_schema_of_200_kilobytes_opens_step_by_step(visit: Visit, served: Served) -> None:
    leaf = {
        "type": "object",
        "properties": {f"field_{number}": {"type": "string", "description": "x" * 40} for number in range(24)},
    }
    schema = {"type": "object", "properties": {f"group_{number:02}": leaf for number in range(90)}}
    definition = {"name": "huge", "description": "Takes much.", "inputSchema": schema}
    assert len(json.dumps(definition)) > 170_000
    with served.client("huge") as client:
        client.sync_server("s", [definition])
    page = visit("#/playground?catalog=huge&entry=s.huge")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".schema > li")).to_have_count(60)
    dialog.get_by_role("button", name="30 more parameters").click()
    expect(dialog.locator(".schema > li")).to_have_count(90)
    dialog.locator("summary").nth(89).click()
    expect(dialog.locator(".schema .schema > li")).to_have_count(24)
    dialog.get_by_text("Definition (").click()
    expect(dialog.get_by_label("Definition", exact=True)).to_contain_text("group_89")
