"""The name index: regular expressions and near spellings. The only module that knows RE2 and RapidFuzz."""

import functools
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import re2
from numpy.typing import NDArray
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
ROUNDING = 1e-6
KEPT_CORRECTIONS = 2_000
"""Words whose corrections are remembered."""
CHUNK_ENTRIES = 1_000
LINES = 3
"""Of an entry: its canonical name, alias and local name."""
RECENT_NAMES, RECENT_SHARE = 256, 0.125
"""So many entries, or such a share of the rest, are beside the rest."""

Numbers = NDArray[np.int64]


class Fit(IntEnum):
    """How well a pattern fits a name, best first."""

    WHOLE = 0
    PREFIX = 1
    INSIDE = 2


NO_FIT = 3


class PatternHits(NamedTuple):
    """Entries that have a pattern in one of their names: slots, how well it fits, and the lengths of the canonical names."""

    slots: Numbers
    fits: Numbers
    lengths: Numbers


NO_HITS = PatternHits(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


class NearHit(NamedTuple):
    slot: int
    similarity: float


class NameIndex:
    """Canonical names, aliases and local names of one catalog's entries; immutable. `changed` gives the next one.

    What has come lately is beside the rest, which then need not be looked through again after each change.
    """

    def __init__(self, entries: Iterable[tuple[int, Entry]]) -> None:
        self._base = _Names(entries)
        self._recent = _Names(())
        self._gone: frozenset[int] = frozenset()
        self._corrections: dict[str, Sequence[tuple[str, float]]] = {}

    def changed(self, *, removed: Iterable[int], added: Sequence[tuple[int, Entry]]) -> "NameIndex":
        gone = self._gone | frozenset(removed)
        recent = [item for item in self._recent.entries if item[0] not in gone] + list(added)
        if len(recent) + len(gone) > max(RECENT_NAMES, len(self._base.entries) * RECENT_SHARE):
            return NameIndex([*(item for item in self._base.entries if item[0] not in gone), *recent])
        index = NameIndex(())
        index._base, index._recent, index._gone = self._base, _Names(recent), gone
        return index

    @property
    def _all(self) -> Sequence["_Names"]:
        return (self._base, self._recent) if self._recent.entries else (self._base,)

    def exact(self, name: str) -> Sequence[int]:
        """Slots of the entries with this canonical name, alias or local name, whatever its case."""
        wanted = name.strip().casefold()
        return [slot for names in self._all for slot in names.exact.get(wanted, ()) if slot not in self._gone]

    def matching(self, pattern: "Pattern", budget: "Budget") -> PatternHits:
        """Entries whose canonical name, alias or local name the pattern is found in."""
        hits = [names.matching(pattern, budget) for names in self._all]
        found = PatternHits(*(np.concatenate(each) for each in zip(*hits, strict=True)))
        if self._gone:
            kept = ~np.isin(found.slots, np.fromiter(self._gone, dtype=np.int64))
            found = PatternHits(*(each[kept] for each in found))
        return found

    def near(self, name: str, cutoff: float = FUZZY_CUTOFF) -> list[NearHit]:
        """Entries with a name spelled like `name`, nearest first."""
        typed = text.spelled(name)
        best: dict[int, float] = {}
        for names in self._all:
            for spelled in (names.spelled_local, names.spelled):
                places = spelled.perhaps_like(typed, cutoff / 100)
                perhaps = [spelled.texts[place] for place in places]
                for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
                    for _, similarity, index in process.extract(typed, perhaps, scorer=scorer, score_cutoff=cutoff, limit=None):
                        slot, _ = names.entries[places[index]]
                        best[slot] = max(best.get(slot, 0.0), similarity / 100)
        found = (NearHit(*item) for item in best.items() if item[0] not in self._gone)
        return sorted(found, key=lambda hit: (-hit.similarity, hit.slot))

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
        perhaps = set[str]()
        for names in self._all:
            perhaps.update(names.vocabulary.texts[place] for place in names.vocabulary.perhaps_one_of(word))
        perhaps -= self._gone_words
        found = process.extract(
            word,
            sorted(perhaps),
            scorer=OSA.normalized_similarity,
            score_cutoff=CORRECTION_CUTOFF,
            limit=CORRECTIONS,
        )
        return tuple((candidate, similarity) for candidate, similarity, _ in found)

    @functools.cached_property
    def _gone_words(self) -> frozenset[str]:
        """The words that stand only in names that are gone, all of which are in the base."""
        gone = Counter(word for name in self._base.spelled_at(self._gone) for word in set(name.split()))
        lost = {word for word, count in gone.items() if count == self._base.word_counts[word]}
        return frozenset(lost.difference(self._recent.word_counts))


class _Names:
    """The names of some entries; immutable. Parts are made when first needed."""

    def __init__(self, entries: Iterable[tuple[int, Entry]]) -> None:
        self.entries = list(entries)

    @functools.cached_property
    def exact(self) -> dict[str, list[int]]:
        exact: dict[str, list[int]] = {}
        for slot, entry in self.entries:
            for name in {entry.name.casefold(), entry.alias.casefold(), entry.local_name.casefold()}:
                exact.setdefault(name, []).append(slot)
        return exact

    @functools.cached_property
    def spelled(self) -> "_Spellings":
        return _Spellings([text.spelled(entry.name) for _, entry in self.entries])

    @functools.cached_property
    def spelled_local(self) -> "_Spellings":
        return _Spellings([text.spelled(entry.local_name) for _, entry in self.entries])

    @functools.cached_property
    def word_counts(self) -> Counter[str]:
        """In how many names each word stands."""
        return Counter(word for spelled in self.spelled.texts for word in set(spelled.split()))

    @functools.cached_property
    def vocabulary(self) -> "_Spellings":
        return _Spellings(list(self.word_counts))

    def spelled_at(self, slots: Iterable[int]) -> list[str]:
        """Of the slots that are here. Slots are in order: new ones are higher."""
        wanted = np.array(sorted(slots), dtype=np.int64)
        places = self._slots.searchsorted(wanted)
        here = places < len(self._slots)
        here[here] = self._slots[places[here]] == wanted[here]
        return [self.spelled.texts[place] for place in places[here].tolist()]

    @functools.cached_property
    def _chunks(self) -> "list[_Chunk]":
        entries = [entry for _, entry in self.entries]
        return [_Chunk(entries[first : first + CHUNK_ENTRIES]) for first in range(0, len(entries), CHUNK_ENTRIES)]

    @functools.cached_property
    def _slots(self) -> Numbers:
        return np.array([slot for slot, _ in self.entries], dtype=np.int64)

    @functools.cached_property
    def _lengths(self) -> Numbers:
        return np.array([len(entry.name) for _, entry in self.entries], dtype=np.int64)

    def matching(self, pattern: "Pattern", budget: "Budget") -> PatternHits:
        fits = np.full(len(self.entries), NO_FIT, dtype=np.int64)
        for number, chunk in enumerate(self._chunks):
            budget.check()
            first = number * CHUNK_ENTRIES
            chunk.fit(pattern, fits[first : first + CHUNK_ENTRIES])
        (places,) = (fits < NO_FIT).nonzero()
        return PatternHits(self._slots[places], fits[places], self._lengths[places])


class _Spellings:
    """Texts with their lengths and their letters as bits: most are unlike a given one at a glance.

    An edit that replaces takes away one letter at most and brings one, any other edit does one of the two.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._lengths = np.array([len(each) for each in texts], dtype=np.int64)
        self._letters = np.array([_letters(each) for each in texts], dtype=np.uint32)

    def perhaps_one_of(self, word: str) -> list[int]:
        """Places of all that may be CORRECTION_CUTOFF like `word`, and few others: edits are a share of the longer one."""
        edits = np.floor(np.maximum(self._lengths, len(word)) * (1 - CORRECTION_CUTOFF))
        return self._within(word, abs(self._lengths - len(word)) <= edits, 2 * edits)

    def perhaps_like(self, typed: str, least: float) -> list[int]:
        """Places of all whose ratio may be `least`: insertions and deletions are a share of both lengths."""
        edits = (self._lengths + len(typed)) * (1 - least) + ROUNDING
        return self._within(typed, abs(self._lengths - len(typed)) <= edits, edits)

    def _within(self, typed: str, length_fits: NDArray[np.bool_], edits: NDArray[Any]) -> list[int]:
        different = np.bitwise_count(self._letters ^ np.uint32(_letters(typed)))
        places: list[int] = (length_fits & (different <= edits)).nonzero()[0].tolist()
        return places


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
        options.never_capture = True
        return re2.compile(source, options)

    @functools.cached_property
    def by_line(self) -> "dict[Fit, re2._Regexp] | None":
        """The pattern for a text of many lines, one match a line; None where lines would change what it means."""
        if _LINE_SENSITIVE.search(self._source):
            return None
        try:
            return {
                Fit.INSIDE: self._compiled(f"(?m)(?:{self._source}).*"),
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


class _Chunk:
    """The names of some entries, three lines each, searched in one sweep."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._lines = _Lines.of([line.encode() for each in entries for line in (each.name, each.alias, each.local_name)])

    def fit(self, pattern: Pattern, fits: Numbers) -> None:
        """Lower the `fits` of the entries that have the pattern."""
        regexps = pattern.by_line
        if regexps is None:
            for line, name in enumerate(self._lines.buffer.split(b"\n")):
                found = next((fit for fit in Fit if pattern.fits(name, fit)), None)
                if found is not None:
                    fits[line // LINES] = min(fits[line // LINES], found)
            return
        lines, at_start = self._lines.having(regexps[Fit.INSIDE])
        np.minimum.at(fits, lines // LINES, np.where(at_start, Fit.PREFIX, Fit.INSIDE))
        # A match is the leftmost one: on the other lines there is none at the start.
        lines = lines[at_start]
        if len(lines):
            whole, _ = self._lines.some(lines).having(regexps[Fit.WHOLE])
            fits[lines[whole] // LINES] = Fit.WHOLE


class _Lines(NamedTuple):
    buffer: bytes
    starts: Numbers
    """Of the lines, and where another one would start."""

    @classmethod
    def of(cls, lines: Sequence[bytes]) -> "_Lines":
        return cls(b"\n".join(lines), np.array([*accumulate((len(line) + 1 for line in lines), initial=0)], dtype=np.int64))

    def some(self, lines: Numbers) -> "_Lines":
        bounds = zip(self.starts[lines].tolist(), self.starts[lines + 1].tolist(), strict=True)
        return _Lines.of([self.buffer[start : end - 1] for start, end in bounds])

    def having(self, regexp: "re2._Regexp") -> tuple[Numbers, NDArray[np.bool_]]:
        """The lines that match, and whether from their start on."""
        starts = np.fromiter(_match_starts(regexp, self.buffer), dtype=np.int64)
        lines = self.starts.searchsorted(starts, "right") - 1
        return lines, self.starts[lines] == starts


def _match_starts(regexp: "re2._Regexp", buffer: bytes) -> Iterator[int]:
    """Like `finditer`, which takes most of its time on making an object for each match."""
    find = regexp._regexp.Match
    place, end = 0, len(buffer)
    while place <= end:
        (start, past), *_ = find(re2._Anchor.UNANCHORED, buffer, place, end)
        if start < 0:
            return
        yield start
        place = past + 1  # the end of a line: matches go on to there


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
