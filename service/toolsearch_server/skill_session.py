"""A folder of skills, followed as an MCP server is: what it has, and when that changed.

Times and sizes are looked at now and then: folders are mounted and come over networks, where notifications of changes are lost.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from toolsearch import EntryInput
from toolsearch._calls import to_json
from toolsearch.skills import SkillLimits, folder_stamp, read_folder
from toolsearch_server.entry import Draft, Kind, Resource, make_draft
from toolsearch_server.errors import ServiceError, shorten
from toolsearch_server.limits import Limits
from toolsearch_server.mcp_config import FolderTransport, ServerSpec
from toolsearch_server.mcp_listing import PROBLEM_LINES, Listing

SCAN_REST = 20
"""A folder is looked at for at most one part of so many of the time."""
SETTLE_SECONDS = 0.1
SETTLE_ROUNDS = 20
"""A folder that is being written to is looked at so often until it rests, then read as it is."""


class FolderSession:
    def __init__(self, spec: ServerSpec, transport: FolderTransport, limits: Limits) -> None:
        self._spec = spec
        self._path = Path(transport.path)
        self._scan_seconds = transport.scan_seconds
        self._limits = limits
        self._skill_limits = replace(
            SkillLimits(),
            definition_bytes=limits.definition_bytes,
            resource_bytes=limits.resource_bytes,
            resources_per_entry=limits.resources_per_entry,
            resource_bytes_per_entry=limits.resource_bytes_per_entry,
            resource_path_length=limits.resource_path_length,
        )
        self._stamp = ""
        self._changed = asyncio.Event()

    @property
    def pending(self) -> bool:
        """Whether something is known to have changed since the last listing."""
        return self._changed.is_set()

    def nudge(self) -> None:
        """As if something had changed."""
        self._changed.set()

    async def changed(self) -> None:
        """Wait until something changed since the last listing. Raises OSError when the folder is gone."""
        took = 0.0
        while not self._changed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(max(self._scan_seconds, SCAN_REST * took)):
                    await self._changed.wait()
            began = time.monotonic()
            if await self._current_stamp() != self._stamp:
                await self._settled()
                self._changed.set()
            took = time.monotonic() - began

    async def list_all(self) -> Listing:
        self._changed.clear()
        # Before it is read: what is written meanwhile makes a difference the next time.
        self._stamp = await self._current_stamp()
        return await asyncio.to_thread(self._listing)

    async def _current_stamp(self) -> str:
        return await asyncio.to_thread(folder_stamp, self._path, self._skill_limits)

    async def _settled(self) -> None:
        before = ""
        for _ in range(SETTLE_ROUNDS):
            found = await self._current_stamp()
            if found == before:
                return
            before = found
            await asyncio.sleep(SETTLE_SECONDS)

    def _listing(self) -> Listing:
        folder = read_folder(self._path, self._skill_limits)
        problems = list(map(str, folder.problems))
        drafts: list[Draft] = []
        contents: dict[str, bytes] = {}
        for found in folder.found:
            if not self._spec.selects(found.entry.definition["name"]):
                continue
            resources = [Resource.of(each.path, each.media_type, each.content) for each in found.entry.resources]
            try:
                drafts.append(self._draft(found.entry, resources))
            except ServiceError as error:
                problems.append(f"{found.path}:1: is left out: {shorten(str(error))}")
                continue
            contents.update((made.digest, each.content) for made, each in zip(resources, found.entry.resources, strict=True))
        more = [f"and {len(problems) - PROBLEM_LINES} more"] if len(problems) > PROBLEM_LINES else []
        return Listing(tuple(drafts), (*problems[:PROBLEM_LINES], *more), contents=contents)

    def _draft(self, entry: EntryInput, resources: list[Resource]) -> Draft:
        # One place is kept for the tag that marks entries of a folder that is away.
        tags = tuple(dict.fromkeys((*self._spec.tags, *entry.tags)))[: self._limits.tags_per_entry - 1]
        return make_draft(
            server=self._spec.name,
            kind=Kind[entry.kind.upper()],
            definition=to_json(entry.definition),
            namespace=entry.namespace,
            tags=tags,
            capabilities=entry.capabilities,
            summary=entry.summary,
            limits=self._limits,
            field="skill",
            resources=resources,
        )


@asynccontextmanager
async def opened(spec: ServerSpec, transport: FolderTransport, limits: Limits) -> AsyncGenerator[FolderSession]:
    """What `connected` is for MCP servers."""
    yield FolderSession(spec, transport, limits)
