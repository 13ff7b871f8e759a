"""Streams as Server-Sent Events: one message in each, and a comment now and then, so that nobody in between thinks it over."""

import asyncio
import contextlib
from collections.abc import Callable
from types import TracebackType

from google.protobuf.message import Message

from toolsearch.v1.search_service_pb2 import WatchCatalogRequest, WatchCatalogResponse
from toolsearch_server.errors import FieldInvalid
from toolsearch_server.web.exchange import LAST_EVENT_HEADER, Exchange
from toolsearch_server.web.messages import as_json
from toolsearch_server.web.statuses import Refused

EVENTS_TYPE = b"text/event-stream"
KEEP_ALIVE_SECONDS = 15.0
LARGEST_REVISION = 2**63 - 1


class EventStream:
    """A refusal is an answer of its own while nothing was sent, and an event at the end afterwards."""

    def __init__(self, exchange: Exchange, keep_alive: float) -> None:
        self._exchange = exchange
        self._keep_alive = keep_alive

    async def __aenter__(self) -> "EventStream":
        self._reminders = asyncio.create_task(self._remind())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._reminders.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reminders
        if isinstance(error, Refused) and self._exchange.begun:
            await self._send(b"event: error\n", error.body)
        elif error is not None:
            return False
        await self._begin()
        await self._exchange.end()
        return True

    async def send(self, message: Message) -> None:
        place = b""
        if isinstance(message, WatchCatalogResponse):
            place = f"id: {message.version.epoch}:{message.version.revision}\n".encode()
        await self._send(place, as_json(message))

    async def _send(self, head: bytes, data: bytes) -> None:
        await self._begin()
        await self._exchange.send(head + b"data: " + data + b"\n\n")

    async def _begin(self) -> None:
        if not self._exchange.begun:
            await self._exchange.begin(200, EVENTS_TYPE)

    async def _remind(self) -> None:
        while True:
            await asyncio.sleep(self._keep_alive)
            await self._begin()
            await self._exchange.send(b": still here\n\n")


def resumed(decode: Callable[[bytes], Message], last: str, data: bytes) -> Message:
    """A WatchCatalogRequest that goes on after the event with the id `last`, whatever else it says of where to begin."""
    request = decode(data)
    assert isinstance(request, WatchCatalogRequest)
    epoch, _, revision = last.rpartition(":")
    number = int(revision) if revision.isascii() and revision.isdecimal() and len(revision) < 20 else LARGEST_REVISION + 1
    if not epoch or number > LARGEST_REVISION:
        raise FieldInvalid(
            f"{LAST_EVENT_HEADER} is not the id of an event", field=LAST_EVENT_HEADER, given=last, allowed="EPOCH:REVISION"
        )
    request.epoch, request.from_revision = epoch, number
    return request
