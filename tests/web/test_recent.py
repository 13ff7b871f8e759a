"""What the service tells of itself: who asks, which replica answers, and the last minutes."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server.auth import Role
from toolsearch_server.metrics import CatalogFigures, Metrics
from toolsearch_server.web.recent import KEPT_SECONDS, SAMPLE_SECONDS, Recent, quantile
from web.caller import Caller

FIGURES = CatalogFigures(
    catalogs=2, entries=7, index_bytes=10, index_bytes_allowed=20, stale=1, stalest_seconds=1.5, revision_lag=3
)


def recent(metrics: Metrics) -> Recent:
    return Recent(metrics, lambda: FIGURES, lambda: (4, 5), unseen="GetStatus")


def called(metrics: Metrics, code: str, seconds: float, times: int = 1, method: str = "SearchTools") -> None:
    for _ in range(times):
        metrics.call_ended(method, code, tenant="t", strategy="", reason="", seconds=seconds)


def test_a_sample_has_what_happened_since_the_last_one() -> None:
    metrics = Metrics(version="", tenant_labels=0)
    called(metrics, "OK", 1.0, 50)
    taken = recent(metrics)
    called(metrics, "OK", 0.0015, 98)
    called(metrics, "OK", 0.3, 2)
    called(metrics, "NOT_FOUND", 0.001, 3)
    called(metrics, "OK", 9.0, 10, method="GetStatus")
    taken.take()
    taken.take()
    first, second = taken.samples
    assert (first["calls"], first["errors"]) == (103, {"NOT_FOUND": 3})
    assert 1 <= first["p50Ms"] <= 2 and 200 <= first["p99Ms"] <= 500
    assert (first["callsUnderWay"], first["watches"], first["maxRevisionLag"], first["staleCatalogs"]) == (4, 5, 3, 1)
    assert first["residentBytes"] > 0
    assert (second["calls"], second["errors"], second["p50Ms"]) == (0, {}, None)


def test_samples_are_of_a_quarter_of_an_hour_and_no_more() -> None:
    taken = recent(Metrics(version="", tenant_labels=0))
    for _ in range(500):
        taken.take()
    assert len(taken.samples) * SAMPLE_SECONDS == KEPT_SECONDS


@given(st.lists(st.floats(0.0001, 20.0), min_size=1, max_size=50), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_quantile_is_in_the_bucket_of_the_value_that_it_stands_for(seconds: list[float], share: float) -> None:
    bounds = [0.001, 0.01, 0.1, 1.0, 10.0, math.inf]
    durations = {bound: float(sum(each <= bound for each in seconds)) for bound in bounds}
    exact = sorted(seconds)[math.ceil(share * len(seconds)) - 1]
    upper = next(bound for bound in bounds if exact <= bound)
    lower = max((bound for bound in bounds if bound < upper), default=0.0)
    found = quantile(durations, share)
    assert found is not None
    assert lower * 1000 <= found <= (10_000 if upper == math.inf else upper * 1000) + 1e-6


def test_the_status_says_which_replica_answers_and_who_asks(guarded_door: Caller) -> None:
    told: Any = guarded_door.get("/v1/status", authorization=f"Bearer {guarded_door.texts['acme', Role.WRITER]}").json
    assert told["caller"] == {"tenant": "acme", "role": "writer"}
    assert told["credentials"] and told["ready"]
    assert (told["store"], told["embeddings"]) == ("memory", "")
    assert "semantic" not in told["strategies"]
    again: Any = guarded_door.get("/v1/status", authorization=f"Bearer {guarded_door.texts['acme', Role.READER]}").json
    assert again["replica"] == told["replica"] and again["startedAt"] == told["startedAt"]


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer ts_no"}])
def test_the_status_needs_a_credential_as_any_call_does(guarded_door: Caller, headers: dict[str, str]) -> None:
    assert guarded_door.get("/v1/status", **headers).status == 401


def test_the_status_is_read_only(door: Caller) -> None:
    answer = door.post("status", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
