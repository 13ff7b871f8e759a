"""Definitions that were read once and are kept until they change, so that nobody fetches the same schema twice.

An entry's digest changes whenever anything about it does, so what a search found is compared by (name, digest): that is right
without asking anybody. A name alone says nothing about freshness: for those the catalog is watched.
"""

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Self

import grpc

from toolsearch import types as t
from toolsearch._session import reconnect_delays
from toolsearch.aio import AsyncClient
from toolsearch.client import Client
from toolsearch.errors import TimedOut, ToolSearchError, Unavailable

MAX_DEFINITIONS = 1_000
"""Kept by default; of more, those that were used last."""

NAMES_PER_CALL = 100
"""What the service takes in one GetTools."""

AWAY = (Unavailable, TimedOut)


class Definitions:
    """The definitions of one catalog, each read once. Safe to share between threads.

    ```python
    definitions = Definitions(client)
    for entry in definitions.of(client.search("open a bug report").matches):
        print(entry.name, entry.definition)
    ```

    While the service is away, what is known is served. A thread watches the catalog from the first `get` on, until `close` or
    until the client is closed.
    """

    def __init__(self, client: Client, *, max_definitions: int = MAX_DEFINITIONS) -> None:
        self._client = client
        self._shelf = _Shelf(max_definitions)
        self._starting = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()

    def of(self, entries: Iterable[t.Entry], *, timeout: float | None = None) -> tuple[t.Entry, ...]:
        """The same entries in full; those that are gone meanwhile are left out."""
        wanted = tuple(entries)
        full = self._shelf.same(wanted)
        for names in _batches([entry.name for entry in wanted if entry.name not in full]):
            found = self._client.get_tools(names, timeout=timeout)
            self._shelf.keep(found)
            full.update((entry.name, entry) for entry in found.entries)
        return tuple(full[entry.name] for entry in wanted if entry.name in full)

    def get(self, names: Sequence[str], *, timeout: float | None = None) -> t.GetResult:
        """Entries in full by canonical name or alias, in the order asked for, as `Client.get_tools` does."""
        self._watch()
        answer = _Answer(names, self._shelf)
        try:
            for batch in _batches(answer.unknown):
                answer.add(self._client.get_tools(batch, timeout=timeout))
        except AWAY as error:
            answer.make_do(error)
        return answer.result

    def close(self) -> None:
        """Stop watching: at the next change, or when the client is closed."""
        self._closed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _watch(self) -> None:
        with self._starting:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._follow, name="toolsearch-definitions", daemon=True)
                self._watcher.start()

    def _follow(self) -> None:
        delays = reconnect_delays()
        while not self._closed.is_set():
            try:
                for event in self._client.watch(self._shelf.version):
                    self._shelf.apply(event)
                    delays = reconnect_delays()
                    if self._closed.is_set():
                        break
            except ToolSearchError:
                pass  # no catalog yet, not allowed, or nobody there: everything is asked for until that is over
            except ValueError:
                return  # the client was closed
            finally:
                self._shelf.lose_sight()
            self._closed.wait(next(delays))


class AsyncDefinitions:
    """The twin of Definitions for an AsyncClient: a task watches the catalog from the first `get` on, until `close`."""

    def __init__(self, client: AsyncClient, *, max_definitions: int = MAX_DEFINITIONS) -> None:
        self._client = client
        self._shelf = _Shelf(max_definitions)
        self._watcher: asyncio.Task[None] | None = None

    async def of(self, entries: Iterable[t.Entry], *, timeout: float | None = None) -> tuple[t.Entry, ...]:
        """The same entries in full; those that are gone meanwhile are left out."""
        wanted = tuple(entries)
        full = self._shelf.same(wanted)
        for names in _batches([entry.name for entry in wanted if entry.name not in full]):
            found = await self._client.get_tools(names, timeout=timeout)
            self._shelf.keep(found)
            full.update((entry.name, entry) for entry in found.entries)
        return tuple(full[entry.name] for entry in wanted if entry.name in full)

    async def get(self, names: Sequence[str], *, timeout: float | None = None) -> t.GetResult:
        """Entries in full by canonical name or alias, in the order asked for, as `AsyncClient.get_tools` does."""
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._follow())
        answer = _Answer(names, self._shelf)
        try:
            for batch in _batches(answer.unknown):
                answer.add(await self._client.get_tools(batch, timeout=timeout))
        except AWAY as error:
            answer.make_do(error)
        return answer.result

    async def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _follow(self) -> None:
        delays = reconnect_delays()
        while True:
            try:
                async for event in self._client.watch(self._shelf.version):
                    self._shelf.apply(event)
                    delays = reconnect_delays()
            except ToolSearchError:
                pass  # no catalog yet, not allowed, or nobody there: everything is asked for until that is over
            except grpc.aio.UsageError:
                return  # the client was closed
            finally:
                self._shelf.lose_sight()
            await asyncio.sleep(next(delays))


