"""Usage: counts that fade, a gentle hand on the order, never more than that."""

import math
import weakref
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import CATALOG, draft, ranked, tool, until, view_of, write_tools
from toolsearch_server.catalog import View
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.entry import EntryKey, Kind
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.query import Query, Strategy
from toolsearch_server.store.sqlite import SqliteStore
from toolsearch_server.strategies import USAGE_WEIGHT
from toolsearch_server.usage import BEGINNING, ENOUGH_USES, HALF_LIFE, Outcome, Usage, UsageBook, worth_of_one


def key(name: str) -> EntryKey:
    return EntryKey("s", Kind.TOOL, name)


class Clock:
    def __init__(self) -> None:
        self.now = BEGINNING + 300 * 24 * 3600.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def book(store: SqliteStore, catalogs: Catalogs) -> tuple[UsageBook, Clock]:
    await write_tools(catalogs, "a", "b")
    clock = Clock()
    return UsageBook(store, now=clock), clock


async def test_uses_are_counted(book: tuple[UsageBook, Clock]) -> None:
    usage, _ = book
    for outcome in (Outcome.SUCCEEDED, Outcome.SUCCEEDED, Outcome.FAILED, Outcome.DECLINED):
        usage.report(CATALOG, key("a"), outcome)
    assert (await usage.read(CATALOG)).uses == {key("a"): pytest.approx(2.25)}


async def test_uses_fade_by_half_in_each_half_life(book: tuple[UsageBook, Clock]) -> None:
    usage, clock = book
    usage.report(CATALOG, key("a"), Outcome.SUCCEEDED)
    await usage.flush()
    clock.now += 2 * HALF_LIFE
    usage.report(CATALOG, key("a"), Outcome.SUCCEEDED)
    assert (await usage.read(CATALOG)).uses[key("a")] == pytest.approx(1.25)


async def test_what_is_flushed_is_kept_and_not_counted_twice(book: tuple[UsageBook, Clock]) -> None:
    usage, _ = book
    usage.report(CATALOG, key("a"), Outcome.SUCCEEDED)
    await usage.flush()
    await usage.flush()
    assert (await usage.read(CATALOG)).uses == {key("a"): pytest.approx(1.0)}


async def test_another_replica_sees_what_was_flushed(book: tuple[UsageBook, Clock], store: SqliteStore) -> None:
    usage, clock = book
    usage.report(CATALOG, key("a"), Outcome.SUCCEEDED)
    await usage.flush()
    assert (await UsageBook(store, now=clock).read(CATALOG)).uses == {key("a"): pytest.approx(1.0)}


@pytest.mark.parametrize("years", [1, 30])
def test_the_yardstick_lasts(years: int) -> None:
    assert math.isfinite(1e9 * worth_of_one(BEGINNING + years * 365 * 24 * 3600))


@given(st.dictionaries(st.sampled_from("abcdef").map(key), st.floats(0, 1e6), max_size=6))
def test_strengths_are_shares_of_the_most_used(uses: dict[EntryKey, float]) -> None:
    usage = Usage(uses)
    strengths = usage.strengths()
    if sum(uses.values()) < ENOUGH_USES:
        assert strengths == {}
        assert usage.most_used(uses) == []
        return
    assert max(strengths.values()) == pytest.approx(1.0)
    assert all(0 <= strength <= 1.0 + 1e-9 for strength in strengths.values())
    ordered = usage.most_used(uses)
    assert [uses[each] for each in ordered] == sorted((count for count in uses.values() if count > 0), reverse=True)


# In ranking


@pytest.fixture
def view() -> View:
    return view_of(
        *(
            draft(tool(name, description), "s")
            for name, description in (
                ("open_ticket", "Open a ticket for the support team"),
                ("open_tickets", "Open many tickets for the support team"),
                ("close_ticket", "Close a ticket"),
                ("weather", "Tell the weather"),
                ("fetch", "A page from somewhere in the web"),
            )
        )
    )


