"""A transformer in this process. It runs in threads of its own, one for queries and one for entries, so that a query does not
stand in line behind a catalog that is being embedded."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

from toolsearch_server.embedders import EmbeddingFailed, Matrix

TRANSFORMER_WEIGHT = 0.2
"""What a deviation of a transformer's similarity counts beside the words; docs/ranking.md has the measurements."""


class LocalModel(Protocol):
    identity: str

    def encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Vectors of length one. May be called from several threads at once."""
        ...


class LocalEmbedder:
    instant: Literal[False] = False
    weight = TRANSFORMER_WEIGHT
    batch_size = 32
    batches_at_once = 1

    def __init__(self, model: LocalModel) -> None:
        self.model = model.identity
        self._model = model
        self._for_entries = ThreadPoolExecutor(1, thread_name_prefix="embed-entries")
        self._for_queries = ThreadPoolExecutor(1, thread_name_prefix="embed-queries")

    async def embed_entries(self, texts: Sequence[str]) -> Matrix:
        return await self._encode(self._for_entries, texts, query=False)

    async def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return await self._encode(self._for_queries, texts, query=True)

    async def _encode(self, thread: ThreadPoolExecutor, texts: Sequence[str], *, query: bool) -> Matrix:
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, lambda: self._model.encode(texts, query=query))
        except Exception as error:  # whatever a model library raises: the next batch may do better
            raise EmbeddingFailed(f"the model failed: {error}") from error

    async def close(self) -> None:
        for thread in (self._for_entries, self._for_queries):
            thread.shutdown(wait=False, cancel_futures=True)
