"""Search by meaning, with the built-in model."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import draft, entries_of, names_found, ranked, tool
from toolsearch_server.bm25 import Bm25Index
from toolsearch_server.catalog import View
from toolsearch_server.changes import NO_ENTRIES, Version, plan_apply, plan_sync
from toolsearch_server.embedders import EmbeddedText, Embedder
from toolsearch_server.embedders.static import StaticEmbedder, static_embedder
from toolsearch_server.kernel import Best
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.query import Strategy
from toolsearch_server.relevance import MatchedBy
from toolsearch_server.selection import Filter

TOOLS = [
    draft(tool("get_forecast", "Rain, wind and temperature of the coming days in a city"), "meteo"),
    draft(tool("play_track", "Plays a song by title or artist"), "audio", tags=["fun"]),
    draft(tool("send_mail", "Sends an electronic letter to a recipient"), "post"),
    draft(tool("transfer_funds", "Moves money between bank accounts"), "bank"),
    draft(tool("delete_branch", "Removes a branch from a git repository"), "code"),
    draft(tool("book_table", "Reserves a table in a restaurant"), "dining"),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    found = static_embedder()
    assert found is not None, "the development environment has the extra semantic"
    return found


@pytest.fixture(scope="module")
def view(embedder: Embedder) -> View:
    return View.of(entries_of(TOOLS), embedder)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("should I take an umbrella tomorrow", "meteo.get_forecast"),
        ("wire cash to somebody", "bank.transfer_funds"),
        ("dinner reservation", "dining.book_table"),
        ("tunes by my favorite musician", "audio.play_track"),
    ],
)
def test_meaning_finds_what_is_said_in_other_words(view: View, query: str, name: str) -> None:
    for strategy in (Strategy.SEMANTIC, Strategy.HYBRID, Strategy.AUTO):
        assert names_found(view, query, strategy=strategy)[0] == name, strategy


def test_a_match_by_meaning_alone_says_so(view: View) -> None:
    best = ranked(view, "should I take an umbrella tomorrow", strategy=Strategy.SEMANTIC).matches[0]
    assert best.matched_by == (MatchedBy.MEANING,)
    assert best.reason.startswith("means something similar")


def test_words_and_meaning_add_up_to_the_score(view: View) -> None:
    for match in ranked(view, "delete a git branch", strategy=Strategy.HYBRID).matches:
        assert [part.name for part in match.parts][:2] == ["words", "meaning"]
        assert sum(part.value for part in match.parts) == pytest.approx(match.score)


@pytest.mark.parametrize("strategy", ["auto", "bm25", "hybrid"])
def test_a_word_that_all_of_very_many_have_is_worth_nothing_and_finds_them(embedder: Embedder, strategy: str) -> None:
    view = View.of(entries_of(TOOLS), embedder)
    scoreless = Best(np.arange(len(TOOLS)), np.zeros(len(TOOLS)), len(TOOLS))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Bm25Index, "search", lambda *_, **__: scoreless)  # as of 12,000 entries that share a word
        found = ranked(view, "thing", strategy=Strategy[strategy.upper()])
    assert found.total == len(found.matches) == len(TOOLS)
    assert all(math.isfinite(match.score) and math.isfinite(match.relevance) for match in found.matches)


def test_the_total_never_exceeds_the_catalog(view: View) -> None:
    for strategy in (Strategy.SEMANTIC, Strategy.HYBRID, Strategy.AUTO):
        assert ranked(view, "send money for a song in a restaurant", strategy=strategy, limit=1).total <= len(TOOLS)


def test_an_exact_name_still_comes_first(view: View) -> None:
    assert names_found(view, "send_mail")[0] == "post.send_mail"


def test_a_filter_holds_for_meaning(view: View) -> None:
    wanted = Filter(tags=("fun",))
    assert names_found(view, "tunes by my favorite musician", strategy=Strategy.SEMANTIC, filter=wanted) == ["audio.play_track"]
    assert set(names_found(view, "weather and money", strategy=Strategy.HYBRID, filter=wanted)) <= {"audio.play_track"}


def test_a_query_on_topic_is_more_relevant_than_one_off_topic(view: View) -> None:
    on_topic = ranked(view, "delete a branch of my git repository").matches[0].relevance
    off_topic = ranked(view, "quantum chromodynamics lattice").matches
    assert all(match.relevance < on_topic / 2 for match in off_topic)


def test_a_task_that_needs_different_tools_does_not_get_five_variants_of_one(embedder: Embedder) -> None:
    variants = [
        draft(tool(f"get_forecast_v{number}", "Weather forecast of the coming days in a city"), "meteo") for number in range(8)
    ]
    other = draft(tool("book_flight", "Books a flight to a city"), "air")
    view = View.of(entries_of([*variants, other]), embedder)
    found = names_found(view, "check the weather forecast of the city and book a flight", limit=5)
    assert "air.book_flight" in found[:2]
    scores = [match.score for match in ranked(view, "weather forecast and flight", limit=9).matches]
    assert scores == sorted(scores, reverse=True)


def test_a_query_without_any_piece_finds_nothing_by_meaning(view: View) -> None:
    assert ranked(view, "\u200b", strategy=Strategy.SEMANTIC).matches == []


def test_changes_one_by_one_find_what_a_fresh_build_finds(embedder: Embedder) -> None:
    entries, view = NO_ENTRIES, View.of(NO_ENTRIES, embedder)
    extra = [draft(tool(f"extra_{number}", f"Does thing number {number}"), "x") for number in range(150)]
    for revision, batch in enumerate([TOOLS[:3], extra[:100], TOOLS[3:], extra[100:]], start=1):
        change = plan_apply(entries, batch, (), DEFAULT_LIMITS).change
        entries = entries.after(change, Version("e", revision))
        view = view.after(change, entries)
    change = plan_sync(entries, "bank", [], DEFAULT_LIMITS).change
    entries = entries.after(change, Version("e", 9))
    view = view.after(change, entries)
    fresh = View.of(entries, embedder)
    for query in ("wire cash to somebody", "umbrella", "thing number 7"):
        for strategy in (Strategy.SEMANTIC, Strategy.HYBRID):
            found = names_found(view, query, strategy=strategy)
            assert found == names_found(fresh, query, strategy=strategy)
            assert "bank.transfer_funds" not in found


def test_an_older_view_is_untouched_by_a_newer_one(embedder: Embedder) -> None:
    entries = entries_of(TOOLS)
    before = View.of(entries, embedder)
    expected = names_found(before, "wire cash", strategy=Strategy.SEMANTIC)
    change = plan_sync(entries, "bank", [draft(tool("wire_cash", "Wire cash"), "bank")], DEFAULT_LIMITS).change
    after = before.after(change, entries.after(change, Version("e", 2)))
    assert names_found(before, "wire cash", strategy=Strategy.SEMANTIC) == expected
    assert names_found(after, "wire cash", strategy=Strategy.SEMANTIC)[0] == "bank.wire_cash"


@given(st.text(alphabet="ab c,.<>s/_▁é日\n\t", max_size=40) | st.text(max_size=30))
def test_a_query_has_the_vector_of_its_whole_text_whether_its_words_are_remembered_or_not(
    embedder: Embedder, query: str
) -> None:
    assert isinstance(embedder, StaticEmbedder)
    whole = embedder.embed_entries([EmbeddedText(query, "")])[0]
    np.testing.assert_allclose(embedder.embed_query(query), whole, atol=1e-5)
