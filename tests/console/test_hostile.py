"""Descriptions are other people's text: shown as they are, never interpreted."""

import pytest
from playwright.sync_api import Page, expect

from console.browsing import Served, Visit, column, overflow
from console.hostile import LONG, PAYLOADS, UNSEEN, hostile_tools

CATALOG = "hostile"
MADE_OF_MARKUP = (
    *("script:not([src])", "style", "iframe", "object", "embed", "base", "meta[http-equiv]", "form[action]"),
    *("main svg:not([role])", "dialog svg", "img:not([src='icon.svg'])", "main b:not(.chart b)", "dialog b"),
)
SERVER = "<b>evil</b>\"'&"


@pytest.fixture(scope="module")
def hostile(served: Served) -> str:
    with served.client(CATALOG) as client:
        client.sync_server(SERVER, hostile_tools())
        return next(entry.name for entry in client.list_tools() if entry.local_name == "attack_00").rpartition(".")[0]


@pytest.fixture(params=range(len(PAYLOADS)))
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def unharmed(page: Page) -> None:
    """No script ran, nothing was made of the text but text, and no link leads anywhere else."""
    assert page.evaluate("window.attacked") is None
    assert page.evaluate("({}).polluted") is None
    assert page.locator(", ".join(MADE_OF_MARKUP)).count() == 0
    links = page.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    names = page.evaluate("[...document.querySelectorAll('*')].flatMap((element) => element.getAttributeNames())")
    assert not any(name.startswith("on") or name in ("srcdoc", "srcset") for name in names)


def test_the_text_of_a_hostile_tool_is_shown_literally(visit: Visit, hostile: str, number: int) -> None:
    payload = PAYLOADS[number]
    name = f"{hostile}.attack_{number:02}"
    page = visit(f"#/playground?catalog={CATALOG}&q=attack_{number:02}&s=bm25&s=semantic&entry={name}")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".description")).to_have_text(f"attack {payload}")
    expect(dialog.locator(".description")).to_be_visible()
    expect(dialog.locator(".schema > li .parameter").first).to_contain_text(payload[:300])
    for closed in ("Result", "Definition"):
        dialog.locator("summary", has_text=closed).click()
    for summary in dialog.locator(".schema > li > details:not([open]) > summary").all():
        summary.click()
    expect(dialog.get_by_label("Definition", exact=True)).to_contain_text("__proto__")
    unharmed(page)
    page.keyboard.press("Escape")
    expect(column(page, "bm25").locator(".match", has_text=name)).to_be_visible()
    unharmed(page)


def test_characters_that_cannot_be_seen_are_shown_as_their_numbers(visit: Visit, hostile: str) -> None:
    page = visit(f"#/playground?catalog={CATALOG}&entry={hostile}.unseen")
    description = page.locator(".description")
    for number in ("U+202E", "U+202C", "U+2066", "U+200B", "U+FEFF", "U+0000", "U+001B", "U+0007", "U+E0041", "U+2028"):
        expect(description.locator(".unseen").filter(has_text=number)).to_have_count(1)
    raw = str(page.evaluate("document.body.textContent"))
    assert not set(raw) & {char for char in UNSEEN if char != " " and not char.isprintable()}
    unharmed(page)


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_text_without_end_breaks_no_page(visit: Visit, hostile: str, width: str) -> None:
    page = visit(f"#/playground?catalog={CATALOG}&q=long&s=bm25&s=fuzzy&entry={hostile}.long", width=width)
    expect(page.locator(".description")).to_contain_text(LONG[-100:])
    assert overflow(page) <= 0
    page.keyboard.press("Escape")
    expect(column(page, "bm25").locator(".match").first).to_be_visible()
    assert overflow(page) <= 0


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_hostile_names_harm_no_other_page(visit: Visit, hostile: str, width: str) -> None:
    page = visit(f"#/catalogs?catalog={CATALOG}", width=width)
    expect(page.get_by_role("table", name="By server")).to_contain_text(SERVER)
    expect(page.locator(".entries li").first).to_be_visible()
    page.get_by_role("table", name="By server").get_by_role("button", name=SERVER).click()
    expect(page.locator(".entries li")).to_have_count(len(PAYLOADS) + 2)
    assert overflow(page) <= 0
    unharmed(page)
    page = visit(f'#/plan?catalog={CATALOG}&config={{"min_tokens":1}}', width=width)
    page.get_by_text("Payload", exact=True).click()
    expect(page.get_by_label("Payload")).to_contain_text("attack_00")
    assert overflow(page) <= 0
    unharmed(page)


def test_what_is_typed_or_shared_is_text_too(visit: Visit) -> None:
    attack = "%3Cimg%20src%3Dx%20onerror%3Dwindow.attacked%3D1%3E"
    page = visit(f"#/playground?q={attack}&server={attack}&namespace={attack}&tag={attack}&s=regex")
    expect(page.get_by_role("button", name="Remove <img").first).to_be_visible()
    expect(page.locator(".column .empty, .column .problem").first).to_be_visible()
    page.get_by_text("Call this from code").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("onerror")
    unharmed(page)
    page = visit(f"#/playground?catalog={attack}&entry={attack}&tenant=x{attack}")
    expect(page.get_by_role("heading", name="There is nothing in this catalog yet")).to_be_visible()
    unharmed(page)
