"""What the console's tests share: servers with their HTTP port, and where things are on the page."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page, Route

from support import ServerProcess
from toolsearch import Client

SECONDS = 30.0
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}

Visit = Callable[..., Page]
Routes = Mapping[str, Callable[[Route], None]]


@dataclass(frozen=True, slots=True)
class Served:
    process: ServerProcess
    target: str
    url: str

    def client(self, catalog: str = "default", **options: Any) -> Client:
        return Client(self.target, catalog=catalog, **{"timeout": SECONDS, **options})


@contextmanager
def serving(*arguments: str, listen: str = "127.0.0.1:0", http: str = "127.0.0.1:0") -> Iterator[Served]:
    """A server with its console, killed at the end if it still runs."""
    process = ServerProcess(("--listen", listen, "--http", http, "--drain-delay", "0", *arguments))
    try:
        event = process.wait_for_event("listening")
        yield Served(process, str(event["address"]), f"http://{event['http']}")
        assert '"code": "INTERNAL"' not in process.log, f"a call failed inside the server: {process.log}"
    finally:
        process.kill() if process.process.poll() is None else process.wait()


def search_box(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search", exact=True)


def column(page: Page, strategy: str) -> Locator:
    return page.get_by_role("region", name=strategy, exact=True)


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
