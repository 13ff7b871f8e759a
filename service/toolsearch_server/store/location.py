"""Where a store is: from a URL to values."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

DEFAULT_PREFIX = "toolsearch:"
SHOWN = "sqlite:PATH, memory:, redis://HOST:PORT, redis+sentinel://HOST:PORT,.../MASTER or redis+cluster://HOST:PORT,..."

Topology = Literal["single", "sentinel", "cluster"]


class LocationError(ValueError):
    """A store URL that cannot be used; the message says why, without its password."""


class Host(NamedTuple):
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SqliteLocation:
    """Where the embedded store is; None means in memory."""

    path: Path | None

    @property
    def kind(self) -> str:
        return "memory" if self.path is None else "sqlite"

    def __str__(self) -> str:
        return str(self.path or "memory:")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisLocation:
    topology: Topology
    hosts: tuple[Host, ...]
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sentinel_password: str | None = field(default=None, repr=False)
    db: int = 0
    master: str = ""
    prefix: str = DEFAULT_PREFIX
    connect_timeout: float = 2.0
    timeout: float = 2.0
    client_name: str = "toolsearch"
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def kind(self) -> str:
        return "redis"

    def __str__(self) -> str:
        """As a URL, without credentials."""
        scheme = ("rediss" if self.tls else "redis") + ("" if self.topology == "single" else f"+{self.topology}")
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        path = f"/{self.master}/{self.db}" if self.topology == "sentinel" else f"/{self.db}" if self.db else ""
        return f"{scheme}://{hosts}{path}"


Location = SqliteLocation | RedisLocation


def parse_location(
    url: str, *, username: str | None = None, password: str | None = None, sentinel_password: str | None = None
) -> Location:
    """`username` and `password` are for where the URL has none: secrets do not belong on a command line."""
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and not rest:
        return SqliteLocation(None)
    if scheme == "sqlite" and rest.removeprefix("//"):
        return SqliteLocation(Path(rest.removeprefix("//")))
    if scheme.partition("+")[0] in ("redis", "rediss"):
        try:
            return replace(_redis(urlsplit(url), username, password), sentinel_password=sentinel_password)
        except ValueError as error:
            raise LocationError(f"{_without_credentials(url)}: {error}") from None
    raise LocationError(f"{_without_credentials(url)}: expected {SHOWN}")


def _redis(parts: SplitResult, username: str | None, password: str | None) -> RedisLocation:
    base, _, named = parts.scheme.partition("+")
    topology: Topology = "single"
    if named == "sentinel":
        topology = "sentinel"
    elif named == "cluster":
        topology = "cluster"
    elif named:
        raise ValueError(f"{parts.scheme} is not one of redis, redis+sentinel, redis+cluster, or these with rediss for TLS")
    credentials, _, hosts = parts.netloc.rpartition("@")
    given_name, _, given_password = credentials.partition(":")
    segments = [unquote(segment) for segment in parts.path.split("/") if segment]
    master = ""
    if topology == "sentinel":
        if not segments:
            raise ValueError("the name of the master is missing: redis+sentinel://HOST:PORT/MASTER")
        master = segments.pop(0)
    return RedisLocation(
        topology=topology,
        hosts=tuple(_host(text, 26379 if topology == "sentinel" else 6379) for text in hosts.split(",")),
        tls=base == "rediss",
        username=unquote(given_name) or username,
        password=unquote(given_password) or password,
        db=_database(segments, topology),
        master=master,
        **_options(parts.query),  # type: ignore[arg-type]  # checked by _options
    )


def _host(text: str, default_port: int) -> Host:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return Host(parts.hostname, default_port if parts.port is None else parts.port)


def _database(segments: list[str], topology: Topology) -> int:
    if not segments:
        return 0
    if len(segments) > 1 or not segments[0].isdecimal():
        raise ValueError(f"/{'/'.join(segments)} is not the number of a database")
    if topology == "cluster" and segments[0] != "0":
        raise ValueError("a Redis Cluster has database 0 only")
    return int(segments[0])


def _options(query: str) -> dict[str, str | float]:
    kinds = {
        "prefix": str,
        "client_name": str,
        "ca": str,
        "certificate": str,
        "key": str,
        "connect_timeout": float,
        "timeout": float,
    }
    options: dict[str, str | float] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in kinds:
            raise ValueError(f"{name} is not an option; there are {', '.join(kinds)}")
        try:
            value: str | float = kinds[name](text)
        except ValueError:
            raise ValueError(f"{name}={text} is not a number of seconds") from None
        if isinstance(value, float) and not 0 < value < 1e6:
            raise ValueError(f"{name}={text} is not a number of seconds above 0")
        if name == "prefix" and set(text) & set("{}"):
            raise ValueError("prefix has braces, which would decide in which slot keys are")
        options[name] = value
    return options


def _without_credentials(url: str) -> str:
    scheme, separator, rest = url.partition("://" if "://" in url else ":")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
