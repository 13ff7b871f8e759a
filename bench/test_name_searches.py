"""Patterns and near spellings over many names, next to what a loop does with the same names."""

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from rapidfuzz import fuzz

from fixtures import smoke, tables
from loads import PATTERNS, composed, sizes
from support import draft, entries_of
from tables import Table
from toolsearch_server import text
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.names import FUZZY_CUTOFF, NameIndex, Pattern, PatternHits
from toolsearch_server.query import UNBOUNDED

ROUNDS = 5
SPELLINGS = ("create isue", "get wether", "serch web", "lst_files")
NAMES_OF_AN_ENTRY = 3


@pytest.mark.parametrize("names", sizes(1_000, 10_000, 100_000))
def test_patterns_and_spellings(benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], names: int) -> None:
    table = tables.setdefault("name_searches", Table("name_searches", "A search over names, ms", "ms", ["ours ms", "loop ms"]))
    made = entries_of(draft(definition, server) for server, definition in composed(names // NAMES_OF_AN_ENTRY))
    index = NameIndex(enumerate(made.by_key.values()))
    entries = list(made.by_key.values())
    lines = [name for each in entries for name in (each.name, each.alias, each.local_name)]
    rounds = 1 if smoke else ROUNDS

    for source in PATTERNS:
        assert bool(len(_by_pattern(index, source).slots)) == bool(_looped(lines, source))
        _add(
            table,
            f"{source}, {names:,} names",
            partial(_by_pattern, index, source),
            partial(_looped, lines, source),
            rounds,
        )
    spelled = [text.spelled(name) for each in entries for name in (each.local_name, each.name)]
    for asked in SPELLINGS:
        loop = partial(_looped_spelling, spelled, text.spelled(asked))
        _add(table, f"near {asked}, {names:,} names", partial(index.near, asked), loop, rounds)
    benchmark(lambda: index.near("create isue"))


def _by_pattern(index: NameIndex, source: str) -> PatternHits:
    """Compiled anew, as for each search; Python's own keeps what it has compiled."""
    return index.matching(Pattern(source, case_sensitive=False, limits=DEFAULT_LIMITS, field="queries[0]"), UNBOUNDED)


def _looped(lines: Sequence[str], source: str) -> list[str]:
    compiled = re.compile(source, re.IGNORECASE)
    return [line for line in lines if compiled.search(line)]


def _looped_spelling(spelled: Sequence[str], typed: str) -> list[str]:
    return [name for name in spelled if max(fuzz.ratio(typed, name), fuzz.token_sort_ratio(typed, name)) >= FUZZY_CUTOFF]


def _add(table: Table, label: str, ours: Callable[[], Any], loop: Callable[[], Any], rounds: int) -> None:
    fastest, slowest = _milliseconds(ours, rounds), _milliseconds(loop, rounds)
    table.add(label, **{"ours ms": fastest, "loop ms": slowest, "times faster": slowest / fastest})


def _milliseconds(work: Callable[[], Any], rounds: int) -> float:
    """The best of several: the rest is what else the machine did."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best * 1e3
