import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import draft, entries_of, names_found, ranked, tool, view_of
from toolsearch_server.catalog import View
from toolsearch_server.changes import NO_ENTRIES, Version, plan_apply, plan_sync
from toolsearch_server.document import analyse
from toolsearch_server.errors import StrategyUnavailable
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.query import Query, Strategy
from toolsearch_server.ranking import message
from toolsearch_server.relevance import MatchedBy


@pytest.fixture(scope="module")
def view() -> View:
    return view_of(
        draft(
            tool("create_issue", "Open a bug report in a repository", parameters={"assignee": {"description": "Who does it"}}),
            "github",
        ),
        draft(tool("list_issues", "All issues of a repository"), "github"),
        draft(tool("delete_branch", "Remove a branch"), "github"),
        draft(tool("send_message", "Post to a channel"), "slack"),
        draft(tool("search", "Find messages"), "slack"),
        draft(tool("search", "Find tickets"), "jira"),
        draft(tool("takeScreenshot", "Picture of a page"), "browser"),
    )


@pytest.mark.parametrize("name", ["github.delete_branch", "github_delete_branch", "delete_branch", "GitHub.Delete_Branch"])
def test_an_exact_name_comes_first_with_full_relevance(view: View, name: str) -> None:
    best = ranked(view, name).matches[0]
    assert view.entry(best.slot).name == "github.delete_branch"
    assert best.relevance == 1.0
    assert best.matched_by == (MatchedBy.NAME,)


def test_a_name_that_two_servers_have_finds_both(view: View) -> None:
    assert names_found(view, "search")[:2] == ["jira.search", "slack.search"]


def test_a_server_name_in_the_query_decides_between_them(view: View) -> None:
    assert names_found(view, "search slack")[0] == "slack.search"


def test_a_word_that_only_a_parameter_has_finds_the_tool(view: View) -> None:
    found = ranked(view, "assignee")
    assert names_found(view, "assignee") == ["github.create_issue"]
    assert found.matches[0].reason == "matches assignee in the parameters"


def test_a_pattern_is_matched_as_one(view: View) -> None:
    found = ranked(view, r"^github\..*issue")
    assert found.strategy == Strategy.REGEX
    assert [view.entry(match.slot).name for match in found.matches] == ["github.create_issue", "github.list_issues"]


def test_a_pattern_that_matches_nothing_is_taken_as_words(view: View) -> None:
    found = ranked(view, "branch.*remove")
    assert found.strategy == Strategy.BM25
    assert view.entry(found.matches[0].slot).name == "github.delete_branch"


def test_the_reason_says_which_words_matched_where(view: View) -> None:
    (best, *_) = ranked(view, "create a bug for an assignee").matches
    assert best.reason == "matches create in the name; bug in the description; assignee in the parameters"


def test_more_of_what_was_asked_for_means_more_relevance(view: View) -> None:
    all_words = ranked(view, "create issue").matches[0].relevance
    half_of_them = ranked(view, "create spaceship").matches[0].relevance
    assert half_of_them < all_words <= 1.0


def test_total_counts_all_matches_not_only_the_returned_ones() -> None:
    found = ranked(view_of(tool("a", "zebra"), tool("b", "zebra"), tool("c", "lion")), "zebra", limit=1)
    assert len(found.matches) == 1
    assert found.total == 2


def test_min_relevance_leaves_out_the_rest(view: View) -> None:
    everything = [match.relevance for match in ranked(view, "create issue").matches]
    best = max(everything)
    assert len(everything) > 1
    assert [match.relevance for match in ranked(view, "create issue", min_relevance=best).matches] == [best]
    assert ranked(view, "create issue", min_relevance=1.0).matches == []


def test_phrasings_are_fused_into_one_list(view: View) -> None:
    found = names_found(view, "delete branch", "screenshot", limit=2)
    assert sorted(found) == ["browser.takeScreenshot", "github.delete_branch"]


