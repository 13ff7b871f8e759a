"""The compiled sums and selections, next to the same in NumPy, and next to Tantivy."""

import ctypes
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from toolsearch_server import kernel
from toolsearch_server.bm25 import Asked, Bm25Index, QueryWord
from toolsearch_server.coarse import Coarse
from toolsearch_server.document import Postings
from toolsearch_server.kernel import Best, Usual
from toolsearch_server.selection import Selection
from toolsearch_server.word_scores import LENGTHS, Kind, Kinds

WORDS = ["create", "created", "issue", "list", "branch", "z"]
EVERYTHING_BUT_NOTHING = Selection(excluded=frozenset({1_000_000}))
"""Selects all, and is not the selection of everything: Tantivy selects."""
DIMENSIONS = 16
UNITS = arrays.arrays(np.float32, DIMENSIONS, elements=st.floats(-1, 1, width=32)).map(
    lambda each: each / max(1e-3, float(np.linalg.norm(each)))
)
USUALLY = Usual(0.06, 0.09)
ANOTHER = Path(np.linalg._umath_linalg.__file__)
"""Some library."""


# Words


@st.composite
def postings(draw: st.DrawFn) -> Postings:
    def content() -> str:
        return " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=30)))

    return Postings(content(), content(), content(), content(), content())


QUERY_WORDS = st.lists(
    st.builds(
        QueryWord, st.sampled_from([*WORDS, "unknown"]), st.sampled_from([*WORDS, "unknown"]), st.sampled_from([1.0, 0.9, 0.4])
    ),
    min_size=1,
    max_size=5,
)


def same_answer(index: Bm25Index, words: list[QueryWord], limit: int) -> None:
    asked = Asked(tuple(words))
    ours, tantivys = index.search(asked, limit=limit), index.chosen(asked, limit=limit, selection=EVERYTHING_BUT_NOTHING)
    assert ours.total == tantivys.total
    assert len(ours.slots) >= min(limit, ours.total)
    np.testing.assert_allclose(ours.scores[:limit], tantivys.scores[:limit], atol=2e-4)
    by_slot = dict(zip(tantivys.slots.tolist(), tantivys.scores.tolist(), strict=True))
    for slot, score in zip(ours.slots.tolist()[:limit], ours.scores.tolist(), strict=False):
        if score > float(ours.scores[min(limit, len(ours.scores)) - 1]) + 1e-3:  # of those that tie with the last, any will do
            assert by_slot[slot] == pytest.approx(score, abs=2e-4)


@given(st.lists(postings(), min_size=1, max_size=12), QUERY_WORDS, st.integers(1, 15))
def test_sums_are_those_that_tantivy_gives(documents: list[Postings], words: list[QueryWord], limit: int) -> None:
    index = Bm25Index.build([(slot, each, frozenset[str]()) for slot, each in enumerate(documents)])
    same_answer(index, words, limit)


@given(st.lists(postings(), min_size=2, max_size=8), st.lists(postings(), max_size=4), QUERY_WORDS, st.data())
def test_sums_are_those_that_tantivy_gives_after_changes(
    documents: list[Postings], added: list[Postings], words: list[QueryWord], data: st.DataObject
) -> None:
    index = Bm25Index.build([(slot, each, frozenset[str]()) for slot, each in enumerate(documents)])
    removed = data.draw(st.lists(st.integers(0, len(documents) - 1), unique=True, max_size=len(documents) - 1))
    more = [(slot, each, frozenset[str]()) for slot, each in enumerate(added, start=len(documents))]
    changed = index.changed(removed=removed, added=more)
    asked = Asked(tuple(words))
    ours = changed.search(asked, limit=20)
    tantivys = changed.chosen(asked, limit=20, selection=EVERYTHING_BUT_NOTHING)
    assert ours.total == tantivys.total
    assert not set(ours.slots.tolist()) & set(removed)
    assert set(ours.slots.tolist()) == set(tantivys.slots.tolist())


def test_a_filter_changes_no_score_however_often_entries_have_changed() -> None:
    chance = random.Random(1)

    def document(slot: int) -> tuple[int, Postings, frozenset[str]]:
        content = " ".join(chance.choices(WORDS, k=5))
        return slot, Postings(content, content, content, "", ""), frozenset()

    index = Bm25Index.build([document(slot) for slot in range(200)])
    asked = Asked((QueryWord("issue", "issue"), QueryWord("list", "list")))
    for change in range(10):  # Tantivy merges segments meanwhile, and forgets what was removed
        index = index.changed(removed=[2 * change, 2 * change + 1], added=[document(200 + change)])
        everything = index.search(asked, limit=500)
        selected = index.search(asked, limit=500, selection=EVERYTHING_BUT_NOTHING)
        assert [each.tolist() for each in selected[:2]] == [each.tolist() for each in everything[:2]]
        assert selected.total == everything.total


