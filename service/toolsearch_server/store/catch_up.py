"""From entries that were once the newest to those that are."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from toolsearch_server.changes import NO_VERSION, Change, Entries, Version
from toolsearch_server.store import CatalogKey, Store


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The newest entries, and the changes that led there; None if the log did not reach and they were read anew."""

    entries: Entries
    changes: Sequence[tuple[Version, Change]] | None


async def catch_up(store: Store, key: CatalogKey, known: Entries) -> CaughtUp | None:
    """By the log if it reaches, else by a snapshot. None: there is no such catalog."""
    if known.version != NO_VERSION:
        changes = await store.changes_since(key, known.version)
        if changes is not None:
            return CaughtUp(await after_all(known, changes), changes)
    entries = await store.snapshot(key)
    return None if entries is None else CaughtUp(entries, None)


async def after_all(entries: Entries, changes: Sequence[tuple[Version, Change]]) -> Entries:
    """Many changes cost about as much as one."""
    if not changes:
        return entries
    return await asyncio.to_thread(entries.after, Change.joined(change for _, change in changes), changes[-1][0])
