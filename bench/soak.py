"""A server under tenant churn for minutes: threads, file descriptors and memory must stay flat.

    .venv/bin/python bench/soak.py --seconds 180

Tenants come, write a catalog, search it, watch it for a moment, and go; the file of keys is replaced now and then; catalogs are
more than the memory budget holds, so they are evicted and loaded all the time. The server is looked at every second. At the end
the last quarter is compared with the second one, when everything has been in use for a while.

Exit code 0: flat, or stopped early by Ctrl-C; 1: something has grown or failed.
"""

import argparse
import asyncio
import itertools
import os
import random
import re
import signal
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import ServerProcess, tool
from toolsearch import AsyncClient, NotFound, Unauthenticated, WatchKind
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import Key, dump_keys, new_key

INDEX_BYTES = "50MiB"
VISITORS = 6
LIVING_TENANTS = 300
"""So many catalogs exist at a time: several times what the memory budget holds."""
SEARCHES_PER_TENANT = 2
ROTATION_SECONDS = 5.0
SAMPLE_SECONDS = 1.0
LINE_SECONDS = 10.0
MIN_SAMPLES = 8
BOUND_SECONDS = 30.0

GROWTH_ALLOWED = {"threads": (0.0, 8), "descriptors": (0.0, 8), "rss_mib": (0.1, 0)}
"""From the second quarter to the last, as a share and a number: an index that is being built has threads of its own,
connections happen to be open, and allocators settle slowly."""

WORDS = (
    "create read update delete issue message file invoice ticket calendar forecast database channel document payment".split()
)


@dataclass(frozen=True)
class Sample:
    seconds: float
    rss_mib: float
    threads: int
    descriptors: int
    catalogs: int
    index_mib: float
    evictions: int
    loads: int


def sample(pid: int, metrics_url: str, started: float) -> Sample:
    status = Path(f"/proc/{pid}/status").read_text()
    figures = {name: int(value) for name, value in re.findall(r"^(VmRSS|Threads):\s+(\d+)", status, re.MULTILINE)}
    with urllib.request.urlopen(metrics_url, timeout=BOUND_SECONDS) as response:
        exposed = response.read().decode()
    metrics: Counter[str] = Counter()
    for name, value in re.findall(r"^(\w+)(?:\{.*\})? (\S+)$", exposed, re.MULTILINE):
        metrics[name] += float(value)  # type: ignore[assignment]  # sums over labels
    return Sample(
        seconds=time.monotonic() - started,
        rss_mib=figures["VmRSS"] / 1024,
        threads=figures["Threads"],
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208 names are not needed
        catalogs=int(metrics["toolsearch_catalogs"]),
        index_mib=metrics["toolsearch_index_bytes"] / 2**20,
        evictions=int(metrics["toolsearch_catalog_evictions_total"]),
        loads=int(metrics["toolsearch_catalog_load_seconds_count"]),
    )


# What goes on


@dataclass
class Churn:
    """What visitors share. `living` are tenants with a catalog, oldest first."""

    address: str
    keys_file: Path
    administrator: str
    kept: Key
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    living: deque[str] = field(default_factory=deque)
    done: Counter[str] = field(default_factory=Counter)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    def client(self, tenant: str) -> AsyncClient:
        return AsyncClient(self.address, tenant=tenant, api_key=self.administrator, timeout=BOUND_SECONDS)

    async def visit(self) -> None:
        """One tenant after the other comes; the oldest one goes when there are many."""
        while not self.stop.is_set():
            tenant = f"tenant-{next(self.numbers)}"
            async with self.client(tenant) as client:
                await self._settle(client)
                self.living.append(tenant)
                self.done["tenants"] += 1
            for other in self.chance.sample(list(self.living), min(SEARCHES_PER_TENANT, len(self.living))):
                await self._search(other)
            if len(self.living) > LIVING_TENANTS:
                await self._leave(self.living.popleft())

    async def _settle(self, client: AsyncClient) -> None:
        """Write a catalog, watch it change, find what changed."""
        await client.sync_server("s", [self._tool(number) for number in range(self.chance.randint(20, 100))])
        events = client.watch()
        try:
            async with asyncio.timeout(BOUND_SECONDS):
                first = await anext(events)
                assert first.kind is WatchKind.CURRENT, first
                await client.sync_server("changed", [tool("zyzzyva", "a word that nothing else has")])
                second = await anext(events)
                assert second.upserted == ("changed.zyzzyva",), second
        finally:
            await events.aclose()  # type: ignore[attr-defined]  # it is a generator
        found = await client.search("zyzzyva", limit=1)
        assert [match.name for match in found.matches] == ["changed.zyzzyva"], found

    def _tool(self, number: int) -> dict[str, Any]:
        words = self.chance.choices(WORDS, k=12)
        parameters = {word: {"type": "string", "description": f"which {word} it is"} for word in set(words[:4])}
        return tool(f"{words[0]}_{words[1]}_{number}", " ".join(words), parameters=parameters)

    async def _search(self, tenant: str) -> None:
        async with self.client(tenant) as client:
            try:
                await client.search(" ".join(self.chance.choices(WORDS, k=3)))
                self.done["searches"] += 1
            except NotFound:
                assert tenant not in self.living, f"the catalog of {tenant} is gone"

    async def _leave(self, tenant: str) -> None:
        async with self.client(tenant) as client:
            await client.delete_catalog()

    async def rotate_keys(self) -> None:
        """A new key in the file is good soon, and the one before it is not any more."""
        before = ""
        while not self.stop.is_set():
            key, text = new_key("rotated", Role.READER)
            draft = self.keys_file.with_suffix(".new")
            draft.write_text(dump_keys([self.kept, key]))
            draft.replace(self.keys_file)
            await self._until_known(text)
            assert not before or not await self._is_known(before), "a key that was taken out is still good"
            before = text
            self.done["rotations"] += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), ROTATION_SECONDS)

    async def _until_known(self, key: str) -> None:
        async with asyncio.timeout(BOUND_SECONDS):
            while not await self._is_known(key):  # noqa: ASYNC110 nothing tells when the server has read the file
                await asyncio.sleep(0.1)

    async def _is_known(self, key: str) -> bool:
        async with AsyncClient(self.address, api_key=key, timeout=BOUND_SECONDS) as client:
            try:
                return [listing async for listing in client.list_catalogs()] == []
            except Unauthenticated:
                return False


