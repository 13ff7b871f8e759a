"""Vectors from a slow embedder: each distinct text is embedded once, remembered, and shared with other replicas by the store.

Nobody waits for it. Entries are embedded in the background, for as long as it takes; a query is given a moment, and goes by
words alone if its vector is not there by then. A store that fails costs time, and nothing else.
"""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np
import structlog

from toolsearch_server.backoff import backoff
from toolsearch_server.embedders import EmbeddingFailed, Matrix, Scale, SlowEmbedder, TextRefused, Vector
from toolsearch_server.errors import EmbeddingsUnavailable, StoreUnavailable
from toolsearch_server.limits import Limits
from toolsearch_server.store import Store
from toolsearch_server.vectors import Digest

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.5, 60.0
BATCHES_PER_ROUND = 16
"""How much one catalog asks for at a time, so that others get their turn."""
FAILURES_TO_REST = 3
FIRST_REST_SECONDS, LAST_REST_SECONDS = 1.0, 30.0
"""After so many queries without an answer in time, the next ones do not wait for one for a while."""
REFUSED_TEXTS = 10_000

REQUESTS = (
    "what will the weather be like tomorrow",
    "open a bug report",
    "transfer money to my sister",
    "play some jazz",
    "translate this letter into French",
    "find a cheap flight to Lisbon",
    "which pods are crashing",
    "resize the photo",
    "how many steps did I walk today",
    "delete old backups",
    "reserve a table for two",
    "solve this equation",
)
TOOLS = (
    "get forecast: temperature, wind and rain of the coming days in a city",
    "create issue: opens an issue in a repository with title and description",
    "send payment: moves an amount between two bank accounts",
    "start playback: plays a song, an album or a playlist",
    "translate text: from one language into another",
    "search flights: connections and prices between two airports on a date",
    "list pods: containers of a cluster with their state and restarts",
    "scale image: changes width and height of a picture",
    "get activity: steps, distance and calories of a day from a fitness tracker",
    "remove snapshot: deletes a snapshot of a disk by its identifier",
    "book restaurant: reserves seats at a time for a number of guests",
    "evaluate expression: computes the value of a formula",
)
"""Requests and, in the same order, tools for them: how similar those are, and the others, is the scale of a model."""

log = structlog.get_logger()

Key = TypeVar("Key")
Result = TypeVar("Result")


