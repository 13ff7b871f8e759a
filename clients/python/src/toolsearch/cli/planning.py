"""The commands around search: plans, settings of a catalog, reports of usage."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from toolsearch import types as t
from toolsearch.cli.commands import entry_filter
from toolsearch.cli.files import FileError
from toolsearch.cli.output import Output, clean
from toolsearch.client import Client
from toolsearch.tool_search import ConfigError, ToolSearchConfig, load_config

SHOWN_EAGER = 40


def plan(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    made = client.plan_tools(
        arguments.provider,
        arguments.model,
        _config(arguments.config),
        purpose=arguments.purpose,
        filter=entry_filter(arguments),
        payload=arguments.json,
        timeout=arguments.timeout or 60.0,
    )
    if arguments.json:
        shown = {
            each.name: getattr(made, each.name) for each in dataclasses.fields(made) if each.name not in ("payload", "tools")
        }
        out.json({"tools": made.payload, "plan": made.tools} | shown)
    else:
        _show(made, out, everything=arguments.all)
    for warning in made.warnings:
        sys.stderr.write(f"toolsearch: {clean(warning)}\n")
    for pattern in made.unmatched_patterns:
        sys.stderr.write(f"toolsearch: no tool fits eager_tools {clean(pattern)}\n")
    return 0


def _config(path: str | None) -> ToolSearchConfig:
    try:
        return ToolSearchConfig() if path is None else load_config(path)
    except ConfigError as error:
        raise FileError(str(error)) from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None


def _show(made: t.PlanResult, out: Output, *, everything: bool) -> None:
    eager, deferred = made.eager, made.deferred
    listed = eager if everything else eager[:SHOWN_EAGER]
    if listed:
        out.table([["eager", "tokens", "why"], *([tool.name, f"{tool.tokens:,}", tool.reason] for tool in listed)], right=(1,))
    if len(listed) < len(eager):
        out.line(out.faint(f"... and {len(eager) - len(listed)} more; --all shows them"))
    if deferred:
        out.line()
        out.table([["deferred", "tools", "tokens"], *_deferred_rows(deferred, everything=everything)], right=(1, 2))
    out.line()
    saved = made.tokens_before - made.tokens_after
    share = f", {saved * 100 // made.tokens_before}% saved" if saved > 0 else ""
    out.line(f"{len(eager)} eager, {len(deferred)} deferred")
    out.line(f"about {made.tokens_before:,} tokens before, {made.tokens_after:,} after{share}")
    if made.search_tool:
        who = "by the provider" if made.by_provider else "by the caller, with SearchTools"
        out.line(f"search tool {out.strong(clean(made.search_tool))}, carried out {who}")
    else:
        out.line("no search tool is needed")


def _deferred_rows(tools: tuple[t.PlannedTool, ...], *, everything: bool) -> list[list[str]]:
    if everything:
        return [[tool.name, "1", f"{tool.tokens:,}"] for tool in tools]
    servers: dict[str, list[t.PlannedTool]] = {}
    for tool in tools:
        servers.setdefault(tool.server, []).append(tool)
    ordered = sorted(servers.items(), key=lambda item: -sum(tool.tokens for tool in item[1]))
    return [[name or "(none)", str(len(own)), f"{sum(tool.tokens for tool in own):,}"] for name, own in ordered]


def settings(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    if arguments.file is None:
        out.json(client.get_settings())
        return 0
    try:
        result = client.update_settings(_settings(arguments.file))
    except TypeError as error:
        raise FileError(f"{arguments.file}: {error}") from None
    out.line(f"settings are in force, revision {result.version.revision}")
    return 0


def _settings(path: str) -> t.CatalogSettings:
    try:
        given = json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise FileError(f"{path} is not JSON: {error}") from None
    known = [each.name for each in dataclasses.fields(t.CatalogSettings)]
    if not isinstance(given, dict) or (unknown := given.keys() - known):
        what = "not an object" if not isinstance(given, dict) else f"unknown keys {', '.join(sorted(unknown))}"
        raise FileError(f"{path}: {what}, allowed is an object with {', '.join(known)}")
    return t.CatalogSettings(**given)


def report(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    reports = [t.UsageReport(name, arguments.outcome, arguments.search_id) for name in arguments.names]
    unknown = client.report_usage(reports)
    if arguments.json:
        out.json({"accepted": len(reports) - len(unknown), "unknown": unknown})
    for name in unknown:
        sys.stderr.write(f"toolsearch: there is no {clean(name)}\n")
    return 1 if unknown else 0
