"""Catalogs with a slow embedder: what is found before, while and after their entries are embedded."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from embeddings.embedders_under_test import DIMENSIONS, ConceptEmbedder
from support import CATALOG, draft, tool, until
from toolsearch_server import embeddings
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import plan_apply
from toolsearch_server.embedders import EmbeddingFailed, Matrix
from toolsearch_server.embeddings import TOOLS as PROBES
from toolsearch_server.errors import EmbeddingsUnavailable, StoreUnavailable
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.query import Query, Strategy
from toolsearch_server.ranking import Ranking, message
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.sqlite import SqliteStore

TOOLS = [
    draft(tool("get_forecast", "Rain and temperature"), "meteo"),
    draft(tool("transfer_funds", "Moves money"), "bank"),
    draft(tool("play_track", "Plays a song"), "audio"),
    draft(tool("delete_branch", "Removes a branch"), "code"),
    draft(tool("book_table", "Reserves a table"), "dining"),
]
OTHER = CatalogKey("other", "catalog")
LATE = "did not answer in time"


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "FIRST_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(embeddings, "LAST_RETRY_SECONDS", 0.001)


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(None, DEFAULT_LIMITS)
    yield store
    await store.close()


@pytest.fixture
async def embedder() -> ConceptEmbedder:
    return ConceptEmbedder()


Opener = Callable[..., Catalogs]


@pytest.fixture
async def open_catalogs(store: SqliteStore) -> AsyncIterator[Opener]:
    opened: list[Catalogs] = []

    def open_with(embedder: ConceptEmbedder, limits: Limits = DEFAULT_LIMITS) -> Catalogs:
        opened.append(Catalogs(store, limits=limits, idle_seconds=3600, embedder=embedder))
        return opened[-1]

    yield open_with
    for catalogs in opened:
        await catalogs.close()


@pytest.fixture
def catalogs(open_catalogs: Opener, embedder: ConceptEmbedder) -> Catalogs:
    return open_catalogs(embedder)


async def write(catalogs: Catalogs, drafts: list[Any] = TOOLS, key: CatalogKey = CATALOG) -> None:
    await catalogs.write(key, lambda entries: plan_apply(entries, drafts, (), DEFAULT_LIMITS), expected_revision=None)


async def embedded(catalogs: Catalogs, key: CatalogKey = CATALOG) -> None:
    """Wait until the newest entries of a catalog are in its view with all their vectors."""
    catalog = await catalogs.get(key)
    await until(lambda: catalog.view.version == catalog.entries.version and catalog.without_vector == 0)


async def search(
    catalogs: Catalogs, *texts: str, strategy: Strategy = Strategy.AUTO, key: CatalogKey = CATALOG
) -> tuple[list[str], str]:
    """Names, best first, and what is said about them."""
    catalog, view = await catalogs.view(key, min_revision=0, epoch="", timeout=5)
    query = Query(texts=texts, strategy=strategy)
    found: Ranking = await catalog.search(view, query)
    return [view.entry(match.slot).local_name for match in found.matches], message(found, query)


async def test_meaning_finds_entries_once_they_are_embedded(catalogs: Catalogs) -> None:
    await write(catalogs)
    await embedded(catalogs)
    for strategy in (Strategy.AUTO, Strategy.HYBRID, Strategy.SEMANTIC):
        names, said = await search(catalogs, "umbrella", strategy=strategy)
        assert names[0] == "get_forecast", strategy
        assert "alone" not in said and "not known" not in said


async def test_several_phrasings_have_a_vector_each(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    names, _ = await search(catalogs, "umbrella", "cash", strategy=Strategy.SEMANTIC)
    assert set(names[:2]) == {"get_forecast", "transfer_funds"}
    assert embedder.queries[-2:] == ["umbrella", "cash"]


async def test_a_catalog_is_searchable_before_its_entries_are_embedded(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    embedder.permits = asyncio.Semaphore(1)  # for getting to know it
    await write(catalogs)
    await until(lambda: catalogs.embeddings is not None and catalogs.embeddings.scale is not None)
    assert catalogs.without_vector == len(TOOLS)
    for strategy in (Strategy.AUTO, Strategy.HYBRID):
        names, said = await search(catalogs, "branch", strategy=strategy)
        assert names == ["delete_branch"]
        assert said.endswith("ranked by words alone: no entry of this catalog has been embedded yet")
    with pytest.raises(EmbeddingsUnavailable, match="no entry of this catalog"):
        await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC)


async def test_an_entry_without_its_vector_is_found_by_words_and_not_punished(
    open_catalogs: Opener, store: SqliteStore
) -> None:
    embedder = ConceptEmbedder(batch_size=1)
    catalogs = open_catalogs(embedder)
    embedder.permits = asyncio.Semaphore(1 + 3)
    await write(catalogs)
    await until(lambda: catalogs.without_vector == 2)
    catalog = await catalogs.get(CATALOG)
    assert catalog.view.vectors is not None
    (missing, _) = sorted(catalog.view.vectors.missing)
    entry = catalog.view.entry(missing)
    names, said = await search(catalogs, entry.local_name.split("_")[1], strategy=Strategy.HYBRID)
    assert names[0] == entry.local_name
    assert said.endswith("the meaning of 2 of 5 entries is not known yet")
    found = await catalog.search(catalog.view, Query(texts=(entry.description,), strategy=Strategy.HYBRID, explain=True))
    (match,) = (match for match in found.matches if match.slot == missing)
    assert [(part.name, part.value) for part in match.parts][1] == ("meaning", 0.0)
    assert match.score == pytest.approx(1.0)


async def test_an_empty_catalog_is_not_unavailable(catalogs: Catalogs) -> None:
    await write(catalogs, [])
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC))[0] == []


async def test_a_text_is_embedded_once_for_all_catalogs(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await asyncio.gather(write(catalogs), write(catalogs, key=OTHER))
    await embedded(catalogs)
    await embedded(catalogs, OTHER)
    assert len(embedder.entries) == len(PROBES) + len(TOOLS)


@pytest.mark.parametrize("remembered", [0, 2])
async def test_what_is_not_remembered_is_in_the_store(
    open_catalogs: Opener, embedder: ConceptEmbedder, remembered: int
) -> None:
    catalogs = open_catalogs(embedder, Limits(entry_vector_bytes=remembered * 6 * 4))
    await asyncio.gather(write(catalogs), write(catalogs, key=OTHER))
    await embedded(catalogs)
    await embedded(catalogs, OTHER)
    assert catalogs.embeddings is not None and catalogs.embeddings.embedded == len(TOOLS)
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC, key=OTHER))[0][0] == "get_forecast"


async def test_another_replica_finds_the_vectors_in_the_store(open_catalogs: Opener, embedder: ConceptEmbedder) -> None:
    first = open_catalogs(embedder)
    await write(first)
    await embedded(first)
    await until(lambda: not asyncio.all_tasks() - {asyncio.current_task()})
    other = ConceptEmbedder()
    second = open_catalogs(other)
    await embedded(second)
    assert len(other.entries) == len(PROBES)
    assert (await search(second, "umbrella", strategy=Strategy.SEMANTIC))[0][0] == "get_forecast"


async def test_vectors_of_another_model_are_not_taken(open_catalogs: Opener, embedder: ConceptEmbedder) -> None:
    first = open_catalogs(embedder)
    await write(first)
    await embedded(first)
    other = ConceptEmbedder(model="another")
    await embedded(open_catalogs(other))
    assert len(other.entries) == len(PROBES) + len(TOOLS)


async def test_only_what_changed_its_text_is_embedded_again(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    before = len(embedder.entries)
    await write(catalogs, [draft(tool("play_track", "Plays a song"), "audio", tags=["fun"])])
    await embedded(catalogs)
    assert len(embedder.entries) == before
    await write(catalogs, [draft(tool("play_track", "Plays cash registers"), "audio")])
    await embedded(catalogs)
    assert len(embedder.entries) == before + 1
    assert "play_track" in (await search(catalogs, "payment", strategy=Strategy.SEMANTIC))[0]


async def test_a_removed_entry_is_gone_from_meaning_too(catalogs: Catalogs) -> None:
    await write(catalogs)
    await embedded(catalogs)
    gone = ["meteo.get_forecast"]
    await catalogs.write(CATALOG, lambda entries: plan_apply(entries, (), gone, DEFAULT_LIMITS), expected_revision=None)
    await embedded(catalogs)
    assert "get_forecast" not in (await search(catalogs, "umbrella", strategy=Strategy.HYBRID))[0]


async def test_failures_are_retried_and_the_log_hears_of_the_first_and_of_the_end(
    catalogs: Catalogs, embedder: ConceptEmbedder
) -> None:
    await write(catalogs)
    await embedded(catalogs)
    embedder.failures = [EmbeddingFailed(f"failure {number}") for number in range(7)]
    with capture_logs() as logs:
        await write(catalogs, [draft(tool("find_restaurant", "Dinner"), "dining")])
        await embedded(catalogs)
    assert not embedder.failures
    told = [line for line in logs if "embedded" in line["event"]]
    assert [line["log_level"] for line in told] == ["warning", "info"]
    assert told[0]["error"] == "failure 0"
    assert catalogs.embeddings is not None and not catalogs.embeddings.failing


async def test_an_embedder_that_is_away_at_first_is_waited_for(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    embedder.query_failures = [EmbeddingFailed("away") for _ in range(5)]
    embedder.query_gate.clear()
    await write(catalogs)
    names, said = await search(catalogs, "branch")
    assert names == ["delete_branch"]
    assert said.endswith("ranked by words alone: the embedding model has not answered yet")
    with pytest.raises(EmbeddingsUnavailable, match="has not answered yet"):
        await search(catalogs, "branch", strategy=Strategy.SEMANTIC)
    embedder.query_gate.set()
    await embedded(catalogs)
    assert (await search(catalogs, "umbrella"))[0][0] == "get_forecast"


async def test_a_text_that_the_embedder_refuses_costs_nothing_but_its_vector(
    catalogs: Catalogs, embedder: ConceptEmbedder
) -> None:
    embedder.refused = {"Plays a song"}
    await write(catalogs)
    await until(lambda: catalogs.without_vector == 1)
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC))[0][0] == "get_forecast"
    assert (await search(catalogs, "song"))[0][0] == "play_track"
    await write(catalogs, [draft(tool("find_restaurant", "Dinner"), "dining")])
    await until(lambda: "find_restaurant" in str(embedder.entries) or any("Dinner" in text for text in embedder.entries))


async def test_a_vector_that_is_no_numbers_is_none(
    catalogs: Catalogs, embedder: ConceptEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = embedder.embed_entries

    async def without_numbers(texts: Sequence[str]) -> Matrix:
        matrix = await embed(texts)
        matrix[["Plays a song" in each for each in texts]] = np.nan
        return matrix

    monkeypatch.setattr(embedder, "embed_entries", without_numbers)
    await write(catalogs)
    await until(lambda: catalogs.without_vector == 1)
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC))[0][0] == "get_forecast"
    assert (await search(catalogs, "song"))[0][0] == "play_track"


async def test_when_everything_is_refused_it_is_not_the_texts(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    embedder.refused = {" "}
    await write(catalogs, [draft(tool("find_restaurant", "Dinner"), "dining")])
    await until(lambda: catalogs.embeddings is not None and catalogs.embeddings.failing)
    embedder.refused = set()
    await embedded(catalogs)
    assert "find_restaurant" in (await search(catalogs, "dinner", strategy=Strategy.SEMANTIC))[0]


async def test_after_being_told_to_wait_all_batches_wait(open_catalogs: Opener) -> None:
    embedder = ConceptEmbedder(batch_size=1)
    catalogs = open_catalogs(embedder)
    await write(catalogs)
    await embedded(catalogs)
    before = len(embedder.entries)
    embedder.failures = [EmbeddingFailed("slow down", retry_after=60)]
    await write(catalogs, [draft(tool(f"find_{number}", "Dinner"), "dining") for number in range(20)])
    await until(lambda: not embedder.failures)
    for _ in range(20):
        assert (await search(catalogs, "breakfast"))[1].endswith("the embedding model did not answer lately")
    assert len(embedder.entries) <= before + 1  # the other one that was under way already


async def test_vectors_with_other_dimensions_are_not_mixed_in(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    embedder.dimensions -= 1
    with capture_logs() as logs:
        await write(catalogs, [draft(tool("find_restaurant", "Dinner"), "dining")])
        await until(lambda: catalogs.embeddings is not None and catalogs.embeddings.failing)
        names, said = await search(catalogs, "dinner")
    assert names[0] == "find_restaurant"
    assert said.endswith("ranked by words alone: the embedding model failed")
    assert "5 dimensions" in next(line["error"] for line in logs if line["event"] == "entries are not embedded")
    embedder.dimensions += 1
    await embedded(catalogs)


async def test_a_store_that_fails_costs_time_only(
    catalogs: Catalogs, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "vectors", fails)
    monkeypatch.setattr(store, "keep_vectors", fails)
    with capture_logs() as logs:
        await write(catalogs)
        await embedded(catalogs)
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC))[0][0] == "get_forecast"
    assert [line["event"] for line in logs].count("vectors are not kept in the store") == 1


@pytest.mark.parametrize("record", [b"broken", np.full(DIMENSIONS, np.nan, dtype="<f4").tobytes()])
async def test_what_the_store_has_broken_is_embedded_again(
    catalogs: Catalogs, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, embedder: ConceptEmbedder, record: bytes
) -> None:
    async def broken(model: str, digests: list[bytes]) -> list[bytes | None]:
        return [record for _ in digests]

    monkeypatch.setattr(store, "vectors", broken)
    await write(catalogs)
    await embedded(catalogs)
    assert len(embedder.entries) == len(PROBES) + len(TOOLS)


async def test_a_query_is_embedded_once(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    for _ in range(3):
        await search(catalogs, "umbrella")
    assert embedder.queries.count("umbrella") == 1


async def test_words_and_patterns_are_not_embedded(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    for strategy in (Strategy.BM25, Strategy.FUZZY, Strategy.REGEX):
        await search(catalogs, "branch", strategy=strategy)
    assert "branch" not in embedder.queries


async def test_a_query_that_is_embedded_late_goes_by_words_and_is_remembered(open_catalogs: Opener) -> None:
    embedder = ConceptEmbedder()
    catalogs = open_catalogs(embedder, Limits(query_embedding_seconds=0.01))
    await write(catalogs)
    await embedded(catalogs)
    embedder.query_gate.clear()
    names, said = await search(catalogs, "umbrella branch")
    assert names[0] == "delete_branch"
    assert said.endswith(f"ranked by words alone: the embedding model {LATE}")
    with pytest.raises(EmbeddingsUnavailable, match=LATE):
        await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC)
    embedder.query_gate.set()
    await until(lambda: "umbrella" in embedder.queries)
    embedder.query_gate.clear()
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC))[0][0] == "get_forecast"


async def test_after_some_queries_without_an_answer_the_next_do_not_wait(open_catalogs: Opener) -> None:
    embedder = ConceptEmbedder()
    catalogs = open_catalogs(embedder)
    await write(catalogs)
    await embedded(catalogs)
    await search(catalogs, "umbrella")
    embedder.query_failures = [EmbeddingFailed("down") for _ in range(10)]
    for number in range(10):
        _, said = await search(catalogs, f"branch {number}")
        assert "ranked by words alone" in said
    assert len(embedder.query_failures) == 10 - embeddings.FAILURES_TO_REST
    assert said.endswith("the embedding model did not answer lately")
    # What is remembered is not affected.
    assert (await search(catalogs, "umbrella", strategy=Strategy.SEMANTIC))[0][0] == "get_forecast"


async def test_when_it_is_told_to_wait_nobody_asks_before(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    embedder.query_failures = [EmbeddingFailed("slow down", retry_after=60)]
    await search(catalogs, "first")
    _, said = await search(catalogs, "second")
    assert said.endswith("did not answer lately")
    assert "second" not in embedder.queries


async def test_only_so_many_queries_are_embedded_at_once(open_catalogs: Opener) -> None:
    embedder = ConceptEmbedder()
    catalogs = open_catalogs(embedder, Limits(queries_embedded_at_once=2))
    await write(catalogs)
    await embedded(catalogs)
    embedder.query_gate.clear()
    waiting = [asyncio.create_task(search(catalogs, f"umbrella {number}")) for number in range(2)]
    await until(lambda: embedder.waiting_queries == 2)
    _, said = await search(catalogs, "one too many")
    assert said.endswith("the embedding model is busy")
    embedder.query_gate.set()
    for names, _ in await asyncio.gather(*waiting):
        assert names[0] == "get_forecast"


async def test_a_caller_without_time_does_not_wait(catalogs: Catalogs, embedder: ConceptEmbedder) -> None:
    await write(catalogs)
    await embedded(catalogs)
    embedder.query_gate.clear()
    catalog = await catalogs.get(CATALOG)
    query = Query(texts=("branch",))
    found = await catalog.search(catalog.view, query, patience=0.0)
    assert LATE in message(found, query)
    embedder.query_gate.set()


async def test_a_closed_catalog_asks_for_nothing_more(open_catalogs: Opener) -> None:
    embedder = ConceptEmbedder()
    catalogs = open_catalogs(embedder)
    embedder.permits = asyncio.Semaphore(1)
    await write(catalogs)
    await until(lambda: catalogs.without_vector == len(TOOLS))
    await catalogs.close()
    await until(lambda: not asyncio.all_tasks() - {asyncio.current_task()})
    assert embedder.closed
    assert len(embedder.entries) <= len(PROBES)


async def test_remembered_vectors_are_bounded(open_catalogs: Opener) -> None:
    size = 6 * 4
    embedder = ConceptEmbedder()
    catalogs = open_catalogs(embedder, Limits(query_vector_bytes=2 * size))
    await write(catalogs)
    await embedded(catalogs)
    for text in ("a", "b", "a", "c", "a", "b"):
        await search(catalogs, text)
    assert [text for text in embedder.queries if text in "abc"] == ["a", "b", "c", "b"]
