"""What can be said on the command line, and the help that teaches it."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields
from textwrap import wrap

from toolsearch_server.auth import ROLES
from toolsearch_server.embedders.choice import SHOWN as EMBEDDERS_SHOWN
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store.location import SHOWN

DEFAULT_LISTEN = "127.0.0.1:50051"
DEFAULT_HTTP = "127.0.0.1:8080"
DEFAULT_STORE = "sqlite:data/toolsearch.db"

DESCRIPTION = """\
toolsearch: tool search for AI agents, as a service.
"""

SERVE_DESCRIPTION = """\
Start the service. It answers toolsearch.v1.ToolSearchService and CatalogService over gRPC, with health and reflection.

Without credentials it serves this machine only: anybody who can connect may read and write every tenant's catalogs, and says
which tenant with the metadata key x-toolsearch-tenant ("default" if absent). With --keys or --jwt-issuer every call needs
"authorization: Bearer ...", and the tenant is the credential's. Files of keys and certificates are read again when they change.

With --http the same methods are answered over HTTP as JSON, under /v1/, for the same callers: see docs/http.md. That is done
only where it is as safe as gRPC: beyond this machine with credentials, and with --http-tls where gRPC has TLS. Probes and
/metrics are answered in any case, without credentials.

SIGTERM drains: health turns NOT_SERVING, after --drain-delay seconds no new calls are taken, and calls that are under way have
--drain-grace seconds to finish. SIGINT (Ctrl-C) skips the delay.
"""

SERVE_EPILOG = """\
examples:
  toolsearch-server serve                                   everything in ./data/toolsearch.db
  toolsearch-server serve --store memory: --sample          a demonstration that leaves nothing behind
  toolsearch-server serve --http 127.0.0.1:8080             HTTP and JSON, and a page to look at catalogs with

  toolsearch-server serve --store redis://redis:6379        one of several replicas
  toolsearch-server serve --mcp-config ~/.config/mcp.json   follow MCP servers too, for one machine
  toolsearch-server serve --listen 0.0.0.0:50051 --keys keys.json --tls-certificate tls.crt --tls-key tls.key

  toolsearch-server serve --embeddings onnx:models/minilm   a transformer: model.onnx and tokenizer.json in a folder
  toolsearch-server serve --embeddings https://HOST/v1 --embeddings-model NAME
                                                            an endpoint that speaks as OpenAI's does

The key of an embeddings endpoint is taken from $TOOLSEARCH_EMBEDDINGS_KEY and from nowhere else. Entries are embedded in the
background, and found by their words until they are; a search whose query is not embedded in time goes by words.

A password for Redis is taken from $TOOLSEARCH_REDIS_PASSWORD ($TOOLSEARCH_REDIS_USERNAME, $TOOLSEARCH_REDIS_SENTINEL_PASSWORD).
Options of a Redis URL: prefix, client_name, connect_timeout, timeout (seconds), and for rediss:// ca, certificate, key (files).

Limits, for --limit NAME=VALUE, with their defaults:
{limits}

exit codes: 0 stopped as asked, 1 could not start or failed, 2 wrong usage
"""

WATCH_DESCRIPTION = """\
Follow MCP servers: list what each of them offers, write that to its catalog, and again whenever the server says that it
changed, or after a while where it does not say so. Several watchers may share a store: each server is followed by one of them.

The file is the mcpServers JSON that MCP clients have: stdio servers with command, args, env, cwd, and streamable HTTP servers
with url, headers. ${NAME} and ${NAME:-default} are environment variables. A server may also have tenant, catalog, include and
exclude (patterns of names), tags, kinds (tools, prompts, resources), poll_seconds, disabled. Beside it, skillFolders has
folders of skills: path, and the same keys but kinds.
"""

WATCH_EPILOG = """\
examples:
  toolsearch-server watch --config mcp.json --store redis://redis:6379
  toolsearch-server watch --config mcp.json --once          fill the store once, for CI and cron

