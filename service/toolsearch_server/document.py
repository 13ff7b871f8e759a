"""A document: what of an entry is searched, analysed once per change."""

import functools
import operator
from dataclasses import dataclass

from toolsearch_server import selection, text
from toolsearch_server.concepts import concept_bits, concepts
from toolsearch_server.entry import Entry
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.settings import NO_SETTINGS, Settings


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """An entry with its stems by place. Each place is one string with a space around every stem: small, and quick to ask."""

    entry: Entry
    name_stems: str
    description_stems: str
    parameter_stems: str
    concepts: int
    """Of the stems of name and description, as bits."""
    facets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Postings:
    """The words to index, by field, separated by spaces. Needed only while indexing."""

    stems: str
    words: str
    name_stems: str
    name_trigrams: str
    concepts: str


def analyse(entry: Entry, limits: Limits = DEFAULT_LIMITS, settings: Settings = NO_SETTINGS) -> tuple[Document, Postings]:
    name_words = text.words(entry.name)
    if entry.draft.namespace != entry.server:
        name_words += text.words(entry.server)
    described = f"{entry.title}\n{' '.join((*entry.tags, *entry.capabilities))}\n{entry.description}"
    description_words = text.words(described)[: limits.indexed_words]
    parameter_words = text.words(entry.parameters)[: limits.indexed_words]

    name_stems = text.stems(name_words)
    description_stems = text.stems(description_words)
    parameter_stems = text.stems(parameter_words)
    document = Document(
        entry=entry,
        name_stems=padded(name_stems),
        description_stems=padded(description_stems),
        parameter_stems=padded(parameter_stems),
        concepts=functools.reduce(operator.or_, map(concept_bits, (*name_stems, *description_stems)), 0),
        facets=selection.facets(entry, settings),
    )
    names, descriptions, parameters = settings.name_weight, settings.description_weight, settings.parameters_weight
    postings = Postings(
        stems=" ".join((*name_stems * names, *description_stems * descriptions, *parameter_stems * parameters)),
        words=" ".join((*name_words * names, *description_words * descriptions, *parameter_words * parameters)),
        name_stems=" ".join(text.stems(text.words(entry.local_name)) * names),
        name_trigrams=" ".join(text.trigrams(name_words)),
        concepts=" ".join(concepts((*name_stems * names, *description_stems * descriptions))),
    )
    return document, postings


def padded(stems: list[str]) -> str:
    return f" {' '.join(dict.fromkeys(stems))} "
