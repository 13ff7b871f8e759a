"""Folders of skills and agents: what `load` does with them."""

import argparse
import glob
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolsearch import types as t
from toolsearch._calls import to_json
from toolsearch.cli.batches import batches
from toolsearch.cli.files import FileError
from toolsearch.cli.output import Output, Progress, clean
from toolsearch.client import Client
from toolsearch.errors import InvalidRequest

if TYPE_CHECKING:  # needs the extra `skills`, which those who load files do not
    from toolsearch.skills import Found, Problem, SkillFolder

DELETES_AT_ONCE = 1_000


@dataclass(slots=True)
class Loaded:
    """What became of one folder."""

    folder: str
    server: str
    found: "list[Found]"
    problems: "list[Problem]"
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unchanged: int = 0
    notices: list[t.NameNotice] = field(default_factory=list)
    version: t.Version | None = None
    not_pruned: str = ""

    def note(self, result: t.WriteResult) -> None:
        self.added += result.added
        self.updated += result.updated
        self.deleted += result.deleted
        self.unchanged += result.unchanged
        self.notices += result.notices
        self.version = result.version

    @property
    def failed(self) -> bool:
        return not self.found or bool(self.not_pruned)

    @property
    def facts(self) -> dict[str, object]:
        return {
            "folder": self.folder,
            "server": self.server,
            "entries": [
                {"kind": each.entry.kind, "name": each.entry.definition["name"], "path": each.path} for each in self.found
            ],
            "problems": self.problems,
            "added": self.added,
            "updated": self.updated,
            "deleted": self.deleted,
            "unchanged": self.unchanged,
            "notices": self.notices,
            "version": self.version,
            "not_pruned": self.not_pruned,
        }


def load(client: Client, arguments: argparse.Namespace, out: Output) -> int:
    if arguments.server is not None and len(arguments.files) > 1:
        raise FileError("--server is the name of one folder, several are given")
    folders = [_read(path) for path in arguments.files]
    loaded = [_load(client, path, folder, arguments) for path, folder in zip(arguments.files, folders, strict=True)]
    for each in loaded:
        if arguments.json:
            out.json(each.facts)
        else:
            _show(each, out)
    return 1 if any(each.failed for each in loaded) else 0


def _read(path: str) -> "SkillFolder":
    try:
        from toolsearch.skills import read_folder
    except ImportError as error:
        raise FileError(f"{path}: {error}") from None
    try:
        return read_folder(Path(path))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None


def _load(client: Client, path: str, folder: "SkillFolder", arguments: argparse.Namespace) -> Loaded:
    server = Path(path).resolve().name if arguments.server is None else arguments.server
    loaded = Loaded(path, server, list(folder.found), list(folder.problems))
    progress = Progress(len(loaded.found), f"loading {clean(path)}")
    done = 0
    try:
        for batch in batches(folder.found, _size):
            _write(client, batch, loaded, arguments.timeout or 60.0)
            done += len(batch)
            progress.update(done)
    finally:
        progress.end()
    if arguments.prune:
        _prune(client, loaded)
    return loaded


def _size(found: "Found") -> int:
    return len(to_json(found.entry.definition)) + sum(len(resource.content) for resource in found.entry.resources)


def _write(client: Client, batch: "list[Found]", loaded: Loaded, timeout: float) -> None:
    """What the service refuses by itself is left out, and the others are written."""
    from toolsearch.skills import Problem

    while batch:
        entries = [replace(each.entry, server=loaded.server) for each in batch]
        try:
            loaded.note(client.apply_changes(entries, timeout=timeout))
        except InvalidRequest as refused:
            place = re.match(r"upserts\[(\d+)\](?!\.server)", refused.field)
            if place is None:
                raise
            left_out = batch.pop(int(place[1]))
            loaded.found.remove(left_out)
            loaded.problems.append(Problem(left_out.path, 1, f"the service refuses it: {refused.message}", "error"))
        else:
            return


def _prune(client: Client, loaded: Loaded) -> None:
    """Delete what the folder does not have any more; nothing while that is not known."""
    broken = sum(problem.level == "error" for problem in loaded.problems)
    if broken or not loaded.found:
        what = f"{broken} files could not be read" if broken else "the folder has no skills and no agents"
        loaded.not_pruned = f"nothing was deleted: {what}"
        return
    kept = {(each.entry.kind, each.entry.definition["name"]) for each in loaded.found}
    listed = client.list_tools(t.Filter(servers=[glob.escape(loaded.server)]), detail=t.Detail.NAME)
    gone = [each.name for each in listed if each.server == loaded.server and (each.kind, each.local_name) not in kept]
    for first in range(0, len(gone), DELETES_AT_ONCE):
        loaded.note(client.apply_changes(deletes=gone[first : first + DELETES_AT_ONCE]))


def _show(loaded: Loaded, out: Output) -> None:
    rows = [[str(each.entry.definition["name"]), str(each.entry.kind), each.path] for each in loaded.found]
    out.table(rows)
    for problem in loaded.problems:
        place = f"{loaded.folder.rstrip('/')}/{problem.path}:{problem.line}"
        sys.stderr.write(f"{clean(place)}: {problem.level}: {clean(problem.message)}\n")
    for notice in loaded.notices:
        out.line(out.faint(f"{clean(notice.alias)}: {clean(notice.explanation)}"))
    if not loaded.found:
        sys.stderr.write(f"toolsearch: {clean(loaded.folder)}: no skills (SKILL.md) and no agents (agents/*.md) to load\n")
    if loaded.not_pruned:
        sys.stderr.write(f"toolsearch: {clean(loaded.folder)}: {loaded.not_pruned}\n")
    revision = f", revision {loaded.version.revision}" if loaded.version else ""
    counts = f"{len(loaded.added)} added, {len(loaded.updated)} updated, {len(loaded.deleted)} deleted"
    out.line(f"{len(loaded.found)} of server {clean(loaded.server)}: {counts}, {loaded.unchanged} unchanged{revision}")
