"""Files that are read again when they change: settings that take effect without a restart."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

POLL_SECONDS = 1.0

Stamp = tuple[int, ...] | None


def stamp(path: Path) -> Stamp:
    """Tells one content from another, of what the path leads to: a Kubernetes Secret is replaced by turning a link."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


async def changes(path: Path, known: Stamp, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[None]:
    """Each time that the file is not any more what it was when it was `known`. The caller reads it then."""
    while True:
        # Before it is read: what is written meanwhile makes a difference the next time.
        found = await asyncio.to_thread(stamp, path)
        if found != known:
            known = found
            yield
        await asyncio.sleep(poll_seconds)
