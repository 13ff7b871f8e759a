"""What `toolsearch mcp` was told, as one frozen value."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple

from toolsearch import Tls
from toolsearch_server.config import Address
from toolsearch_server.limits import DEFAULT_LIMITS, Limits

Destructive = Literal["separate", "exclude", "together"]
"""Tools that may destroy: behind a tool of their own, not at all, or like all others."""


class SettingsError(ValueError):
    """A setting that cannot be used; the message says which and why."""


class EagerPattern(NamedTuple):
    """Tools that are listed as themselves: globs of servers and of their own names for tools."""

    server: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "EagerPattern":
        server, separator, name = text.partition(":")
        if not (server and separator and name):
            raise SettingsError(f"--eager {text!r}: expected SERVER:TOOL, both may be globs, such as 'github:get_*'")
        return cls(server, name)

    def selects(self, server: str, name: str) -> bool:
        return fnmatchcase(server, self.server) and fnmatchcase(name, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where streamable HTTP is spoken. `hosts`: names by which it may be asked for, besides those of this machine."""

    address: Address
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.address.loopback:
            return
        if self.token is None:
            raise SettingsError(
                f"--http {self.address}: refused without --token-file, because everybody who can connect could call every tool"
            )
        if not self.hosts:
            raise SettingsError(f"--http {self.address}: --allow-host is missing, a name by which clients will ask for it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`target`: a running service, or None for one inside this process. `mcp_config`: the servers that can be called."""

    target: str | None = None
    catalog: str = "default"
    tenant: str | None = None
    api_key: str | None = field(default=None, repr=False)
    tls: Tls | bool = False
    mcp_config: Path | None = None
    destructive: Destructive = "separate"
    eager: tuple[EagerPattern, ...] = ()
    http: HttpSettings | None = None
    limits: Limits = DEFAULT_LIMITS
