"""Load through each client, spread over replicas, and what came of it."""

import itertools
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redis_process import free_port
from support import ServerProcess, tool, wait_for
from toolsearch import Client, ToolSearchError

ROOT = Path(__file__).parents[2]
GO_LOAD = Path(os.environ.get("TOOLSEARCH_LOAD") or ROOT / ".cache" / "rollouts" / "load")
SEARCHERS = 3
PAUSE = 0.002


@dataclass
class Load:
    """What one client did until it was stopped."""

    searches: int = 0
    writes: int = 0
    failures: list[str] = field(default_factory=list)


@contextmanager
def python_load(addresses: Sequence[str]) -> Iterator[Load]:
    load = Load()
    lock = threading.Lock()
    stopped = threading.Event()

    def search(client: Client) -> None:
        while not stopped.wait(PAUSE):
            try:
                client.search("thing")
            except ToolSearchError as error:
                load.failures.append(f"search: {type(error).__name__}: {error}")
            else:
                with lock:
                    load.searches += 1

    def write(client: Client) -> None:
        for number in itertools.count():
            if stopped.wait(PAUSE):
                return
            try:
                client.sync_server("s", [tool(f"t{number % 50}", "thing")])
            except ToolSearchError as error:
                load.failures.append(f"write: {type(error).__name__}: {error}")
            else:
                load.writes += 1

    with Client(f"ipv4:{','.join(addresses)}", tenant="python") as client:
        client.sync_server("s", [tool("t", "thing")])
        threads = [threading.Thread(target=work, args=(client,), daemon=True) for work in (write, *[search] * SEARCHERS)]
        for thread in threads:
            thread.start()
        try:
            yield load
        finally:
            stopped.set()
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()


@contextmanager
def go_load(addresses: Sequence[str]) -> Iterator[Load]:
    assert GO_LOAD.is_file(), f"{GO_LOAD} is not there: run make test-rollouts, which builds it"
    load = Load()
    with subprocess.Popen([GO_LOAD, *addresses], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "running\n"
        try:
            yield load
        finally:
            process.stdin.close()
            told = json.loads(process.stdout.readline())
            load.searches, load.writes, load.failures = told["searches"], told["writes"], told["failures"]


LOADS = {"python": python_load, "go": go_load}


class Replica:
    """A server with a port of its own, that can be replaced by a new process."""

    def __init__(self, store: str, *arguments: str) -> None:
        self.port = free_port()
        self._arguments = (
            "--store",
            store,
            "--embeddings",
            "off",
            "--listen",
            self.address,
            "--log-level",
            "debug",
            *arguments,
        )
        self.process = self._start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _start(self) -> ServerProcess:
        process = ServerProcess(self._arguments)
        process.wait_for_event("ready")
        return process

    def replace(self, *callers: str) -> None:
        """As a rollout does: SIGTERM, a new one when the old one has ended, and time for clients to find it."""
        assert self.process.stop() == 0, self.process.log
        assert "Traceback" not in self.process.log
        self.process = self._start()
        for tenant in callers:
            wait_for(lambda tenant=tenant: self._was_called_by(tenant), what=f"calls of {tenant}")  # type: ignore[misc]

    def _was_called_by(self, tenant: str) -> bool:
        return any(f'"tenant": "{tenant}"' in line for line in self.process.lines)

    def kill(self) -> None:
        if self.process.process.poll() is None:
            self.process.kill()


@contextmanager
def replicas(store: str, count: int, *arguments: str) -> Iterator[list[Replica]]:
    started: list[Replica] = []
    try:
        for _ in range(count):
            started.append(Replica(store, *arguments))
        yield started
    finally:
        for replica in started:
            replica.kill()
