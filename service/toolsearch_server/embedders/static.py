"""The built-in model: a table of word-piece vectors that are averaged.

It needs no download, no GPU and tens of microseconds a query. It comes with the extra `semantic`.
"""

import functools
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from toolsearch_server.embedders import EmbeddedText, Matrix, Scale, Vector, unit

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

TEXTS_AT_ONCE = 50
"""The tokenizer lets no other thread work meanwhile."""

KEPT_WORDS = 20_000
"""Words of queries whose pieces are remembered: looking them up is most of what a query's vector takes."""

_NOT_BY_WORD = re.compile(r"  |^ | $|[<▁]")
"""What does not have the pieces of its words: several spaces are a piece of their own, and so are signs such as `<s>`."""

SCALE = Scale(mean=0.06, deviation=0.09, near=0.2, same=0.6, weight=0.15)
"""As measured on real catalogs; docs/ranking.md."""


class StaticEmbedder:
    """Averages of word-piece vectors, read from the files that the wordllama distribution carries."""

    instant: Literal[True] = True
    scale = SCALE

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        (weights,) = load_file(folder / WEIGHTS).values()
        self._pieces: Matrix = weights.astype("float32")
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._pieces_of = functools.lru_cache(maxsize=KEPT_WORDS)(self._pieces_in)
        self.dimensions: int = self._pieces.shape[1]

    def _pieces_in(self, content: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(content, add_special_tokens=False).ids
        return ids

    def embed_entries(self, texts: Sequence[EmbeddedText]) -> Matrix:
        """The mean of two views of an entry: without its parameters and with them."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[first : first + TEXTS_AT_ONCE]
            cores = self._tokenizer.encode_batch_fast([each.core for each in part], add_special_tokens=False)
            parameters = self._tokenizer.encode_batch_fast([each.parameters for each in part], add_special_tokens=False)
            for row, (core, more) in enumerate(zip(cores, parameters, strict=True), start=first):
                core_sum = self._pieces[core.ids].sum(axis=0)
                vectors[row] = unit(core_sum) + unit(core_sum + self._pieces[more.ids].sum(axis=0))
                vectors[row] = unit(vectors[row])
        return vectors

    def embed_query(self, query: str) -> Vector:
        if _NOT_BY_WORD.search(query):
            ids = self._pieces_in(query)
        else:
            ids = [piece for word in query.split(" ") for piece in self._pieces_of(word)]
        return unit(np.add.reduce(self._pieces[ids], axis=0))


def static_embedder() -> StaticEmbedder | None:
    """The built-in model, if it is installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    if not (folder / WEIGHTS).exists():
        return None
    return StaticEmbedder(folder)
