"""A Sentinel fail-over and a slot that moves in a Cluster, under load, with real processes."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from faults.history import Traffic, check_convergence, running_replicas, wait_until_ready
from redis_process import RedisProcess, free_port, running_cluster, running_redis
from support import tool, wait_for
from toolsearch import Client
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.redis_keys import Keys

pytestmark = pytest.mark.timeout(180)

DEFAULT = CatalogKey("default", "default")


def test_a_sentinel_fail_over_loses_no_search_and_replicas_converge(tmp_path: Path) -> None:
    with running_redis() as first, running_redis("--replicaof", f"127.0.0.1 {first.port}") as second:
        wait_for(lambda: "master_link_status:up" in second.command("INFO", "replication"), what="replication")
        with running_sentinel(tmp_path, first) as sentinel:
            wait_for(
                lambda: "num-slaves\r\n$1\r\n1" in sentinel.command("SENTINEL", "MASTER", "main"), what="the sentinel's view"
            )
            url = f"redis+sentinel://127.0.0.1:{sentinel.port}/main?timeout=1&connect_timeout=1"
            with running_replicas(url, 2) as (_, addresses):
                with Client(addresses[0]) as client:
                    client.sync_server("start", [tool("t_0", "thing")])
                for address in addresses:
                    wait_until_ready(address)
                traffic = Traffic(addresses)
                traffic.wait_for_writes(20)
                first.kill()
                wait_for(lambda: "role:master" in second.command("INFO", "replication"), seconds=60, what="the fail-over")
                traffic.wait_for_writes(80)
                traffic.stop()
                traffic.check_searches()
                traffic.check_same_meaning_everywhere()
                check_convergence(url, addresses, traffic.writes, all_kept=False)


class running_sentinel:  # noqa: N801 used like a function
    def __init__(self, folder: Path, master: RedisProcess) -> None:
        port = free_port()
        self.configuration = folder / "sentinel.conf"
        self.configuration.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
            f"sentinel monitor main 127.0.0.1 {master.port} 1\n"
            "sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n"
        )
        self.sentinel = RedisProcess(folder, port=port)

    def __enter__(self) -> RedisProcess:
        binary = shutil.which("redis-server")
        assert binary
        self.sentinel.process = subprocess.Popen([binary, str(self.configuration), "--sentinel"], stdout=subprocess.DEVNULL)
        wait_for(lambda: self.sentinel.command("PING").startswith("+PONG"), what="the sentinel")
        return self.sentinel

    def __exit__(self, *_: object) -> None:
        self.sentinel.kill()


def test_a_catalog_whose_slot_moves_to_another_node_is_followed_there() -> None:
    with running_cluster() as cluster, running_replicas(cluster.url, 2) as (_, addresses):
        with Client(addresses[0]) as client:
            client.sync_server("start", [tool("t_0", "thing")])
        for address in addresses:
            wait_until_ready(address)
        traffic = Traffic(addresses)
        traffic.wait_for_writes(20)
        move_slot(cluster.nodes, Keys("toolsearch:").meta(DEFAULT))
        traffic.wait_for_writes(60)
        traffic.stop()
        traffic.check_searches()
        traffic.check_same_meaning_everywhere()
        check_convergence(cluster.url, addresses, traffic.writes)


def move_slot(nodes: Sequence[RedisProcess], key: str) -> None:
    """Move the slot of `key` from the node that has it to another one, with its keys."""
    slot = nodes[0].command("CLUSTER", "KEYSLOT", key).strip(":\r\n")
    identities = {node: node.command("CLUSTER", "MYID").split("\r\n")[1] for node in nodes}
    source = next(node for node in nodes if not node.command("HGET", key, "epoch").startswith("-MOVED"))
    target = next(node for node in nodes if node is not source)
    target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", identities[source])
    source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", identities[target])
    while names := [line for line in source.command("CLUSTER", "GETKEYSINSLOT", slot, "100").split("\r\n") if "{" in line]:
        moved = source.command("MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "KEYS", *names)
        assert moved.startswith("+"), moved
    for node in (target, source, *(node for node in nodes if node not in (source, target))):
        node.command("CLUSTER", "SETSLOT", slot, "NODE", identities[target])
