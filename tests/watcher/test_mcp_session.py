import asyncio
import json
import os
from pathlib import Path

import pytest

from toolsearch_server.entry import Kind
from toolsearch_server.mcp_config import ServerSpec, StdioTransport, WatchLimits
from toolsearch_server.mcp_listing import PROBLEM_LINES, Listing
from toolsearch_server.mcp_session import ConnectionLost, Session, connected
from watcher.servers import ToolFile, alive, eventually, http_server, http_spec, stdio_spec

LIMITS = WatchLimits()


def names(listing: Listing) -> list[str]:
    return [draft.local_name for draft in listing.drafts]


async def listed(spec: ServerSpec, limits: WatchLimits = LIMITS) -> Listing:
    async with connected(spec, limits) as session:
        return await session.list_all()


async def follows_a_change(spec: ServerSpec, tools: ToolFile) -> None:
    async with connected(spec, LIMITS) as session:
        assert names(await session.list_all()) == ["first", "second"]
        tools.offer("second", "third")
        assert await names_after_change(session) == ["second", "third"]
        # The server says that its list may be kept for an hour: nobody does.
        tools.offer("fourth")
        assert await names_after_change(session) == ["fourth"]


async def names_after_change(session: Session) -> list[str]:
    async with asyncio.timeout(20):
        await session.changed()
    return names(await session.list_all())


@pytest.mark.parametrize("style", ["lowlevel", "mcpserver", "2025-06-18"])
async def test_changes_of_a_stdio_server_are_noticed(tools: ToolFile, style: str) -> None:
    await follows_a_change(stdio_spec(tools, "--style", style), tools)


@pytest.mark.parametrize("flags", [(), ("--legacy",)])
async def test_changes_of_an_http_server_are_noticed(tools: ToolFile, flags: tuple[str, ...]) -> None:
    with http_server(tools, *flags) as port:
        await follows_a_change(http_spec(port), tools)


async def test_an_answer_that_never_ends_is_cut_off_at_the_limit(tools: ToolFile) -> None:
    with http_server(tools, "--misbehave", "endless answer") as port, pytest.raises(ConnectionLost, match="listing_bytes"):
        await listed(http_spec(port), WatchLimits(listing_bytes=1_000_000))


async def test_of_fifty_thousand_tools_as_many_are_taken_as_are_allowed(tools: ToolFile) -> None:
    found = await listed(stdio_spec(tools, "--misbehave", "many"))
    assert len(found.drafts) == LIMITS.entries_per_server == 10_000
    assert found.truncated


async def test_a_schema_that_makes_no_sense_is_taken_as_it_is(tools: ToolFile) -> None:
    assert names(await listed(stdio_spec(tools, "--misbehave", "broken schemas"))) == ["first", "second", "odd"]


async def test_a_definition_is_the_json_of_mcp(tools: ToolFile) -> None:
    tools.offer("grüße", description="für alle")
    [draft] = (await listed(stdio_spec(tools, tags=("a", "b")))).drafts
    assert json.loads(draft.definition)["inputSchema"] == {"type": "object", "properties": {}}
    assert '"description":"für alle"' in draft.definition
    assert (draft.server, draft.namespace, draft.kind, draft.tags) == ("s", "s", Kind.TOOL, ("a", "b"))


async def test_prompts_and_resources_are_listed_when_asked_for(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools, kinds=("tools", "prompts", "resources")))
    assert [(draft.kind, draft.local_name) for draft in listing.drafts] == [
        (Kind.TOOL, "first"),
        (Kind.TOOL, "second"),
        (Kind.PROMPT, "greet"),
        (Kind.RESOURCE, "readme"),
    ]


async def test_a_kind_that_the_server_does_not_offer_is_a_problem_and_no_failure(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools, "--style", "2025-06-18", kinds=("tools", "prompts")))
    assert names(listing) == ["first", "second"]
    assert listing.problems == ("the server does not offer prompts",)


async def test_names_are_included_and_excluded_by_pattern(tools: ToolFile) -> None:
    tools.offer("get_a", "get_b", "set_a")
    assert names(await listed(stdio_spec(tools, include=("get_*",), exclude=("*_b",)))) == ["get_a"]


