"""Real servers and a real browser. Whatever a test does: no script fails, no dialog opens, the page's policy is kept."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from console.browsing import DESKTOP, PHONE, SECONDS, Routes, Served, Visit, serving

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REPORT_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """The sample, in catalog `default`; tests that write do so in catalogs of their own."""
    with serving("--store", "memory:", "--sample") as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing: make chromium"
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    """Opens a page of the console: `visit("#/catalogs", **options of the browser's context)`."""
    opened: list[tuple[Page, list[str]]] = []

    def visit(
        path: str = "", *, url: str = served.url, width: str = "desktop", routes: Routes | None = None, **options: Any
    ) -> Page:
        options.setdefault("viewport", PHONE if width == "phone" else DESKTOP)
        context = browser.new_context(**options)
        context.set_default_timeout(SECONDS * 1000)
        context.add_init_script(REPORT_VIOLATIONS)
        page = context.new_page()
        for pattern, answer in (routes or {}).items():
            page.route(pattern, answer)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(f"script: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("console", lambda message: troubles.extend(complaints(message.type, message.text)))
        opened.append((page, troubles))
        page.goto(f"{url}/{path}")
        return page

    yield visit
    for page, troubles in opened:
        assert troubles == []
        assert page.evaluate("window.violations") == []
        page.context.close()


def complaints(kind: str, text: str) -> list[str]:
    """Of the page's console. Answers that say no, and servers that are away, are told by the browser itself: those are fine."""
    return [text] if kind in ("error", "warning") and not text.startswith("Failed to load resource") else []
