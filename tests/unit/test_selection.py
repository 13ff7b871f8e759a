from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import draft, names_found, tool, view_of
from toolsearch_server.catalog import View
from toolsearch_server.entry import Kind
from toolsearch_server.query import Strategy
from toolsearch_server.selection import Filter

READ_ONLY = {"readOnlyHint": True}
SAFE_WRITE = {"destructiveHint": False}


@pytest.fixture(scope="module")
def view() -> View:
    return view_of(
        draft(tool("file.read", "thing", annotations=READ_ONLY), "s3", tags=["storage"], capabilities=["read", "stream"]),
        draft(tool("file.write", "thing", annotations=SAFE_WRITE), "s3", tags=["storage", "write"], capabilities=["write"]),
        draft(tool("bucket.drop", "thing"), "s3", tags=["admin"]),
        draft(tool("search", "thing", annotations=READ_ONLY), "github"),
        draft(tool("search", "thing", annotations=READ_ONLY | {"openWorldHint": False}), "gitlab"),
        draft(tool("greet", "thing"), "github", kind=Kind.PROMPT),
        draft(tool("alone", "thing")),
    )


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Filter(servers=("s3",)), {"s3.file.read", "s3.file.write", "s3.bucket.drop"}),
        (Filter(servers=("git*",)), {"github.search", "gitlab.search", "github.greet"}),
        (
            Filter(servers=("git?ub", "s[0-9]")),
            {"github.search", "github.greet"} | {"s3.file.read", "s3.file.write", "s3.bucket.drop"},
        ),
        (Filter(servers=("",)), {"alone"}),
        (Filter(servers=("nobody",)), set()),
        (Filter(servers=("GITHUB",)), set()),
        (Filter(namespaces=("s3",)), {"s3.file.read", "s3.file.write", "s3.bucket.drop"}),
        (Filter(namespaces=("s3.file",)), {"s3.file.read", "s3.file.write"}),
        (Filter(namespaces=("s",)), set()),
        (Filter(tags=("admin", "write")), {"s3.file.write", "s3.bucket.drop"}),
        (Filter(kinds=(Kind.PROMPT,)), {"github.greet"}),
        (Filter(capabilities=("read",)), {"s3.file.read"}),
        (Filter(capabilities=("read", "write")), set()),
        (Filter(read_only=True), {"s3.file.read", "github.search", "gitlab.search", "github.greet"}),
        (Filter(read_only=False), {"s3.file.write", "s3.bucket.drop", "alone"}),
        (Filter(destructive=False), {"s3.file.read", "s3.file.write", "github.search", "gitlab.search", "github.greet"}),
        (Filter(open_world=False), {"gitlab.search", "github.greet"}),
        (Filter(servers=("s3",), read_only=True), {"s3.file.read"}),
        (Filter(servers=("git*",), excluded_names=("github.search", "github_greet", "unknown")), {"gitlab.search"}),
    ],
)
def test_a_filter_admits(view: View, wanted: Filter, names: set[str]) -> None:
    assert {entry.name for entry in view.select(wanted)} == names
    assert set(names_found(view, "thing", strategy=Strategy.BM25, filter=wanted)) == names
    assert set(names_found(view, ".", strategy=Strategy.REGEX, filter=wanted)) == names


def some(*values: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


MAYBE = st.none() | st.booleans()
FILTERS = st.builds(
    Filter,
    servers=some("s3", "git*", "*", "", "github"),
    namespaces=some("s3", "s3.file", "github", ""),
    tags=some("storage", "admin"),
    kinds=some(Kind.TOOL, Kind.PROMPT),
    capabilities=some("read", "write"),
    read_only=MAYBE,
    destructive=MAYBE,
    excluded_names=some("github.search", "s3_file_read"),
)


@given(wanted=FILTERS)
def test_every_strategy_admits_what_a_listing_lists(view: View, wanted: Filter) -> None:
    listed = sorted(entry.name for entry in view.select(wanted))
    for strategy, query in ((Strategy.BM25, "thing"), (Strategy.REGEX, "."), (Strategy.AUTO, "thing")):
        assert sorted(names_found(view, query, strategy=strategy, filter=wanted)) == listed
