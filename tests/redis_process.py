"""Real Redis servers for tests: each on a free port, with a directory of its own."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from support import wait_for
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store.location import RedisLocation, parse_location
from toolsearch_server.store.redis import RedisStore

START_SECONDS = 20.0


class RedisProcess:
    """A redis-server that can be killed, frozen and started again on the same port."""

    def __init__(self, folder: Path, *options: str, port: int = 0, password: str = "") -> None:
        self.port = port or free_port()
        self.folder = folder
        self._options = options
        self._password = password
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}?timeout=1&connect_timeout=1"

    def start(self) -> None:
        binary = shutil.which("redis-server")
        assert binary, "redis-server is not on PATH: run make test, which installs it"
        folder = self.folder / str(self.port)
        folder.mkdir(parents=True, exist_ok=True)
        secret = ("--requirepass", self._password, "--masterauth", self._password) if self._password else ()
        self.process = subprocess.Popen(
            [
                binary,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--dir",
                str(folder),
                "--save",
                "",
                *secret,
                *self._options,
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: self.command("PING").startswith("+PONG"), seconds=START_SECONDS, what="redis-server's answer")

    def command(self, *words: str, timeout: float = 2.0) -> str:
        """One command, spoken plainly; empty if there is no answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
                if self._password:
                    connection.sendall(_spoken(("AUTH", self._password)))
                    connection.recv(100)
                connection.sendall(_spoken(words))
                return connection.recv(1 << 20).decode()
        except OSError:
            return ""

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


class RedisCluster:
    """Three primaries on loopback."""

    def __init__(self, nodes: Sequence[RedisProcess]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes) + "?timeout=1&connect_timeout=1"


@contextmanager
def running_redis(*options: str, password: str = "") -> Iterator[RedisProcess]:
    with TemporaryDirectory(prefix="toolsearch-redis-") as folder:
        server = RedisProcess(Path(folder), *options, password=password)
        server.start()
        try:
            yield server
        finally:
            server.kill()


@contextmanager
def running_cluster() -> Iterator[RedisCluster]:
    with TemporaryDirectory(prefix="toolsearch-cluster-") as folder:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--appendonly", "no")
        # The bus listens 10,000 ports above: the ports must be low enough.
        nodes = [RedisProcess(Path(folder), *options, port=free_port(below=55_000)) for _ in range(3)]
        try:
            for node in nodes:
                node.start()
            cli = shutil.which("redis-cli")
            assert cli, "redis-cli is not on PATH"
            addresses = [f"127.0.0.1:{node.port}" for node in nodes]
            subprocess.run(
                [cli, "--cluster", "create", *addresses, "--cluster-yes"], check=True, capture_output=True, timeout=60
            )
            for node in nodes:
                wait_for(lambda node=node: "cluster_state:ok" in node.command("CLUSTER", "INFO"), what="the cluster")  # type: ignore[misc]
            yield RedisCluster(nodes)
        finally:
            for node in nodes:
                node.kill()


def redis_location(url: str) -> RedisLocation:
    location = parse_location(url)
    assert isinstance(location, RedisLocation)
    return location


def redis_store(url: str, limits: Limits = DEFAULT_LIMITS) -> RedisStore:
    return RedisStore(redis_location(url), limits)


def free_port(below: int = 65_536) -> int:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port: int = probe.getsockname()[1]
        if port < below:
            return port
    # Chosen by the system from high ports only: take one at random below.
    return 20_000 + os.getpid() % 30_000


def _spoken(words: Sequence[str]) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    parts += [b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words]
    return b"".join(parts)
