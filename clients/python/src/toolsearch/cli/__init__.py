"""toolsearch, the command: search and feed catalogs from a terminal or a script."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from toolsearch import types as t
from toolsearch._channel import ClearTextKey, Tls
from toolsearch.cli import commands, facade, planning
from toolsearch.cli.files import FileError
from toolsearch.cli.output import Output
from toolsearch.client import Client
from toolsearch.errors import ToolSearchError

DEFAULT_TARGET = "localhost:50051"
DESCRIPTION = "Find tools for AI agents, and say which tools there are."

EPILOG = """\
examples:
  toolsearch search open a bug report
  toolsearch search --strategy regex '^github\\..*issue'
  toolsearch search --server 'git*' --read-only who changed this file
  toolsearch describe github.open_issue
  toolsearch load tools.jsonl --server github
  toolsearch plan --provider anthropic --model claude-sonnet-5 --config card.yaml
  toolsearch load ~/.claude/skills
  toolsearch --json catalog
  toolsearch mcp --mcp-config mcp-servers.json

environment: TOOLSEARCH_TARGET, TOOLSEARCH_TENANT, TOOLSEARCH_CATALOG give the defaults; TOOLSEARCH_API_KEY says who calls, and
TOOLSEARCH_TLS=1, or TOOLSEARCH_TLS_CA=FILE, that TLS is spoken; NO_COLOR turns colours off
exit codes: 0 done, 1 refused or failed, 2 wrong usage
"""

FILES_HELP = """\
A FILE is an MCP tools/list result, a JSON array of tools, or JSON lines, one tool a line; each tool may say its "server".
"-" is standard input.
"""

LOAD_HELP = (
    FILES_HELP
    + """
A folder is read for skills (a folder with SKILL.md in it, and all files below) and agents (markdown files below a folder named
agents). What is wrong with one is told by file and line; the others are loaded.
"""
)


PLAN_HELP = """\
A configuration, all of it optional:
  tool_search:
    scope: all                  # also the caller's own tools; default mcp
    eager_tools:                # by server, globs on its own names
      github: [create_issue, "list_*"]
    min_tokens: 10000           # search only if all definitions cost more
    min_eager: auto             # keep the three to five that are used most
    execution: provider         # let the provider search; default client

--json prints an object whose "tools" can be sent to the provider as they are.
"""

SETTINGS_HELP = """\
FILE holds all settings, those that it lacks are the defaults:
  {"synonyms": [["k8s", "kubernetes"]], "pinned": ["github.create_issue"], "banned": ["legacy.*"],
   "name_weight": 1, "description_weight": 1, "parameters_weight": 1, "ignore_usage": false}
