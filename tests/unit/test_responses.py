"""Answers to searches are put together from encoded pieces; they are what protobuf makes of the same values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import draft, tool, view_of
from toolsearch.v1 import search_service_pb2 as pb
from toolsearch_server.catalog import View
from toolsearch_server.query import Part, Query, Strategy
from toolsearch_server.ranking import Match, Ranking, message
from toolsearch_server.relevance import MatchedBy
from toolsearch_server.rpc import responses
from toolsearch_server.rpc.responses import Detail

QUERY = Query(texts=("thing",))
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
PARTS = st.builds(Part, TEXT, st.floats(allow_nan=False, width=32), TEXT)
MATCHES = st.builds(
    Match,
    slot=st.integers(0, 4),
    score=st.floats(allow_nan=False),
    relevance=st.floats(0, 1),
    reason=TEXT,
    matched_by=st.lists(st.sampled_from(MatchedBy), max_size=3).map(tuple),
    parts=st.lists(PARTS, max_size=3).map(tuple),
)
RANKINGS = st.builds(
    Ranking,
    matches=st.lists(MATCHES, max_size=4),
    total=st.integers(0, 2**31 - 1),
    strategy=st.sampled_from(Strategy),
    notes=st.lists(TEXT, max_size=2).map(tuple),
    near_names=st.lists(TEXT, max_size=2).map(tuple),
)
UNLIMITED = 1 << 30


@pytest.fixture(scope="module")
def view() -> View:
    return view_of(*(draft(tool(f"tool_{length}", "é" * length), "s") for length in (0, 50, 60, 8_000, 9_000)))


def encoded(view: View, ranking: Ranking, detail: Detail, answer_bytes: int = UNLIMITED) -> pb.SearchToolsResponse:
    content = responses.search(view, ranking, QUERY, detail=detail, answer_bytes=answer_bytes, staleness=0.25)
    return pb.SearchToolsResponse.FromString(content)


def plain_match(view: View, match: Match, detail: Detail) -> pb.Match:
    return pb.Match(
        entry=responses.entry(view.entry(match.slot), detail),
        score=match.score,
        relevance=match.relevance,
        reason=match.reason,
        matched_by=[f"MATCHED_BY_{by.name}" for by in match.matched_by],
        explanation=[pb.ScorePart(name=part.name, value=part.value, detail=part.detail) for part in match.parts],
    )


def plain(view: View, ranking: Ranking, matches: list[pb.Match]) -> pb.SearchToolsResponse:
    return pb.SearchToolsResponse(
        matches=matches,
        total=ranking.total,
        version=responses.version(view.version, 0.25),
        strategy=f"STRATEGY_{ranking.strategy.name}",
        message=message(ranking, QUERY),
        near_names=ranking.near_names,
    )


@given(RANKINGS, st.sampled_from(Detail))
def test_an_answer_is_what_protobuf_makes_of_it(view: View, ranking: Ranking, detail: Detail) -> None:
    assert encoded(view, ranking, detail) == plain(
        view, ranking, [plain_match(view, match, detail) for match in ranking.matches]
    )


@pytest.mark.parametrize("size", [127, 128, 129, 16_383, 16_384, 16_385, 2_097_151, 2_097_152])
def test_a_match_may_have_any_number_of_bytes(view: View, size: int) -> None:
    lengths = range(size, max(-1, size - 200), -1)
    matches = (Match(0, 1.0, 0.5, "r" * length, (), ()) for length in lengths)
    match, expected = next(
        (match, expected) for match in matches if (expected := plain_match(view, match, Detail.NAME)).ByteSize() == size
    )
    ranking = Ranking([match], 1, Strategy.BM25)
    assert encoded(view, ranking, Detail.NAME) == plain(view, ranking, [expected])


@pytest.mark.parametrize("slack", [-1, 0])
def test_what_does_not_fit_into_an_answer_in_full_is_a_summary_and_so_is_what_follows(view: View, slack: int) -> None:
    matches = [Match(slot, 1.0, 0.5, "", (), ()) for slot in (3, 4, 0)]
    ranking = Ranking(matches, 3, Strategy.BM25)
    full = [plain_match(view, match, Detail.FULL) for match in matches]
    summaries = [plain_match(view, match, Detail.SUMMARY) for match in matches]
    fits = full[0].ByteSize() + full[1].ByteSize() + slack
    expected = [full[0], summaries[1] if slack else full[1], summaries[2]]
    assert encoded(view, ranking, Detail.FULL, fits) == plain(view, ranking, expected)
    assert encoded(view, ranking, Detail.FULL, 0) == plain(view, ranking, [full[0], *summaries[1:]])
