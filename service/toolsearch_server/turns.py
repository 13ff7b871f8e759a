"""Processor time shared between tenants: who may work now, so that no tenant's load is another one's wait.

Work is begun in turns: tenants one after the other, and of one tenant whoever came first. What may take long runs in threads.
What takes a moment runs on the event loop, which is cheapest, as long as one tenant is alone; when there are several it runs in
threads too, because the loop takes calls on first come, first served: they must not wait there for another tenant's work.
There are lanes for different purposes, so that searches of loaded catalogs never queue behind loads and writes, which may wait
for the store.
"""

import asyncio
import math
import os
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TypeVar

Result = TypeVar("Result")

ALONE_SECONDS = 1.0
"""A tenant is alone if no other one did anything for so long."""
STORE_THREADS = 4
"""Beyond those of the lanes: for the encoding and decoding of records."""


class Turns:
    """`slots` pieces of work at a time, at most `share` of them of one tenant."""

    def __init__(self, slots: int, share: int) -> None:
        self._free = slots
        self._share = share
        self._active: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def active(self) -> int:
        return self._active.total()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    async def begin(self, tenant: str) -> None:
        """Returns when it is the caller's turn, who then has to `end` it. A caller that is cancelled has no turn."""
        if self._free and self._active[tenant] < self._share and tenant not in self._queues:
            self._take(tenant)
            return
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(tenant)
            raise

    def end(self, tenant: str) -> None:
        # In the next round of the loop: what has arrived meanwhile gets in line first, and is not overtaken by the same tenant.
        asyncio.get_running_loop().call_soon(self._give_back, tenant)

    def _take(self, tenant: str) -> None:
        self._free -= 1
        self._active[tenant] += 1

    def _give_back(self, tenant: str) -> None:
        self._free += 1
        self._active[tenant] -= 1
        if not self._active[tenant]:
            del self._active[tenant]
        while self._free and self._next():
            pass

    def _next(self) -> bool:
        """Begin the turn of the first tenant in line that may have one. Whoever had a turn goes to the end of the line."""
        for tenant, queue in self._queues.items():
            while queue and queue[0].done():  # cancelled
                queue.popleft()
            if queue and self._active[tenant] >= self._share:
                continue
            if queue:
                self._take(tenant)
                queue.popleft().set_result(None)
                self._queues.move_to_end(tenant)
            if not queue:
                del self._queues[tenant]
            return True
        return False


class Lane(StrEnum):
    READ = "read"
    WRITE = "write"
    LOAD = "load"
    INDEX = "index"


class Processor:
    """All that works for tenants in this process. One tenant may use every core, and leaves a slot to the others."""

    def __init__(self, cores: int | None = None) -> None:
        cores = cores or os.cpu_count() or 1
        self._on_loop = Turns(slots=1, share=1)
        self._lanes = {lane: Turns(slots=cores + 1, share=cores) for lane in Lane}
        self._latest = ""
        self._latest_at = -math.inf
        self._several_until = -math.inf
        self._threads = ThreadPoolExecutor((cores + 1) * len(Lane), thread_name_prefix="work")
        self._store_threads = ThreadPoolExecutor(STORE_THREADS, thread_name_prefix="store")

    @property
    def lanes(self) -> dict[str, Turns]:
        return {"loop": self._on_loop} | {lane.value: turns for lane, turns in self._lanes.items()}

    def figures(self) -> dict[str, tuple[int, int]]:
        """By lane: how much is under way, and how much waits."""
        return {lane: (turns.active, turns.waiting) for lane, turns in self.lanes.items()}

    def serve_loop(self) -> None:
        """Let the running event loop use a pool of its own for what is nobody's in particular."""
        asyncio.get_running_loop().set_default_executor(self._store_threads)

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def of(self, tenant: str) -> "Share":
        return Share(self, tenant)

    async def quickly(self, tenant: str, work: Callable[[], Result]) -> Result:
        """For what takes a moment."""
        if not self._is_alone(tenant):
            return await self.in_thread(tenant, Lane.READ, work)
        await self._on_loop.begin(tenant)
        try:
            return work()
        finally:
            self._on_loop.end(tenant)

    def _is_alone(self, tenant: str) -> bool:
        now = time.monotonic()
        if tenant != self._latest and now - self._latest_at < ALONE_SECONDS:
            self._several_until = now + ALONE_SECONDS
        self._latest, self._latest_at = tenant, now
        return now >= self._several_until

    async def in_thread(self, tenant: str, lane: Lane, work: Callable[[], Result]) -> Result:
        """A thread cannot be stopped: its turn ends when the work does, even if the caller has gone."""
        turns = self._lanes[lane]
        await turns.begin(tenant)
        loop = asyncio.get_running_loop()
        try:
            running = loop.run_in_executor(self._threads, work)
        except BaseException:
            turns.end(tenant)
            raise
        running.add_done_callback(lambda _: turns.end(tenant))
        return await asyncio.shield(running)

    @asynccontextmanager
    async def turn(self, tenant: str, lane: Lane) -> AsyncIterator[None]:
        """For work that has parts elsewhere."""
        turns = self._lanes[lane]
        await turns.begin(tenant)
        try:
            yield
        finally:
            turns.end(tenant)

    def discard(self, things: list[object]) -> None:
        """Free what is large in a thread: that takes milliseconds. The caller must keep no reference."""
        self._threads.submit(things.clear)

    async def now(self, work: Callable[[], Result]) -> Result:
        """In a thread, for who has a turn already."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


class Share:
    """One tenant's part of the processor."""

    def __init__(self, processor: Processor, tenant: str) -> None:
        self._processor = processor
        self._tenant = tenant

    async def quickly(self, work: Callable[[], Result]) -> Result:
        return await self._processor.quickly(self._tenant, work)

    def discard(self, things: list[object]) -> None:
        self._processor.discard(things)

    async def in_thread(self, lane: Lane, work: Callable[[], Result]) -> Result:
        return await self._processor.in_thread(self._tenant, lane, work)
