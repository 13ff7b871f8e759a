"""Embedders: texts become vectors of length one, so that what means the same is near.

An *instant* embedder takes microseconds and is called wherever a vector is needed. A *slow* one (a transformer, somebody else's
service) is asked in the background and in batches, by embeddings.py, which nobody waits for longer than a moment.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolsearch_server import text
from toolsearch_server.entry import Entry

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]

PARAMETER_CHARACTERS = 2_000
TEXT_CHARACTERS = 4_000
"""Of an entry, for a slow embedder: more than a transformer reads, and less than an endpoint refuses."""

USUAL, DEVIATION, NEAR, SAME = 0.12, 0.22, 0.3, 1.44
"""What Scale says, on a ruler that has 0 where texts have nothing in common and 1 where a request meets its tool. Read off the
static model, whose scale was measured on real catalogs, and on which a transformer's agree; but it is similar from 0.46 on."""
SAME_AT_MOST = 0.95


class EmbedderOpenError(Exception):
    """The embedder cannot be used at all; the message tells an operator why."""


class EmbeddingFailed(Exception):
    """No vectors this time. `retry_after`: seconds before which asking again is useless, if that is known."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TextRefused(EmbeddingFailed):
    """These texts will not be embedded, however often they are sent."""


class EmbeddedText(NamedTuple):
    """What an entry's vector is made from: what it is, and what its parameters are."""

    core: str
    parameters: str

    @property
    def whole(self) -> str:
        return f"{self.core} {self.parameters}"[:TEXT_CHARACTERS]


def embedded_text(entry: Entry) -> EmbeddedText:
    core = f"{text.spelled(entry.local_name)} {entry.server} {entry.title} {entry.description}"
    return EmbeddedText(core, entry.parameters[:PARAMETER_CHARACTERS])


@dataclass(frozen=True, slots=True)
class Scale:
    """What a model's cosines mean: they differ from model to model.

    `mean` and `deviation` are usual between a request and the entries of a catalog. From `near` on, texts are similar at all;
    from `same` on, entries are variants of one another. `weight` is what a deviation counts beside the words.
    """

    mean: float
    deviation: float
    near: float
    same: float
    weight: float

    @classmethod
    def measured(cls, *, unrelated: float, related: float, weight: float) -> "Scale":
        """From a model's mean cosines of texts that have nothing to do with one another, and of requests and their tools."""
        span = max(related - unrelated, 1e-3)
        same = min(SAME_AT_MOST, unrelated + SAME * span)
        return cls(unrelated + USUAL * span, DEVIATION * span, unrelated + NEAR * span, same, weight)


class InstantEmbedder(Protocol):
    instant: Literal[True]
    dimensions: int
    scale: Scale

    def embed_entries(self, texts: Sequence[EmbeddedText]) -> Matrix: ...

    def embed_query(self, query: str) -> Vector: ...


class SlowEmbedder(Protocol):
    """`model` says what makes the vectors: the same name, the same vectors, in whatever process.

    `batch_size` texts are embedded at once, and so many batches as `batches_at_once`. Raises EmbeddingFailed.
    """

    instant: Literal[False]
    model: str
    weight: float
    batch_size: int
    batches_at_once: int

    async def embed_entries(self, texts: Sequence[str]) -> Matrix: ...

    async def embed_queries(self, texts: Sequence[str]) -> Matrix: ...

    async def close(self) -> None: ...


Embedder = InstantEmbedder | SlowEmbedder


def unit(vector: Vector) -> Vector:
    length = math.sqrt(vector @ vector)
    return vector / length if length else vector
