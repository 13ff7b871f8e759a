"""The values of a search: what is asked, what it is asked of, and what may become a match."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from toolsearch_server.bm25 import Asked, Bm25Index
from toolsearch_server.document import Document
from toolsearch_server.embedders import Vector
from toolsearch_server.names import Budget, NameIndex
from toolsearch_server.relevance import Judgement
from toolsearch_server.selection import NO_FILTER, Filter, Selection
from toolsearch_server.settings import NO_SETTINGS, Settings, Thesaurus
from toolsearch_server.vectors import VectorIndex

UNBOUNDED = Budget(math.inf)
NO_THESAURUS = Thesaurus()


class Strategy(IntEnum):
    """How a search is done; the numbers are the contract's."""

    AUTO = 1
    BM25 = 2
    REGEX = 3
    FUZZY = 4
    SEMANTIC = 5
    HYBRID = 6


class SearchField(IntEnum):
    """What a pattern is matched against; the numbers are the contract's."""

    NAME = 1
    DESCRIPTION = 2
    PARAMETERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    texts: tuple[str, ...]
    strategy: Strategy = Strategy.AUTO
    limit: int = 5
    filter: Filter = NO_FILTER
    fields: frozenset[SearchField] = frozenset({SearchField.NAME})
    case_sensitive: bool = False
    min_relevance: float = 0.0
    place: str = "queries[0]"
    """Where the text stands in the request, for errors; set when phrasings are ranked one by one."""
    vectors: tuple[Vector, ...] = ()
    """Of the texts, where the embedder is a slow one."""
    without_meaning: str = ""
    """Why the vectors are not there."""
    budget: Budget = UNBOUNDED
    """Set when the search begins."""
    explain: bool = False
    """Whether matches tell the parts of their scores."""
    usage: Mapping[int, float] = field(default_factory=dict)
    """How much entries are used, 0 to 1 by slot, where enough is known of it."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """What one state of a catalog is searched by. `documents` are by slot."""

    bm25: Bm25Index
    names: NameIndex
    vectors: VectorIndex | None
    documents: Sequence[Document | None]
    settings: Settings = NO_SETTINGS
    thesaurus: Thesaurus = NO_THESAURUS

    def document(self, slot: int) -> Document:
        document = self.documents[slot]
        assert document is not None, "the indexes only know slots that are taken"
        return document

    def admits(self, selection: Selection, slot: int) -> bool:
        return selection.admits(slot, self.document(slot).facets)


class Part(NamedTuple):
    """One addend of a score."""

    name: str
    value: float
    detail: str


@dataclass(slots=True)
class Candidate:
    """What may become a match. Judged and explained only if it does."""

    slot: int
    score: float
    judge: Callable[[], Judgement]
    parts: Callable[[], list[Part]]
    named: bool = False
    """Its name was given exactly."""


@dataclass(slots=True)
class Found:
    """What one phrasing found. `total` counts all that match, `by_words` those of them that have its words."""

    candidates: list[Candidate]
    total: int
    strategy: Strategy
    by_words: int = 0
    asked: Asked | None = None
    slots: frozenset[int] = frozenset()
    """All that match, where they are known one by one."""
    notes: tuple[str, ...] = ()

    @property
    def best_score(self) -> float:
        return max((candidate.score for candidate in self.candidates), default=0.0)


def one_part(name: str, value: float, detail: str) -> list[Part]:
    return [Part(name, value, detail)]


def both(left: Callable[[], list[Part]], right: Callable[[], list[Part]]) -> list[Part]:
    return left() + right()