class _Shelf:
    """What is kept, and what is known about how fresh it is."""

    def __init__(self, max_definitions: int) -> None:
        if max_definitions < 1:
            raise ValueError(f"max_definitions is {max_definitions}, but must be at least 1")
        self._max = max_definitions
        self._entries: OrderedDict[str, t.Entry] = OrderedDict()
        self._names: dict[str, str] = {}
        self._version: t.Version | None = None
        self._in_sight = False
        self._lock = threading.Lock()

    @property
    def version(self) -> t.Version | None:
        """Up to where changes were heard of."""
        return self._version

    def same(self, wanted: Sequence[t.Entry]) -> dict[str, t.Entry]:
        """Those that are kept with the same digest, by name."""
        with self._lock:
            return {entry.name: known for entry in wanted if (known := self._same(entry)) is not None}

    def current(self, name: str) -> t.Entry | None:
        """Right now, as far as the watch can tell."""
        return self.known(name) if self._in_sight else None

    def known(self, name: str) -> t.Entry | None:
        with self._lock:
            known = self._names.get(name, name)
            if known in self._entries:
                self._entries.move_to_end(known)
            return self._entries.get(known)

    def keep(self, found: t.GetResult) -> None:
        with self._lock:
            if self._in_sight and self._version is not None and _is_before(found.version, self._version):
                return  # an answer that was overtaken by a change
            for entry in found.entries:
                self._drop(entry.name)
                self._entries[entry.name] = entry
                self._names[entry.alias] = entry.name
            while len(self._entries) > self._max:
                self._drop(next(iter(self._entries)))

    def apply(self, event: t.WatchEvent) -> None:
        with self._lock:
            names = event.upserted + event.deleted
            if event.kind in (t.WatchKind.SNAPSHOT_NEEDED, t.WatchKind.DELETED) or self._version is None:
                names = tuple(self._entries)
            for name in names:
                self._drop(name)
            deleted = event.kind is t.WatchKind.DELETED
            self._version = None if deleted else event.version
            self._in_sight = not deleted

    def lose_sight(self) -> None:
        """Nobody watches any more."""
        self._in_sight = False

    def _same(self, entry: t.Entry) -> t.Entry | None:
        known = self._entries.get(entry.name)
        if known is None or known.digest != entry.digest:
            return None
        self._entries.move_to_end(entry.name)
        return known

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None and self._names.get(entry.alias) == name:
            del self._names[entry.alias]


class _Answer:
    """What was asked for by name, put together from what is kept and what is read."""

    def __init__(self, names: Sequence[str], shelf: _Shelf) -> None:
        if isinstance(names, str):
            raise TypeError("names must be a list of strings, not a string")
        self._names = names
        self._shelf = shelf
        self._found = {name: entry for name in names if (entry := shelf.current(name)) is not None}
        self._missing: tuple[t.MissingEntry, ...] = ()
        self._version = shelf.version

    @property
    def unknown(self) -> list[str]:
        return [name for name in self._names if name not in self._found]

    def add(self, part: t.GetResult) -> None:
        self._shelf.keep(part)
        for entry in part.entries:
            self._found[entry.name] = self._found[entry.alias] = entry
        self._missing += part.missing
        self._version = part.version

    def make_do(self, error: ToolSearchError) -> None:
        """With what was known last. Raises the error if that is not everything."""
        for name in self.unknown:
            entry = self._shelf.known(name)
            if entry is None:
                raise error
            self._found[name] = entry

    @property
    def result(self) -> t.GetResult:
        entries = {entry.name: entry for name in self._names if (entry := self._found.get(name)) is not None}
        return t.GetResult(
            entries=tuple(entries.values()), missing=self._missing, version=self._version or t.Version(epoch="", revision=0)
        )


def _is_before(version: t.Version, other: t.Version) -> bool:
    """Revisions of different epochs cannot be compared: then it may be."""
    return version.epoch != other.epoch or version.revision < other.revision


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    remaining = iter(dict.fromkeys(names))
    while batch := list(islice(remaining, NAMES_PER_CALL)):
        yield batch
