"""Meaning: embeddings of entries, compared with a query's. The only module that knows an embedding library.

The built-in model is static: a table of word-piece vectors that are averaged. It needs no download, no GPU and tens of
microseconds a query. It comes with the extra `semantic`; without that there is no embedder and searches go by words alone.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from toolsearch_server import text
from toolsearch_server.entry import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]

STATIC_PACKAGE = "wordllama"
STATIC_WEIGHTS = "weights/l2_supercat_256.safetensors"
STATIC_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
PARAMETER_CHARACTERS = 2_000
FIRST_CAPACITY = 64
SAME_FROM = 0.6
SAMENESS_WEIGHT = 0.5
"""Entries with a higher cosine than that between them are variants of one another, and lose so much of the difference."""
PRIOR_ENTRIES = 20
PRIOR_MEAN, PRIOR_DEVIATION = 0.06, 0.09
"""Of the cosines between a query and the entries of a catalog, as measured on real ones."""


class EmbeddedText(NamedTuple):
    """What an entry's vector is made from: what it is, and what its parameters are."""

    core: str
    parameters: str


def embedded_text(entry: Entry) -> EmbeddedText:
    core = f"{text.spelled(entry.local_name)} {entry.server} {entry.title} {entry.description}"
    return EmbeddedText(core, entry.parameters[:PARAMETER_CHARACTERS])


class Embedder(Protocol):
    """Vectors of length one."""

    dimensions: int

    def embed_entries(self, texts: Sequence[EmbeddedText]) -> "Matrix": ...

    def embed_query(self, query: str) -> "Vector": ...


class StaticEmbedder:
    """Averages of word-piece vectors, read from the files that the wordllama distribution carries."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        (weights,) = load_file(folder / STATIC_WEIGHTS).values()
        self._pieces: Matrix = weights.astype("float32")
        self._tokenizer = Tokenizer.from_file(str(folder / STATIC_TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.dimensions: int = self._pieces.shape[1]

    def embed_entries(self, texts: Sequence[EmbeddedText]) -> "Matrix":
        """The mean of two views of an entry: without its parameters and with them."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        cores = self._tokenizer.encode_batch_fast([each.core for each in texts], add_special_tokens=False)
        parameters = self._tokenizer.encode_batch_fast([each.parameters for each in texts], add_special_tokens=False)
        for row, (core, more) in enumerate(zip(cores, parameters, strict=True)):
            core_sum = self._pieces[core.ids].sum(axis=0)
            vectors[row] = _unit(core_sum) + _unit(core_sum + self._pieces[more.ids].sum(axis=0))
            vectors[row] = _unit(vectors[row])
        return vectors

    def embed_query(self, query: str) -> "Vector":
        encoded = self._tokenizer.encode(query, add_special_tokens=False)
        return _unit(self._pieces[encoded.ids].sum(axis=0))


def static_embedder() -> StaticEmbedder | None:
    """The built-in model, if it is installed."""
    spec = importlib.util.find_spec(STATIC_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    if not (folder / STATIC_WEIGHTS).exists():
        return None
    return StaticEmbedder(folder)


def _unit(vector: "Vector") -> "Vector":
    length = float((vector @ vector) ** 0.5)
    return vector / length if length else vector


@dataclass(frozen=True, slots=True)
class Similarities:
    """How near each slot's entry is to a query: the cosine, and how unusual that is in this catalog (a standard score)."""

    cosines: "Vector"
    standard_scores: "Vector"

    def added_to(self, scores: Mapping[int, float], weight: float) -> dict[int, float]:
        """The scores by slot plus the weighted standard scores, to five digits."""
        if not scores:
            return {}
        slots = list(scores)
        unusual: list[float] = self.standard_scores[slots].tolist()
        return {slot: round(scores[slot] + weight * each, 5) for slot, each in zip(slots, unusual, strict=True)}

    def nearest(self, count: int, min_cosine: float) -> list[int]:
        """Slots of those that are at least so similar, nearest first."""
        import numpy as np

        everything = count >= len(self.cosines)
        best = np.arange(len(self.cosines)) if everything else np.argpartition(-self.cosines, count)[:count]
        ordered: list[int] = best[np.argsort(-self.cosines[best], kind="stable")].tolist()
        return [slot for slot in ordered if self.cosines[slot] >= min_cosine]


class VectorIndex:
    """One row a slot; an immutable snapshot. `changed` gives the next one; only the newest may be changed again.

    Rows are only ever appended, so snapshots share one buffer until it is full.
    """

    def __init__(self, embedder: Embedder, rows: "Matrix", dead: frozenset[int], size: int) -> None:
        self.embedder = embedder
        self._rows = rows
        self._dead = dead
        self._size = size

    @classmethod
    def build(cls, embedder: Embedder, entries: Sequence[Entry]) -> "VectorIndex":
        import numpy as np

        rows = np.zeros((max(FIRST_CAPACITY, len(entries)), embedder.dimensions), dtype=np.float32)
        rows[: len(entries)] = embedder.embed_entries([embedded_text(entry) for entry in entries])
        return cls(embedder, rows, frozenset(), len(entries))

    @property
    def bytes(self) -> int:
        return int(self._rows.nbytes)

    def changed(self, *, removed: Sequence[int], added: Sequence[Entry]) -> "VectorIndex":
        """`added` take the slots that follow."""
        import numpy as np

        rows = self._rows
        size = self._size + len(added)
        if size > len(rows):
            rows = np.zeros((max(2 * len(rows), size), self.embedder.dimensions), dtype=np.float32)
            rows[: self._size] = self._rows[: self._size]
        rows[self._size : size] = self.embedder.embed_entries([embedded_text(entry) for entry in added])
        return VectorIndex(self.embedder, rows, self._dead | frozenset(removed), size)

    def varied(self, scores: Sequence[tuple[int, float]], count: int) -> list[tuple[int, float]]:
        """The `count` entries that are best together: what is nearly the same as a better one gives way.

        `scores` are slots with scores, best first; the result has each slot's loss, which is less than its gain over the next.
        """
        import numpy as np

        rows = self._rows[[slot for slot, _ in scores]]
        likeness = np.maximum(rows @ rows.T - SAME_FROM, 0.0) * SAMENESS_WEIGHT
        remaining = np.array([score for _, score in scores], dtype=np.float32)
        losses = np.zeros(len(scores), dtype=np.float32)
        chosen: list[tuple[int, float]] = []
        for _ in range(min(count, len(scores))):
            best = int(np.argmax(remaining - losses))
            chosen.append((scores[best][0], round(float(losses[best]), 5)))
            losses = np.maximum(losses, likeness[best])
            remaining[best] = -np.inf
        return chosen

    def similarities(self, query: str) -> Similarities:
        import numpy as np

        cosines = self._rows[: self._size] @ self.embedder.embed_query(query)
        alive = cosines
        if self._dead:
            dead = np.fromiter(self._dead, dtype=np.intp)
            alive = np.delete(cosines, dead)
            cosines[dead] = -1.0
        # A small catalog says little about what is usual: it is taken together with what is usual elsewhere.
        count = len(alive) + PRIOR_ENTRIES
        mean = (float(alive.sum()) + PRIOR_ENTRIES * PRIOR_MEAN) / count
        squares = float(((alive - mean) ** 2).sum()) + PRIOR_ENTRIES * PRIOR_DEVIATION**2
        return Similarities(cosines, (cosines - mean) / (squares / count) ** 0.5)