async def watch_process(churn: Churn, pid: int, metrics_url: str, seconds: float) -> list[Sample]:
    """Look at the server until the time is over or somebody stops it."""
    started = time.monotonic()
    samples: list[Sample] = []
    next_line = 0.0
    while not churn.stop.is_set():
        samples.append(await asyncio.to_thread(sample, pid, metrics_url, started))
        now = samples[-1]
        if now.seconds >= next_line:
            next_line += LINE_SECONDS
            print(
                f"{now.seconds:5.0f} s  rss {now.rss_mib:6.1f} MiB  threads {now.threads:3}  fds {now.descriptors:3}  "
                f"catalogs {now.catalogs:3} ({now.index_mib:5.1f} MiB)  evictions {now.evictions:6}  loads {now.loads:6}  "
                f"tenants {churn.done['tenants']:5}  searches {churn.done['searches']:6}  keys {churn.done['rotations']:3}",
                flush=True,
            )
        if now.seconds >= seconds:
            churn.stop.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(churn.stop.wait(), SAMPLE_SECONDS)
    return samples


async def soak(churn: Churn, pid: int, metrics_url: str, seconds: float) -> list[Sample]:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, churn.stop.set)

    async def stopping_all(work: Coroutine[Any, Any, None]) -> None:
        """What fails ends the soak."""
        try:
            await work
        finally:
            churn.stop.set()

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch_process(churn, pid, metrics_url, seconds))
        group.create_task(stopping_all(churn.rotate_keys()))
        for _ in range(VISITORS):
            group.create_task(stopping_all(churn.visit()))
    return watching.result()


# What to think of it


def judge(samples: Sequence[Sample]) -> list[str]:
    """What has grown."""
    quarter = len(samples) // 4
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    findings = []
    for name, (share, more) in GROWTH_ALLOWED.items():
        before, after = (statistics.median(getattr(each, name) for each in part) for part in (second, last))
        allowed = before * (1 + share) + more
        verdict = "flat" if after <= allowed else "GROWN"
        line = f"{name}: {before:.1f} in the second quarter, {after:.1f} in the last, {allowed:.1f} allowed: {verdict}"
        print(line)
        if verdict != "flat":
            findings.append(line)
    return findings


def _complete(samples: Sequence[Sample], seconds: float) -> bool:
    complete = len(samples) >= MIN_SAMPLES and samples[-1].seconds >= seconds
    if not complete:
        print("stopped early: not judged")
    return complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180.0)
    seconds: float = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        keys_file = Path(folder) / "keys.json"
        kept, administrator = new_key("operations", Role.ADMIN)
        keys_file.write_text(dump_keys([kept]))
        options = {
            "--listen": "127.0.0.1:0",
            "--http": "127.0.0.1:0",
            "--store": f"sqlite:{folder}/store.db",
            "--keys": str(keys_file),
            "--limit": f"index_bytes={INDEX_BYTES}",
            "--audit-log": f"{folder}/audit.log",
            "--drain-delay": "0",
        }
        server = ServerProcess([word for option in options.items() for word in option])
        try:
            listening = server.wait_for_event("listening")
            churn = Churn(str(listening["address"]), keys_file, administrator, kept)
            samples = asyncio.run(soak(churn, server.process.pid, f"http://{listening['http']}/metrics", seconds))
            findings = judge(samples) if _complete(samples, seconds) else []
            code = server.stop()
            if code:
                findings.append(f"the server ended with {code}")
            if "call failed" in server.log or "Traceback" in server.log:
                findings.append(f"calls failed inside the server: {server.log[-2_000:]}")
        finally:
            if server.process.poll() is None:
                server.kill()
    for finding in findings:
        print(f"not good: {finding}", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
