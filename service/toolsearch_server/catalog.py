"""One catalog in memory: its entries, and an immutable view of them that is searched.

Entries are ahead of the view: a change is known at once, and becomes searchable when the applier has indexed it together with
whatever else came meanwhile. Searches only ever see whole views.
"""

import asyncio
import functools
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar

import structlog

from toolsearch_server import ranking
from toolsearch_server.answers import Answers
from toolsearch_server.bm25 import Bm25Index
from toolsearch_server.changes import Change, Entries, Version
from toolsearch_server.document import Document, analyse
from toolsearch_server.embedders import Embedder, Scale, Vector, embedded_text
from toolsearch_server.embeddings import Embeddings
from toolsearch_server.entry import Entry, EntryKey
from toolsearch_server.errors import EmbeddingsUnavailable, RevisionNotReached
from toolsearch_server.limits import Limits
from toolsearch_server.names import NameIndex, looks_like_pattern
from toolsearch_server.query import Indexes, Query, Strategy
from toolsearch_server.ranking import Ranking
from toolsearch_server.selection import NO_FILTER, Filter, Selection, required_facets
from toolsearch_server.settings import Thesaurus
from toolsearch_server.turns import Lane, Share
from toolsearch_server.usage import NO_USAGE, REFRESH_SECONDS, Usage
from toolsearch_server.vectors import Digest, VectorIndex

RECENT_CHANGES = 256
MAX_HOLE_SHARE = 0.5
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.01, 10.0
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.01, 0.25
"""Between one commit and the next while changes keep coming: a commit costs about the same for one and for many."""
SEARCH_OFF_LOOP_ENTRIES = 5_000
SEARCH_OFF_LOOP_PHRASINGS = 2
SEARCH_OFF_LOOP_LIMIT = 20
SEARCH_OFF_LOOP_CHARACTERS = 2_000
SEARCH_OFF_LOOP_GLOBS = 1_000
"""From these on a search may take long enough to be worth a thread."""
CATALOG_BYTES = 500_000
ENTRY_BYTES = 6_000
BYTES_PER_DEFINITION_BYTE = 6
"""What a catalog takes in memory, as measured on real ones; docs/operations.md has the figures."""
BY_MEANING = (Strategy.AUTO, Strategy.HYBRID, Strategy.SEMANTIC)
REPORT_SECONDS = 10.0
"""How often the log hears of a catalog whose entries take long to embed."""

log = structlog.get_logger()

Result = TypeVar("Result")


Rendered = dict[tuple[int, int], bytes]


