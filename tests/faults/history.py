"""What replicas answered while things went wrong, and what must hold of it."""

import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from support import ServerProcess, running_server, tool, wait_for
from toolsearch import Client, ToolSearchError

CONVERGENCE_SECONDS = 20.0
"""All replicas answer alike so long after the last fault is over, at the latest."""
NEVER = ("--poll-seconds", "86400")
"""Catalogs are never compared for no reason: what is found must have been announced, or found missing."""


@dataclass
class Answer:
    epoch: str
    revision: int
    names: frozenset[str]


@dataclass
class History:
    """All that one replica answered, in order."""

    address: str
    answers: list[Answer] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass
class Writes:
    """Names of tools that were written and acknowledged, in order."""

    acknowledged: list[str] = field(default_factory=list)
    refused: int = 0


class Traffic:
    """Searches on every replica, and writes spread over them, until stopped."""

    def __init__(self, addresses: Sequence[str], *, writing: bool = True) -> None:
        self.histories = [History(address) for address in addresses]
        self.writes = Writes()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._search, args=(each,), daemon=True) for each in self.histories]
        if writing:
            self._threads.append(threading.Thread(target=self._write, args=(list(addresses),), daemon=True))
        for thread in self._threads:
            thread.start()

    def _search(self, history: History) -> None:
        with Client(history.address, timeout=5) as client:
            while not self._stopped.is_set():
                try:
                    found = client.search("thing", limit=100, min_revision=0)
                except ToolSearchError as error:
                    history.failures.append(f"{type(error).__name__}: {error}")
                else:
                    names = frozenset(match.name for match in found.matches)
                    history.answers.append(Answer(found.version.epoch, found.version.revision, names))
                self._stopped.wait(0.01)

    def _write(self, addresses: list[str]) -> None:
        with ExitStack() as stack:
            clients = itertools.cycle([stack.enter_context(Client(address, timeout=8)) for address in addresses])
            for number in itertools.count():
                if self._stopped.is_set():
                    return
                name = f"t{number % 60}_{number}"
                try:
                    next(clients).sync_server(f"s{number % 60}", [tool(name, "thing")])
                except ToolSearchError:
                    self.writes.refused += 1
                else:
                    self.writes.acknowledged.append(name)
                self._stopped.wait(0.005)

    def wait_for_writes(self, count: int) -> None:
        goal = len(self.writes.acknowledged) + count
        wait_for(lambda: len(self.writes.acknowledged) >= goal, seconds=60, what=f"{count} more writes")

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def check_searches(self) -> None:
        """Searches never failed, and revisions never went backwards inside an epoch."""
        for history in self.histories:
            assert history.answers, f"{history.address} answered nothing"
            assert history.failures == [], history.address
            for earlier, later in itertools.pairwise(history.answers):
                assert earlier.epoch != later.epoch or earlier.revision <= later.revision, history.address
            _check_one_meaning(history.answers)

    def check_same_meaning_everywhere(self) -> None:
        """A version is one set of tools, whichever replica answers."""
        _check_one_meaning([answer for history in self.histories for answer in history.answers])


def _check_one_meaning(answers: Sequence[Answer]) -> None:
    meaning: dict[tuple[str, int], frozenset[str]] = {}
    for answer in answers:
        assert meaning.setdefault((answer.epoch, answer.revision), answer.names) == answer.names


def names_on(address: str) -> frozenset[str]:
    with Client(address, timeout=10) as client:
        return frozenset(match.name for match in client.search("thing", limit=100, min_revision=0).matches)


def check_convergence(store: str, addresses: Sequence[str], writes: Writes, *, all_kept: bool = True) -> None:
    """All replicas end like a fresh one; with what was acknowledged last for every server, if the store kept everything."""
    with running_replicas(store, 1) as (_, fresh):
        wait_until_ready(fresh[0])

        def alike() -> bool:
            found = {names_on(address) for address in (*addresses, *fresh)}
            return len(found) == 1

        wait_for(alike, seconds=CONVERGENCE_SECONDS, what="replicas that answer alike")
    if not all_kept:
        return
    latest = {name.partition("_")[0]: name for name in writes.acknowledged}
    kept = {name.partition(".")[2] for name in names_on(addresses[0])}
    for group, name in latest.items():
        later = [each for each in kept if each.partition("_")[0] == group]
        # A write that was refused because nobody knew its outcome may have been made.
        assert later and int(later[0].partition("_")[2]) >= int(name.partition("_")[2]), (name, later)


@contextmanager
def running_replicas(store: str, count: int, *arguments: str) -> Iterator[tuple[list[ServerProcess], list[str]]]:
    with ExitStack() as stack:
        started = [
            stack.enter_context(running_server("--store", store, "--embeddings", "off", *NEVER, *arguments))
            for _ in range(count)
        ]
        for process, _ in started:
            wait_for(lambda process=process: '"event": "ready"' in process.log, what="a replica that is ready")  # type: ignore[misc]
        yield [process for process, _ in started], [address for _, address in started]


class Proxy:
    """A TCP proxy that can swallow what passes, without a word to either side."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.swallowing = False
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._sockets += (near, far)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        # A connection that lost bytes is broken for good: it stays silent.
        silent = False
        try:
            while data := source.recv(1 << 16):
                silent = silent or self.swallowing
                if not silent:
                    sink.sendall(data)
        except OSError:
            pass
        finally:
            sink.close()

    def close(self) -> None:
        self._listener.close()
        for each in self._sockets:
            each.close()


def wait_until_ready(address: str) -> None:
    """Until a replica answers a search, which its store must have answered before."""

    def answers() -> bool:
        try:
            names_on(address)
        except ToolSearchError:
            return False
        return True

    wait_for(answers, what="a replica that answers")
