"""Processor time is shared fairly."""

import asyncio
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import until
from toolsearch_server.turns import Lane, Processor, Turns


async def test_tenants_take_turns_however_many_one_of_them_has_waiting() -> None:
    turns = Turns(slots=1, share=1)
    order: list[str] = []

    async def work(tenant: str) -> None:
        await turns.begin(tenant)
        order.append(tenant)
        turns.end(tenant)

    async with asyncio.TaskGroup() as tasks:
        for tenant in ["flood"] * 20 + ["a", "b"]:
            tasks.create_task(work(tenant))
    assert set(order[1:4]) == {"flood", "a", "b"}
    assert Counter(order) == {"flood": 20, "a": 1, "b": 1}


async def test_a_tenant_never_has_more_than_its_share_so_that_another_begins_at_once() -> None:
    turns = Turns(slots=3, share=2)
    waiting = [asyncio.create_task(turns.begin("flood")) for _ in range(10)]
    await asyncio.sleep(0)
    assert (turns.active, turns.waiting) == (2, 8)
    await asyncio.wait_for(turns.begin("other"), 1)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_work_whose_caller_has_gone_never_starts() -> None:
    processor = Processor(cores=1)
    release, ran = threading.Event(), []
    busy = [asyncio.create_task(processor.in_thread("t", Lane.READ, release.wait)) for _ in range(2)]
    await until(lambda: processor.lanes["read"].active == 1)
    gone = asyncio.create_task(processor.in_thread("t", Lane.READ, lambda: ran.append("gone")))
    await until(lambda: processor.lanes["read"].waiting == 2)
    gone.cancel()
    release.set()
    await asyncio.gather(*busy)
    await asyncio.gather(gone, return_exceptions=True)
    await processor.in_thread("t", Lane.READ, lambda: ran.append("later"))
    assert ran == ["later"]
    processor.close()


async def test_work_that_goes_on_after_its_caller_has_gone_keeps_its_turn() -> None:
    processor = Processor(cores=1)
    release = threading.Event()
    caller = asyncio.create_task(processor.in_thread("t", Lane.READ, release.wait))
    await until(lambda: processor.lanes["read"].active == 1)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    assert processor.lanes["read"].active == 1
    release.set()
    await until(lambda: processor.lanes["read"].active == 0)
    processor.close()


async def test_a_lane_that_is_full_does_not_hold_up_another() -> None:
    processor = Processor(cores=1)
    release = threading.Event()
    busy = [asyncio.create_task(processor.in_thread(tenant, Lane.LOAD, release.wait)) for tenant in "abcd"]
    await until(lambda: processor.lanes["load"].waiting > 0)
    assert await asyncio.wait_for(processor.in_thread("a", Lane.READ, lambda: 7), 5) == 7
    assert await asyncio.wait_for(processor.quickly("a", lambda: 8), 5) == 8
    release.set()
    await asyncio.gather(*busy)
    processor.close()


async def test_a_tenant_alone_is_served_on_the_loop_and_several_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("toolsearch_server.turns.time.monotonic", lambda: clock[0])
    processor = Processor(cores=1)
    here = threading.get_ident()

    async def on_loop(tenant: str) -> bool:
        clock[0] += 0.3
        return await processor.quickly(tenant, threading.get_ident) == here

    assert [await on_loop("a"), await on_loop("a")] == [True, True]
    assert [await on_loop("b"), await on_loop("a"), await on_loop("a")] == [False, False, False]
    clock[0] += 2
    assert [await on_loop("a"), await on_loop("a")] == [True, True]
    processor.close()


async def test_a_failure_ends_the_turn() -> None:
    processor = Processor(cores=1)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            await processor.quickly("t", lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            await processor.in_thread("t", Lane.READ, lambda: 1 // 0)
    await until(lambda: not any(turns.active for turns in processor.lanes.values()))
    processor.close()


STEPS = st.lists(st.tuples(st.sampled_from(["begin", "end", "cancel", "run"]), st.sampled_from("abc")), max_size=60)


@given(STEPS, st.integers(1, 4))
async def test_whatever_happens_no_slot_is_lost_or_given_twice(steps: list[tuple[str, str]], slots: int) -> None:
    share = max(1, slots - 1)
    turns = Turns(slots, share)
    tasks: dict[str, list[asyncio.Task[None]]] = {tenant: [] for tenant in "abc"}
    for step, tenant in steps:
        mine = tasks[tenant]
        if step == "begin":
            mine.append(asyncio.create_task(turns.begin(tenant)))
        elif step == "end" and any(task.done() and not task.cancelled() for task in mine):
            mine.remove(next(task for task in mine if task.done() and not task.cancelled()))
            turns.end(tenant)
        elif step == "cancel" and mine and not mine[-1].done():
            mine.pop().cancel()
        else:
            await asyncio.sleep(0)
        assert turns.active <= slots
    for _ in range(200):
        await asyncio.sleep(0)
        for tenant, mine in tasks.items():
            held = [task for task in mine if task.done()]
            assert len(held) <= share
            for task in held:
                mine.remove(task)
                turns.end(tenant)
        if not any(tasks.values()):
            break
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (turns.active, turns.waiting) == (0, 0)
    for tenant in "abc"[:slots]:
        await asyncio.wait_for(turns.begin(tenant), 1)