@dataclass(frozen=True)
class View:
    """Everything a search needs, at one version. Immutable; `after` gives the next one."""

    entries: Entries
    slots: dict[EntryKey, int]
    documents: list[Document | None]
    bm25: Bm25Index
    names: NameIndex
    vectors: VectorIndex | None

    @classmethod
    def of(cls, entries: Entries, embedder: Embedder | None = None, before: VectorIndex | None = None) -> "View":
        """`before` has vectors that are known already."""
        slots = {key: slot for slot, key in enumerate(entries.by_key)}
        documents: list[Document | None] = []
        postings = []
        for slot, entry in enumerate(entries.by_key.values()):
            document, words = analyse(entry, settings=entries.settings)
            documents.append(document)
            postings.append((slot, words, document.facets))
        vectors = None if embedder is None else VectorIndex.build(embedder, list(entries.by_key.values()), before)
        names = NameIndex(enumerate(entries.by_key.values()))
        return cls(entries, slots, documents, Bm25Index.build(postings), names, vectors)

    def after(self, change: Change, entries: Entries) -> "View":
        """The view once `change`, which led to `entries`, is indexed. Done once: it moves the index on."""
        if entries.settings != self.entries.settings:
            return View.of(entries, self.embedder, self.vectors)
        slots, documents = dict(self.slots), list(self.documents)
        removed = [slots.pop(key) for key in (*change.deletes, *(entry.key for entry in change.upserts)) if key in slots]
        for slot in removed:
            documents[slot] = None
        added = []
        for entry in change.upserts:
            document, words = analyse(entry, settings=entries.settings)
            slots[entry.key] = len(documents)
            added.append((len(documents), words, document.facets))
            documents.append(document)
        bm25 = self.bm25.changed(removed=removed, added=added)
        if bm25.worn or len(documents) - len(slots) > MAX_HOLE_SHARE * len(documents):
            return View.of(entries, self.embedder, self.vectors)
        vectors = None if self.vectors is None else self.vectors.changed(removed=removed, added=change.upserts)
        names = self.names.changed(removed=removed, added=[(slots[entry.key], entry) for entry in change.upserts])
        return View(entries, slots, documents, bm25, names, vectors)

    def filled(self, vectors: Mapping[Digest, Vector], scale: Scale) -> "View":
        """The view with vectors that were missing."""
        if self.vectors is None:
            return self
        view = replace(self, vectors=self.vectors.filled(vectors, scale))
        # What is derived from the entries alone is not derived again.
        view.__dict__.update((name, value) for name, value in self.__dict__.items() if name in DERIVED)
        return view

    def missing_texts(self, count: int, refused: Callable[[Digest], bool]) -> dict[Digest, str]:
        """Some of the texts whose vectors are missing, but for those that the embedder refused."""
        if self.vectors is None:
            return {}
        wanted = (slot for slot in self.vectors.missing if not refused(self.vectors.digest(slot)))
        texts = ((self.vectors.digest(slot), self.documents[slot]) for slot in islice(wanted, count))
        return {digest: embedded_text(document.entry).whole for digest, document in texts if document is not None}

    @property
    def embedder(self) -> Embedder | None:
        return None if self.vectors is None else self.vectors.embedder

    @property
    def version(self) -> Version:
        return self.entries.version

    @property
    def bytes(self) -> int:
        """Estimate of its memory, within a factor of two for catalogs of ordinary tools."""
        vectors = 0 if self.vectors is None else self.vectors.bytes
        return CATALOG_BYTES + ENTRY_BYTES * len(self.documents) + BYTES_PER_DEFINITION_BYTE * self.entries.bytes + vectors

    @functools.cached_property
    def rendered(self) -> Rendered:
        """Entries as messages, by slot and detail; see responses.py."""
        return {}

    @functools.cached_property
    def indexes(self) -> Indexes:
        settings = self.entries.settings
        return Indexes(self.bm25, self.names, self.vectors, self.documents, settings, Thesaurus(settings.synonyms))

    @functools.cached_property
    def servers(self) -> Counter[str]:
        return Counter(entry.server for entry in self.entries.by_key.values())

    @functools.cached_property
    def by_name(self) -> list[Entry]:
        """All entries in the order of their canonical names."""
        return [entry for _, entry in sorted(self.entries.by_name.items())]

    @functools.cached_property
    def namespaces(self) -> Counter[str]:
        return Counter(entry.namespace for entry in self.entries.by_key.values())

    def search(self, query: Query, limits: Limits) -> Ranking:
        selection = self.selection(query.filter)
        if self.entries.settings.banned:
            selection = replace(selection, unbanned=True)
        return ranking.search(self.indexes, query, selection=selection, limits=limits)

    def entry(self, slot: int) -> Entry:
        return self.indexes.document(slot).entry

    def selection(self, wanted: Filter) -> Selection:
        if wanted == NO_FILTER:
            return Selection()
        excluded = (self.entries.find(name) for name in wanted.excluded_names)
        return Selection(
            required_facets(wanted, self.servers),
            frozenset(self.slots[entry.key] for entry in excluded if entry is not None),
        )

    def select(self, wanted: Filter, *, unbanned: bool = False) -> Sequence[Entry]:
        """The entries that a filter admits, in the order of their canonical names. `unbanned`: and that searches find."""
        if wanted == NO_FILTER and not unbanned:
            return self.by_name
        selection = replace(self.selection(wanted), unbanned=unbanned)
        return [entry for entry in self.by_name if self._admits(selection, entry)]

    def _admits(self, selection: Selection, entry: Entry) -> bool:
        slot = self.slots[entry.key]
        return selection.admits(slot, self.indexes.document(slot).facets)


