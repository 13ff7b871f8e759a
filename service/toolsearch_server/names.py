"""The name index: regular expressions and near spellings. The only module that knows RE2 and RapidFuzz."""

import functools
import math
import re
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np
import re2
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from toolsearch_server import text
from toolsearch_server.entry import Entry
from toolsearch_server.errors import LimitExceeded, PatternInvalid, SearchTooCostly
from toolsearch_server.limits import Limits

FUZZY_CUTOFF = 70.0
NEAR_CUTOFF = 55.0
NEAR_NAMES = 3
CORRECTION_CUTOFF = 0.75
CORRECTIONS = 3
MIN_CORRECTED_LENGTH = 4
KEPT_CORRECTIONS = 2_000
"""Words whose corrections are remembered."""
CHUNK_LINES = 3_000


class Fit(IntEnum):
    """How well a pattern fits a name, best first."""

    WHOLE = 0
    PREFIX = 1
    INSIDE = 2


class PatternHit(NamedTuple):
    slot: int
    fit: Fit


class NearHit(NamedTuple):
    slot: int
    similarity: float


class NameIndex:
    """Canonical names, aliases and local names of one catalog's entries; immutable. Parts are made when first needed."""

    def __init__(self, entries: Iterable[tuple[int, Entry]]) -> None:
        self._entries = list(entries)
        self._corrections: dict[str, Sequence[tuple[str, float]]] = {}

    @functools.cached_property
    def _exact(self) -> dict[str, list[int]]:
        exact: dict[str, list[int]] = {}
        for slot, entry in self._entries:
            for name in {entry.name.casefold(), entry.alias.casefold(), entry.local_name.casefold()}:
                exact.setdefault(name, []).append(slot)
        return exact

    def exact(self, name: str) -> Sequence[int]:
        """Slots of the entries with this canonical name, alias or local name, whatever its case."""
        return self._exact.get(name.strip().casefold(), ())

    @functools.cached_property
    def _names(self) -> "_Lines":
        return _Lines((name, slot) for slot, entry in self._entries for name in (entry.name, entry.alias, entry.local_name))

    def matching(self, pattern: "Pattern", budget: "Budget") -> list[PatternHit]:
        """Entries whose canonical name, alias or local name the pattern is found in, in the order of Fit."""
        fits = dict.fromkeys(self._names.having(pattern, Fit.INSIDE, budget), Fit.INSIDE)
        if fits:
            fits.update(dict.fromkeys(self._names.having(pattern, Fit.PREFIX, budget), Fit.PREFIX))
            fits.update(dict.fromkeys(self._names.having(pattern, Fit.WHOLE, budget), Fit.WHOLE))
        return sorted((PatternHit(slot, fit) for slot, fit in fits.items()), key=lambda hit: hit.fit)

    @functools.cached_property
    def _spelled(self) -> list[str]:
        return [text.spelled(entry.name) for _, entry in self._entries]

    @functools.cached_property
    def _spelled_local(self) -> list[str]:
        return [text.spelled(entry.local_name) for _, entry in self._entries]

    def near(self, name: str, cutoff: float = FUZZY_CUTOFF) -> list[NearHit]:
        """Entries with a name spelled like `name`, nearest first."""
        typed = text.spelled(name)
        best: dict[int, float] = {}
        for names in (self._spelled_local, self._spelled):
            for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
                for _, similarity, index in process.extract(typed, names, scorer=scorer, score_cutoff=cutoff, limit=None):
                    slot, _ = self._entries[index]
                    best[slot] = max(best.get(slot, 0.0), similarity / 100)
        return sorted((NearHit(*item) for item in best.items()), key=lambda hit: -hit.similarity)

    @functools.cached_property
    def _vocabulary(self) -> "_Vocabulary":
        return _Vocabulary({word for spelled in self._spelled for word in spelled.split()})

    def corrections(self, word: str) -> Sequence[tuple[str, float]]:
        """Words in names that `word` may be a misspelling of, with their similarity."""
        if len(word) < MIN_CORRECTED_LENGTH:
            return ()
        known = self._corrections.get(word)
        if known is None:
            if len(self._corrections) >= KEPT_CORRECTIONS:
                self._corrections.clear()
            known = self._corrections[word] = self._nearest_words(word)
        return known

    def _nearest_words(self, word: str) -> Sequence[tuple[str, float]]:
        found = process.extract(
            word,
            self._vocabulary.perhaps_like(word),
            scorer=OSA.normalized_similarity,
            score_cutoff=CORRECTION_CUTOFF,
            limit=CORRECTIONS,
        )
        return tuple((candidate, similarity) for candidate, similarity, _ in found)


