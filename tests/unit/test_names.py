import re
from collections.abc import Sequence

import pytest
import re2
from hypothesis import assume, given
from hypothesis import strategies as st
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from support import draft, entries_of, names_found, ranked, tool, view_of
from toolsearch_server import text
from toolsearch_server.entry import Entry
from toolsearch_server.errors import LimitExceeded, PatternInvalid, SearchTooCostly
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.names import Fit, NameIndex, Pattern, looks_like_pattern
from toolsearch_server.query import UNBOUNDED, Query, SearchField, Strategy


def regex(names: Sequence[str], pattern: str, **options: object) -> list[str]:
    view = view_of(*(tool(name) for name in names))
    return names_found(view, pattern, strategy=Strategy.REGEX, limit=100, **options)


def checked(pattern: str, limits: Limits = DEFAULT_LIMITS, *, case_sensitive: bool = False) -> Pattern:
    return Pattern(pattern, case_sensitive=case_sensitive, limits=limits, field="queries[0]")


def entry_named(name: str) -> Entry:
    (entry,) = entries_of([draft(tool(name))]).by_key.values()
    return entry


NAME = st.text(alphabet="abcAB_.-12é日", min_size=1, max_size=8).filter(
    lambda name: name.strip(".") == name and ".." not in name
)
ATOM = st.sampled_from(
    [
        "a",
        "b",
        "B",
        "_",
        "1",
        ".",
        r"\.",
        "[ab]",
        "[^a]",
        "[^x]",
        r"\s",
        r"\S",
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\b",
        r"\B",
        "^",
        "$",
    ]
    + [
        r"\n",
        "\n",
        r"[\s\S]",
        r"[^\n]",
        r"\A",
        r"\z",
        r"\Z",
        "(?s:.)",
        "(?m:^a)",
        "(?-m:a$)",
        "(?i:a)",
        "é",
        "日",
        r"\pL",
        r"\PL",
        r"\x0a",
        r"\C",
    ]
)
PATTERN = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda each: f"({each})*"),
        inner.map(lambda each: f"(?:{each})+"),
        inner.map(lambda each: f"(?:{each})?"),
        inner.map(lambda each: f"{each}|"),
    ),
    max_leaves=6,
)


@given(st.lists(NAME, min_size=1, max_size=8, unique=True), PATTERN, st.booleans())
def test_one_sweep_over_all_names_finds_what_a_search_in_each_finds(names: list[str], source: str, sensitive: bool) -> None:
    try:
        pattern = checked(source, case_sensitive=sensitive)
    except PatternInvalid:
        assume(False)
        return
    view = view_of(*(tool(name) for name in names))
    hits = view.indexes.names.matching(pattern, UNBOUNDED)
    found = {view.entry(slot).name: fit for slot, fit in zip(hits.slots.tolist(), hits.fits.tolist(), strict=True)}

    options = re2.Options()
    options.case_sensitive = sensitive
    options.never_nl = True
    alone = re2.compile(re.sub(r"\\Z", r"\\z", source), options)
    for entry in view.by_name:
        texts = [entry.name.encode(), entry.alias.encode(), entry.local_name.encode()]
        assert (entry.name in found) == any(alone.search(text) for text in texts)
        if entry.name in found:
            whole = any(alone.fullmatch(text) for text in texts)
            assert (found[entry.name] == Fit.WHOLE) == whole
            if not whole:
                assert (found[entry.name] == Fit.PREFIX) == any(alone.match(text) for text in texts)


SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "_", "1", ".", r"\.", "[ab]", "[^a]", r"\d", "^", "$"]),
    lambda inner: st.tuples(inner, inner).map("".join) | inner.map(lambda each: f"(?:{each})*"),
    max_leaves=5,
)


@given(st.lists(st.text(alphabet="abAB_1", min_size=1, max_size=6), min_size=1, max_size=6, unique=True), SIMPLE)
def test_a_pattern_means_what_it_means_in_python(names: list[str], source: str) -> None:
    python = re.compile(source, re.IGNORECASE)
    assert sorted(regex(names, source)) == sorted(name for name in names if python.search(name))


def test_matches_come_whole_first_then_prefix_then_shortest_then_by_name() -> None:
    names = ["z.create_issue", "list", "create_issue_now", "a.create_issue_x", "create_issue", "b.create_issue_x"]
    expected = ["create_issue", "z.create_issue", "create_issue_now", "a.create_issue_x", "b.create_issue_x"]
    # z.create_issue is not whole: it is a local name with a dot
    assert regex(names, "create_issue") == [expected[0], expected[2], expected[1], *expected[3:]]


