from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server import admission
from toolsearch_server.admission import Admission
from toolsearch_server.errors import Overloaded, RateLimited
from toolsearch_server.limits import DEFAULT_LIMITS, GIB, KIB, Limits


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def one(door: Admission, tenant: str = "t") -> None:
    with door.call(tenant):
        pass


def test_without_a_rate_calls_are_not_counted() -> None:
    door = Admission(Limits(tenant_burst=1))
    for _ in range(1_000):
        one(door)


def test_a_tenant_may_make_a_burst_and_then_as_many_calls_as_its_rate_allows() -> None:
    clock = Clock()
    door = Admission(Limits(tenant_rate=10, tenant_burst=5), clock)
    for _ in range(5):
        one(door)
    with pytest.raises(RateLimited) as refused:
        one(door)
    assert refused.value.retry_seconds == pytest.approx(0.1)
    clock.now += refused.value.retry_seconds or 0
    one(door)
    with pytest.raises(RateLimited):
        one(door)
    one(door, "another tenant")


def test_time_that_goes_backwards_gives_nothing() -> None:
    clock = Clock()
    door = Admission(Limits(tenant_rate=10, tenant_burst=1), clock)
    one(door)
    clock.now -= 50
    with pytest.raises(RateLimited):
        one(door)


@given(st.lists(st.floats(0, 0.3), max_size=200))
def test_no_tenant_ever_gets_more_than_its_burst_and_its_rate(pauses: list[float]) -> None:
    clock = Clock()
    door = Admission(Limits(tenant_rate=10, tenant_burst=3), clock)
    taken = 0
    for pause in pauses:
        clock.now += pause
        try:
            one(door)
        except RateLimited:
            continue
        taken += 1
    assert taken <= 3 + sum(pauses) * 10 + 1e-3


@pytest.mark.parametrize(("limits", "limit"), [(Limits(calls_per_tenant=2), "calls_per_tenant"), (Limits(calls=2), "calls")])
def test_calls_under_way_are_bounded_and_the_next_one_is_told_to_come_back(limits: Limits, limit: str) -> None:
    door = Admission(limits)
    with ExitStack() as calls:
        for _ in range(2):
            calls.enter_context(door.call("t"))
        with pytest.raises(Overloaded) as refused:
            one(door)
        assert refused.value.metadata["limit"] == limit
        assert refused.value.retry_seconds
    one(door)


def test_a_tenant_with_all_its_calls_under_way_leaves_room_for_another() -> None:
    door = Admission(Limits(calls_per_tenant=2, calls=3))
    with door.call("t"), door.call("t"):
        one(door, "another tenant")


@pytest.mark.parametrize("limits", [Limits(watches_per_tenant=1), Limits(watches=1)])
def test_watches_are_bounded_apart_from_calls(limits: Limits) -> None:
    door = Admission(limits)
    with door.watch("t"):
        one(door)
        with pytest.raises(Overloaded), door.watch("t"):
            pass
    with door.watch("t"):
        pass


def test_tenants_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "REMEMBERED_TENANTS", 10)
    clock = Clock()
    door = Admission(Limits(tenant_rate=1, tenant_burst=2), clock)
    for number in range(100):
        one(door, f"t{number}")
        clock.now += 0.5
    assert len(door._tenants) < 20


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("calls=7", "calls", 7),
        ("index_bytes=64MiB", "index_bytes", 64 * 1024 * KIB),
        ("bytes_per_tenant=1.5gib", "bytes_per_tenant", int(1.5 * GIB)),
        ("tenant_rate=0.5", "tenant_rate", 0.5),
        ("tenant_rate=0", "tenant_rate", 0.0),
    ],
)
def test_a_limit_can_be_set_by_its_name(text: str, name: str, value: float) -> None:
    assert getattr(DEFAULT_LIMITS.changed(text), name) == value


def test_several_limits_can_be_set_at_once() -> None:
    changed = DEFAULT_LIMITS.changed("calls=7,watches=8 page_size=9")
    assert (changed.calls, changed.watches, changed.page_size) == (7, 8, 9)
    assert DEFAULT_LIMITS.changed("") == DEFAULT_LIMITS


@pytest.mark.parametrize("text", ["calls", "calls=", "calls=-1", "calls=0", "calls=x", "calls=1TB", "nonsense=1", "=1"])
def test_a_limit_that_cannot_be_set_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed is|is not a limit"):
        DEFAULT_LIMITS.changed(text)
