import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from console.browsing import Served, Visit, column, search_box, serving
from support import tool


def make_key(file: Path, role: str, tenant: str = "acme") -> str:
    command = ("-m", "toolsearch_server", "keys", "create", "--file", str(file), "--tenant", tenant, "--role", role)
    made = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    return made.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    return {"file": str(file)} | {role: make_key(file, role) for role in ("reader", "writer", "admin")}


@pytest.fixture(scope="module")
def guarded(keys: dict[str, str]) -> Iterator[Served]:
    with serving("--store", "memory:", "--keys", keys["file"]) as server:
        with server.client(api_key=keys["writer"]) as client:
            client.sync_server("github", [tool("open_issue", "Files a bug report.")])
        with server.client(api_key=keys["admin"], tenant="other") as client:
            client.sync_server("shop", [tool("sell", "Sells a thing.")])
        yield server


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_a_key_is_asked_for_and_opens_the_page(visit: Visit, guarded: Served, keys: dict[str, str]) -> None:
    page = visit("#/playground?q=bug", url=guarded.url)
    expect(page.get_by_label("API key")).to_be_focused()
    sign_in(page, keys["reader"])
    expect(column(page, "auto").locator(".match").first).to_contain_text("github.open_issue")
    expect(search_box(page)).to_be_focused()


def test_a_wrong_key_is_refused_and_says_why(visit: Visit, guarded: Served) -> None:
    page = visit(url=guarded.url)
    sign_in(page, "ts_wrong")
    expect(page.get_by_role("alert")).to_contain_text("This key is not known, or not any more.")
    expect(page.get_by_label("API key")).to_have_value("")
    expect(search_box(page)).to_have_count(0)


def test_a_key_with_characters_that_no_key_has_is_refused_too(visit: Visit, guarded: Served) -> None:
    page = visit(url=guarded.url)
    sign_in(page, "ключ ☃")
    expect(page.get_by_role("alert")).to_contain_text("This is no key")


def test_the_key_is_nowhere_but_in_memory(visit: Visit, guarded: Served, keys: dict[str, str]) -> None:
    page = visit("#/playground?q=bug", url=guarded.url)
    sign_in(page, keys["reader"])
    expect(column(page, "auto").locator(".match").first).to_be_visible()
    page.get_by_text("Call this from code").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("TOOLSEARCH_API_KEY")
    kept = page.evaluate(
        """() => JSON.stringify([document.documentElement.outerHTML, location.href, document.cookie, {...localStorage},
        {...sessionStorage}, [...document.querySelectorAll("input")].map((input) => input.value), history.state])"""
    )
    secret = keys["reader"].removeprefix("ts_")
    assert "open_issue" in kept
    assert secret not in kept
    assert not any(part in kept for part in secret.split("_") if len(part) > 10)
    page.reload()
    expect(page.get_by_label("API key")).to_be_visible()


def test_a_key_that_is_revoked_meanwhile_leads_back_to_the_sign_in_and_says_why(
    visit: Visit, guarded: Served, keys: dict[str, str]
) -> None:
    page = visit("#/playground?s=auto&s=bm25&s=fuzzy", url=guarded.url)
    sign_in(page, keys["reader"])
    expect(search_box(page)).to_be_focused()
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "CREDENTIAL_INVALID"}
    refusal = {"code": 16, "message": "the key is not known", "details": [info]}
    page.route("**/v1/SearchTools", lambda route: route.fulfill(status=401, json=refusal))
    page.keyboard.type("bug")
    expect(page.get_by_role("alert")).to_contain_text("This key is not known, or not any more.")
    page.unroute("**/v1/SearchTools")
    sign_in(page, keys["reader"])
    expect(column(page, "auto").locator(".match").first).to_be_visible()


def test_signing_out_forgets_the_key(visit: Visit, guarded: Served, keys: dict[str, str]) -> None:
    page = visit("#/catalogs", url=guarded.url)
    sign_in(page, keys["reader"])
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    expect(page.get_by_text("not known")).to_have_count(0)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("API key")).to_be_visible()


def test_administrators_choose_a_tenant_and_others_are_not_asked(visit: Visit, guarded: Served, keys: dict[str, str]) -> None:
    page = visit("#/playground?q=thing", url=guarded.url)
    sign_in(page, keys["admin"])
    tenant = page.get_by_role("combobox", name="Tenant")
    tenant.fill("other")
    tenant.press("Enter")
    expect(column(page, "auto").locator(".match").first).to_contain_text("shop.sell")
    assert "tenant=other" in page.url

    reader = visit(url=guarded.url)
    sign_in(reader, keys["reader"])
    expect(search_box(reader)).to_be_visible()
    expect(reader.get_by_role("combobox", name="Tenant")).to_have_count(0)


def test_what_a_key_is_not_allowed_is_said_readably(visit: Visit, guarded: Served, keys: dict[str, str]) -> None:
    page = visit("#/playground?tenant=other", url=guarded.url)
    sign_in(page, keys["reader"])
    expect(page.get_by_role("alert")).to_contain_text("Your key is not for this tenant")
