"""Health: what balancers and probes ask."""

import asyncio
from types import SimpleNamespace
from typing import Any

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from toolsearch_server.rpc.health import LIVENESS, Health

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
NO_CONTEXT: Any = SimpleNamespace()


def watch(health: Health, service: str = "") -> Any:
    return health.Watch(HealthCheckRequest(service=service), NO_CONTEXT)


async def test_a_watcher_hears_of_every_change_and_of_nothing_else() -> None:
    health = Health(["", "s"])
    watching = watch(health, "s")
    assert (await anext(watching)).status == NOT_SERVING
    following = asyncio.create_task(anext(watching))
    await asyncio.sleep(0)
    health.set(serving=False)
    await asyncio.sleep(0)
    assert not following.done()
    health.set(serving=True)
    assert (await asyncio.wait_for(following, 5)).status == SERVING


async def test_a_watcher_that_reads_nothing_holds_nobody_up() -> None:
    health = Health([""])
    stuck = watch(health)
    await anext(stuck)
    health.set(serving=True)
    other = watch(health)
    assert (await asyncio.wait_for(anext(other), 5)).status == SERVING
    health.set(serving=False)
    assert (await asyncio.wait_for(anext(other), 5)).status == NOT_SERVING


async def test_an_unknown_service_is_said_to_be_one() -> None:
    assert (await anext(watch(Health([""]), "other"))).status == HealthCheckResponse.SERVICE_UNKNOWN


async def test_the_name_for_liveness_is_serving_before_during_and_after() -> None:
    health = Health([""])
    watching = watch(health, LIVENESS)
    assert (await anext(watching)).status == SERVING
    following = asyncio.create_task(anext(watching))
    for serving in (True, False):
        health.set(serving=serving)
        answer = await health.Check(HealthCheckRequest(service=LIVENESS), NO_CONTEXT)
        assert answer.status == SERVING
    assert not following.done(), "nothing changed for a liveness probe"
    following.cancel()
