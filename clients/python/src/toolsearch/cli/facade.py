"""`toolsearch mcp`: its options, and the way to the server distribution, which has the rest."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from toolsearch._channel import Tls

DESCRIPTION = """\
An MCP server in front of all your MCP servers. Your client carries a handful of tools that find, describe and call all others,
instead of every definition of every server. Needs nothing else running: without --target it holds the search service itself.
"""

EPILOG = """\
Move the servers of your client into a file of their own, with the same "mcpServers", and put this in their place:

  Claude Code     claude mcp add toolsearch -- toolsearch mcp --mcp-config ~/mcp-servers.json
  Claude Desktop, Cursor, and others that have "mcpServers" in a file:

    {"mcpServers": {"toolsearch": {"command": "toolsearch", "args": ["mcp", "--mcp-config", "/home/me/mcp-servers.json"]}}}

  VS Code, in .vscode/mcp.json:

    {"servers": {"toolsearch": {"command": "toolsearch", "args": ["mcp", "--mcp-config", "/home/me/mcp-servers.json"]}}}

examples:
  toolsearch mcp --mcp-config servers.json                             everything in this process
  toolsearch mcp --mcp-config servers.json --eager 'github:get_*'      these are listed as themselves too
  toolsearch mcp --mcp-config servers.json --destructive exclude       tools that may destroy are kept out
  toolsearch mcp --target tools.example.com:50051 --tls                find and describe the tools of a running service
  toolsearch mcp --target localhost:50051 --mcp-config servers.json    search there, call from here
  toolsearch mcp --mcp-config servers.json --http 127.0.0.1:8765       streamable HTTP at http://127.0.0.1:8765/mcp

The key for --target is taken from $TOOLSEARCH_API_KEY. Logs go to standard error.
exit codes: 0 the client left or it was stopped, 1 could not start, 2 wrong usage
"""

NOTHING_TO_DO = """\
toolsearch mcp: there is nothing to find tools in: give --mcp-config FILE, or --target HOST:PORT of a running service

FILE is the "mcpServers" JSON of your MCP client, for example

  {"mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]},
    "github": {"url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}}}}

and what your client then has in its place is

  Claude Code     claude mcp add toolsearch -- toolsearch mcp --mcp-config FILE
  Cursor, ...     {"mcpServers": {"toolsearch": {"command": "toolsearch", "args": ["mcp", "--mcp-config", "FILE"]}}}

toolsearch mcp --help tells more
"""

NOT_INSTALLED = """\
toolsearch mcp: the server distribution is missing ({error}); install it with

  pip install 'toolsearch[mcp]'
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mcp-config", metavar="FILE", help="the servers whose tools can be called, read again when it changes"
    )
    parser.add_argument(
        "--destructive",
        choices=("separate", "exclude", "together"),
        default="separate",
        help="tools that may destroy: behind call_tool_destructive (default), kept out, or behind call_tool like all others",
    )
    parser.add_argument(
        "--eager",
        action="append",
        default=[],
        metavar="SERVER:TOOL",
        help="also list these tools as themselves; globs; may be given several times",
    )
    parser.add_argument("--http", metavar="HOST:PORT", help="speak streamable HTTP there, instead of standard input and output")
    parser.add_argument("--token-file", metavar="FILE", help="with --http: clients need this bearer token")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="with --http: clients may ask for it by this name, besides those of this machine",
    )
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=VALUE", help="set a limit, as toolsearch-server does"
    )
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="(info)")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], tls: Tls | bool) -> int:
    if arguments.target is None and arguments.mcp_config is None:
        sys.stderr.write(NOTHING_TO_DO)
        return 2
    problem = _problem(arguments)
    if problem:
        sys.stderr.write(f"toolsearch mcp: {problem}\n")
        return 2
    try:
        return _run(arguments, environment, tls)
    except ImportError as error:
        sys.stderr.write(NOT_INSTALLED.format(error=error))
        return 1
    except ValueError as error:
        sys.stderr.write(f"toolsearch mcp: {error}\n")
        return 2


def _run(arguments: argparse.Namespace, environment: Mapping[str, str], tls: Tls | bool) -> int:
    from toolsearch_server.command_line import parse_address
    from toolsearch_server.facade.settings import EagerPattern, HttpSettings, Settings
    from toolsearch_server.limits import DEFAULT_LIMITS

    http = None
    if arguments.http is not None:
        address = parse_address(arguments.http, "--http")
        http = HttpSettings(address=address, token=_token(arguments.token_file), hosts=tuple(arguments.allow_host))
    settings = Settings(
        target=arguments.target,
        catalog=arguments.catalog,
        tenant=arguments.tenant,
        api_key=environment.get("TOOLSEARCH_API_KEY") or None,
        tls=tls,
        mcp_config=None if arguments.mcp_config is None else Path(arguments.mcp_config),
        destructive=arguments.destructive,
        eager=tuple(map(EagerPattern.parse, arguments.eager)),
        http=http,
        limits=DEFAULT_LIMITS.changed(" ".join(arguments.limit)),
    )
    # Takes a while: only for those who get this far.
    from toolsearch_server.facade import command

    return command.run(settings, environment, arguments.log_level)


def _problem(arguments: argparse.Namespace) -> str:
    """Options that do not go together."""
    if arguments.http is None and (arguments.token_file or arguments.allow_host):
        return "--token-file and --allow-host go with --http"
    if arguments.eager and arguments.mcp_config is None:
        return "--eager goes with --mcp-config: tools that cannot be called cannot be listed as themselves"
    return ""


def _token(path: str | None) -> str | None:
    if path is None:
        return None
    token = Path(path).read_text(encoding="utf-8").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ValueError(f"--token-file {path}: expected one line of printable ASCII characters")
    return token