async def test_all_pages_are_walked(tools: ToolFile) -> None:
    tools.offer(*(f"tool{number}" for number in range(25)))
    assert len((await listed(stdio_spec(tools, "--page-size", "10"))).drafts) == 25


async def test_an_expired_cursor_begins_the_walk_again(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools, "--page-size", "1", "--misbehave", "expire once"))
    assert (names(listing), listing.problems, tools.listings) == (["first", "second"], (), 2)


async def test_cursors_that_always_expire_are_given_up(tools: ToolFile) -> None:
    with pytest.raises(ConnectionLost, match="the cursor expired in 4 walks"):
        await listed(stdio_spec(tools, "--page-size", "1", "--misbehave", "expire always"))


async def test_endless_pages_end_at_the_limit(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools, "--misbehave", "endless"), WatchLimits(pages=5))
    assert (len(listing.drafts), listing.truncated) == (5, True)
    assert listing.problems == ("tools: more than 5 pages (pages), the rest is left out",)


async def test_a_cursor_seen_before_ends_the_walk(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools, "--misbehave", "same cursor"))
    assert (names(listing), listing.truncated) == (["first", "second"], True)
    assert "the same cursor twice" in listing.problems[0]


async def test_too_many_entries_are_cut_at_the_limit(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools), WatchLimits(entries_per_server=1))
    assert (names(listing), listing.truncated) == (["first"], True)
    assert listing.problems == ("more than 1 entries (entries_per_server), the rest is left out",)


async def test_too_many_bytes_are_cut_at_the_limit(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools), WatchLimits(listing_bytes=150))
    assert (names(listing), listing.truncated) == (["first"], True)
    assert "more than 150 bytes of definitions (listing_bytes)" in listing.problems[0]


async def test_the_first_of_two_entries_of_a_name_is_kept(tools: ToolFile) -> None:
    listing = await listed(stdio_spec(tools, "--misbehave", "duplicates"))
    assert (names(listing), listing.truncated) == (["first", "second"], False)
    assert listing.problems[0] == "tool 'first' is listed twice, the first is kept"


async def test_problems_are_counted_when_they_are_many(tools: ToolFile) -> None:
    tools.offer(*(f"tool{number}" for number in range(PROBLEM_LINES + 7)))
    listing = await listed(stdio_spec(tools, "--misbehave", "duplicates"))
    assert (len(listing.problems), listing.problems[-1]) == (PROBLEM_LINES + 1, "and 7 more")


@pytest.mark.parametrize("http", [False, True])
async def test_a_tool_of_ten_megabytes_is_left_out(tools: ToolFile, http: bool) -> None:
    if http:
        with http_server(tools, "--misbehave", "huge") as port:
            listing = await listed(http_spec(port))
    else:
        listing = await listed(stdio_spec(tools, "--misbehave", "huge"))
    assert names(listing) == ["first", "second"]
    assert listing.problems[0].startswith("tool 'huge' is left out: tool.definition has")


async def test_a_server_that_never_answers_is_given_up(tools: ToolFile) -> None:
    with pytest.raises(ConnectionLost, match=r"imed out|listing_seconds"):
        await listed(stdio_spec(tools, "--misbehave", "mute"), WatchLimits(request_seconds=1))
    assert not alive(tools.pid)


async def test_a_slow_listing_is_given_up_in_time(tools: ToolFile) -> None:
    with pytest.raises(ConnectionLost, match=r"more than 0.5 seconds \(listing_seconds\)"):
        await listed(stdio_spec(tools, "--misbehave", "mute"), WatchLimits(listing_seconds=0.5))


async def test_a_program_that_is_no_mcp_server_is_given_up_in_time(tools: ToolFile) -> None:
    pid_file = tools.path.with_suffix(".sleeper")
    spec = ServerSpec(name="s", transport=StdioTransport("sh", ("-c", f"echo $$ > {pid_file}; exec sleep 600")))
    with pytest.raises(ConnectionLost, match=r"not connected within 0.5 seconds \(connect_seconds\)"):
        await listed(spec, WatchLimits(connect_seconds=0.5))
    assert not alive(int(pid_file.read_text()))


async def test_a_crash_in_the_middle_of_a_walk_is_an_error(tools: ToolFile) -> None:
    with pytest.raises(ConnectionLost):
        await listed(stdio_spec(tools, "--misbehave", "crash"))