def test_the_whole_local_name_counts_as_whole() -> None:
    view = view_of(draft(tool("issue_create_all"), "a"), draft(tool("create"), "server_with_a_long_name"))
    assert names_found(view, "create", strategy=Strategy.REGEX)[0] == "server_with_a_long_name.create"


def test_an_anchored_pattern_finds_a_local_name() -> None:
    view = view_of(draft(tool("create_issue"), "github"))
    assert names_found(view, "^create_issue$", strategy=Strategy.REGEX) == ["github.create_issue"]


def test_upper_and_lower_case_are_the_same_unless_asked() -> None:
    assert regex(["GetUser", "getuser2"], "getuser") == ["GetUser", "getuser2"]
    assert regex(["GetUser", "getuser2"], "getuser", case_sensitive=True) == ["getuser2"]


def test_python_s_end_of_text_is_understood() -> None:
    assert regex(["user_get", "get_user"], r"get\Z") == ["user_get"]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("a(?=b)", "look-ahead"),
        ("(?<!a)b", "look-behind"),
        (r"(a)\1", "back-references"),
        ("(?P<x>a)(?P=x)", "back-references"),
        ("a++", "possessive"),
        ("(?>a)", "atomic"),
        ("(a", "missing )"),
        ("a{2,1}", "repetition"),
        ("[z-a]", "range"),
        (r"\pL{1000}", "too large"),
        ("(((((a?){50}){20})))", "too large, "),
    ],
)
def test_a_refused_pattern_says_what_is_wrong_with_it(pattern: str, says: str) -> None:
    with pytest.raises(PatternInvalid) as refusal:
        checked(pattern)
    assert says in refusal.value.message
    assert refusal.value.field == "queries[0]"


def test_a_pattern_may_be_as_long_as_the_limit_and_no_longer() -> None:
    limits = Limits(pattern_length=10)
    checked("a" * 10, limits)
    with pytest.raises(LimitExceeded) as refusal:
        checked("a" * 11, limits)
    assert refusal.value.limit == "pattern_length"


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_refused_with_a_reason(source: str) -> None:
    try:
        checked(source)
    except PatternInvalid as refusal:
        assert refusal.message


def test_a_pattern_over_more_names_than_one_sweep_takes_finds_them_all() -> None:
    view = view_of(*(tool(f"tool_{number}") for number in range(2_500)))
    assert ranked(view, "tool_.*9$", strategy=Strategy.REGEX).total == 250


def test_a_pattern_that_takes_too_long_is_refused_by_name() -> None:
    view = view_of(*(tool(f"t{number}", "xy word " * 2_000) for number in range(100)))
    query = Query(texts=(r"(?:.?){60}[xy ]{100}q",), strategy=Strategy.REGEX, fields=frozenset(SearchField))
    with pytest.raises(SearchTooCostly) as refusal:
        view.search(query, Limits(search_seconds=0.001))
    assert refusal.value.metadata == {"field": "queries", "allowed": "0.001"}


def test_descriptions_and_parameters_are_matched_when_asked_for() -> None:
    view = view_of(
        tool("a", "Opens an issue\nin a repository"), tool("b", parameters={"issue_id": {}}), tool("issue_c"), tool("d", "None")
    )
    everywhere = frozenset(SearchField)
    assert names_found(view, "issue", strategy=Strategy.REGEX) == ["issue_c"]
    assert names_found(view, "issue", strategy=Strategy.REGEX, fields=everywhere) == ["issue_c", "a", "b"]
    assert names_found(view, "issue", strategy=Strategy.REGEX, fields=frozenset({SearchField.PARAMETERS})) == ["b"]


@pytest.mark.parametrize(
    "query",
    [
        "^github",
        "issue$",
        "create.*issue",
        ".*",
        "get_(user|team)",
        "get|list",
        r"\bissue\b",
        "[a-z]+_issue",
        "(?i)Issue",
        "list_.+",
    ],
)
def test_what_is_plainly_a_pattern_is_taken_as_one(query: str) -> None:
    assert looks_like_pattern(query)


@pytest.mark.parametrize(
    "query",
    [
        "create issue",
        "what is this?",
        "C++ compiler",
        "price in $",
        "create (or open) an issue",
        "github.create_issue",
        "a | b",
        "files [urgent]",
        "*.py",
        "((((",
        "e.g. this. And that.",
        "read <file-name>",
        "50% off!",
        'say "hello"',
        "^a{99999999999999}",
    ],
)
def test_words_are_not_taken_for_a_pattern(query: str) -> None:
    assert not looks_like_pattern(query)