exit codes: 0 stopped as asked, 1 could not start, or a server failed with --once, 2 wrong usage
"""


KEYS_DESCRIPTION = """\
API keys, in a file that knows only their hashes: what toolsearch-server serve --keys reads, again whenever it changes.
"""

KEYS_EPILOG = """\
examples:
  toolsearch-server keys create --file keys.json --tenant acme --role writer --expires 90d --note "nightly sync"
  toolsearch-server keys rotate --file keys.json ID --overlap 24h     a new key; the old one is good for another day
  toolsearch-server keys revoke --file keys.json ID
  toolsearch-server keys list --file keys.json

A key is printed once, alone on standard output. Readers search, list, describe and watch; writers also change catalogs;
administrators also list tenants and act for any of them.

exit codes: 0 done, 1 not done, 2 wrong usage
"""


def make_parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolsearch-server", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="start the service",
        description=SERVE_DESCRIPTION,
        epilog=SERVE_EPILOG.format(limits=_shown_limits()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    watch = commands.add_parser(
        "watch",
        help="follow MCP servers and keep their tools in the store",
        description=WATCH_DESCRIPTION,
        epilog=WATCH_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    keys = commands.add_parser(
        "keys",
        help="make, list, rotate and revoke API keys",
        description=KEYS_DESCRIPTION,
        epilog=KEYS_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _serve_options(_Options(serve, environment))
    _watch_options(_Options(watch, environment))
    _keys_options(keys, environment)
    return parser


def _shown_limits() -> str:
    shown = ", ".join(f"{limit.name} ({getattr(DEFAULT_LIMITS, limit.name)})" for limit in fields(Limits))
    return "\n".join(wrap(shown, width=120))


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

    def add_switch(self, flag: str, *, text: str) -> None:
        variable = "TOOLSEARCH_" + flag.removeprefix("--").replace("-", "_").upper()
        given = self.environment.get(variable) or "false"
        self.parser.add_argument(
            flag,
            nargs="?",
            const=True,
            default=given,
            type=_switch,
            metavar="true|false",
            help=f"{text} (${variable}, true or false)",
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

    def add_limits(self) -> None:
        self.parser.add_argument(
            "--limit",
            action="append",
            default=self.environment.get("TOOLSEARCH_LIMITS", "").replace(",", " ").split(),
            metavar="NAME=VALUE",
            help="set a limit, see below; may be given several times ($TOOLSEARCH_LIMITS, separated by commas)",
        )

    def add_aging(self) -> None:
        self.add(
            "--stale-after",
            default=600.0,
            text="tag the entries of an MCP server that is away for so long with stale; 0: never",
            type=_seconds,
            metavar="S",
        )
        self.add(
            "--forget-after",
            default=0.0,
            text="remove the entries of an MCP server that is away for so long; 0: never",
            type=_seconds,
            metavar="S",
        )

    def add_observing(self) -> None:
        self.add("--audit-log", default=None, text="append audit records to this file instead of the log", metavar="FILE")
        self.add("--otlp", default=None, text="send traces to this OpenTelemetry collector, by OTLP/gRPC", metavar="URL")


def _serve_options(options: _Options) -> None:
    options.add("--listen", default=DEFAULT_LISTEN, text="where to answer gRPC; port 0 takes a free one", metavar="HOST:PORT")
    options.add_common()
    options.add(
        "--http",
        default=None,
        text="where to answer HTTP: the methods as JSON, the console, /metrics, /livez and /readyz; auto is "
        f"{DEFAULT_HTTP}, or another port if that is taken",
        metavar="HOST:PORT",
    )
    options.add_switch("--http-tls", text="speak TLS there too, with the same certificates")
    options.add_switch("--no-console", text="show no page there")
    options.parser.add_argument(
        "--http-cors",
        action="append",
        default=options.environment.get("TOOLSEARCH_HTTP_CORS", "").replace(",", " ").split(),
        metavar="ORIGIN",
        help="let pages of this origin, such as https://tools.example.com, read answers there; may be given several times "
        "($TOOLSEARCH_HTTP_CORS, separated by commas)",
    )
    options.add("--keys", default=None, text="callers need one of these API keys; see toolsearch-server keys", metavar="FILE")
    options.add("--jwt-issuer", default=None, text="callers may have tokens of this issuer", metavar="URL")
    options.add("--jwt-audience", default=None, text="...for this audience", metavar="NAME")
    options.add("--jwt-keys", default=None, text="...signed with these public keys, a JWKS document", metavar="FILE|URL")
    options.add("--jwt-tenant-claim", default="tenant", text="where a token says its tenant", metavar="NAME")
    options.add("--jwt-role-claim", default="role", text="where it says reader, writer or admin", metavar="NAME")
    options.add("--tls-certificate", default=None, text="speak TLS with this certificate chain (PEM)", metavar="FILE")
    options.add("--tls-key", default=None, text="...and its key", metavar="FILE")
    options.add("--tls-client-ca", default=None, text="...and only with callers whose certificate this signed", metavar="FILE")
    options.add_limits()
    options.add_observing()
    options.add("--drain-delay", default=2.0, text="seconds to wait for balancers on SIGTERM", type=_seconds, metavar="S")
    options.add("--drain-grace", default=20.0, text="seconds for calls under way to finish", type=_seconds, metavar="S")
    options.add(
        "--connection-age",
        default=0.0,
        text="ask callers to connect anew after so long, so that they find new replicas; 0: never",
        type=_seconds,
        metavar="S",
    )
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
    options.add_aging()
    options.add(
        "--poll-seconds",
        default=10.0,
        text="compare catalogs with a shared store so often, beside what is announced",
        type=_seconds,
        metavar="S",
    )
    options.parser.add_argument("--log-queries", action="store_true", help="log what is searched for, and who searches")
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
    options.add("--http", default=None, text="where to answer /metrics, /livez and /readyz", metavar="HOST:PORT")
    options.add_limits()
    options.add_observing()
    options.add_aging()
    options.parser.add_argument(
        "--prune",
        action="store_true",
        help="at the start, remove the entries of servers that were followed before and are not in the file any more; only if "
        "all watchers of the store have the same file",
    )
    options.parser.add_argument(
        "--once", action="store_true", help="list every server once, write, print what changed, and exit"
    )
    options.parser.add_argument("--json", action="store_true", help="with --once: print JSON instead of a table")


def _keys_options(parser: argparse.ArgumentParser, environment: Mapping[str, str]) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    created = actions.add_parser("create", help="make a key and print it")
    rotated = actions.add_parser("rotate", help="make a key in the place of an old one, which is good for a while longer")
    revoked = actions.add_parser("revoke", help="make a key useless, at once")
    listed = actions.add_parser("list", help="show the keys, without what would be needed to use them")
    for action in (created, rotated, revoked, listed):
        _Options(action, environment).add(
            "--file", default="keys.json", text="the keys", variable="TOOLSEARCH_KEYS", metavar="FILE"
        )
    created.add_argument("--tenant", required=True, help="whose key it is")
    created.add_argument("--role", required=True, choices=tuple(ROLES), help="what it may do")
    created.add_argument("--note", help="what it is for, for whoever reads the list")
    for action in (created, rotated):
        action.add_argument("--expires", help="when it ends: a duration such as 90d or 12h, or a date; never if not said")
    rotated.add_argument("--overlap", default="24h", help="how long the old key is good, a duration or a date; default 24h")
    for action in (rotated, revoked):
        action.add_argument("id", metavar="ID", help="of the key, as the list shows it")
    listed.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _one_of(*values: str):  # type: ignore[no-untyped-def]  # argparse takes any callable
    def check(text: str) -> str:
        if text not in values:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(values)}")
        return text

    return check


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return seconds
