"""uvicorn inside our event loop, on a port that is bound at once."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolsearch_server.config import Address

HEAD_SECONDS = 10.0
"""Within which the head of a request has to arrive. uvicorn itself would wait for ever."""
READ_SECONDS = 30.0
READ_BYTES = 64 * 1024
"""So much of an answer that waits has to be taken in that time: it is in memory, and its call is not counted any more."""


class HttpServer(uvicorn.Server):
    """Signals are the program's."""

    def __init__(self, app: ASGIApp, address: Address, tls: ssl.SSLContext | None = None) -> None:
        """Raises OSError when the port cannot be bound."""
        config = uvicorn.Config(
            app,
            http=ImpatientProtocol,
            ws="none",
            log_config=None,
            log_level="error",  # warnings are of what callers do
            access_log=False,
            lifespan="off",
            proxy_headers=False,  # anybody can write them
            server_header=False,
            reset_contextvars=True,
        )
        config.load()
        config.ssl = tls
        super().__init__(config)
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._socket = socket.create_server(address, family=family)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    async def run_until_stopped(self) -> None:
        await self.serve(sockets=[self._socket])

    def stop(self, grace: float | None = None) -> None:
        """Answers under way have `grace` seconds to end, or as long as they take. What is said first counts."""
        if not self.should_exit:
            self.config.timeout_graceful_shutdown = grace  # type: ignore[assignment]  # fractions are fine
            self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ImpatientProtocol(H11Protocol):
    """Closes connections on which a head takes too long, or the rest of a body that was answered before it was there, or
    whose answer nobody reads."""

    _patience: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE:
            self._await_head()
        else:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._forget_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        self._forget_reading()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's own fails where an answer has begun, or is complete while the rest of the body turns out to be none."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _await_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _forget(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _await_reading(self) -> None:
        self._forget_reading()
        unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(READ_SECONDS, self._look_at_reading, unread)

    def _forget_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _look_at_reading(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() > unread - READ_BYTES:
            self.transport.abort()  # to close it would be to wait for the reader
        else:
            self._await_reading()

    def _give_up(self) -> None:
        self._patience = None
        self.transport.close()
