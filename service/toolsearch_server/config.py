"""The one settings object: from flags and environment variables, checked before anything starts."""

import argparse
import ipaddress
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

from toolsearch_server.embedders.choice import AUTO, Choice, ChoiceError, parse_choice
from toolsearch_server.embedders.choice import SHOWN as EMBEDDERS_SHOWN
from toolsearch_server.store.location import SHOWN, Location, LocationError, SqliteLocation, parse_location

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

  toolsearch-server serve --store redis://redis:6379        one of several replicas
  toolsearch-server serve --mcp-config ~/.config/mcp.json   follow MCP servers too, for one machine

  toolsearch-server serve --embeddings onnx:models/minilm   a transformer: model.onnx and tokenizer.json in a folder
  toolsearch-server serve --embeddings https://HOST/v1 --embeddings-model NAME
                                                            an endpoint that speaks as OpenAI's does

The key of an embeddings endpoint is taken from $TOOLSEARCH_EMBEDDINGS_KEY and from nowhere else. Entries are embedded in the
background, and found by their words until they are; a search whose query is not embedded in time goes by words.

A password for Redis is taken from $TOOLSEARCH_REDIS_PASSWORD ($TOOLSEARCH_REDIS_USERNAME, $TOOLSEARCH_REDIS_SENTINEL_PASSWORD).
Options of a Redis URL: prefix, client_name, connect_timeout, timeout (seconds), and for rediss:// ca, certificate, key (files).

exit codes: 0 stopped as asked, 1 could not start or failed, 2 wrong usage
"""

WATCH_DESCRIPTION = """\
Follow MCP servers: list what each of them offers, write that to its catalog, and again whenever the server says that it
changed, or after a while where it does not say so. Several watchers may share a store: each server is followed by one of them.

The file is the mcpServers JSON that MCP clients have: stdio servers with command, args, env, cwd, and streamable HTTP servers
with url, headers. ${NAME} and ${NAME:-default} are environment variables. A server may also have tenant, catalog, include and
exclude (patterns of names), tags, kinds (tools, prompts, resources), poll_seconds, disabled.
"""

WATCH_EPILOG = """\
examples:
  toolsearch-server watch --config mcp.json --store redis://redis:6379
  toolsearch-server watch --config mcp.json --once          fill the store once, for CI and cron

exit codes: 0 stopped as asked, 1 could not start, or a server failed with --once, 2 wrong usage
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
    embeddings: Choice = AUTO
    mcp_config: Path | None = None


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


class ConfigError(ValueError):
    """A setting that cannot be used; the message says which and why."""


def parse(argv: Sequence[str], environment: Mapping[str, str]) -> Config | WatchConfig:
    """Settings of a command. Exits with 2 and an explanation when they are wrong."""
    parser = _parser(environment)
    arguments = parser.parse_args(argv)
    try:
        return _watch(arguments, environment) if arguments.command == "watch" else _serve(arguments, environment)
    except ConfigError as error:
        _fail(parser, str(error))


def _serve(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Config:
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
        embeddings=parse_embeddings(arguments.embeddings, arguments.embeddings_model, environment),
        mcp_config=Path(arguments.mcp_config) if arguments.mcp_config else None,
    )


def _watch(arguments: argparse.Namespace, environment: Mapping[str, str]) -> WatchConfig:
    if not arguments.config:
        raise ConfigError("--config is required: a file with mcpServers, as MCP clients have it")
    if arguments.json and not arguments.once:
        raise ConfigError("--json goes with --once")
    store = parse_store(arguments.store, environment)
    if isinstance(store, SqliteLocation) and not arguments.once:
        raise ConfigError(
            f"--store {store}: the embedded store belongs to one process; follow MCP servers inside it, with "
            "toolsearch-server serve --mcp-config, or use a shared store"
        )
    return WatchConfig(
        store=store,
        mcp_config=Path(arguments.config),
        once=arguments.once,
        json=arguments.json,
        stale_after=arguments.stale_after,
        forget_after=arguments.forget_after or None,
        log_level=arguments.log_level,
        log_format=_log_format(arguments.log_format),
    )


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