def test_all_that_tie_with_the_last_wanted_are_there() -> None:
    alike = Postings("create issue", "create issue", "create issue", "", "")
    index = Bm25Index.build([(slot, alike, frozenset[str]()) for slot in range(200)])
    assert index.search(Asked((QueryWord("create", "create"),)), limit=5).slots.tolist() == list(range(200))


def test_an_index_without_documents_finds_nothing() -> None:
    assert Bm25Index.build([]).search(Asked((QueryWord("create", "create"),)), limit=5).total == 0


def test_room_that_could_not_be_made_is_not_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    room = kernel._Room().of(10)
    before = room.capacity

    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(np, "empty", fails)
        with pytest.raises(MemoryError):
            room.of(before + 1)
    assert len(room.of(before + 1).slots) > before


@pytest.mark.parametrize("content", [None, b"nonsense", ANOTHER.read_bytes()])
def test_a_kernel_that_is_missing_or_not_ours_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    library = tmp_path / "libkernel.so"
    if content is not None:
        library.write_bytes(content)
    monkeypatch.setattr(kernel, "LIBRARY", library)
    with pytest.raises(ImportError, match=r"libkernel\.so was not built with this toolsearch-server"):
        kernel._library(ctypes.CDLL)


# Vectors


def test_many_exact_cosines_let_other_threads_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_KEEPING_LOCK", None)
    slots = np.zeros(kernel.SMALL + 1, dtype=np.int64)
    rows, cosines = np.eye(1, DIMENSIONS, dtype=np.float32), np.zeros(1, dtype=np.float32)
    kernel.compare_exactly(kernel.address(rows), rows[0], cosines, slots)
    assert cosines.tolist() == [1.0]


def expected_nearest(cosines: kernel.Cosines, absent: list[int], least: float, wanted: int) -> list[int]:
    near = [slot for slot in range(len(cosines)) if slot not in absent and cosines[slot] >= least]
    return sorted(near, key=lambda slot: (-cosines[slot], slot))[:wanted]


@given(st.lists(UNITS, min_size=1, max_size=30), UNITS, st.integers(1, 12), st.floats(-0.9, 1), st.data())
def test_the_nearest_are_the_nearest_with_and_without_a_coarse_copy(
    units: list[kernel.Cosines], query: kernel.Cosines, wanted: int, least: float, data: st.DataObject
) -> None:
    rows = np.stack(units)
    absent = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True, max_size=len(rows) - 1))
    gone = np.array(sorted(absent), dtype=np.int64)
    coarse = Coarse.of(rows, len(rows), gone)
    exact = rows @ query
    alive = np.delete(exact, gone)
    mean = (alive.sum() + 20 * USUALLY.mean) / (len(alive) + 20)
    deviation = np.sqrt((((alive - mean) ** 2).sum() + 20 * USUALLY.deviation**2) / (len(alive) + 20))
    for copy in (None, coarse.for_kernel()):
        cosines, near, usual = kernel.nearest(
            kernel.address(rows), len(rows), query, gone, prior=20, usually=USUALLY, least=least, wanted=wanted, coarse=copy
        )
        assert np.allclose(usual, (mean, deviation), atol=1e-4)
        assert (cosines[gone] == -1.0).all()
        # Cosines are compared as they were computed: sums in another order differ in their last digits.
        np.testing.assert_allclose(cosines[near], exact[near], atol=1e-5)
        expected = expected_nearest(exact, absent, least, wanted)
        if len(near) == len(expected):
            np.testing.assert_allclose(exact[near], exact[expected], atol=1e-5)
        else:  # something is just at the bound
            odd = set(near.tolist()) ^ set(expected)
            assert all(abs(float(exact[slot]) - least) < 1e-5 for slot in odd)


def test_a_coarse_copy_that_changes_is_one_that_is_made_anew() -> None:
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(300, DIMENSIONS)).astype(np.float32)
    removed = np.array([3, 250], dtype=np.int64)
    anew = Coarse.of(rows, 300, removed)
    changed = Coarse.of(rows[:200], 200, removed[:1]).changed(rows, 300, removed[1:])
    for part in ("codes", "steps", "lost", "sum", "squares"):
        np.testing.assert_allclose(getattr(changed, part), getattr(anew, part), atol=1e-9)