"""


WRITING = (commands.load, commands.sync, commands.delete_server, planning.settings)


def main(argv: Sequence[str] | None = None) -> None:
    sys.exit(run(sys.argv[1:] if argv is None else argv, os.environ))


def run(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    arguments = _parser(environment).parse_args(argv)
    timeout = 10.0 if arguments.timeout is None else arguments.timeout
    try:
        if arguments.run is None:
            return facade.run(arguments, environment, _tls(arguments))
        with Client(
            arguments.target or DEFAULT_TARGET,
            catalog=arguments.catalog,
            tenant=arguments.tenant,
            api_key=environment.get("TOOLSEARCH_API_KEY") or None,
            tls=_tls(arguments),
            timeout=timeout,
        ) as client:
            command: commands.Command = arguments.run
            code = command(client, arguments, Output())
            if command in WRITING:
                with suppress(ToolSearchError):
                    client.get_settings()  # which waits until what was written is found: the next command may want to find it
            sys.stdout.flush()
            return code
    except (ToolSearchError, FileError) as error:
        sys.stderr.write(f"toolsearch: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except ClearTextKey as error:
        sys.stderr.write(f"toolsearch: {error}\n")
        return 2
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        sys.stderr.write(f"toolsearch: {error.strerror or error}\n")
        return 1
    except UnicodeEncodeError:
        sys.stderr.write("toolsearch: an argument is not UTF-8 text\n")
        return 2


def _tls(arguments: argparse.Namespace) -> Tls | bool:
    if arguments.ca:
        return Tls(ca=Path(arguments.ca).read_bytes())
    return bool(arguments.tls)


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolsearch", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _add_common(
        parser,
        target=environment.get("TOOLSEARCH_TARGET"),
        tenant=environment.get("TOOLSEARCH_TENANT"),
        tls=environment.get("TOOLSEARCH_TLS", "0") not in ("", "0"),
        ca=environment.get("TOOLSEARCH_TLS_CA"),
        catalog=environment.get("TOOLSEARCH_CATALOG", "default"),
        json=False,
        timeout=None,
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: commands.Command, text: str, epilog: str = "") -> argparse.ArgumentParser:
        added = subparsers.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_common(added)
        added.set_defaults(run=run)
        return added

    search = command("search", commands.search, "find the entries that fit a task, a name or a pattern, best first")
    search.add_argument("query", nargs="+", help="what to look for; several words are one query")
    search.add_argument("--also", action="append", default=[], metavar="QUERY", help="another phrasing of the same")
    search.add_argument("--limit", "-n", type=_count, default=5, help="how many to show (default 5, at most 100)")
    search.add_argument("--strategy", choices=[each.value for each in t.Strategy if each.name != "UNKNOWN"], default="auto")
    search.add_argument("--field", action="append", default=[], choices=list(t.SearchField), help="where a regex is matched")
    search.add_argument("--case-sensitive", action="store_true", help="for a regex: mind upper and lower case")
    search.add_argument("--min-relevance", type=float, default=0.0, metavar="0..1", help="leave out what is less relevant")
    search.add_argument("--explain", action="store_true", help="show the parts of each score")
    _add_filter(search)

    listing = command("list", commands.list_tools, "list all entries by name")
    _add_filter(listing)

    tree = command("namespaces", commands.namespaces, "show the namespaces and how many entries they hold")
    tree.add_argument("parent", nargs="?", default="", help="only what is below this one")

    describe = command("describe", commands.describe, "show entries in full")
    describe.add_argument("names", nargs="+", metavar="NAME", help="canonical name or alias")

    plan = command("plan", planning.plan, "decide which tools are loaded up front and which are found by search", PLAN_HELP)
    plan.add_argument("--provider", required=True, help="anthropic, openai, openai-chat; others are planned for as openai-chat")
    plan.add_argument("--model", default="", help="decides whether tools can be deferred")
    plan.add_argument("--config", metavar="FILE", help="the tool_search block, or an agent card with one; YAML or JSON")
    plan.add_argument("--purpose", default="", metavar="TEXT", help="what the conversation is about: what fits it is loaded")
    plan.add_argument("--all", action="store_true", help="show every tool, not only sums by server")
    _add_filter(plan)

    settings = command("settings", planning.settings, "show how the catalog is searched, or set it from a file", SETTINGS_HELP)
    settings.add_argument("file", nargs="?", metavar="FILE", help='JSON; "-" is standard input')

    report = command("report", planning.report, "say that entries were used, so that they come a little earlier")
    report.add_argument("names", nargs="+", metavar="NAME", help="canonical name or alias")
    report.add_argument("--outcome", choices=list(t.UsageOutcome), default="succeeded")
    report.add_argument("--search-id", default="", metavar="ID", help="of the search that found them")

    load = command("load", commands.load, "add or replace the tools in files, or the skills in folders", LOAD_HELP)
    load.add_argument("files", nargs="+", metavar="PATH", help="a file or a folder")
    load.add_argument("--server", help="the server of all tools in the files, whatever they say; of a folder (its name)")
    load.add_argument("--prune", action="store_true", help="of a folder: delete what its server has and the folder has not")

    resource = command("resource", commands.resource, "read a file that comes with an entry")
    resource.add_argument("name", metavar="NAME", help="canonical name or alias of the entry")
    resource.add_argument("path", metavar="PATH", help="of the file, as describe shows it")
    resource.add_argument("--output", "-o", metavar="FILE", help="write it to a file")

    sync = command("sync", commands.sync, "make a file all that one server offers; what is not in it is deleted", FILES_HELP)
    sync.add_argument("--server", required=True)
    sync.add_argument("file", metavar="FILE")

    delete_server = command("delete-server", commands.delete_server, "delete everything that came from one server")
    delete_server.add_argument("server")

    command("catalog", commands.catalog, "show what is in the catalog: counts, revision, tokens")
    command("catalogs", commands.catalogs, "list the tenant's catalogs")
    command("tenants", commands.tenants, "list all tenants, for administrators")
    delete_catalog = command("delete-catalog", commands.delete_catalog, "delete the catalog with everything in it")
    delete_catalog.add_argument("--yes", action="store_true", help="do it")
    command("watch", commands.watch, "show changes as they happen, until interrupted")

    mcp = subparsers.add_parser(
        "mcp",
        help="be one MCP server in front of many, for Claude Code, Cursor and other MCP clients",
        description=facade.DESCRIPTION,
        epilog=facade.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_common(mcp)
    facade.add_options(mcp)
    mcp.set_defaults(run=None)
    return parser


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = -1
    if not 0 <= count < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return count


def _add_common(parser: argparse.ArgumentParser, **defaults: object) -> None:
    """The options that stand before or after the command; the later one counts."""

    def default(name: str) -> object:
        return defaults.get(name, argparse.SUPPRESS)

    group = parser.add_argument_group("connection and output")
    group.add_argument(
        "--target", default=default("target"), metavar="HOST:PORT", help="where the service is (localhost:50051)"
    )
    group.add_argument("--tenant", default=default("tenant"), help="whose catalogs: for administrators, or without credentials")
    group.add_argument("--tls", action="store_true", default=default("tls"), help="speak TLS")
    group.add_argument("--ca", default=default("ca"), metavar="FILE", help="speak TLS; this signed the server's certificate")
    group.add_argument("--catalog", default=default("catalog"), help="which catalog (default)")
    group.add_argument("--json", action="store_true", default=default("json"), help="print JSON")
    group.add_argument("--timeout", type=float, default=default("timeout"), metavar="S", help="seconds to wait for an answer")


def _add_filter(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("filter: only entries for which all of these hold")
    group.add_argument("--server", action="append", default=[], metavar="GLOB", help="from one of these servers")
    group.add_argument("--namespace", action="append", default=[], metavar="NS", help="in or below one of these namespaces")
    group.add_argument("--tag", action="append", default=[], help="with one of these tags")
    group.add_argument("--kind", action="append", default=[], choices=[kind.value for kind in t.Kind if kind.name != "UNKNOWN"])
    group.add_argument("--capability", action="append", default=[], help="with all of these capabilities")
    group.add_argument("--read-only", action=argparse.BooleanOptionalAction, default=None, help="that only read")
    group.add_argument("--destructive", action=argparse.BooleanOptionalAction, default=None, help="that may destroy")
    group.add_argument("--exclude", action="append", default=[], metavar="NAME", help="but not these")
    group.add_argument("--full", action="store_true", help="show whole definitions")
