import re
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import draft
from toolsearch_server.changes import NO_ENTRIES, Entries, Version, plan_apply, plan_sync
from toolsearch_server.entry import Draft, EntryKey, Kind
from toolsearch_server.errors import ServiceError
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.naming import Names, plain_name

ALIAS = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def written(drafts: Sequence[Draft], before: Entries = NO_ENTRIES) -> Entries:
    outcome = plan_apply(before, drafts, (), DEFAULT_LIMITS)
    return before.after(outcome.change, Version("e", before.version.revision + 1))


def names_in(entries: Entries) -> Mapping[EntryKey, Names]:
    return {key: Names(entry.name, entry.alias) for key, entry in entries.by_key.items()}


@pytest.mark.parametrize(
    ("server", "local_name", "name", "alias"),
    [
        ("github", "create_issue", "github.create_issue", "github_create_issue"),
        ("s3", "file.read", "s3.file.read", "s3_file_read"),
        ("", "create_issue", "create_issue", "create_issue"),
        ("my-server", "get-weather", "my-server.get-weather", "my-server_get-weather"),
        ("git hub", "create issue!", "git_hub.create_issue_", "git_hub_create_issue_"),
        ("a", "..b..c.", "a.b.c", "a_b_c"),
    ],
)
def test_names_are_plain_where_nothing_is_in_the_way(server: str, local_name: str, name: str, alias: str) -> None:
    entries = written([draft({"name": local_name}, server)])
    assert names_in(entries) == {EntryKey(server, Kind.TOOL, local_name): Names(name, alias)}


def test_the_namespace_stands_in_for_the_server() -> None:
    entries = written([draft({"name": "code_reviewer"}, "skills-folder", namespace="task", kind=Kind.SKILL)])
    assert list(entries.by_name) == ["task.code_reviewer"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Kind.SKILL, "task.code_reviewer"), (Kind.AGENT, "task.code_reviewer"), (Kind.TOOL, "task.code-reviewer")],
)
def test_skills_and_agents_are_tasks_without_hyphens(kind: Kind, name: str) -> None:
    entries = written([draft({"name": "code-reviewer"}, "folder", namespace="task", kind=kind)])
    assert list(entries.by_name) == [name]
    assert next(iter(entries.by_key)).local_name == "code-reviewer"


def test_skills_that_differ_in_hyphens_alone_all_carry_a_hash() -> None:
    drafts = [draft({"name": name}, "folder", namespace="task", kind=Kind.SKILL) for name in ("a-b", "a_b")]
    outcome = plan_apply(NO_ENTRIES, drafts, (), DEFAULT_LIMITS)
    assert all(re.fullmatch(r"task\.a_b_h[0-9a-f]{8}", name) for name in outcome.added)
    assert len(outcome.notices) == 2


def test_two_servers_with_a_tool_of_the_same_name_both_live() -> None:
    entries = written([draft({"name": "search"}, "slack"), draft({"name": "search"}, "jira")])
    assert sorted(entries.by_name) == ["jira.search", "slack.search"]


def test_entries_that_want_the_same_canonical_name_all_carry_a_hash() -> None:
    entries = written([draft({"name": "b.c"}, "a"), draft({"name": "c"}, "a.b")])
    assert len(entries.by_name) == 2
    assert all(re.fullmatch(r"a\.b\.c_h[0-9a-f]{8}", name) for name in entries.by_name)


def test_entries_that_want_the_same_alias_all_carry_a_hash_in_it() -> None:
    entries = written([draft({"name": "b_c"}, "a"), draft({"name": "c"}, "a_b")])
    assert sorted(entries.by_name) == ["a.b_c", "a_b.c"]
    assert all(re.fullmatch(r"a_b_c_h[0-9a-f]{8}", alias) for alias in entries.by_alias)


def test_collisions_and_truncation_are_reported() -> None:
    drafts = [draft({"name": "b_c"}, "a"), draft({"name": "c"}, "a_b"), draft({"name": "x" * 80}), draft({"name": "plain"})]
    outcome = plan_apply(NO_ENTRIES, drafts, (), DEFAULT_LIMITS)
    assert {notice.entry.local_name for notice in outcome.notices} == {"b_c", "c", "x" * 80}
    assert all(notice.explanation for notice in outcome.notices)


def test_when_the_other_one_goes_the_plain_name_comes_back() -> None:
    both = written([draft({"name": "b_c"}, "a"), draft({"name": "c"}, "a_b")])
    outcome = plan_sync(both, "a_b", [], DEFAULT_LIMITS)
    assert list(both.after(outcome.change, Version("e", 2)).by_alias) == ["a_b_c"]


