"""The commands: each one call, or a few, and what to show of the answer."""

import argparse
import base64
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from toolsearch import types as t
from toolsearch._calls import to_json
from toolsearch.cli import folders
from toolsearch.cli.batches import batches
from toolsearch.cli.files import FileError, LocatedTool, read_tools
from toolsearch.cli.output import Output, Progress, clean
from toolsearch.client import Client
from toolsearch.errors import InvalidRequest

SHOWN_NOTICES = 3

Command = Callable[[Client, argparse.Namespace, Output], int]


def search(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    result = client.search(
        [" ".join(arguments.query), *arguments.also],
        limit=arguments.limit,
        strategy=arguments.strategy,
        filter=entry_filter(arguments),
        detail=t.Detail.FULL if arguments.full else t.Detail.SUMMARY,
        explain=arguments.explain,
        fields=arguments.field,
        case_sensitive=arguments.case_sensitive,
        min_relevance=arguments.min_relevance,
    )
    if arguments.json:
        out.json(result)
        return 0
    for match in result.matches:
        out.line(f"{out.good(f'{match.relevance:.2f}')}  {out.strong(clean(match.name))}")
        for text in filter(None, (clean(match.summary), out.faint(clean(match.reason)))):
            out.line(f"      {text}")
        for part in match.explanation:
            out.line(out.faint(f"      {part.value:8.3f}  {part.name}: {part.detail}"))
        if match.definition is not None:
            out.line(_indented_json(match.definition))
    out.line(out.faint(clean(result.message)))
    return 0


def list_tools(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    entries = client.list_tools(entry_filter(arguments), detail=t.Detail.FULL if arguments.full else t.Detail.SUMMARY)
    if arguments.json:
        for entry in entries:
            out.json(entry)
        return 0
    shown = list(entries)
    out.table([[entry.name, entry.alias, entry.summary] for entry in shown])
    out.line(out.faint(f"{len(shown)} entries"))
    return 0


def namespaces(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    found = list(client.list_namespaces(arguments.parent))
    if arguments.json:
        for namespace in found:
            out.json(namespace)
        return 0
    rows = [[str(space.total_entry_count), "  " * space.name.count(".") + (space.name or "(none)")] for space in found]
    out.table(rows, bold=1, right=(0,))
    return 0


def describe(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    result = client.get_tools(arguments.names)
    if arguments.json:
        out.json(result)
    else:
        for entry in result.entries:
            _describe(entry, out)
    for missing in result.missing:
        near = f"; did you mean {', '.join(missing.near_names)}?" if missing.near_names else ""
        sys.stderr.write(f"toolsearch: there is no {clean(missing.name)}{near}\n")
    return 1 if result.missing else 0


def _describe(entry: t.Entry, out: Output) -> None:
    hints = entry.annotations
    facts = {
        "alias": entry.alias,
        "server": entry.server,
        "called there": entry.local_name,
        "kind": entry.kind.value,
        "tags": ", ".join(entry.tags),
        "capabilities": ", ".join(entry.capabilities),
        "hints": ", ".join(
            name
            for name, holds in (
                ("read-only", hints.read_only),
                ("destructive", hints.destructive),
                ("idempotent", hints.idempotent),
                ("open world", hints.open_world),
            )
            if holds
        ),
        "tokens": f"about {entry.tokens}",
    }
    out.line(out.strong(clean(entry.name)))
    out.table([[f"  {name}", value] for name, value in facts.items() if value])
    out.line()
    for line in entry.description.splitlines():
        out.line(f"  {clean(line)}")
    out.line()
    if entry.definition is not None:
        out.line(_indented_json(entry.definition))
    for resource in entry.resources:
        out.line(f"  {clean(resource.path)}  {resource.size} bytes, {clean(resource.media_type)}")
    out.line()


def _indented_json(definition: object) -> str:
    text = json.dumps(definition, indent=2, ensure_ascii=False)
    # json escapes control characters below 0x20; the rest that a terminal might obey is shown, not sent.
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


def load(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    folders_given = [Path(path).is_dir() for path in arguments.files]
    if all(folders_given):
        return folders.load(client, arguments, out)
    if any(folders_given):
        raise FileError("load takes files of tools or folders of skills, not both at once")
    if arguments.prune:
        raise FileError("--prune is for folders; the command sync does that for a file")
    tools = [tool for path in arguments.files for tool in read_tools(path, arguments.server)]
    progress = Progress(len(tools), "loading")
    added = updated = unchanged = done = 0
    notices: list[t.NameNotice] = []
    version = None
    try:
        for batch in batches(tools, lambda tool: len(to_json(tool.entry.definition))):
            with _located(batch):
                result = client.apply_changes([tool.entry for tool in batch], timeout=arguments.timeout or 60.0)
            added, updated, unchanged = (
                added + len(result.added),
                updated + len(result.updated),
                unchanged + result.unchanged,
            )
            notices += result.notices
            version = result.version
            done += len(batch)
            progress.update(done)
    finally:
        progress.end()
    if arguments.json:
        out.json({"added": added, "updated": updated, "unchanged": unchanged, "notices": notices, "version": version})
        return 0
    _show_notices(notices, out)
    revision = f", revision {version.revision}" if version else ""
    out.line(f"{len(tools)} tools read: {added} added, {updated} updated, {unchanged} unchanged{revision}")
    return 0


def resource(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    content = client.read_resource(arguments.name, arguments.path)
    if arguments.output is not None:
        Path(arguments.output).write_bytes(content)
    elif arguments.json:
        out.json({"name": arguments.name, "path": arguments.path, "content_base64": base64.b64encode(content).decode()})
    else:
        sys.stdout.buffer.write(content)
    return 0


def sync(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    tools = read_tools(arguments.file, arguments.server)
    with _located(tools):
        result = client.sync_server(arguments.server, [tool.entry for tool in tools], timeout=arguments.timeout or 60.0)
    return _show_write(result, arguments, out)


def delete_server(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    return _show_write(client.delete_server(arguments.server), arguments, out)


def delete_catalog(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    if not arguments.yes:
        sys.stderr.write(f"toolsearch: this deletes catalog {client.catalog!r} with everything in it; add --yes\n")
        return 2
    client.delete_catalog()
    if not arguments.json:
        out.line(f"catalog {client.catalog} deleted")
    return 0


def catalog(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    info = client.get_catalog()
    if arguments.json:
        out.json(info)
        return 0
    kinds = ", ".join(f"{count} {kind.value}{'s' if count != 1 else ''}" for kind, count in info.kinds.items())
    out.line(f"{out.strong(clean(info.name))}: {kinds or 'empty'}, about {info.tokens:,} tokens")
    out.line(f"revision {info.version.revision} of epoch {info.version.epoch}, changed {info.updated:%Y-%m-%d %H:%M:%S} UTC")
    if info.servers:
        out.line()
        rows = [[server.server or "(none)", str(server.entry_count), f"{server.tokens:,}"] for server in info.servers]
        out.table([["server", "entries", "tokens"], *rows], right=(1, 2))
    return 0


def catalogs(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    listings = list(client.list_catalogs())
    if arguments.json:
        for listing in listings:
            out.json(listing)
        return 0
    rows = []
    for each in listings:
        changed = f"changed {each.updated:%Y-%m-%d %H:%M:%S} UTC"
        rows.append([each.name, f"{each.entry_count} entries", f"revision {each.version.revision}", changed])
    out.table(rows)
    return 0


def tenants(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    listings = list(client.list_tenants())
    if arguments.json:
        for listing in listings:
            out.json(listing)
        return 0
    out.table([[each.name, f"{each.catalog_count} catalogs", f"{each.entry_count} entries"] for each in listings])
    return 0


def watch(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    for event in client.watch():
        if arguments.json:
            out.json(event)
        else:
            out.line(f"{out.strong(event.kind.value)} revision {event.version.revision}")
            for name in event.upserted:
                out.line(out.good(f"  + {clean(name)}"))
            for name in event.deleted:
                out.line(out.bad(f"  - {clean(name)}"))
        sys.stdout.flush()
    return 0


def _show_write(result: t.WriteResult, arguments: argparse.Namespace, out: Output) -> int:
    if arguments.json:
        out.json(result)
        return 0
    _show_notices(result.notices, out)
    out.line(
        f"{len(result.added)} added, {len(result.updated)} updated, {len(result.deleted)} deleted, "
        f"{result.unchanged} unchanged, revision {result.version.revision}"
    )
    return 0


def _show_notices(notices: Sequence[t.NameNotice], out: Output) -> None:
    for notice in notices[:SHOWN_NOTICES]:
        out.line(out.faint(f"{clean(notice.alias)}: {clean(notice.explanation)}"))
    if len(notices) > SHOWN_NOTICES:
        out.line(out.faint(f"... and {len(notices) - SHOWN_NOTICES} more names with a hash; --json shows them all"))


def entry_filter(arguments: argparse.Namespace) -> t.Filter:
    return t.Filter(
        servers=arguments.server,
        namespaces=arguments.namespace,
        tags=arguments.tag,
        kinds=arguments.kind,
        capabilities=arguments.capability,
        read_only=arguments.read_only,
        destructive=arguments.destructive,
        excluded_names=arguments.exclude,
    )


class _located:  # noqa: N801 used like a function
    """Says where a refused tool stands in its file."""

    def __init__(self, tools: Sequence[LocatedTool]) -> None:
        self._tools = tools

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if not isinstance(error, InvalidRequest):
            return
        place = re.match(r"(?:upserts|entries)\[(\d+)\]", error.field)
        if place:
            raise FileError(f"{self._tools[int(place[1])].where}: {error.message}") from None