def test_an_entry_that_fits_both_phrasings_beats_one_that_fits_one(view: View) -> None:
    assert names_found(view, "issue", "bug report")[0] == "github.create_issue"


def test_the_total_of_several_phrasings_counts_each_entry_once() -> None:
    animals = view_of(tool("a", "zebra"), tool("b", "zebra lion"), tool("c", "lion"), tool("d", "ant"))
    assert ranked(animals, "zebra", "lion zebra", limit=1, strategy=Strategy.BM25).total == 3


def test_the_total_of_several_patterns_counts_each_entry_once() -> None:
    letters = view_of(*(tool(f"{first}{number}") for first in ("alpha", "beta") for number in range(30)))
    assert ranked(letters, "^alpha", "^beta", limit=5).total == 60
    assert ranked(letters, "^alpha", "a", limit=5, strategy=Strategy.REGEX).total == 60


def test_an_entry_that_is_named_and_has_the_words_counts_once() -> None:
    servers = view_of(*(draft(tool("search"), f"s{number}") for number in range(60)))
    assert ranked(servers, "search", limit=5).total == 60


def test_a_word_of_the_same_concept_finds_the_tool_and_the_reason_says_so(view: View) -> None:
    best = ranked(view, "erase branch").matches[0]
    assert view.entry(best.slot).name == "github.delete_branch"
    assert best.reason == "matches erase (as delete), branch in the name"


def test_the_word_itself_beats_a_word_of_the_same_concept() -> None:
    both = view_of(tool("remove_thing", "x"), tool("delete_thing", "x"))
    assert names_found(both, "delete") == ["delete_thing", "remove_thing"]
    assert names_found(both, "remove") == ["remove_thing", "delete_thing"]


def test_the_message_of_an_empty_answer_names_the_query_and_what_is_near(view: View) -> None:
    query = Query(texts=("zend_messagx",), strategy=Strategy.BM25)
    text = message(view.search(query, DEFAULT_LIMITS), query)
    assert "“zend_messagx”" in text
    assert "slack.send_message" in text


def test_semantic_without_a_model_is_refused_and_says_what_is_missing(view: View) -> None:
    with pytest.raises(StrategyUnavailable, match="embedding model"):
        ranked(view, "anything", strategy=Strategy.SEMANTIC)


def test_hybrid_without_a_model_ranks_by_words_and_says_so(view: View) -> None:
    found = ranked(view, "delete branch", strategy=Strategy.HYBRID)
    assert view.entry(found.matches[0].slot).name == "github.delete_branch"
    assert any("no embedding model" in note for note in found.notes)


def test_explanations_add_up_to_the_score(view: View) -> None:
    for texts in (("create issue",), ("github.create_issue",), ("create issue", "bug report"), ("^github",), ("create_isue",)):
        for match in ranked(view, *texts).matches:
            assert sum(part.value for part in match.parts) == pytest.approx(match.score)


HOSTILE = [
    *('"', '"unbalanced', "name:value", "a AND b OR NOT c", "(((", ")))", "[a TO b]", "a^5", "a~2", "*", "?", "\\", "+a -b"),
    *("😀 emoji 😀", "a\0b", "\n\n", "'; DROP TABLE entries; --", "<script>alert(1)</script>", "{{7*7}}", "%s%s%n", "\ufeff"),
    *("ﷺ" * 50, "a" * 5000),
]


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.BM25, Strategy.FUZZY, Strategy.HYBRID])
@pytest.mark.parametrize("query", HOSTILE)
def test_no_free_text_is_a_syntax_error(view: View, query: str, strategy: Strategy) -> None:
    ranked(view, query, strategy=strategy)


@given(st.text(min_size=1, max_size=200))
def test_any_text_can_be_searched_for(view: View, query: str) -> None:
    for match in ranked(view, query).matches:
        assert 0.0 <= match.relevance <= 1.0