def test_a_renamed_entry_is_part_of_the_change() -> None:
    first = written([draft({"name": "b.c"}, "a")])
    outcome = plan_apply(first, [draft({"name": "c"}, "a.b")], (), DEFAULT_LIMITS)
    assert len(outcome.change.upserts) == 2
    assert outcome.change.gone_names == ("a.b.c",)
    assert [name for name in outcome.updated if name.startswith("a.b.c_h")]


def test_a_prompt_and_a_tool_of_the_same_name_both_live() -> None:
    entries = written([draft({"name": "a"}, "s"), draft({"name": "a"}, "s", kind=Kind.PROMPT)])
    assert len(entries.by_name) == len(entries.by_alias) == 2


def test_a_name_that_looks_like_a_hashed_one_cannot_take_its_place() -> None:
    pair = [draft({"name": "b.c"}, "a"), draft({"name": "c"}, "a.b")]
    hashed = sorted(written(pair).by_name)
    forged = [draft({"name": name}) for name in hashed]
    entries = written([*pair, *forged])
    assert len(entries.by_name) == len(entries.by_alias) == 4
    assert {entries.by_name[name].server for name in hashed} == {"a", "a.b"}


def test_lossy_and_contested_aliases_of_the_same_beginning_never_meet() -> None:
    # Their identities have the same 32 bits of hash: found by search.
    contested = [draft({"name": "b"}, "x10072", namespace="a"), draft({"name": "a_b"})]
    entries = written([*contested, draft({"name": "b中"}, "y17021", namespace="a")])
    assert len(entries.by_alias) == 3
    assert sorted(alias[:5] for alias in entries.by_alias) == ["a_b_h", "a_b_h", "a_b_u"]


# Few letters, so that names collide all the time; long and foreign ones, so that aliases are cut.
PIECE = st.text(alphabet="ab._- é", min_size=1, max_size=3) | st.sampled_from(["x" * 70, "x" * 60, "日本", "a_h00000000"])
KEYS = st.tuples(PIECE | st.just(""), PIECE, st.sampled_from(Kind), st.sampled_from(["", "", "a", "a.b"]))


def _draft(key: tuple[str, str, Kind, str]) -> Draft | None:
    server, local_name, kind, namespace = key
    try:
        return draft({"name": local_name}, server, kind=kind, namespace=namespace)
    except ServiceError:
        return None


DRAFTS = st.lists(KEYS, max_size=12).map(
    lambda keys: list({made.key: made for made in map(_draft, keys) if made is not None}.values())
)


@given(DRAFTS)
def test_every_entry_has_a_name_and_an_alias_that_are_its_own(drafts: list[Draft]) -> None:
    entries = written(drafts)
    assert len(entries.by_key) == len(entries.by_name) == len(entries.by_alias) == len(drafts)
    for entry in entries.by_key.values():
        assert ALIAS.fullmatch(entry.alias)
        assert entries.find(entry.name) is entries.by_key[entry.key]
        assert entries.by_alias[entry.alias] is entries.by_key[entry.key]


@given(DRAFTS, st.randoms())
def test_names_do_not_depend_on_the_order_of_writes(drafts: list[Draft], random: Random) -> None:
    shuffled = list(drafts)
    random.shuffle(shuffled)
    one_by_one = NO_ENTRIES
    for each in shuffled:
        one_by_one = written([each], one_by_one)
    assert names_in(one_by_one) == names_in(written(drafts))


@given(DRAFTS, DRAFTS)
def test_names_do_not_depend_on_what_was_there_before(drafts: list[Draft], passing: list[Draft]) -> None:
    keys = {each.key for each in drafts}
    guests = [each for each in passing if each.key not in keys]
    entries = written(drafts, written(guests))
    guest_names = [entries.by_key[guest.key].name for guest in guests]
    outcome = plan_apply(entries, [], guest_names, DEFAULT_LIMITS)
    after = entries.after(outcome.change, Version("e", 9))
    assert names_in(after) == names_in(written(drafts))
    assert after.groups == written(drafts).groups


@given(DRAFTS)
def test_writing_the_same_again_changes_nothing(drafts: list[Draft]) -> None:
    entries = written(drafts)
    assert not plan_apply(entries, drafts, (), DEFAULT_LIMITS).change


@given(st.text(), st.text(min_size=1))
def test_a_canonical_name_has_no_empty_parts(namespace: str, local_name: str) -> None:
    name = plain_name(namespace, local_name)
    assert all(name.split("."))
    assert not re.search(r"[^\w.-]", name)