def with_usage(view: View, query: str, used: Sequence[str], strategy: Strategy = Strategy.AUTO) -> list[str]:
    usage = {view.slots[key(name)]: 1.0 for name in used}
    found = view.search(Query(texts=(query,), strategy=strategy, limit=10, usage=usage), DEFAULT_LIMITS)
    return [view.entry(match.slot).local_name for match in found.matches]


def test_of_two_matches_about_as_good_the_used_one_comes_first() -> None:
    alike = view_of(
        *(draft(tool(name, "Open a ticket for the support team"), "s") for name in ("ticket_a", "ticket_b", "ticket_c"))
    )
    assert with_usage(alike, "open a ticket", [])[0] == "ticket_a"
    assert with_usage(alike, "open a ticket", ["ticket_c"])[0] == "ticket_c"


def test_usage_is_a_part_of_the_score_that_is_explained(view: View) -> None:
    usage = {view.slots[key("open_ticket")]: 1.0}
    best = view.search(Query(texts=("open a ticket",), usage=usage, explain=True), DEFAULT_LIMITS).matches[0]
    parts = {part.name: part.value for part in best.parts}
    assert sum(parts.values()) == pytest.approx(best.score)
    assert parts["usage"] == pytest.approx(USAGE_WEIGHT * (best.score - parts["usage"]), rel=0.01)


def test_usage_does_not_change_how_relevant_a_match_is(view: View) -> None:
    usage = dict.fromkeys(view.slots.values(), 1.0)
    used = view.search(Query(texts=("open a ticket",), usage=usage), DEFAULT_LIMITS).matches
    assert [match.relevance for match in used] == [match.relevance for match in ranked(view, "open a ticket", limit=5).matches]


@pytest.mark.parametrize("query", ["s.open_ticket", "open_ticket"])
def test_usage_cannot_bury_an_exact_name(view: View, query: str) -> None:
    others = ["open_tickets", "close_ticket", "weather", "fetch"]
    assert with_usage(view, query, others)[0] == "open_ticket"


def test_usage_finds_nothing_that_does_not_match(view: View) -> None:
    assert "weather" not in with_usage(view, "open a ticket", ["weather"])


def test_usage_cannot_lift_a_poor_match_over_a_good_one(view: View) -> None:
    assert with_usage(view, "open many tickets for the support team", ["close_ticket"])[0] == "open_tickets"


@pytest.mark.parametrize("strategy", [Strategy.REGEX, Strategy.FUZZY])
def test_patterns_and_spellings_are_not_ordered_by_usage(view: View, strategy: Strategy) -> None:
    assert with_usage(view, "ticket", ["close_ticket"], strategy) == with_usage(view, "ticket", [], strategy)


async def test_a_catalogs_searches_follow_what_is_reported(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a", "b", "c")
    catalog, view = await catalogs.view(CATALOG, min_revision=1, epoch="", timeout=5)
    query = Query(texts=("thing",))

    async def first() -> str:
        found = await catalog.search(view, query)
        return view.entry(found.matches[0].slot).local_name

    assert await first() == "a"
    for _ in range(int(ENOUGH_USES) - 1):
        catalogs.usage.report(CATALOG, key("c"), Outcome.SUCCEEDED)
    await catalogs.read_usage(CATALOG, catalog)
    assert await first() == "a", "it is not enough yet"
    for _ in range(2):
        catalogs.usage.report(CATALOG, key("c"), Outcome.SUCCEEDED)
    await catalogs.read_usage(CATALOG, catalog)
    assert await first() == "c"


async def test_usage_is_read_now_and_then_and_not_for_every_search(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    catalog, _ = await catalogs.view(CATALOG, min_revision=1, epoch="", timeout=5)
    assert not catalog.usage_is_old()


async def test_a_view_that_is_outdated_is_not_kept_for_its_usage(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    catalog, view = await catalogs.view(CATALOG, min_revision=1, epoch="", timeout=5)
    await catalog.search(view, Query(texts=("thing",)))
    outdated = weakref.ref(view)
    del view
    await write_tools(catalogs, "b")
    await catalogs.view(CATALOG, min_revision=2, epoch="", timeout=5)
    await until(lambda: outdated() is None)
