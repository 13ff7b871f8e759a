"""Vectors that come one after the other: what a view finds does not depend on how they came."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeddings.embedders_under_test import CONCEPT_OF, ConceptEmbedder, meaning
from support import draft, entries_of, tool
from toolsearch_server.catalog import View
from toolsearch_server.changes import Version, plan_apply
from toolsearch_server.embedders import Scale, embedded_text
from toolsearch_server.kernel import Best
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.vectors import VectorIndex, text_digest

SCALE = Scale.measured(unrelated=0.1, related=0.8, weight=0.2)
WORDS = sorted(CONCEPT_OF)
DRAFTS = [
    draft(tool(f"tool_{word}", f"Something with {word} and {WORDS[number - 3]}"), "s") for number, word in enumerate(WORDS)
]
ENTRIES = entries_of(DRAFTS)
SLOTS = range(len(DRAFTS))
QUERY = np.array(meaning("cash for a song"), dtype=np.float32)


def vector(slot: int) -> tuple[bytes, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    text = embedded_text(list(ENTRIES.by_key.values())[slot]).whole
    values = np.array(meaning(text), dtype=np.float32)
    return text_digest(text), values / np.linalg.norm(values)


def index_of(view: View) -> VectorIndex:
    assert view.vectors is not None
    return view.vectors


def empty_view() -> View:
    return View.of(ENTRIES, ConceptEmbedder())


FULL = empty_view().filled(dict(map(vector, SLOTS)), SCALE)


@given(st.permutations(list(SLOTS)), st.lists(st.integers(1, 8), min_size=20, max_size=20))
def test_vectors_that_come_in_any_order_and_batches_find_the_same(order: list[int], sizes: list[int]) -> None:
    view = empty_view()
    views = [view]
    for size in sizes:
        batch, order = order[:size], order[size:]
        view = view.filled(dict(map(vector, batch)), SCALE)
        views.append(view)
        assert index_of(view).missing == frozenset(order)
    expected = index_of(FULL).similarities(QUERY, 100)
    found = index_of(views[-1]).similarities(QUERY, 100)
    if not order:
        np.testing.assert_allclose(found.cosines, expected.cosines, atol=1e-6)
        np.testing.assert_allclose(found.usual, expected.usual, atol=1e-4)
    for older in views[1:]:  # they share their rows with the newest, and do not see what came later
        index = index_of(older)
        missing = np.array(sorted(index.missing), dtype=np.int64)
        similarities = index.similarities(QUERY, 100)
        assert (similarities.cosines[missing] == -1.0).all()
        assert not set(similarities.nearest.tolist()) & index.missing
        by_words = Best(missing, np.linspace(1.0, 0.5, len(missing)), len(missing))
        blend = index.blend(by_words, missing[:0], similarities)
        np.testing.assert_allclose(blend.scores, blend.shares, atol=1e-5)


def test_a_missing_vector_makes_nothing_a_variant_of_it() -> None:
    view = empty_view().filled(dict(map(vector, SLOTS[:2])), SCALE)
    later = view.filled(dict(map(vector, SLOTS)), SCALE)
    slots, scores = list(SLOTS), [1.0 - slot / 100 for slot in SLOTS]
    assert all(loss == 0.0 for place, loss in index_of(view).varied(slots, scores, 20) if slots[place] > 1)
    assert any(loss > 0.0 for _, loss in index_of(later).varied(slots, scores, 20))


def test_a_view_that_is_built_anew_keeps_the_vectors_that_it_has() -> None:
    view = empty_view().filled(dict(map(vector, SLOTS[:5])), SCALE)
    anew = View.of(ENTRIES, ConceptEmbedder(), view.vectors)
    assert index_of(anew).missing == frozenset(SLOTS[5:])
    found, expected = index_of(anew).similarities(QUERY, 100), index_of(view).similarities(QUERY, 100)
    np.testing.assert_array_equal(found.cosines, expected.cosines)
    assert index_of(anew).scale == SCALE


def test_many_changes_keep_what_is_known_and_ask_for_what_is_new() -> None:
    view, entries = FULL, ENTRIES
    for number in range(40):
        more = [draft(tool(f"more_{number}", "Something else"), "s"), draft(tool("tool_cash", "x", title=str(number)), "s")]
        change = plan_apply(entries, more, (), DEFAULT_LIMITS).change
        entries = entries.after(change, Version("e", number + 2))
        view = view.after(change, entries)
    missing = {entry.local_name for entry in map(view.entry, index_of(view).missing)}
    assert missing == {f"more_{number}" for number in range(40)} | {"tool_cash"}
    assert len(view.missing_texts(1_000, lambda _: False)) == 41
    assert view.missing_texts(1_000, lambda _: True) == {}
    assert len(view.missing_texts(7, lambda _: False)) == 7


@pytest.mark.parametrize(("unrelated", "related"), [(0.0, 0.4), (0.7, 0.8), (0.3, 0.3), (-0.2, 0.9)])
def test_a_scale_is_in_order_for_any_model(unrelated: float, related: float) -> None:
    scale = Scale.measured(unrelated=unrelated, related=related, weight=0.2)
    assert unrelated < scale.mean < scale.near < scale.same <= 0.95
    assert scale.deviation > 0
