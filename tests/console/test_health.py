import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Route, expect

from console.browsing import Visit


def status(replica: str, count: int, **figures: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    samples = [
        {
            "at": (now - timedelta(seconds=5 * (count - number))).isoformat(timespec="milliseconds"),
            "calls": 50,
            "errors": {"INVALID_ARGUMENT": 2},
            "p50Ms": 1.5,
            "p90Ms": 4.0,
            "p99Ms": None if number == 3 else 12.0,
            **dict.fromkeys(("callsUnderWay", "watches", "catalogs", "entries", "indexBytes", "staleCatalogs"), 1),
            "maxRevisionLag": 0,
            "stalestSeconds": 0.0,
            "residentBytes": 200_000_000,
            "cpuSeconds": 0.5,
            **figures,
        }
        for number in range(count)
    ]
    caller = {"tenant": "default", "role": "admin"}
    return {
        "replica": replica,
        "version": "1",
        "startedAt": now.isoformat(),
        "ready": True,
        "store": "redis",
        "caller": caller,
        "embeddings": "",
        "strategies": ["auto", "bm25"],
        "credentials": False,
        "sampleSeconds": 0.1,
        "samples": samples,
    }


def test_a_server_that_has_just_started_says_so(visit: Visit) -> None:
    def answer(route: Route) -> None:
        route.fulfill(json=json.loads(route.fetch().text()) | {"samples": []})

    page = visit("#/health", routes={"**/v1/status": answer})
    expect(page.get_by_text("only just started to collect")).to_be_visible()


def test_pictures_come_from_the_servers_own_figures(visit: Visit) -> None:
    page = visit("#/health")
    page.get_by_text("The figures as a table").click()
    expect(page.get_by_role("table", name="Figures").locator("tbody tr").nth(1)).to_be_visible()
    expect(page.get_by_role("img", name="Latency")).to_be_visible()
    expect(page.get_by_role("img", name="Requests")).to_have_attribute("aria-label", re.compile("Last: calls"))


def test_replicas_behind_a_balancer_are_shown_apart(visit: Visit) -> None:
    asked = iter(range(1_000_000))

    def answer(route: Route) -> None:
        first = next(asked) % 2 == 0
        route.fulfill(json=status("first", 20) if first else status("second", 20, maxRevisionLag=7))

    page = visit("#/health", routes={"**/v1/status": answer})
    expect(page.get_by_role("heading", name="Replica")).to_have_count(2)
    second = page.get_by_role("region", name="Replica").filter(has_text="Replica second")
    expect(second).to_contain_text("7 revisions")
    expect(second.get_by_role("img", name="Revision lag")).to_be_visible()