class _Vocabulary:
    """Words by length, each with its letters as bits: most words are unlike a given one at a glance."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words, key=lambda word: (len(word), word))
        self._lengths = [len(word) for word in self._words]
        self._letters = np.array([_letters(word) for word in self._words], dtype=np.uint32)

    def perhaps_like(self, word: str) -> list[str]:
        """All words that may be CORRECTION_CUTOFF like `word`, and few others."""
        shortest, longest = math.ceil(len(word) * CORRECTION_CUTOFF), math.floor(len(word) / CORRECTION_CUTOFF)
        first, end = bisect_left(self._lengths, shortest), bisect_right(self._lengths, longest)
        edits = math.floor(longest * (1 - CORRECTION_CUTOFF))
        # An edit takes away one letter at most, and brings another one.
        like = np.bitwise_count(self._letters[first:end] ^ np.uint32(_letters(word))) <= 2 * edits
        return [self._words[place] for place in (first + like.nonzero()[0]).tolist()]


def _letters(word: str) -> int:
    letters = 0
    for letter in word:
        letters |= 1 << (ord(letter) % 32)
    return letters


class Budget:
    """Processor time that a search may take. The work asks now and then whether it is used up."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.thread_time() + seconds

    def check(self) -> None:
        if time.thread_time() > self._end:
            raise SearchTooCostly(allowed=self._seconds)


class Pattern:
    """A checked regular expression, in RE2's syntax with Python's `\\Z`."""

    def __init__(self, pattern: str, *, case_sensitive: bool, limits: Limits, field: str) -> None:
        if len(pattern) > limits.pattern_length:
            raise LimitExceeded(
                field, given=len(pattern), allowed=limits.pattern_length, limit="pattern_length", unit="characters"
            )
        self._source = _ESCAPE.sub(lambda escape: r"\z" if escape[0] == r"\Z" else escape[0], pattern)
        self._case_sensitive = case_sensitive
        self._max_mem = limits.pattern_memory
        try:
            self.regexp = self._compiled(self._source)
        except re2.error as error:
            raise self._refusal(pattern, _why(pattern, _decoded(error)), field) from None
        if self.regexp.programsize > limits.pattern_program:
            # Linear time is still the size of the program for every character.
            size = self.regexp.programsize
            raise self._refusal(pattern, f"too large, {size} steps where {limits.pattern_program} are allowed", field)

    @staticmethod
    def _refusal(pattern: str, why: str, field: str) -> PatternInvalid:
        message = f"{field} is not a pattern that can be searched for: {why}"
        return PatternInvalid(message, field=field, given=pattern, allowed="RE2 syntax")

    def _compiled(self, source: str) -> "re2._Regexp":
        options = re2.Options()
        options.case_sensitive = self._case_sensitive
        options.max_mem = self._max_mem
        options.log_errors = False
        options.never_nl = True
        return re2.compile(source, options)

    @functools.cached_property
    def by_line(self) -> "dict[Fit, re2._Regexp] | None":
        """The pattern for a text of many lines, one match a line; None where lines would change what it means."""
        if _LINE_SENSITIVE.search(self._source):
            return None
        try:
            return {
                Fit.INSIDE: self._compiled(f"(?m)(?:{self._source}).*"),
                Fit.PREFIX: self._compiled(f"(?m)^(?:{self._source}).*"),
                Fit.WHOLE: self._compiled(f"(?m)^(?:{self._source})$"),
            }
        except re2.error:  # the longer programs need more memory than the pattern alone
            return None

    def fits(self, name: bytes, fit: Fit) -> bool:
        match fit:
            case Fit.INSIDE:
                return self.regexp.search(name) is not None
            case Fit.PREFIX:
                return self.regexp.match(name) is not None
            case Fit.WHOLE:
                return self.regexp.fullmatch(name) is not None

    def found_in(self, content: str) -> bool:
        """Whether a text has the pattern, on one of its lines; `^` and `$` are its ends, as in Python."""
        return self.regexp.search(content.encode()) is not None


