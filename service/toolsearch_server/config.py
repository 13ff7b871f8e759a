"""The settings, as values: one frozen object for each command. No globals."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from toolsearch_server.auth import Role, TokenSettings
from toolsearch_server.embedders.choice import AUTO, Choice
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store.location import Location


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class UnixAddress(NamedTuple):
    """A socket in the file system: who may connect is who may reach the file."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"

    @property
    def loopback(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """`client_ca`: callers need a certificate that it signed."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.certificate, self.key, *(() if self.client_ca is None else (self.client_ca,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observing:
    """Where what happens is told, beside the log."""

    audit_log: Path | None = None
    otlp: str | None = None
    log_queries: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    listen: Address | UnixAddress
    store: Location
    http: Address | None = None
    http_elsewhere: bool = False
    """Where the port of `http` is taken, any free one will do."""
    http_tls: bool = False
    http_cors: tuple[str, ...] = ()
    console: bool = True
    sample: bool = False
    log_level: str = "info"
    log_format: str = "json"
    drain_delay: float = 2.0
    drain_grace: float = 20.0
    connection_age: float | None = None
    idle_seconds: float = 3600.0
    embeddings: Choice = AUTO
    mcp_config: Path | None = None
    stale_after: float = 600.0
    forget_after: float | None = None
    poll_seconds: float = 10.0
    keys: Path | None = None
    tokens: TokenSettings | None = None
    tls: TlsFiles | None = None
    limits: Limits = DEFAULT_LIMITS
    observing: Observing = Observing()

    @property
    def has_credentials(self) -> bool:
        return self.keys is not None or self.tokens is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConfig:
    """Settings of `watch`."""

    store: Location
    mcp_config: Path
    once: bool = False
    json: bool = False
    stale_after: float = 600.0
    forget_after: float | None = None
    log_level: str = "info"
    log_format: str = "json"
    http: Address | None = None
    limits: Limits = DEFAULT_LIMITS
    observing: Observing = Observing()
    prune: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysConfig:
    """Settings of `keys`. `expires` and `overlap` are durations or dates, empty where nothing is said."""

    action: str
    file: Path
    tenant: str = ""
    role: Role = Role.READER
    expires: str = ""
    overlap: str = ""
    note: str = ""
    id: str = ""
    json: bool = False


AnyConfig = Config | WatchConfig | KeysConfig


class ConfigError(ValueError):
    """A setting that cannot be used; the message says which and why."""
