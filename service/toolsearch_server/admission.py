"""The door: how many calls are taken on, of each tenant and in all. Others are refused at once, and told when to try again."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from toolsearch_server.errors import Overloaded, RateLimited
from toolsearch_server.limits import Limits

RETRY_SECONDS = 0.5
"""After a refusal because of calls under way: about as long as the longest of them take."""
HELD_SECONDS = 0.2
HELD_REFUSALS = 1_000
REMEMBERED_TENANTS = 10_000
ROUNDING = 1e-6
"""Who comes back just when told must not be sent away for a rounding error."""


@dataclass(slots=True)
class _Tenant:
    allowance: float
    counted_at: float
    calls: int = 0
    watches: int = 0


class Admission:
    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._tenants: dict[str, _Tenant] = {}
        self.calls = 0
        self._held = 0
        self.watches = 0

    @contextmanager
    def call(self, tenant: str) -> Iterator[None]:
        """A call that ends by itself. Raises RateLimited or Overloaded."""
        state = self._within_rate(tenant)
        self._refuse(state.calls, self._limits.calls_per_tenant, "calls_per_tenant")
        self._refuse(self.calls, self._limits.calls, "calls")
        state.calls += 1
        self.calls += 1
        try:
            yield
        finally:
            state.calls -= 1
            self.calls -= 1

    @contextmanager
    def watch(self, tenant: str) -> Iterator[None]:
        """A stream that lasts as long as its caller likes: it costs memory, not time, and is counted apart."""
        state = self._within_rate(tenant)
        self._refuse(state.watches, self._limits.watches_per_tenant, "watches_per_tenant")
        self._refuse(self.watches, self._limits.watches, "watches")
        state.watches += 1
        self.watches += 1
        try:
            yield
        finally:
            state.watches -= 1
            self.watches -= 1

    async def hold_back(self) -> None:
        """Before a refusal for the rate: callers that do not wait as told would be back at once, and each costs time."""
        if self._held >= HELD_REFUSALS:
            return
        self._held += 1
        try:
            await asyncio.sleep(HELD_SECONDS)
        finally:
            self._held -= 1

    @staticmethod
    def _refuse(under_way: int, allowed: int, limit: str) -> None:
        if under_way >= allowed:
            raise Overloaded(allowed=allowed, limit=limit, retry_seconds=RETRY_SECONDS)

    def _within_rate(self, tenant: str) -> _Tenant:
        """A bucket that holds `tenant_burst` calls and fills at `tenant_rate`."""
        now = self._clock()
        state = self._tenants.get(tenant)
        if state is None:
            self._forget(now)
            state = self._tenants[tenant] = _Tenant(self._limits.tenant_burst, now)
        if self._limits.tenant_rate:
            state.allowance = self._allowance(state, now)
            state.counted_at = now
            if state.allowance < 1.0 - ROUNDING:
                wait = (1.0 - state.allowance) / self._limits.tenant_rate
                raise RateLimited(allowed=self._limits.tenant_rate, retry_seconds=wait)
            state.allowance -= 1.0
        return state

    def _allowance(self, state: _Tenant, now: float) -> float:
        earned = max(0.0, now - state.counted_at) * self._limits.tenant_rate
        return min(float(self._limits.tenant_burst), state.allowance + earned)

    def _forget(self, now: float) -> None:
        """Of tenants that are gone and have all their allowance there is nothing to remember."""
        if len(self._tenants) < REMEMBERED_TENANTS:
            return
        for tenant, state in list(self._tenants.items()):
            under_way = state.calls or state.watches
            if not under_way and (not self._limits.tenant_rate or self._allowance(state, now) >= self._limits.tenant_burst):
                del self._tenants[tenant]