@pytest.mark.parametrize("typo", ["create_isue", "creat_issue", "create_issue_", "createisue", "craete issue", "issue create"])
def test_a_misspelled_name_is_found(typo: str) -> None:
    view = view_of(
        draft(tool("create_issue"), "github"), draft(tool("delete_branch"), "github"), draft(tool("list_users"), "slack")
    )
    assert names_found(view, typo, strategy=Strategy.FUZZY)[0] == "github.create_issue"
    assert names_found(view, typo)[0] == "github.create_issue"


def test_a_misspelled_word_among_right_ones_is_corrected_from_the_words_in_names() -> None:
    view = view_of(tool("list_calendars"), tool("list_repositories"), tool("list_users"), tool("list_issues"))
    assert names_found(view, "list repositries")[0] == "list_repositories"


def test_near_names_are_offered_when_nothing_matches() -> None:
    view = view_of(tool("create_issue"), tool("delete_branch"))
    found = ranked(view, "xreate_issux", strategy=Strategy.BM25)
    assert found.matches == []
    assert found.near_names == ("create_issue",)


CHANGES = st.lists(
    st.tuples(st.lists(st.integers(0, 30), max_size=3), st.lists(NAME, max_size=3)),
    max_size=6,
)


@given(st.lists(NAME, max_size=6), CHANGES, NAME)
def test_names_that_change_are_found_as_if_they_had_always_been_there(
    first: list[str], changes: list[tuple[list[int], list[str]]], asked: str
) -> None:
    entries = {slot: entry_named(name) for slot, name in enumerate(first)}
    index = NameIndex(entries.items())
    for removed, added in changes:
        gone = [slot for slot in removed if slot in entries]
        start = 1 + max(entries, default=-1) + 31
        come = [(start + number, entry_named(name)) for number, name in enumerate(added)]
        entries = {slot: entry for slot, entry in entries.items() if slot not in gone} | dict(come)
        index = index.changed(removed=gone, added=come)
    anew = NameIndex(entries.items())
    assert sorted(index.exact(asked)) == sorted(anew.exact(asked))
    assert sorted(index.near(asked)) == sorted(anew.near(asked))
    for word in (asked, *(name[:-1] + "x" for name in first)):
        assert index.corrections(word) == anew.corrections(word)
    assert index.corrections(asked) == anew.corrections(asked)
    pattern = checked("a|b")
    assert sorted(index.matching(pattern, UNBOUNDED).slots.tolist()) == sorted(anew.matching(pattern, UNBOUNDED).slots.tolist())


def test_words_of_names_that_are_gone_are_no_corrections_and_crowd_out_none() -> None:
    names = ["branchy", "branche", "brancho", "brunched"]
    index = NameIndex(enumerate(map(entry_named, names)))
    assert [word for word, _ in index.corrections("branche")] == ["branche", "brancho", "branchy"]
    assert [word for word, _ in index.changed(removed=[0, 1, 2], added=[]).corrections("branched")] == ["brunched"]


@pytest.mark.parametrize("typed", ["日本 \t \n", "\u3000\u3000日本\u3000", "日本"])
def test_space_around_what_has_no_latin_letters_makes_no_difference(typed: str) -> None:
    assert names_found(view_of(tool("日本"), tool("中文")), typed, strategy=Strategy.FUZZY) == ["日本"]


@given(
    st.lists(st.text(alphabet="abcde", min_size=1, max_size=9), min_size=1, unique=True),
    st.text("abcde", min_size=4, max_size=9),
)
def test_no_correction_is_lost_at_a_glance(words: list[str], asked: str) -> None:
    index = NameIndex(enumerate(entry_named(word) for word in words))
    known = {word for name in words for word in text.spelled(entry_named(name).name).split()}
    expected = process.extract(asked, sorted(known), scorer=OSA.normalized_similarity, score_cutoff=0.75, limit=3)
    assert [(word, similarity) for word, similarity in index.corrections(asked)] == [each[:2] for each in expected]


@given(
    st.lists(st.text(alphabet="abcde_", min_size=1, max_size=12), min_size=1, unique=True),
    st.text("abcde ", min_size=1, max_size=12),
)
def test_no_near_name_is_lost_at_a_glance(names: list[str], asked: str) -> None:
    index = NameIndex(enumerate(entry_named(name) for name in names))
    typed = text.spelled(asked)
    entries = [entry_named(name) for name in names]
    expected = {
        slot: max(
            scorer(typed, text.spelled(name)) / 100
            for scorer in (fuzz.ratio, fuzz.token_sort_ratio)
            for name in (entry.name, entry.local_name)
        )
        for slot, entry in enumerate(entries)
    }
    for cutoff in (55.0, 70.0):
        near = dict(index.near(asked, cutoff))
        assert near == {slot: pytest.approx(ratio) for slot, ratio in expected.items() if ratio * 100 >= cutoff}