def parse_embeddings(text: str, model: str | None, environment: Mapping[str, str]) -> Choice:
    try:
        return parse_choice(text, model=model or "", key=environment.get("TOOLSEARCH_EMBEDDINGS_KEY", ""))
    except ChoiceError as error:
        raise ConfigError(f"--embeddings {error}") from None


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
    watch = commands.add_parser(
        "watch",
        help="follow MCP servers and keep their tools in the store",
        description=WATCH_DESCRIPTION,
        epilog=WATCH_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _serve_options(_Options(serve, environment))
    _watch_options(_Options(watch, environment))
    return parser


@dataclass(frozen=True, slots=True)
class _Options:
    """Adds options that are environment variables too."""

    parser: argparse.ArgumentParser
    environment: Mapping[str, str]

    def add(self, flag: str, *, default: object, text: str, variable: str = "", **more: object) -> None:
        variable = variable or "TOOLSEARCH_" + flag.removeprefix("--").replace("-", "_").upper()
        shown = "" if default is None else f"; default {default}"
        self.parser.add_argument(
            flag,
            default=self.environment.get(variable, default),
            help=f"{text} (${variable}{shown})",
            **more,  # type: ignore[arg-type]
        )

    def add_common(self) -> None:
        self.add("--store", default=DEFAULT_STORE, text=f"where the truth is kept: {SHOWN}", metavar="URL")
        levels = ("debug", "info", "warning", "error")
        self.add("--log-level", default="info", text="debug, info, warning or error", type=_one_of(*levels))
        self.add(
            "--log-format",
            default="auto",
            text="json, console, or auto: console on a terminal",
            type=_one_of("auto", "json", "console"),
        )


def _serve_options(options: _Options) -> None:
    options.add("--listen", default=DEFAULT_LISTEN, text="where to answer gRPC; port 0 takes a free one", metavar="HOST:PORT")
    options.add_common()
    options.add("--http", default=None, text="where to answer /livez and /readyz", metavar="HOST:PORT")
    options.add("--drain-delay", default=2.0, text="seconds to wait for balancers on SIGTERM", type=_seconds, metavar="S")
    options.add("--drain-grace", default=20.0, text="seconds for calls under way to finish", type=_seconds, metavar="S")
    options.add(
        "--idle-seconds", default=3600.0, text="let a catalog go from memory after so long unused", type=_seconds, metavar="S"
    )
    options.add(
        "--embeddings",
        default="auto",
        text=f"search by meaning too: {EMBEDDERS_SHOWN}; auto is static, the built-in model, where that is installed",
        metavar="WHAT",
    )
    options.add("--embeddings-model", default=None, text="the model to ask an embeddings endpoint for", metavar="NAME")
    options.add(
        "--mcp-config", default=None, text="follow the MCP servers in this file; see toolsearch-server watch", metavar="FILE"
    )
    options.parser.add_argument("--sample", action="store_true", help="load a sample catalog if the default tenant has none")


def _watch_options(options: _Options) -> None:
    options.add(
        "--config",
        default=None,
        text="the servers to follow: a file with mcpServers, read again whenever it changes",
        variable="TOOLSEARCH_MCP_CONFIG",
        metavar="FILE",
    )
    options.add_common()
    options.add(
        "--stale-after",
        default=600.0,
        text="tag the entries of a server that is away for so long with stale; 0: never",
        type=_seconds,
        metavar="S",
    )
    options.add(
        "--forget-after",
        default=0.0,
        text="remove the entries of a server that is away for so long; 0: never",
        type=_seconds,
        metavar="S",
    )
    options.parser.add_argument(
        "--once", action="store_true", help="list every server once, write, print what changed, and exit"
    )
    options.parser.add_argument("--json", action="store_true", help="with --once: print JSON instead of a table")


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


def from_process() -> Config | WatchConfig:
    return parse(sys.argv[1:], os.environ)
