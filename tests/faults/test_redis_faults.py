"""Redis and the network fail under load, with real processes. What is promised is in docs/guarantees.md."""

import json
import signal
import urllib.request
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from faults.history import Proxy, Traffic, check_convergence, names_on, running_replicas, wait_until_ready
from redis_process import RedisProcess, running_redis
from support import running_server, tool, wait_for
from toolsearch import Client, Unavailable

pytestmark = pytest.mark.timeout(180)

KEEPING = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def redis() -> Iterator[RedisProcess]:
    with running_redis(*KEEPING) as server:
        yield server


def fill(address: str) -> None:
    with Client(address) as client:
        client.sync_server("start", [tool("t_0", "thing")])


def begin(addresses: list[str]) -> Traffic:
    fill(addresses[0])
    for address in addresses:
        wait_until_ready(address)
    traffic = Traffic(addresses)
    traffic.wait_for_writes(30)
    return traffic


def test_redis_killed_and_restarted_with_its_data_costs_refused_writes_and_nothing_else(redis: RedisProcess) -> None:
    with running_replicas(redis.url, 3) as (_, addresses):
        traffic = begin(addresses)
        for _ in range(2):
            redis.kill()
            refused = traffic.writes.refused
            wait_for(lambda refused=refused: traffic.writes.refused > refused, what="a refused write")  # type: ignore[misc]
            redis.start()
            traffic.wait_for_writes(30)
        traffic.stop()
        traffic.check_searches()
        traffic.check_same_meaning_everywhere()
        check_convergence(redis.url, addresses, traffic.writes)


def test_redis_restarted_without_its_data_leaves_searches_working_and_replicas_converge_on_what_is_written_then() -> None:
    with running_redis() as redis, running_replicas(redis.url, 3) as (_, addresses):
        traffic = begin(addresses)
        redis.kill()
        redis.start()
        traffic.wait_for_writes(80)
        traffic.stop()
        traffic.check_searches()
        check_convergence(redis.url, addresses, traffic.writes, all_kept=False)
        with Client(addresses[0]) as client:
            client.sync_server("late", [tool("late", "thing")])
        for address in addresses:
            wait_for(lambda address=address: "late.late" in names_on(address), what="the late tool")  # type: ignore[misc]


def test_subscribers_thrown_out_by_redis_miss_nothing(redis: RedisProcess) -> None:
    with running_replicas(redis.url, 3) as (_, addresses):
        traffic = begin(addresses)
        for _ in range(5):
            redis.command("CLIENT", "KILL", "TYPE", "pubsub")
            traffic.wait_for_writes(10)
        traffic.stop()
        traffic.check_searches()
        traffic.check_same_meaning_everywhere()
        check_convergence(redis.url, addresses, traffic.writes)


def test_a_frozen_redis_stops_writes_and_not_searches_and_staleness_is_told(redis: RedisProcess) -> None:
    with running_replicas(redis.url, 2) as (_, addresses):
        traffic = begin(addresses)
        redis.freeze()
        refused = traffic.writes.refused
        wait_for(lambda: traffic.writes.refused > refused, seconds=30, what="a refused write")
        with Client(addresses[0]) as client:
            wait_for(lambda: client.search("thing", min_revision=0).version.stale_seconds, seconds=30, what="staleness")
            assert client.get_catalog().version.stale_seconds
        redis.thaw()
        traffic.wait_for_writes(30)
        traffic.stop()
        traffic.check_searches()
        traffic.check_same_meaning_everywhere()
        check_convergence(redis.url, addresses, traffic.writes)
        with Client(addresses[0]) as client:
            wait_for(lambda: client.search("thing", min_revision=0).version.stale_seconds == 0, what="freshness")


def test_a_network_that_swallows_bytes_is_noticed_and_left_behind(redis: RedisProcess) -> None:
    proxy = Proxy(redis.port)
    try:
        through_proxy = redis.url.replace(str(redis.port), str(proxy.port))
        with running_replicas(redis.url, 1) as (_, sound), running_replicas(through_proxy, 1) as (_, cut_off):
            fill(sound[0])
            wait_until_ready(cut_off[0])
            traffic = Traffic([*sound, *cut_off], writing=False)
            proxy.swallowing = True
            with Client(sound[0]) as client:
                client.sync_server("new", [tool("t_1", "thing")])
            with Client(cut_off[0]) as client:
                wait_for(lambda: client.search("thing", min_revision=0).version.stale_seconds, seconds=30, what="staleness")
            proxy.swallowing = False
            wait_for(lambda: "new.t_1" in names_on(cut_off[0]), seconds=30, what="the change behind the proxy")
            traffic.stop()
            traffic.check_searches()
    finally:
        proxy.close()


