"""The last minutes of this replica: what the console shows of its health, without anything beside it that collects."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from toolsearch_server.metrics import CatalogFigures, Metrics, Totals

SAMPLE_SECONDS = 5.0
KEPT_SECONDS = 15 * 60.0
QUANTILES = {"p50Ms": 0.5, "p90Ms": 0.9, "p99Ms": 0.99}


class Recent:
    """`figures` are of the catalogs, `load` is how many calls are under way and how many watches are open.

    `unseen` is a method that is not counted: who looks at the figures would otherwise be in them.
    """

    def __init__(
        self,
        metrics: Metrics,
        figures: Callable[[], CatalogFigures],
        load: Callable[[], tuple[int, int]],
        unseen: str = "",
    ) -> None:
        self._metrics = metrics
        self._figures = figures
        self._load = load
        self._unseen = unseen
        self._samples: deque[Mapping[str, Any]] = deque(maxlen=int(KEPT_SECONDS / SAMPLE_SECONDS))
        self._before: Totals = metrics.totals(but=unseen)

    @property
    def samples(self) -> list[Mapping[str, Any]]:
        return list(self._samples)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            self.take()

    def take(self) -> None:
        """A sample of what happened since the last one."""
        now = self._metrics.totals(but=self._unseen)
        calls = _difference(now.calls, self._before.calls)
        durations = _difference(now.durations, self._before.durations)
        figures = self._figures()
        under_way, watches = self._load()
        self._samples.append(
            {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "calls": int(sum(calls.values())),
                "errors": {code: int(count) for code, count in sorted(calls.items()) if count and code != "OK"},
                **{name: quantile(durations, share) for name, share in QUANTILES.items()},
                "callsUnderWay": under_way,
                "watches": watches,
                "catalogs": figures.catalogs,
                "entries": figures.entries,
                "indexBytes": figures.index_bytes,
                "maxRevisionLag": figures.revision_lag,
                "staleCatalogs": figures.stale,
                "stalestSeconds": round(figures.stalest_seconds, 3),
                "residentBytes": int(now.resident_bytes),
                "cpuSeconds": round(max(0.0, now.cpu_seconds - self._before.cpu_seconds), 3),
            }
        )
        self._before = now


def _difference(now: Mapping[Any, float], before: Mapping[Any, float]) -> dict[Any, float]:
    return {name: value - before.get(name, 0.0) for name, value in now.items()}


def quantile(durations: Mapping[float, float], share: float) -> float | None:
    """In milliseconds, between the bounds of a histogram's bucket; of what is beyond the last of them, that bound."""
    bounds = sorted(durations)
    total = durations[bounds[-1]] if bounds else 0.0
    if not total:
        return None
    wanted, below, counted = share * total, 0.0, 0.0
    for bound in bounds:
        if durations[bound] >= wanted:
            if bound == float("inf"):
                break
            part = (wanted - counted) / (durations[bound] - counted)
            return round((below + (bound - below) * part) * 1000, 3)
        below, counted = bound, durations[bound]
    return round(below * 1000, 3)
