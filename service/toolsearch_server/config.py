"""The one settings object: from flags and environment variables, checked before anything starts."""

import argparse
import ipaddress
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

from toolsearch_server.store.location import SHOWN, Location, LocationError, parse_location

DEFAULT_LISTEN = "127.0.0.1:50051"
DEFAULT_STORE = "sqlite:data/toolsearch.db"

DESCRIPTION = """\
toolsearch: tool search for AI agents, as a service.
"""

SERVE_DESCRIPTION = """\
Start the service. It answers toolsearch.v1.ToolSearchService and CatalogService over gRPC, with health and reflection.

Without credentials it serves this machine only: anybody who can connect may read and write every tenant's catalogs, and says
which tenant with the metadata key x-toolsearch-tenant ("default" if absent).

SIGTERM drains: health turns NOT_SERVING, after --drain-delay seconds no new calls are taken, and calls that are under way have
--drain-grace seconds to finish. SIGINT (Ctrl-C) skips the delay.
"""

SERVE_EPILOG = """\
examples:
  toolsearch-server serve                                   everything in ./data/toolsearch.db
  toolsearch-server serve --store memory: --sample          a demonstration that leaves nothing behind
  toolsearch-server serve --listen 127.0.0.1:0 --http 127.0.0.1:8080

exit codes: 0 stopped as asked, 1 could not start or failed, 2 wrong usage
"""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    listen: Address
    store: Location
    http: Address | None = None
    sample: bool = False
    log_level: str = "info"
    log_format: str = "json"
    drain_delay: float = 2.0
    drain_grace: float = 20.0
    idle_seconds: float = 3600.0
    embeddings: str = "auto"


class ConfigError(ValueError):
    """A setting that cannot be used; the message says which and why."""


def parse(argv: Sequence[str], environment: Mapping[str, str]) -> Config:
    """Settings of `serve`. Exits with 2 and an explanation when they are wrong."""
    parser = _parser(environment)
    arguments = parser.parse_args(argv)
    try:
        return Config(
            listen=parse_listen(arguments.listen, "--listen"),
            store=parse_store(arguments.store, environment),
            http=parse_listen(arguments.http, "--http") if arguments.http else None,
            sample=arguments.sample,
            log_level=arguments.log_level,
            log_format=_log_format(arguments.log_format),
            drain_delay=arguments.drain_delay,
            drain_grace=arguments.drain_grace,
            idle_seconds=arguments.idle_seconds,
            embeddings=arguments.embeddings,
        )
    except ConfigError as error:
        _fail(parser, str(error))


def parse_listen(text: str, flag: str) -> Address:
    address = parse_address(text, flag)
    if not address.loopback:
        raise ConfigError(
            f"{flag} {text}: refused, because no credentials are configured and everybody who can connect could read and "
            "change every catalog; listen on 127.0.0.1 or [::1] and put an authenticating proxy in front"
        )
    return address


def parse_address(text: str, flag: str) -> Address:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{flag} {text}: {error}") from None
    if not host or port is None or parts.path:
        raise ConfigError(f"{flag} {text}: expected HOST:PORT, such as {DEFAULT_LISTEN}")
    return Address(host, port)


def parse_store(url: str, environment: Mapping[str, str]) -> Location:
    try:
        return parse_location(
            url,
            username=environment.get("TOOLSEARCH_REDIS_USERNAME"),
            password=environment.get("TOOLSEARCH_REDIS_PASSWORD"),
            sentinel_password=environment.get("TOOLSEARCH_REDIS_SENTINEL_PASSWORD"),
        )
    except LocationError as error:
        raise ConfigError(f"--store {error}") from None


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolsearch-server", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="start the service",
        description=SERVE_DESCRIPTION,
        epilog=SERVE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def option(flag: str, *, default: object, text: str, **more: object) -> None:
        variable = "TOOLSEARCH_" + flag.removeprefix("--").replace("-", "_").upper()
        shown = "" if default is None else f"; default {default}"
        serve.add_argument(
            flag,
            default=environment.get(variable, default),
            help=f"{text} (${variable}{shown})",
            **more,  # type: ignore[arg-type]
        )

    option("--listen", default=DEFAULT_LISTEN, text="where to answer gRPC; port 0 takes a free one", metavar="HOST:PORT")
    option("--store", default=DEFAULT_STORE, text=f"where the truth is kept: {SHOWN}", metavar="URL")
    option("--http", default=None, text="where to answer /livez and /readyz", metavar="HOST:PORT")
    option(
        "--log-level", default="info", text="debug, info, warning or error", type=_one_of("debug", "info", "warning", "error")
    )
    option(
        "--log-format",
        default="auto",
        text="json, console, or auto: console on a terminal",
        type=_one_of("auto", "json", "console"),
    )
    option("--drain-delay", default=2.0, text="seconds to wait for balancers on SIGTERM", type=_seconds, metavar="S")
    option("--drain-grace", default=20.0, text="seconds for calls under way to finish", type=_seconds, metavar="S")
    option(
        "--idle-seconds", default=3600.0, text="let a catalog go from memory after so long unused", type=_seconds, metavar="S"
    )
    option(
        "--embeddings",
        default="auto",
        text="search by meaning too: static (built-in model), off, or auto: static if the extra semantic is installed",
        type=_one_of("auto", "static", "off"),
    )
    serve.add_argument("--sample", action="store_true", help="load a sample catalog if the default tenant has none")
    return parser


def _one_of(*values: str):  # type: ignore[no-untyped-def]  # argparse takes any callable
    def check(text: str) -> str:
        if text not in values:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(values)}")
        return text

    return check


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return seconds


def _log_format(text: str) -> str:
    if text != "auto":
        return text
    return "console" if sys.stderr.isatty() else "json"


def _fail(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    parser.exit(2, f"toolsearch-server: {message}\n")


def from_process() -> Config:
    return parse(sys.argv[1:], os.environ)
