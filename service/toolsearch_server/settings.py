"""Settings of one catalog: how it is searched, without code. Kept with its entries, and part of its history like them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property, lru_cache

from toolsearch_server import text

LONGEST_PHRASE = 4
"""Words of a synonym."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """See CatalogSettings in the contract. Weights say how often each word counts that stands there."""

    name_weight: int = 1
    description_weight: int = 1
    parameters_weight: int = 1
    synonyms: tuple[tuple[str, ...], ...] = ()
    pinned: tuple[str, ...] = ()
    banned: tuple[str, ...] = ()
    ignore_usage: bool = False

    def is_pinned(self, name: str) -> bool:
        return bool(self.pinned) and _any_of(self.pinned).fullmatch(name) is not None

    def is_banned(self, name: str) -> bool:
        return bool(self.banned) and _any_of(self.banned).fullmatch(name) is not None


NO_SETTINGS = Settings()


@lru_cache(maxsize=64)
def _any_of(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, globs)))


@dataclass(frozen=True, slots=True)
class Synonym:
    """A word to look for beside those with `stems`, which stand in the query."""

    word: str
    stem: str
    stems: tuple[str, ...]


@dataclass(frozen=True)
class Thesaurus:
    """What a catalog's synonyms add to the words of a query."""

    groups: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def _alternatives(self) -> Mapping[tuple[str, ...], list[tuple[str, str]]]:
        """By the stems of a word or phrase: the words of all others in its groups, each with its stem."""
        found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for group in self.groups:
            phrases = [tuple(zip(words, text.stems(words), strict=True)) for words in map(text.words, group)]
            for phrase in phrases:
                others = [each for other in phrases if other != phrase for each in other]
                found.setdefault(tuple(stem for _, stem in phrase), []).extend(others)
        return found

    def added_to(self, stems: Sequence[str]) -> list[Synonym]:
        if not self.groups:
            return []
        added = []
        for first in range(len(stems)):
            for end in range(first + 1, min(first + LONGEST_PHRASE, len(stems)) + 1):
                phrase = tuple(stems[first:end])
                added += [Synonym(word, stem, phrase) for word, stem in self._alternatives.get(phrase, ())]
        return added
