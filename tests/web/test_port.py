"""The port itself: connections that take their time."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send

from toolsearch_server.config import Address
from toolsearch_server.web import port
from toolsearch_server.web.port import HttpServer


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers at once, whatever is still to come."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    if scope["path"] == "/begun":
        await send({"type": "http.response.body", "body": b"o", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
async def address(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Address]:
    monkeypatch.setattr(port, "HEAD_SECONDS", 0.2)
    server = HttpServer(application, Address("127.0.0.1", 0))
    running = asyncio.create_task(server.run_until_stopped())
    yield Address("127.0.0.1", server.port)
    server.stop(0.0)
    await running


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nhost: x\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HT",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc",
    ],
    ids=["nothing", "half a head", "half a second head", "half a body that nobody waits for"],
)
async def test_a_connection_that_says_too_little_is_closed(address: Address, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(sent)
    async with asyncio.timeout(20):
        await reader.read()
    writer.close()


@pytest.mark.parametrize("path", [b"/", b"/begun"])
async def test_a_body_that_turns_out_to_be_none_closes_the_connection_and_is_no_failure(address: Address, path: bytes) -> None:
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"POST %s HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" % path)
    async with asyncio.timeout(20):
        assert await reader.read(12) == b"HTTP/1.1 200"
        writer.write(b"no chunk\r\n")
        await reader.read()
    writer.close()
    assert failures == []


async def test_bytes_that_trickle_in_do_not_keep_a_connection_open(address: Address) -> None:
    reader, writer = await asyncio.open_connection(*address)

    async def trickle() -> None:
        writer.write(b"GET / HTTP/1.1\r\n")
        while not writer.is_closing():
            writer.write(b"x: y\r\n")
            await asyncio.sleep(0.02)

    trickling = asyncio.create_task(trickle())
    async with asyncio.timeout(20):
        assert await reader.read() == b""
    trickling.cancel()
    writer.close()


async def test_an_answer_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "HEAD_SECONDS", 0.05)

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.3)
        await application(scope, receive, send)

    server = HttpServer(slow, Address("127.0.0.1", 0))
    running = asyncio.create_task(server.run_until_stopped())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    async with asyncio.timeout(20):
        assert (await reader.read()).endswith(b"ok")
    writer.close()
    server.stop(0.0)
    await running


@pytest.mark.parametrize("reads", [False, True])
async def test_an_answer_waits_for_who_reads_it_and_for_nobody_else(monkeypatch: pytest.MonkeyPatch, reads: bool) -> None:
    monkeypatch.setattr(port, "READ_SECONDS", 0.2)
    size = 20_000_000
    given_up = asyncio.Event()

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
        await send({"type": "http.response.body", "body": bytes(size), "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        given_up.set()

    server = HttpServer(large, Address("127.0.0.1", 0))
    running = asyncio.create_task(server.run_until_stopped())
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(connection, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(20):
            if reads:
                taken = 0
                while taken < size:
                    taken += len(await loop.sock_recv(connection, 200_000))
                    await asyncio.sleep(0.005)  # for longer than READ_SECONDS in all
                assert not given_up.is_set()
            else:
                await given_up.wait()
    server.stop(0.0)
    await running