_ESCAPE = re.compile(r"\\.", re.DOTALL)
_LINE_SENSITIVE = re.compile(r"\\[AzCQ]|\(\?[a-zA-Z]*-?[a-zA-Z]*[smU-]")
"""Ends of the text, single bytes, quoting that may swallow what is put around, flags other than i."""


class _Lines:
    """Names, one a line, searched in sweeps over thousands of them; each belongs to a slot."""

    def __init__(self, lines: Iterable[tuple[str, int]]) -> None:
        remaining = iter(lines)
        self._chunks: list[_Chunk] = []
        while chunk := list(islice(remaining, CHUNK_LINES)):
            self._chunks.append(_Chunk(chunk))

    def having(self, pattern: Pattern, fit: Fit, budget: Budget) -> Iterator[int]:
        """Slots of the lines that the pattern fits so; a slot may come twice."""
        for chunk in self._chunks:
            budget.check()
            yield from chunk.having(pattern, fit)


class _Chunk:
    def __init__(self, lines: Sequence[tuple[str, int]]) -> None:
        self._slots = array("q", (slot for _, slot in lines))
        encoded = [line.encode() for line, _ in lines]
        self._starts = array("q", accumulate((len(line) + 1 for line in encoded[:-1]), initial=0))
        self._buffer = b"\n".join(encoded)

    def having(self, pattern: Pattern, fit: Fit) -> Iterator[int]:
        regexps = pattern.by_line
        if regexps is None:
            lines = zip(self._buffer.split(b"\n"), self._slots, strict=True)
            yield from (slot for line, slot in lines if pattern.fits(line, fit))
            return
        for match in regexps[fit].finditer(self._buffer):
            yield self._slots[bisect_right(self._starts, match.start()) - 1]


def looks_like_pattern(query: str) -> bool:
    """Whether a query is plainly meant as a pattern, not as words."""
    if not _PATTERN_SIGNS.search(query):
        return False
    try:
        re.compile(query)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


_PATTERN_SIGNS = re.compile(
    r"""
    ^\^\S | \S\$$               # anchored
    | \.[*+?]                   # anything
    | \\[wdsbSWDAZ.]            # classes and escapes
    | ^\S*\[[^\]\s]+\]\S*$      # a class, no spaces
    | ^\S*\w\|\w\S*$            # alternatives, no spaces
    | \(\?[:iP]                 # groups of regular expressions
    | ^\S*\([^\s()]+\|[^\s()]+\)\S*$
    """,
    re.VERBOSE,
)


def _why(pattern: str, error: str) -> str:
    """RE2's complaint, and for what RE2 leaves out on purpose, what that is."""
    for sign, name in _UNSUPPORTED:
        if sign.search(pattern):
            return f"{name} are not supported, because matching is done in linear time ({error})"
    return error


_UNSUPPORTED = (
    (re.compile(r"\(\?<?[=!]"), "look-ahead and look-behind"),
    (re.compile(r"\\[1-9]|\(\?P="), "back-references"),
    (re.compile(r"\(\?\("), "conditionals"),
    (re.compile(r"\(\?>|[*+?}]\+"), "atomic groups and possessive quantifiers"),
)


def _decoded(error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
