"""One HTTP request and its answer, as a call's context: what gRPC's own context tells, told from headers."""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from starlette.types import Receive, Scope, Send

from toolsearch_server.auth import AUTHORIZATION_HEADER, TENANT_HEADER
from toolsearch_server.errors import FieldInvalid, LimitExceeded
from toolsearch_server.rpc.calls import MAX_REQUEST_ID_LENGTH, REQUEST_ID_HEADER
from toolsearch_server.tracing import TRACE_HEADER
from toolsearch_server.web.statuses import DEADLINE_EXCEEDED, INVALID_ARGUMENT, Headers, Refused, misdirected, refused

TIMEOUT_HEADER = "x-toolsearch-timeout"
LAST_EVENT_HEADER = "last-event-id"
READ_HEADERS = (AUTHORIZATION_HEADER, TENANT_HEADER, REQUEST_ID_HEADER, TRACE_HEADER, TIMEOUT_HEADER, LAST_EVENT_HEADER)
JSON_TYPE = b"application/json"
BODY_SECONDS = 60.0
"""Within which a body has to arrive."""
LONGEST_TIMEOUT = 24 * 3600.0


_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,30})?")


class Gone(Exception):
    """Nobody is there any more to be answered."""


class Exchange:
    """`begun`: a part of the answer is on its way, so that no other can be given."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._metadata: list[tuple[str, str]] = []
        self._deadline: float | None = None
        self.begun = False
        self.request_id = ""

    def read_headers(self) -> None:
        """Raises Refused if one of them cannot be used."""
        names = {name for name, _ in self._scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            raise misdirected(
                "the body has a length and an encoding: where it ends would be anybody's guess",
                code=INVALID_ARGUMENT,
                headers=[(b"connection", b"close")],
                field="transfer-encoding",
            )
        self._metadata = [
            _pair(name, value) for name, value in self._scope["headers"] if name.decode("latin-1") in READ_HEADERS
        ]
        self.request_id = self.header(REQUEST_ID_HEADER)[:MAX_REQUEST_ID_LENGTH] or secrets.token_hex(8)
        self._metadata.append((REQUEST_ID_HEADER, self.request_id))
        timeout = self.header(TIMEOUT_HEADER)
        if timeout:
            self._deadline = time.monotonic() + _seconds(timeout)

    def header(self, name: str) -> str:
        """Of those that are read; the last where there are several, as in a call's metadata."""
        return dict(self._metadata).get(name, "")

    # What surrounds a call asks for

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return self._metadata

    def time_remaining(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def peer(self) -> str:
        client = self._scope.get("client")
        if client is None:
            return ""
        host, port = client
        return f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}"

    async def abort(self, _code: object, _details: str, trailing_metadata: tuple[tuple[str, bytes], ...], /) -> NoReturn:
        raise Refused(trailing_metadata[0][1])

    # What is read and sent

    async def body(self, most: int) -> bytes:
        """Raises Refused for one that is too large as soon as that is known, and for one that takes too long."""
        declared = _declared_length(self._scope)
        if declared > most:
            raise _too_large(declared, most)
        read = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    read += message.get("body", b"")
                    if len(read) > most:
                        raise _too_large(len(read), most)
                    if not message.get("more_body", False):
                        return bytes(read)
        except TimeoutError:
            raise misdirected("the body took too long to arrive", code=DEADLINE_EXCEEDED, http_status=408) from None

    @asynccontextmanager
    async def within_deadline(self) -> AsyncIterator[None]:
        """What is done meanwhile is cancelled when nobody waits for it any more."""
        try:
            async with asyncio.timeout(self.time_remaining()):
                yield
        except TimeoutError:
            raise misdirected("the answer was not there in time", code=DEADLINE_EXCEEDED, reason="DEADLINE_EXCEEDED") from None

    async def while_connected(self, work: Coroutine[Any, Any, None]) -> None:
        """Only for as long as the caller listens; the body has been read."""
        working = asyncio.create_task(work)
        listening = asyncio.create_task(self._until_gone())
        try:
            await asyncio.wait((working, listening), return_when=asyncio.FIRST_COMPLETED)
        finally:
            listening.cancel()
            working.cancel()
            await asyncio.wait((working, listening))
        if not working.cancelled():
            working.result()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, status: int, body: bytes, content_type: bytes = JSON_TYPE, headers: Headers | None = None) -> None:
        await self.begin(status, content_type, [(b"content-length", str(len(body)).encode()), *(headers or ())])
        await self._send({"type": "http.response.body", "body": body})

    async def begin(self, status: int, content_type: bytes, headers: Headers | None = None) -> None:
        self.begun = True
        known = [(b"content-type", content_type), (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
        if self.request_id:
            known.append((REQUEST_ID_HEADER.encode(), self.request_id.encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": known + (headers or [])})

    async def send(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def refuse(self, refusal: Refused) -> None:
        await self.answer(refusal.http_status, refusal.body, headers=refusal.headers)


def _seconds(text: str) -> float:
    seconds = float(text) if _SECONDS.fullmatch(text) else 0.0
    if not 0 < seconds <= LONGEST_TIMEOUT:
        allowed = f"seconds, more than 0 and at most {LONGEST_TIMEOUT:.0f}"
        raise refused(FieldInvalid(f"{TIMEOUT_HEADER} is no timeout", field=TIMEOUT_HEADER, given=text, allowed=allowed))
    return seconds


def _pair(name: bytes, value: bytes) -> tuple[str, str]:
    key = name.decode("ascii")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise refused(FieldInvalid(f"the header {key} is not UTF-8", field=key, allowed="UTF-8")) from None
    if key == REQUEST_ID_HEADER and not (text.isascii() and text.isprintable()):
        raise refused(FieldInvalid(f"the header {key} is not ASCII", field=key, allowed="printable ASCII characters"))
    return key, text


def _declared_length(scope: Scope) -> int:
    text = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(text)  # uvicorn has refused what is no number


def _too_large(given: int, most: int) -> Refused:
    error = LimitExceeded("the body", given=given, allowed=most, limit="request_bytes", unit="bytes or more")
    return refused(error, http_status=413)
