"""A service inside this process, for those who run none: on a socket in a private folder, with a store in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from toolsearch_server.config import Config, UnixAddress
from toolsearch_server.limits import Limits
from toolsearch_server.server import Server
from toolsearch_server.store.location import SqliteLocation


@asynccontextmanager
async def embedded(limits: Limits) -> AsyncIterator[Server]:
    # The folder is its owner's alone: a port of loopback would be open to everybody on the machine.
    with TemporaryDirectory(prefix="toolsearch-") as folder:
        listen = UnixAddress(Path(folder) / "service")
        server = Server(Config(listen=listen, store=SqliteLocation(None), limits=limits, drain_grace=0.0))
        await server.start()
        try:
            yield server
        finally:
            await server.drain(0.0)