DERIVED = ("servers", "by_name", "namespaces")

ViewBuilder = Callable[[View, Mapping[EntryKey, Entry | None], Entries], View]


@dataclass(frozen=True, slots=True)
class ChangedNames:
    """What a change did, by canonical name: what watchers are told."""

    version: Version
    upserted: tuple[str, ...]
    gone: tuple[str, ...]
    settings: bool = False
    """Whether the settings are others."""

    @classmethod
    def of(cls, change: Change, version: Version) -> "ChangedNames":
        upserted = tuple(entry.name for entry in change.upserts)
        return cls(version, upserted, change.gone_names, change.settings is not None)


class Applied(Protocol):
    def __call__(self, changes: Sequence[Change], seconds: float) -> None:
        """These changes, known for so long, are searchable now."""
        ...


class Catalog:
    """A loaded catalog: its newest entries, its view, and the task that moves the view on.

    `receive` and everything else but building views runs on the event loop. `share` is its tenant's. With `embeddings`, another
    task asks for the vectors that the view lacks, and hands them to the first, which is the only one that makes views.
    """

    def __init__(
        self,
        view: View,
        *,
        limits: Limits,
        share: Share,
        applied: Applied,
        embeddings: Embeddings | None = None,
        name: str = "",
    ) -> None:
        self.entries = view.entries
        self.view = view
        self.write_lock = asyncio.Lock()
        self.recent: deque[ChangedNames] = deque(maxlen=RECENT_CHANGES)
        self.closed = False
        self.waiting = 0
        self.followed = True
        self.complete_at = time.monotonic()
        self.usage = NO_USAGE
        self.answers = Answers()
        self._usage_read_at = -math.inf
        self._strengths: tuple[Version, Usage, Mapping[int, float]] = (view.version, NO_USAGE, {})
        self._limits = limits
        self._share = share
        self._applied = applied
        self._pending: dict[EntryKey, Entry | None] = {}
        self._pending_changes: list[Change] = []
        self._pending_since = 0.0
        self._applier: asyncio.Task[None] | None = None
        self._progress = asyncio.Event()
        self._wanted = asyncio.Event()
        self._name = name
        self._embeddings = embeddings
        self._come: dict[Digest, Vector] = {}
        self._filler: asyncio.Task[None] | None = None
        self._fill_soon()

    @property
    def without_vector(self) -> int:
        """How many entries are found by their words alone, because their vectors have not come yet."""
        return 0 if self.view.vectors is None else len(self.view.vectors.missing)

    @property
    def busy(self) -> bool:
        """Whether somebody writes, indexes or waits, so that it must stay in memory."""
        return self.write_lock.locked() or self._applier is not None or self.waiting > 0

    @property
    def staleness(self) -> float | None:
        """Seconds since it was last known that nothing is missing; None: nothing is."""
        return None if self.followed else max(0.0, time.monotonic() - self.complete_at)

    @property
    def lag(self) -> int:
        """Changes that are known and not searchable yet."""
        return max(0, self.entries.version.revision - self.view.version.revision)

    def usage_is_old(self) -> bool:
        """Whether usage is to be read again; who asks is expected to do so."""
        if time.monotonic() - self._usage_read_at < REFRESH_SECONDS:
            return False
        self._usage_read_at = time.monotonic()
        return True

    def _strengths_of(self, view: View) -> Mapping[int, float]:
        """How much entries are used, by slot."""
        return self.state_of(view)[2]

    def state_of(self, view: View) -> tuple[Version, Usage, Mapping[int, float]]:
        """All that an answer depends on besides the request: the same object until something of it changes. It has no view: an
        outdated one would stay in memory until the next search."""
        known_version, known_usage, _ = self._strengths
        if known_version != view.version or known_usage is not self.usage:
            by_key = {} if view.entries.settings.ignore_usage else self.usage.strengths()
            strengths = {view.slots[key]: strength for key, strength in by_key.items() if key in view.slots}
            self._strengths = (view.version, self.usage, strengths)
        return self._strengths

    @property
    def answers_may_vary(self) -> bool:
        """Whether the same search may have another answer though nothing has changed: it is stale, or vectors may be late."""
        return not self.followed or self._embeddings is not None

    def confirm(self, *, followed: bool) -> None:
        """Nothing is missing now, and nothing will be missed if it is `followed`."""
        self.followed = followed
        self.complete_at = time.monotonic()

    def doubt(self, heard: float) -> None:
        """Nothing was missing at `heard`, in monotonic seconds. Since then nobody would have told."""
        if self.followed:
            self.followed = False
            self.complete_at = max(self.complete_at, heard)

    def receive(self, changes: Sequence[tuple[Version, Change]], entries: Entries) -> None:
        """Take in the changes that lead from the newest entries to these. They will be searchable soon."""
        self.entries = entries
        for version, change in changes:
            self._pending.update(dict.fromkeys(change.deletes))
            self._pending.update((entry.key, entry) for entry in change.upserts)
            self.recent.append(ChangedNames.of(change, version))
            self._pending_since = self._pending_since or time.perf_counter()
            self._pending_changes.append(change)
        self._apply_soon()
        self.wake()

    def close(self) -> None:
        """It is not the catalog of its key any more: who waits for it has to look the key up again."""
        self.closed = True
        self._wanted.set()
        if self._filler is not None:
            self._filler.cancel()
        self.wake()

    def _apply_soon(self) -> None:
        if self._applier is None:
            self._applier = asyncio.create_task(self._apply())

    async def _apply(self) -> None:
        """Index what is pending until nothing is. Each round takes all that has come, so bursts cost few commits.

        Whatever goes wrong with an index, the entries are intact: it is built anew from them, again and again if need be.
        """
        build: ViewBuilder = _next_view
        delay, pause = FIRST_RETRY_SECONDS, FIRST_PAUSE_SECONDS
        try:
            while (self.view.version != self.entries.version or self._come) and not self.closed:
                try:
                    if self.view.version != self.entries.version:
                        await self._index(build)
                    else:
                        await self._take_vectors()
                except Exception:
                    log.exception("indexing failed, building the index anew", revision=self.entries.version.revision)
                    build = _rebuilt_view
                    await asyncio.sleep(delay)
                    delay = min(2 * delay, LAST_RETRY_SECONDS)
                    continue
                build, delay = _next_view, FIRST_RETRY_SECONDS
                self.wake()
                if self.view.version != self.entries.version:  # more came meanwhile, and more may be on its way
                    await self._pause(pause)
                    pause = min(2 * pause, LAST_PAUSE_SECONDS)
        finally:
            self._applier = None
        self._fill_soon()

    async def _pause(self, seconds: float) -> None:
        """Let changes collect, unless somebody waits for them."""
        self._wanted.clear()
        if not self.waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wanted.wait()

    async def _index(self, build: ViewBuilder) -> None:
        pending, self._pending = self._pending, {}
        changes, self._pending_changes = self._pending_changes, []
        since, self._pending_since = self._pending_since, 0.0
        view = await self._share.in_thread(Lane.INDEX, partial(build, self.view, pending, self.entries))
        outdated: list[object] = [self.view]
        self.view = view
        self._share.discard(outdated)
        self._applied(changes, time.perf_counter() - since)

    async def _take_vectors(self) -> None:
        come, self._come = self._come, {}
        assert self._embeddings is not None and self._embeddings.scale is not None, "they gave the vectors"
        self.view = await self._share.in_thread(Lane.INDEX, partial(self.view.filled, come, self._embeddings.scale))

    def _fill_soon(self) -> None:
        if self._embeddings is not None and self._filler is None and self.without_vector and not self.closed:
            self._filler = asyncio.create_task(self._fill(self._embeddings))

    async def _fill(self, embeddings: Embeddings) -> None:
        """Ask for missing vectors until none is missing, in rounds, so that what changes meanwhile has its turn."""
        started = reported = time.monotonic()
        try:
            while True:
                view = self.view
                texts = await asyncio.to_thread(view.missing_texts, embeddings.round_size, embeddings.is_refused)
                if not texts and view is self.view:
                    break
                try:
                    await embeddings.fill(texts, self._receive_vectors)
                except Exception:
                    log.exception("embedding failed, beginning again", catalog=self._name)
                    await asyncio.sleep(LAST_RETRY_SECONDS)
                if self._applier is not None:
                    await asyncio.wait([self._applier])
                if time.monotonic() - reported > REPORT_SECONDS:
                    reported = time.monotonic()
                    log.info("entries are being embedded", catalog=self._name, waiting=self.without_vector)
            if reported != started:
                log.info("entries are embedded", catalog=self._name, seconds=round(time.monotonic() - started))
        finally:
            self._filler = None

    def _receive_vectors(self, vectors: Mapping[Digest, Vector]) -> None:
        self._come.update(vectors)
        self._apply_soon()

    def wake(self) -> None:
        """Let everybody who waits look again."""
        self._progress.set()
        self._progress = asyncio.Event()

    async def changed(self) -> None:
        """Wait until entries or view are new, or the catalog is closed."""
        self.waiting += 1
        self._wanted.set()
        try:
            await self._progress.wait()
        finally:
            self.waiting -= 1

    async def reach(self, revision: int, *, timeout: float) -> View:
        """The view, once it is at `revision` or later. If the catalog is closed meanwhile: whatever it had then."""
        if self.view.version.revision >= revision:
            return self.view
        try:
            async with asyncio.timeout(timeout):
                while self.view.version.revision < revision and not self.closed:
                    await self.changed()
        except TimeoutError:
            raise RevisionNotReached(wanted=revision, actual=self.view.version.revision) from None
        return self.view

    async def read(self, view: View, work: Callable[[], Result]) -> Result:
        """What `work` finds out about a view, in a thread if the view is large."""
        return await self._share.quickly(work) if len(view.slots) < SEARCH_OFF_LOOP_ENTRIES else await self.read_slowly(work)

    async def read_slowly(self, work: Callable[[], Result]) -> Result:
        return await self._share.in_thread(Lane.READ, work)

    async def search(self, view: View, query: Query, *, patience: float = math.inf) -> Ranking:
        """`patience`: seconds that the caller has for what a search may wait for."""
        if self._embeddings is not None and query.strategy in BY_MEANING:
            try:
                vectors = await self._embeddings.of_queries(query.texts, patience=patience)
                query = replace(query, vectors=tuple(vectors))
            except EmbeddingsUnavailable as error:
                query = replace(query, without_meaning=error.message)
        work = partial(view.search, replace(query, usage=self._strengths_of(view)), self._limits)
        return await self._share.quickly(work) if _is_quick(view, query) else await self.read_slowly(work)

    def changes_since(self, revision: int) -> list[ChangedNames] | None:
        """The changes after `revision`; None if they are not all remembered."""
        missing = self.entries.version.revision - revision
        if missing < 0 or missing > len(self.recent):
            return None
        return list(islice(self.recent, len(self.recent) - missing, None))


def _is_quick(view: View, query: Query) -> bool:
    """Whether a search takes so little that handing it to a thread would cost more."""
    return (
        len(view.slots) < SEARCH_OFF_LOOP_ENTRIES
        and query.limit <= SEARCH_OFF_LOOP_LIMIT
        and len(query.texts) <= SEARCH_OFF_LOOP_PHRASINGS
        and sum(map(len, query.texts)) < SEARCH_OFF_LOOP_CHARACTERS
        and query.strategy not in (Strategy.REGEX, Strategy.FUZZY)
        and len(query.filter.servers) * len(view.servers) < SEARCH_OFF_LOOP_GLOBS
        and not any(map(looks_like_pattern, query.texts))
    )


def _next_view(view: View, pending: Mapping[EntryKey, Entry | None], entries: Entries) -> View:
    change = Change(
        upserts=tuple(entry for entry in pending.values() if entry is not None),
        deletes=tuple(key for key, entry in pending.items() if entry is None),
    )
    return view.after(change, entries)


def _rebuilt_view(view: View, _: Mapping[EntryKey, Entry | None], entries: Entries) -> View:
    return View.of(entries, view.embedder, view.vectors)
