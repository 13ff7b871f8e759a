"""A catalog's settings: weights, synonyms, what is pinned and what is banned."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import CATALOG, draft, entries_of, names_found, ranked, tool, until, write_tools
from toolsearch_server.catalog import View
from toolsearch_server.catalogs import Catalogs, Current
from toolsearch_server.changes import NO_ENTRIES, Change, Version, plan_apply, plan_settings
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.query import Strategy
from toolsearch_server.settings import NO_SETTINGS, Settings, Thesaurus
from toolsearch_server.store.records import decode_change, decode_settings, encode_change, encode_settings

TOOLS = [
    draft(tool("list_pods", "All pods of a kubernetes cluster"), "ops"),
    draft(tool("restart", "Restart a service"), "ops"),
    draft(tool("old_restart", "Restart a service, deprecated"), "ops"),
    draft(tool("open_pull_request", "Propose a change"), "git"),
    draft(tool("describe", "Tell about a service", parameters={"region": {"description": "Where it runs"}}), "ops"),
]
GLOBS = st.lists(st.text(st.characters(codec="utf-8"), max_size=6), max_size=3).map(tuple)
SETTINGS = st.builds(
    Settings,
    name_weight=st.integers(0, 10),
    description_weight=st.integers(0, 10),
    parameters_weight=st.integers(0, 10),
    synonyms=st.lists(GLOBS, max_size=3).map(tuple),
    pinned=GLOBS,
    banned=GLOBS,
    ignore_usage=st.booleans(),
)


def view_with(**settings: object) -> View:
    entries = entries_of(TOOLS)
    change = Change(settings=Settings(**settings))  # type: ignore[arg-type]
    return View.of(entries.after(change, Version("epoch", 2)))


@given(SETTINGS)
def test_settings_survive_the_store(settings: Settings) -> None:
    assert decode_settings(encode_settings(settings)) == settings
    version, change = decode_change(encode_change(Version("e", 3), datetime.now(UTC), Change(settings=settings)))
    assert (version, change.settings) == (Version("e", 3), settings)


def test_a_change_without_settings_leaves_them_as_they_are() -> None:
    entries = NO_ENTRIES.after(Change(settings=Settings(pinned=("a",))), Version("e", 1))
    after = entries.after(plan_apply(entries, TOOLS, (), DEFAULT_LIMITS).change, Version("e", 2))
    assert after.settings == Settings(pinned=("a",))
    _, decoded = decode_change(encode_change(Version("e", 3), datetime.now(UTC), Change()))
    assert decoded.settings is None


def test_settings_can_be_taken_back() -> None:
    entries = NO_ENTRIES.after(Change(settings=Settings(pinned=("a",))), Version("e", 1))
    assert entries.after(Change(settings=NO_SETTINGS), Version("e", 2)).settings == NO_SETTINGS


def test_the_same_settings_are_no_change() -> None:
    assert not plan_settings(NO_ENTRIES, NO_SETTINGS).change
    assert plan_settings(NO_ENTRIES, Settings(banned=("x",))).change


@given(st.lists(st.builds(Change, settings=st.none() | SETTINGS), max_size=4))
def test_changes_joined_do_what_they_do_one_by_one(changes: list[Change]) -> None:
    entries = NO_ENTRIES
    for change in changes:
        entries = entries.after(change, Version("e", 1))
    assert NO_ENTRIES.after(Change.joined(changes), Version("e", 1)).settings == entries.settings


# Synonyms


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.BM25])
def test_a_synonym_finds_what_the_word_would(strategy: Strategy) -> None:
    view = view_with(synonyms=(("kube", "kubernetes"),))
    found = ranked(view, "kube", strategy=strategy).matches[0]
    assert view.entry(found.slot).name == "ops.list_pods"
    assert found.reason == "matches kube (as kubernetes) in the description"


def test_synonyms_go_both_ways() -> None:
    view = view_with(synonyms=(("salvage", "restart"),))
    assert set(names_found(view, "salvage")) >= {"ops.restart", "ops.old_restart"}
    reverse = view_with(synonyms=(("restart", "list pods"),))
    assert "ops.restart" in names_found(reverse, "list pods")


def test_a_synonym_may_be_a_phrase() -> None:
    view = view_with(synonyms=(("pr", "pull request"),))
    assert names_found(view, "pr", strategy=Strategy.BM25)[0] == "git.open_pull_request"


def test_a_phrase_may_have_words_that_queries_lose() -> None:
    view = view_with(synonyms=(("back on track", "restart"),))
    assert "ops.restart" in names_found(view, "get it back on track", strategy=Strategy.BM25)
    assert names_found(view, "track", strategy=Strategy.BM25) == [], "the phrase is what means the same, not its words"


def test_a_phrase_said_twice_counts_once() -> None:
    view = view_with(synonyms=(("pr", "pull request"),))
    once, twice = (ranked(view, query, strategy=Strategy.BM25).matches[0] for query in ("pr", "pr or PR or pr"))
    assert twice.score == once.score


def test_without_the_synonym_the_word_finds_nothing() -> None:
    assert names_found(view_with(), "kube", strategy=Strategy.BM25) == []
    assert names_found(view_with(), "salvage", strategy=Strategy.BM25) == []


def test_a_match_by_synonym_is_as_relevant_as_one_by_the_word() -> None:
    view = view_with(synonyms=(("kube", "kubernetes"),))
    by_word, by_synonym = (ranked(view, query, strategy=Strategy.BM25).matches[0] for query in ("kubernetes", "kube"))
    assert by_synonym.relevance == pytest.approx(by_word.relevance, abs=0.1)


@given(
    st.lists(st.lists(st.text(max_size=8), max_size=4).map(tuple), max_size=4).map(tuple),
    st.lists(st.text(max_size=5), max_size=6),
)
def test_any_synonyms_add_words_only_for_stems_that_are_there(groups: tuple[tuple[str, ...], ...], stems: list[str]) -> None:
    for added in Thesaurus(groups).added_to(stems):
        assert set(added.stems) <= set(stems)


# Weights


def test_a_place_without_weight_is_not_searched() -> None:
    assert names_found(view_with(), "region", strategy=Strategy.BM25) == ["ops.describe"]
    assert names_found(view_with(parameters_weight=0), "region", strategy=Strategy.BM25) == []


def test_a_heavier_place_ranks_higher() -> None:
    view = View.of(
        entries_of(
            [
                draft(tool("invoice", "x y z of all things"), "a"),
                draft(tool("thing", "invoice of another sort"), "b"),
            ]
        )
    )
    assert names_found(view, "invoice", strategy=Strategy.BM25) == ["a.invoice", "b.thing"]
    heavy = View.of(view.entries.after(Change(settings=Settings(name_weight=0, description_weight=5)), Version("e", 2)))
    assert names_found(heavy, "invoice", strategy=Strategy.BM25)[0] == "b.thing"


# Pinned and banned


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.BM25, Strategy.FUZZY])
def test_what_is_banned_is_not_found(strategy: Strategy) -> None:
    view = view_with(banned=("ops.old_*",))
    assert "ops.old_restart" not in names_found(view, "restart", strategy=strategy)
    assert "ops.old_restart" not in names_found(view, "ops.old_restart", strategy=strategy)


def test_what_is_banned_is_not_found_by_a_pattern() -> None:
    assert names_found(view_with(banned=("ops.old_*",)), "restart$", strategy=Strategy.REGEX) == ["ops.restart"]


def test_what_is_banned_does_not_count() -> None:
    assert ranked(view_with(banned=("*",)), "restart").total == 0


def test_a_pinned_entry_comes_first_where_it_matches_well() -> None:
    assert names_found(view_with(), "restart a service", strategy=Strategy.BM25)[0] == "ops.restart"
    view = view_with(pinned=("ops.old_*",))
    found = ranked(view, "restart a service", strategy=Strategy.BM25)
    best = found.matches[0]
    assert view.entry(best.slot).name == "ops.old_restart"
    assert best.parts[-1].name == "pinned"
    assert sum(part.value for part in best.parts) == pytest.approx(best.score)


def test_a_pinned_entry_that_hardly_matches_stays_where_it_is() -> None:
    assert names_found(view_with(pinned=("ops.describe",)), "restart a service", strategy=Strategy.BM25)[0] == "ops.restart"


def test_an_exact_name_comes_before_what_is_pinned() -> None:
    view = view_with(pinned=("ops.old_*",))
    assert names_found(view, "ops.restart")[:2] == ["ops.restart", "ops.old_restart"]


def test_a_name_in_one_of_several_phrasings_comes_before_what_is_pinned() -> None:
    view = view_with(pinned=("ops.old_*",))
    found = ranked(view, "ops.restart", "restart a service, deprecated")
    assert [view.entry(match.slot).name for match in found.matches[:2]] == ["ops.restart", "ops.old_restart"]
    assert sum(part.value for part in found.matches[0].parts) == pytest.approx(found.matches[0].score)


def test_a_pinned_entry_that_is_named_is_explained_once() -> None:
    best = ranked(view_with(pinned=("ops.restart",)), "ops.restart").matches[0]
    assert [part.name for part in best.parts].count("pinned") == 0


# In a catalog


async def test_settings_act_as_soon_as_they_are_written(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a", "b")
    version, _ = await catalogs.write(
        CATALOG, lambda entries: plan_settings(entries, Settings(banned=("s.a",))), expected_revision=1
    )
    _, view = await catalogs.view(CATALOG, min_revision=version.revision, epoch="", timeout=5)
    assert names_found(view, "thing") == ["s.b"]


async def test_entries_written_later_obey_the_settings(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    await catalogs.write(CATALOG, lambda entries: plan_settings(entries, Settings(banned=("s.b",))), expected_revision=None)
    version, _ = await write_tools(catalogs, "b", "c")
    _, view = await catalogs.view(CATALOG, min_revision=version.revision, epoch="", timeout=5)
    assert names_found(view, "thing") == ["s.a", "s.c"]


async def test_settings_survive_eviction(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a", "b")
    version, _ = await catalogs.write(
        CATALOG, lambda entries: plan_settings(entries, Settings(banned=("s.a",))), expected_revision=None
    )
    catalog, _ = await catalogs.view(CATALOG, min_revision=version.revision, epoch="", timeout=5)
    await until(lambda: not catalog.busy)
    catalogs._idle_seconds = 0.0
    catalogs.evict_idle()
    assert not catalogs.loaded
    _, view = await catalogs.view(CATALOG, min_revision=0, epoch="", timeout=5)
    assert view.entries.settings == Settings(banned=("s.a",))


async def test_settings_may_be_the_first_write(catalogs: Catalogs) -> None:
    version, _ = await catalogs.write(
        CATALOG, lambda entries: plan_settings(entries, Settings(banned=("s.a",))), expected_revision=0
    )
    assert version.revision == 1
    later, _ = await write_tools(catalogs, "a", "b")
    _, view = await catalogs.view(CATALOG, min_revision=later.revision, epoch="", timeout=5)
    assert names_found(view, "thing") == ["s.b"]


async def test_a_watch_tells_that_settings_changed(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    events = catalogs.watch(CATALOG, None, "")
    assert isinstance(await anext(events), Current)
    await catalogs.write(CATALOG, lambda entries: plan_settings(entries, Settings(banned=("s.a",))), expected_revision=None)
    event = await anext(events)
    assert getattr(event, "settings", None) is True