def test_four_thousand_words_are_just_words(view: View) -> None:
    words = " ".join(f"word{number}" for number in range(3998)) + " delete branch"
    assert names_found(view, words)[0] == "github.delete_branch"


def test_of_too_many_words_the_rarest_are_used() -> None:
    view = view_of(*(tool(f"tool{number}", f"common word{number}") for number in range(20)))
    query = Query(texts=("common " + " ".join(f"nothing{n}" for n in range(5)) + " word7",), strategy=Strategy.BM25, limit=1)
    found = view.search(query, Limits(query_terms=1))
    assert view.entry(found.matches[0].slot).name == "tool7"
    assert found.total == 1


def test_only_the_first_unknown_words_of_a_query_are_corrected() -> None:
    view = view_of(tool("repositories"), tool("calendars"))
    query = Query(texts=("repositries calendrs",), limit=1)
    found = {limit: view.search(query, Limits(corrected_words=limit)) for limit in (1, 2)}
    assert [ranking.total for ranking in found.values()] == [1, 2]


def test_of_a_long_description_only_the_first_words_are_searched() -> None:
    entry = view_of(tool("a", "one two three four")).by_name[0]
    document, postings = analyse(entry, Limits(indexed_words=3))
    assert "three" in postings.words.split()
    assert "four" not in postings.words.split()
    assert "four" not in document.description_stems


def test_equal_scores_are_ordered_by_name_even_across_the_cut() -> None:
    names = [f"tool_{number:03}" for number in range(60)]
    shuffled = list(names)
    random.Random(7).shuffle(shuffled)
    view = view_of(*({"name": name, "description": "same words here"} for name in shuffled))
    assert names_found(view, "same words here", limit=10, strategy=Strategy.BM25) == names[:10]


def test_the_order_is_the_same_whether_entries_came_at_once_or_one_by_one() -> None:
    drafts = [draft(tool(f"t{number}", f"alpha {'beta ' * (number % 3)} gamma{number % 5}"), "s") for number in range(40)]
    at_once = view_of(*drafts)
    entries, view = NO_ENTRIES, View.of(NO_ENTRIES)
    for revision, each in enumerate(random.Random(3).sample(drafts, len(drafts)), start=1):
        change = plan_apply(entries, [each], (), DEFAULT_LIMITS).change
        entries = entries.after(change, Version("e", revision))
        view = view.after(change, entries)
    for query in ("alpha beta", "gamma3", "beta gamma1"):
        assert names_found(view, query) == names_found(at_once, query)


def test_a_search_never_sees_half_a_change() -> None:
    before = plan_apply(NO_ENTRIES, [draft(tool("old", "thing"), "s")], (), DEFAULT_LIMITS)
    entries_before = NO_ENTRIES.after(before.change, Version("e", 1))
    view_before = View.of(entries_before)
    outcome = plan_sync(entries_before, "s", [draft(tool(f"new{n}", "thing"), "s") for n in range(5)], DEFAULT_LIMITS)
    view_after = view_before.after(outcome.change, entries_before.after(outcome.change, Version("e", 2)))
    assert names_found(view_before, "thing") == ["s.old"]
    assert names_found(view_after, "thing") == [f"s.new{n}" for n in range(5)]


@pytest.mark.parametrize("strategy", ["auto", "bm25", "hybrid"])
def test_nothing_is_found_where_nothing_is_also_by_a_thread_that_never_searched(strategy: str) -> None:
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(names_found, view_of(), "open a bug", strategy=Strategy[strategy.upper()])
        assert found.result() == []


def test_a_word_that_all_of_very_many_entries_have_still_finds_them() -> None:
    about = "Does a thing. " + "There is much more to say of it. " * 12
    view = View.of(entries_of(draft(tool(f"n{number}", about), "s") for number in range(12_000)))
    matches = ranked(view, "thing", strategy=Strategy.BM25, limit=5).matches
    assert [match.score for match in matches] == [0.0] * 5, "it is worth so little that it is rounded to nothing"