def test_a_subscriber_so_slow_that_redis_drops_it_catches_up() -> None:
    slow = ("--client-output-buffer-limit", "pubsub 64kb 64kb 1")
    with running_redis(*slow) as redis, running_replicas(redis.url, 2) as (processes, addresses):
        fill(addresses[0])
        wait_until_ready(addresses[1])
        wait_for(lambda: "2\r\n" in redis.command("PUBSUB", "NUMSUB", *channels(redis)), what="two subscribers")
        processes[1].process.send_signal(signal.SIGSTOP)
        with Client(addresses[0]) as client:
            # What the sockets' own buffers hold comes on top of the limit.
            def dropped() -> bool:
                client.sync_server("big", [tool(f"t_{number}", "thing " + "x" * 3_000) for number in range(10)])
                client.sync_server("big", [tool("t_1", "thing")])
                return "1\r\n" in redis.command("PUBSUB", "NUMSUB", *channels(redis))

            wait_for(dropped, seconds=90, what="a subscriber that was dropped")
            client.sync_server("late", [tool("late", "thing")])
        processes[1].process.send_signal(signal.SIGCONT)
        wait_for(lambda: "late.late" in names_on(addresses[1]), what="the change after the drop")
        assert names_on(addresses[0]) == names_on(addresses[1])


def channels(redis: RedisProcess) -> list[str]:
    return [line for line in redis.command("PUBSUB", "CHANNELS").split("\r\n") if line.endswith(":changes")]


def test_replicas_killed_while_they_apply_changes_lose_nothing_and_new_ones_know_everything(redis: RedisProcess) -> None:
    with running_replicas(redis.url, 2) as (_, addresses):
        traffic = begin(addresses)
        for _ in range(4):
            with running_replicas(redis.url, 1) as (doomed, at):
                # It starts while changes pour in, and applies them when it is killed.
                wait_until_ready(at[0])
                before = names_on(at[0])
                wait_for(lambda at=at, before=before: names_on(at[0]) != before, what="a replica that applies changes")  # type: ignore[misc]
                doomed[0].kill()
        with running_replicas(redis.url, 1) as (_, late):
            wait_until_ready(late[0])
            traffic.wait_for_writes(20)
            traffic.stop()
            traffic.check_searches()
            traffic.check_same_meaning_everywhere()
            check_convergence(redis.url, [*addresses, *late], traffic.writes)


def test_losing_redis_does_not_make_a_ready_replica_unready(redis: RedisProcess) -> None:
    with running_replicas(redis.url, 1, "--http", "127.0.0.1:0") as (processes, addresses):
        fill(addresses[0])
        listening = next(json.loads(line) for line in processes[0].lines if '"listening"' in line)
        with Client(addresses[0]) as client, grpc.insecure_channel(addresses[0]) as channel:
            health: Any = HealthStub(channel)
            redis.freeze()
            wait_for(lambda: client.search("thing", min_revision=0).version.stale_seconds, seconds=30, what="staleness")
            assert health.Check(HealthCheckRequest()).status == HealthCheckResponse.SERVING
            with urllib.request.urlopen(f"http://{listening['http']}/readyz") as answer:
                assert answer.status == 200
            redis.thaw()


def test_a_server_that_starts_without_redis_is_alive_and_becomes_ready_with_it(redis: RedisProcess) -> None:
    redis.kill()
    with running_server("--store", redis.url) as (server, address), Client(address, timeout=3) as client:
        with pytest.raises(Unavailable):
            client.search("thing")
        assert '"ready"' not in server.log
        redis.start()
        server.wait_for_event("ready")

        def written() -> bool:
            """The client hears of the server's health a moment later."""
            try:
                client.sync_server("s", [tool("a", "thing")])
            except Unavailable:
                return False
            return True

        wait_for(written, what="a write")
        assert [match.name for match in client.search("thing").matches] == ["s.a"]


def test_a_store_that_is_out_of_memory_refuses_writes_in_clear_words_and_keeps_what_it_has(redis: RedisProcess) -> None:
    with running_replicas(redis.url, 1) as (_, addresses), Client(addresses[0]) as client:
        version = client.sync_server("s", [tool("a", "thing")]).version
        redis.command("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(Unavailable, match=r"out of memory.*nothing was written"):
            client.sync_server("s", [tool("b", "thing")])
        assert client.search("thing").version == version
        redis.command("CONFIG", "SET", "maxmemory", "0")
        assert client.sync_server("s", [tool("b", "thing")]).version.revision == version.revision + 1