@pytest.mark.parametrize("style", ["lowlevel", "2025-06-18"])
async def test_a_killed_server_is_noticed_while_nothing_is_asked(tools: ToolFile, style: str) -> None:
    async with connected(stdio_spec(tools, "--style", style), LIMITS) as session:
        await session.list_all()
        os.kill(tools.pid, 9)
        async with asyncio.timeout(20):
            with pytest.raises(ConnectionLost):
                await session.changed()
        with pytest.raises(ConnectionLost):
            await session.list_all()


async def test_an_http_server_that_ends_is_noticed_while_nothing_is_asked(tools: ToolFile) -> None:
    with http_server(tools) as port:
        async with connected(http_spec(port), LIMITS) as session:
            await session.list_all()
            os.kill(tools.pid, 9)
            async with asyncio.timeout(20):
                with pytest.raises(ConnectionLost):
                    while True:
                        await session.changed()
                        await session.list_all()


async def test_a_server_that_cannot_notify_is_listed_all_the_same(tools: ToolFile) -> None:
    async with connected(stdio_spec(tools, "--misbehave", "silent"), LIMITS) as session:
        assert names(await session.list_all()) == ["first", "second"]
        tools.offer("third")
        assert not session.pending
        assert names(await session.list_all()) == ["third"]


async def test_a_nudge_counts_as_a_change(tools: ToolFile) -> None:
    async with connected(stdio_spec(tools, "--misbehave", "silent"), LIMITS) as session:
        await session.list_all()
        session.nudge()
        async with asyncio.timeout(5):
            await session.changed()


async def test_a_missing_program_is_a_plain_error() -> None:
    with pytest.raises(ConnectionLost, match=r"FileNotFoundError.*no-such-program"):
        await listed(ServerSpec(name="s", transport=StdioTransport("/no-such-program")))


async def test_a_refused_http_connection_is_a_plain_error() -> None:
    with pytest.raises(ConnectionLost, match="ConnectError"):
        await listed(http_spec(1))


async def test_secrets_that_a_server_repeats_are_not_in_the_error(tools: ToolFile) -> None:
    with pytest.raises(ConnectionLost, match=r"bad token \*\*\*") as caught:
        await listed(stdio_spec(tools, "--misbehave", "tell secrets", env={"TOKEN": "hunter2hunter2"}))
    assert "hunter2" not in str(caught.value)


async def test_a_subprocess_has_a_safe_environment_and_what_is_configured(
    tools: ToolFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLSEARCH_SECRET", "ours")
    seen = tools.path.with_suffix(".env")
    spec = ServerSpec(name="s", transport=StdioTransport("sh", ("-c", f"env > {seen}"), {"MINE": "yes"}))
    with pytest.raises(ConnectionLost):
        await listed(spec)
    assert "MINE=yes" in seen.read_text()
    assert "PATH=" in seen.read_text()
    assert "TOOLSEARCH_SECRET" not in seen.read_text()


async def test_the_noise_of_a_subprocess_is_not_ours(tools: ToolFile, capfd: pytest.CaptureFixture[str]) -> None:
    await listed(stdio_spec(tools))
    assert capfd.readouterr() == ("", "")


async def test_the_process_is_gone_after_the_end(tools: ToolFile) -> None:
    async with connected(stdio_spec(tools), LIMITS) as session:
        await session.list_all()
        assert alive(tools.pid)
    assert not alive(tools.pid)


async def test_even_a_stubborn_process_is_gone_after_cancellations(tools: ToolFile) -> None:
    async def follow() -> None:
        async with connected(stdio_spec(tools, "--misbehave", "stubborn"), LIMITS) as session:
            await session.list_all()
            await session.changed()

    task = asyncio.create_task(follow())
    await eventually(lambda: tools.listings)
    task.cancel()
    await asyncio.wait({task}, timeout=0.1)
    task.cancel()  # while the process is being stopped
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(tools.pid)


async def test_a_cancelled_attempt_to_connect_leaves_no_process(tools: ToolFile) -> None:
    task = asyncio.create_task(listed(stdio_spec(tools)))
    await eventually(Path(f"{tools.path}.pid").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(tools.pid)