class Embeddings:
    """Lives on the event loop. `embedded` counts texts, and `failing` says whether the last attempt to embed entries failed."""

    def __init__(self, embedder: SlowEmbedder, store: Store, limits: Limits) -> None:
        self.scale: Scale | None = None
        self.embedded = 0
        self._embedder = embedder
        self._store = store
        self._limits = limits
        self._model = ""
        self._dimensions = 0
        self._preparing: asyncio.Task[None] | None = None
        self._batches = asyncio.Semaphore(embedder.batches_at_once)
        self._entries: _Cache[Digest] = _Cache(limits.entry_vector_bytes)
        self._queries: _Cache[str] = _Cache(limits.query_vector_bytes)
        self._under_way: dict[Digest, asyncio.Task[None]] = {}
        self._refused: set[Digest] = set()
        self._asking: set[asyncio.Task[None]] = set()
        self._late = 0
        self._resting_until = self._not_before = 0.0
        self._entry_state = _State("entries are not embedded", "entries are embedded again")
        self._query_state = _State("queries are not embedded", "queries are embedded again")
        self._refusal_state = _State("some texts cannot be embedded", "")
        self._store_state = _State("vectors are not kept in the store", "vectors are kept in the store again")

    @property
    def failing(self) -> bool:
        return self._entry_state.bad

    def begin(self) -> asyncio.Task[None]:
        """Get to know the embedder, before anybody needs it."""
        if self._preparing is None or (self._preparing.done() and self.scale is None):
            self._preparing = asyncio.create_task(self._prepare())
        return self._preparing

    async def close(self) -> None:
        tasks = [*self._asking, *([self._preparing] if self._preparing else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._embedder.close()

    async def _prepare(self) -> None:
        """What only the embedder knows: how many dimensions its vectors have, and how similar similar texts are."""
        requests = await self._insist(lambda: self._embedder.embed_queries(REQUESTS))
        self._dimensions = requests.shape[1]
        tools = await self._insist(lambda: self._embedder.embed_entries(TOOLS))
        cosines = requests @ tools.T
        related = float(cosines.diagonal().mean())
        unrelated = float(cosines.sum() - cosines.trace()) / (len(REQUESTS) * (len(TOOLS) - 1))
        self._model = blake2b(f"{self._embedder.model} {self._dimensions}".encode(), digest_size=16).hexdigest()
        self.scale = Scale.measured(unrelated=unrelated, related=related, weight=self._embedder.weight)
        log.info("embedder answers", dimensions=self._dimensions, unrelated=round(unrelated, 3), related=round(related, 3))

    # Entries

    @property
    def round_size(self) -> int:
        return BATCHES_PER_ROUND * self._embedder.batch_size

    def is_refused(self, digest: Digest) -> bool:
        """Whether the embedder will never give a vector for this text."""
        return digest in self._refused

    async def fill(self, wanted: Mapping[Digest, str], deliver: Callable[[Mapping[Digest, Vector]], None]) -> None:
        """Deliver the vectors of texts as they come, until all have, or were refused, or another catalog's attempt ended."""
        await asyncio.shield(self.begin())
        known = self._entries.found(wanted)
        known |= await self._stored([digest for digest in wanted if digest not in known])
        if known:
            deliver(known)
        unknown = [digest for digest in wanted if digest not in known]
        # Other replicas begin at the same time: in another order, they find each other's work in the store.
        random.shuffle(unknown)
        elsewhere = [digest for digest in unknown if digest in self._under_way]
        ours = [digest for digest in unknown if digest not in self._under_way]
        others = {self._under_way[digest] for digest in elsewhere}
        size = self._embedder.batch_size
        async with asyncio.TaskGroup() as group:
            for first in range(0, len(ours), size):
                batch = {digest: wanted[digest] for digest in ours[first : first + size]}
                task = group.create_task(self._fill_batch(batch, deliver))
                self._under_way.update(dict.fromkeys(batch, task))
                task.add_done_callback(lambda _, batch=batch: [self._under_way.pop(digest) for digest in batch])  # type: ignore[misc]
        if others:
            await asyncio.wait(others)
            deliver(self._entries.found(elsewhere))

    async def _fill_batch(self, batch: Mapping[Digest, str], deliver: Callable[[Mapping[Digest, Vector]], None]) -> None:
        async with self._batches:
            known = await self._stored(list(batch))
            vectors = await self._embed({digest: text for digest, text in batch.items() if digest not in known})
        self.embedded += len(vectors)
        for digest, vector in vectors.items():
            self._entries.put(digest, vector)
        deliver(known | vectors)
        await self._keep(vectors)

    async def _embed(self, texts: Mapping[Digest, str]) -> dict[Digest, Vector]:
        """All of the texts but those that the embedder refuses."""
        if not texts:
            return {}
        try:
            matrix = await self._insist(lambda: self._embedder.embed_entries(list(texts.values())), refusable=True)
        except TextRefused as refusal:
            digests = list(texts)
            if len(digests) == 1:
                self._refusal_state.fails(str(refusal))
                if len(self._refused) >= REFUSED_TEXTS:
                    self._refused.clear()
                self._refused.add(digests[0])
                return {}
            middle = len(digests) // 2
            halves = (digests[:middle], digests[middle:])
            first, second = [await self._embed({digest: texts[digest] for digest in half}) for half in halves]
            return first | second
        return dict(zip(texts, matrix, strict=True))

    async def _insist(self, embed: Callable[[], Awaitable[Matrix]], *, refusable: bool = False) -> Matrix:
        """Ask until there is an answer."""
        failures = 0
        while True:
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            try:
                matrix = self._checked(await embed())
            except EmbeddingFailed as error:
                if refusable and isinstance(error, TextRefused) and await self._takes_others():
                    raise
                failures += 1
                self._entry_state.fails(str(error))
                self._heed(error)
                await asyncio.sleep(backoff(failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))
            else:
                self._entry_state.works()
                return matrix

    async def _takes_others(self) -> bool:
        """Whether it is the texts that the embedder refuses, and not everything."""
        try:
            await self._embedder.embed_entries(TOOLS[:1])
        except EmbeddingFailed:
            return False
        return True

    def _heed(self, error: EmbeddingFailed) -> None:
        """Nobody asks again before it makes sense."""
        if error.retry_after:
            self._not_before = max(self._not_before, time.monotonic() + error.retry_after)

    def _checked(self, matrix: Matrix) -> Matrix:
        if self._dimensions and matrix.shape[1] != self._dimensions:
            raise EmbeddingFailed(f"vectors have {matrix.shape[1]} dimensions, and had {self._dimensions}")
        if not np.isfinite(matrix).all():
            raise TextRefused("vectors are not numbers")
        return matrix

    async def _stored(self, digests: Sequence[Digest]) -> dict[Digest, Vector]:
        if not digests:
            return {}
        try:
            records = await self._store.vectors(self._model, digests)
        except StoreUnavailable as error:
            self._store_state.fails(str(error))
            return {}
        self._store_state.works()
        size = 4 * self._dimensions
        vectors: dict[Digest, Vector] = {
            digest: np.frombuffer(record, dtype="<f4").astype(np.float32)
            for digest, record in zip(digests, records, strict=True)
            if record is not None and len(record) == size
        }
        found = {digest: vector for digest, vector in vectors.items() if np.isfinite(vector).all()}
        for digest, vector in found.items():
            self._entries.put(digest, vector)
        return found

    async def _keep(self, vectors: Mapping[Digest, Vector]) -> None:
        if not vectors:
            return
        try:
            await self._store.keep_vectors(
                self._model, {digest: vector.astype("<f4").tobytes() for digest, vector in vectors.items()}
            )
        except StoreUnavailable as error:
            self._store_state.fails(str(error))
        else:
            self._store_state.works()

    # Queries

    async def of_queries(self, texts: Sequence[str], *, patience: float) -> list[Vector]:
        """The vectors of a query's phrasings, within a moment. Raises EmbeddingsUnavailable."""
        known = self._queries.found(texts)
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        if unknown:
            await self._ask_in_time(unknown, min(patience, self._limits.query_embedding_seconds))
            known |= self._queries.found(unknown)
        if any(text not in known for text in texts):
            raise EmbeddingsUnavailable("the embedding model failed")
        return [known[text] for text in texts]

    async def _ask_in_time(self, texts: Sequence[str], seconds: float) -> None:
        if self.scale is None:
            self.begin()
            raise EmbeddingsUnavailable("the embedding model has not answered yet")
        if time.monotonic() < max(self._resting_until, self._not_before):
            raise EmbeddingsUnavailable("the embedding model did not answer lately")
        if len(self._asking) >= self._limits.queries_embedded_at_once:
            raise EmbeddingsUnavailable("the embedding model is busy")
        task = asyncio.create_task(self._ask(texts))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        # Not cancelled when it is late: the vector will be there for the next one who asks the same.
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            self._query_state.fails(f"no answer within {seconds} seconds (query_embedding_seconds)")
            self._miss()
            raise EmbeddingsUnavailable("the embedding model did not answer in time")

    async def _ask(self, texts: Sequence[str]) -> None:
        started = time.monotonic()
        try:
            matrix = self._checked(await self._embedder.embed_queries(texts))
        except EmbeddingFailed as error:
            self._query_state.fails(str(error))
            self._miss()
            self._heed(error)
            return
        for text, vector in zip(texts, matrix, strict=True):
            self._queries.put(text, vector)
        if time.monotonic() - started < self._limits.query_embedding_seconds:
            self._query_state.works()
            self._late = 0

    def _miss(self) -> None:
        self._late += 1
        beyond = self._late - FAILURES_TO_REST + 1
        if beyond > 0:
            self._resting_until = time.monotonic() + backoff(beyond, first=FIRST_REST_SECONDS, last=LAST_REST_SECONDS)


class _Cache(Generic[Key]):
    """Vectors by key; above so many bytes, those that were not used for longest are dropped."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._bytes = 0
        self._vectors: OrderedDict[Key, Vector] = OrderedDict()

    def found(self, keys: Iterable[Key]) -> dict[Key, Vector]:
        found = {key: self._vectors[key] for key in keys if key in self._vectors}
        for key in found:
            self._vectors.move_to_end(key)
        return found

    def put(self, key: Key, vector: Vector) -> None:
        old = self._vectors.pop(key, None)
        self._bytes += vector.nbytes - (0 if old is None else old.nbytes)
        # A row of a batch would keep the whole batch in memory.
        self._vectors[key] = vector.copy()
        while self._bytes > self._capacity:
            _, dropped = self._vectors.popitem(last=False)
            self._bytes -= dropped.nbytes


class _State:
    """Good or bad; the log hears when that changes."""

    def __init__(self, bad: str, good: str) -> None:
        self.bad = False
        self._messages = (bad, good)

    def fails(self, error: str) -> None:
        if not self.bad:
            log.warning(self._messages[0], error=error)
        self.bad = True

    def works(self) -> None:
        if self.bad:
            log.info(self._messages[1])
        self.bad = False