def test_of_equal_cosines_the_first_are_taken() -> None:
    rows = np.ones((10, DIMENSIONS), dtype=np.float32) / np.float32(np.sqrt(DIMENSIONS))
    nobody = np.zeros(0, dtype=np.int64)
    _, near, _ = kernel.nearest(kernel.address(rows), 10, rows[0], nobody, prior=20, usually=USUALLY, least=0.5, wanted=4)
    assert near.tolist() == [0, 1, 2, 3]


@given(st.integers(1, 20), st.data())
def test_a_blend_adds_shares_and_standard_scores(size: int, data: st.DataObject) -> None:
    slots = data.draw(st.lists(st.integers(0, size - 1), unique=True))
    near = data.draw(st.lists(st.integers(0, size - 1), unique=True))
    missing = data.draw(st.lists(st.integers(0, size - 1), unique=True))
    scores = sorted(data.draw(st.lists(st.floats(0.5, 9), min_size=len(slots), max_size=len(slots))), reverse=True)
    cosines = np.linspace(-0.5, 0.9, size, dtype=np.float32)
    found = kernel.blend(
        Best(np.array(slots, dtype=np.int64), np.array(scores), len(slots)),
        np.array(near, dtype=np.int64),
        cosines,
        np.array(missing, dtype=np.int64),
        USUALLY,
        weight=0.15,
        digits=5,
    )
    assert set(found.slots.tolist()) == set(slots) | set(near)
    assert list(found.scores) == sorted(found.scores, reverse=True)
    shares = {slot: score / scores[0] for slot, score in zip(slots, scores, strict=True)}
    for slot, score, share in zip(*(each.tolist() for each in found), strict=True):
        unusual = 0.0 if slot in missing else (float(cosines[slot]) - USUALLY.mean) / USUALLY.deviation
        assert share == pytest.approx(shares.get(slot, 0.0))
        assert score == pytest.approx(share + 0.15 * unusual, abs=2e-5)


@pytest.mark.parametrize("odd", [np.nan, -np.inf])
def test_what_has_no_number_for_a_score_is_not_chosen(odd: float) -> None:
    rows = np.eye(2, DIMENSIONS, dtype=np.float32)
    chosen = kernel.varied(kernel.address(rows), DIMENSIONS, [0, 1], [odd, 0.5], same=0.6, weight=0.5, wanted=2, digits=5)
    assert chosen == [(1, 0.0)]


@given(st.lists(UNITS, min_size=1, max_size=12), st.integers(1, 12))
def test_variants_of_a_better_match_lose_what_makes_them_alike(units: list[kernel.Cosines], wanted: int) -> None:
    rows = np.stack(units)
    scores = np.linspace(1.0, 0.5, len(rows))
    chosen = kernel.varied(
        kernel.address(rows),
        DIMENSIONS,
        range(len(rows)),
        scores.tolist(),
        same=0.6,
        weight=0.5,
        wanted=wanted,
        digits=5,
    )
    assert len({place for place, _ in chosen}) == len(chosen) == min(wanted, len(rows))
    before: list[int] = []
    for place, loss in chosen:
        expected = max((0.5 * (float(rows[place] @ rows[other]) - 0.6) for other in before), default=0.0)
        assert loss == pytest.approx(max(0.0, expected), abs=2e-5)
        before.append(place)


def test_matches_whose_words_are_worth_nothing_have_no_share_of_it() -> None:
    three = np.arange(3, dtype=np.int64)
    nobody = three[:0]
    worthless = Best(three, np.zeros(3), 3)
    found = kernel.blend(worthless, nobody, np.zeros(3, dtype=np.float32), nobody, USUALLY, weight=0.15, digits=5)
    assert found.shares.tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(found.scores).all()


def test_a_word_that_stands_in_a_document_very_often_counts_as_often_as_tantivy_counts_it() -> None:
    often = [Postings(" ".join(["create"] * count + ["issue"] * 10), "", "", "", "") for count in (40, 60, 90, 200)]
    index = Bm25Index.build([(slot, each, frozenset[str]()) for slot, each in enumerate(often)])
    same_answer(index, [QueryWord("create", "create")], 4)


def test_no_texts_use_up_the_codes_of_postings() -> None:
    kinds = Kinds()
    lengths = [int(length) for length in LENGTHS]
    codes = {
        kinds.code(Kind(field, frequency, length)) for length in lengths for field in range(5) for frequency in range(1, 200)
    }
    assert max(codes) < 2**16
    assert len(kinds.worths([1.0] * 5, [10.0] * 5)) == len(codes)
