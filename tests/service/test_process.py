"""The program: how it starts, what it says, how it stops."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from support import ServerProcess, running_server, tool, wait_for
from toolsearch import Client, Unavailable
from toolsearch.v1 import search_service_pb2
from toolsearch.v1.search_service_pb2_grpc import ToolSearchServiceStub


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ended(*arguments: str) -> tuple[int, str]:
    """Exit code and log of a server that cannot start."""
    server = ServerProcess(("--listen", "127.0.0.1:0", *arguments))
    return server.wait(), server.log


def test_a_taken_port_is_a_clear_error(address: str) -> None:
    code, log = ended("--store", "memory:", "--listen", address)
    assert code == 1
    assert f"cannot listen on {address}" in log
    assert "Traceback" not in log


def test_a_taken_http_port_is_a_clear_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, log = ended("--store", "memory:", "--http", f"127.0.0.1:{taken.getsockname()[1]}")
    assert code == 1
    assert "for HTTP" in log
    assert '"exception"' not in log


def test_a_store_that_cannot_be_opened_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, log = ended("--store", f"sqlite:{tmp_path}/file/store.db")
    assert code == 1
    assert "cannot open the store" in log
    assert "Traceback" not in log


def test_a_store_in_use_is_a_clear_error(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"
    with running_server("--store", store):
        code, log = ended("--store", store)
    assert code == 1
    assert "in use by another process" in log


def test_listening_beyond_this_machine_is_refused() -> None:
    code, log = ended("--listen", "0.0.0.0:0", "--store", "memory:")
    assert code == 2
    assert "no credentials" in log


def test_a_missing_command_is_a_usage_error() -> None:
    result = subprocess.run([sys.executable, "-m", "toolsearch_server"], capture_output=True, text=True, timeout=30)
    assert result.returncode == 2
    assert "usage: toolsearch-server" in result.stderr


def test_health_says_serving_and_reflection_knows_the_services(address: str) -> None:
    with grpc.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for service in ("", "toolsearch.v1.ToolSearchService", "toolsearch.v1.CatalogService"):
            answer = health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
        assert {"toolsearch.v1.ToolSearchService", "toolsearch.v1.CatalogService", "grpc.health.v1.Health"} <= set(services)


def test_health_can_be_watched_through_a_drain() -> None:
    with running_server("--store", "memory:") as (server, address), grpc.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        statuses = health.Watch(health_pb2.HealthCheckRequest())
        assert next(statuses).status == health_pb2.HealthCheckResponse.SERVING
        server.process.send_signal(signal.SIGTERM)
        assert next(statuses).status == health_pb2.HealthCheckResponse.NOT_SERVING
        statuses.cancel()
        assert server.wait() == 0


def test_probes_answer_over_http() -> None:
    port = free_port()
    with running_server("--store", "memory:", "--http", f"127.0.0.1:{port}"):
        for path in ("livez", "readyz"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
                assert (answer.status, answer.read()) == (200, b"ok\n")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/nothing", timeout=10)
        assert refusal.value.code == 404
        refusal.value.close()


def test_while_it_drains_it_is_alive_but_not_ready() -> None:
    port = free_port()
    with running_server("--store", "memory:", "--http", f"127.0.0.1:{port}", "--drain-delay", "30") as (server, _):
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_event("draining")

        def readiness() -> bool:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10).close()
            except urllib.error.HTTPError as error:
                error.close()
                return error.code == 503
            return False

        wait_for(readiness, what="not ready")
        urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=10).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_when_asked(number: signal.Signals) -> None:
    with running_server("--store", "memory:") as (server, _):
        assert server.stop(number) == 0
        assert '"event": "stopped"' in server.log
        assert "Traceback" not in server.log and "exception" not in server.log


def test_a_second_signal_stops_it_at_once() -> None:
    with running_server("--store", "memory:", "--drain-delay", "600") as (server, _):
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_event("draining")
        assert server.stop(signal.SIGTERM) == 1


def test_calls_under_way_finish_during_a_drain() -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=60) as client:
        client.sync_server("s", [tool("a", "thing")])
        answers: list[str] = []

        def wait_for_a_revision() -> None:
            answers.append(client.search("thing", min_revision=2).matches[0].name)

        waiting = threading.Thread(target=wait_for_a_revision, daemon=True)
        waiting.start()
        with Client(address) as writer:
            writer.search("thing")
            writer.sync_server("s", [tool("b", "thing")])
        server.process.send_signal(signal.SIGTERM)
        waiting.join(30)
        assert answers == ["s.b"]
        assert server.wait() == 0


def test_a_watch_does_not_hold_up_a_drain_and_is_told_why_it_ends() -> None:
    with running_server("--store", "memory:", "--drain-grace", "600") as (server, address), Client(address) as client:
        client.sync_server("s", [tool("a")])
        with grpc.insecure_channel(address) as channel:
            stub: Any = ToolSearchServiceStub(channel)
            events = stub.WatchCatalog(search_service_pb2.WatchCatalogRequest())
            next(events)
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(grpc.RpcError) as ended:
                list(events)
            error: Any = ended.value
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert "another one" in error.details()
        assert server.wait() == 0


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"
    with running_server("--store", store) as (server, address):
        with Client(address) as client:
            version = client.sync_server("s", [tool("a", "thing")]).version
        server.stop()
    with running_server("--store", store) as (_, address), Client(address) as client:
        assert client.search("thing").version == version
        assert [match.name for match in client.search("thing").matches] == ["s.a"]


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_during_a_load(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"
    acknowledged: list[int] = []
    with running_server("--store", store) as (server, address):

        def load() -> None:
            with Client(address) as client:
                for number in range(100_000):
                    try:
                        client.sync_server(f"s{number}", [tool(f"t{part}", "thing") for part in range(20)])
                    except Unavailable:
                        return
                    acknowledged.append(number)

        loading = threading.Thread(target=load, daemon=True)
        loading.start()
        wait_for(lambda: len(acknowledged) > 15, what="some writes")
        server.kill()
        loading.join(30)
    with running_server("--store", store) as (_, address), Client(address) as client:
        servers = {stats.server: stats.entry_count for stats in client.get_catalog().servers}
        assert {f"s{number}" for number in acknowledged} <= servers.keys()
        assert set(servers.values()) == {20}, "a sync is there in full or not at all"


def test_the_sample_is_loaded_into_an_empty_store_once(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"
    for _ in range(2):
        with running_server("--store", store, "--sample") as (server, address), Client(address) as client:
            info = client.get_catalog()
            assert info.version.revision == 1
            assert 90 <= info.entry_count <= 120
            assert len(info.servers) >= 10
            server.stop()


def test_the_sample_does_not_touch_a_store_that_has_a_catalog(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"
    with running_server("--store", store) as (server, address):
        with Client(address, catalog="mine") as client:
            client.sync_server("s", [tool("a")])
        server.stop()
    with running_server("--store", store, "--sample") as (_, address), Client(address) as client:
        assert [listing.name for listing in client.list_catalogs()] == ["mine"]


def test_a_person_is_told_where_it_listens_and_what_to_try(tmp_path: Path) -> None:
    server = ServerProcess(("--listen", "127.0.0.1:0", "--store", "memory:", "--sample", "--log-format", "console"))
    try:
        wait_for(lambda: "Ctrl-C" in server.log, what="the greeting")
        address = re.search(r"listening on (127\.0\.0\.1:\d+)", server.log)
        assert address
        commands = re.findall(r"^    (\S*toolsearch --target .*)$", server.log, re.MULTILINE)
        assert len(commands) == 2
        for command in commands:
            result = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
            assert result.returncode == 0, result.stderr
            assert "github.open_issue" in result.stdout
    finally:
        server.kill()


def test_log_lines_are_json_with_request_id_tenant_method_code_and_time() -> None:
    with running_server("--store", "memory:", "--log-level", "debug") as (server, address):
        with Client(address, tenant="acme") as client:
            client.sync_server("s", [tool("a")])
            with pytest.raises(Exception, match="queries"):
                client.search("")
        server.stop()
    calls = [record for record in map(json.loads, server.lines) if record["event"] == "call"]
    assert [(call["method"], call["code"], call["tenant"]) for call in calls] == [
        ("SyncServer", "OK", "acme"),
        ("SearchTools", "INVALID_ARGUMENT", "acme"),
    ]
    assert all(call["request_id"] and call["ms"] >= 0 and call["timestamp"] for call in calls)
    assert calls[1]["reason"] == "FIELD_REQUIRED"
