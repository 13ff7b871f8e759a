"""What rollouts and probes rely on, with real processes and both clients."""

import http.client
import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from redis_process import RedisProcess, running_redis
from rollouts.loads import LOADS, replicas
from support import running_server, tool, wait_for
from toolsearch import Client, Unavailable
from toolsearch_server.rpc.health import LIVENESS
from toolsearch_server.server import SERVICES

pytestmark = pytest.mark.timeout(900)

RUNS = int(os.environ.get("ROLLOUT_RUNS") or 3)
"""`make test-rollouts` has 50."""
DELAY = ("--drain-delay", "0.5")


@pytest.mark.parametrize("client", LOADS)
def test_no_request_is_lost_when_a_replica_is_terminated_under_load(client: str) -> None:
    with running_redis() as redis, replicas(redis.url, 2, *DELAY) as both:
        with LOADS[client]([each.address for each in both]) as load:
            for run in range(RUNS):
                both[run % 2].replace(client)
        assert load.failures == []
        assert load.searches > 10 * RUNS and load.writes > 10 * RUNS


def test_no_search_fails_while_three_replicas_are_restarted_one_after_the_other() -> None:
    with running_redis() as redis, replicas(redis.url, 3, *DELAY) as three, ExitStack() as stack:
        loads = [stack.enter_context(load([each.address for each in three])) for load in LOADS.values()]
        for replica in three:
            replica.replace(*LOADS)
        stack.close()
        for load in loads:
            assert load.failures == []
            assert load.searches > 30


@pytest.mark.parametrize("client", LOADS)
def test_no_request_is_lost_when_callers_are_asked_to_connect_anew(client: str) -> None:
    with running_redis() as redis, replicas(redis.url, 2, *DELAY, "--connection-age", "0.5") as both:
        with LOADS[client]([each.address for each in both]) as load:
            for replica in both:
                seen: set[str] = set()
                wait_for(lambda port=replica.port, seen=seen: len(_note_peers(port, seen)) > 5, seconds=60)  # type: ignore[misc]
                wait_for(lambda port=replica.port: len(_note_peers(port, set())) <= 2, what="old connections that end")  # type: ignore[misc]
        assert load.failures == []


def _note_peers(port: int, seen: set[str]) -> set[str]:
    """With those that are connected to a port of this machine now."""
    established = "01"
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]:
            _, here, there, state, *_ = line.split()
            if here.endswith(f":{port:04X}") and state == established:
                seen.add(there)
    return seen


def status(address: str, service: str) -> Any:
    with grpc.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        return health.Check(health_pb2.HealthCheckRequest(service=service), timeout=10, wait_for_ready=True).status


def code(address: str, path: str) -> int:
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def probed(address: str, http_address: str) -> tuple[bool, bool]:
    """(alive, ready), by gRPC and by HTTP alike."""
    alive = status(address, LIVENESS) == SERVING
    ready = {status(address, service) == SERVING for service in SERVICES}
    assert (code(http_address, "/livez") == 200) == alive
    assert ready == {code(http_address, "/readyz") == 200}
    return alive, ready.pop()


def test_a_replica_that_starts_without_redis_is_alive_and_becomes_ready_when_redis_is_there(tmp_path: Path) -> None:
    redis = RedisProcess(tmp_path)
    try:
        with running_server("--store", redis.url, "--embeddings", "off", "--http", "127.0.0.1:0") as (server, address):
            http_address = _http_address(server.log)
            assert probed(address, http_address) == (True, False)
            with Client(address, timeout=2) as client, pytest.raises(Unavailable):
                client.search("thing")
            redis.start()
            server.wait_for_event("ready")
            assert probed(address, http_address) == (True, True)
    finally:
        redis.kill()


def test_a_replica_that_loses_redis_stays_ready_and_goes_on_searching() -> None:
    with (
        running_redis() as redis,
        running_server("--store", redis.url, "--embeddings", "off", "--http", "127.0.0.1:0") as (
            server,
            address,
        ),
    ):
        http_address = _http_address(server.log)
        with Client(address, timeout=5) as client:
            wait_for(lambda: probed(address, http_address) == (True, True), what="readiness")
            client.sync_server("s", [tool("a", "thing")])
            assert client.search("thing").matches
            redis.kill()
            with pytest.raises(Unavailable):
                client.sync_server("s", [tool("b", "thing")])
            assert client.search("thing", min_revision=0).matches[0].name == "s.a"
            assert probed(address, http_address) == (True, True)


def _http_address(log: str) -> str:
    (line,) = [record for record in map(json.loads, log.splitlines()) if record["event"] == "listening"]
    return str(line["http"])


def test_a_cold_replica_is_ready_without_loading_any_of_a_thousand_catalogs(record_property: Any) -> None:
    with running_redis() as redis:
        with running_server("--store", redis.url, "--embeddings", "off") as (filled, address), Client(address) as first:
            filled.wait_for_event("ready")
            for number in range(1_000):
                first.catalog = f"c{number}"
                first.sync_server("s", [tool("a", "thing")])
        began = time.monotonic()
        with running_server("--store", redis.url, "--embeddings", "off", "--http", "127.0.0.1:0") as (server, address):
            if '"event": "ready"' not in server.log:
                server.wait_for_event("ready")
            record_property("seconds_to_ready", time.monotonic() - began)
            http_address = _http_address(server.log)
            assert loaded(http_address) == 0
            with Client(address, catalog="c999") as client:
                assert client.search("thing").matches[0].name == "s.a"
            assert loaded(http_address) == 1


def loaded(http_address: str) -> float:
    connection = http.client.HTTPConnection(http_address, timeout=10)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("toolsearch_catalogs "))
