"""A channel of Redis that is listened to for ever, and whose messages may be lost."""

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from toolsearch_server.backoff import backoff
from toolsearch_server.store.redis_feed import (
    ANSWER_SECONDS,
    FAILURES,
    FIRST_RETRY_SECONDS,
    LAST_RETRY_SECONDS,
    Nodes,
    heed_cancellation,
)

log = structlog.get_logger()


async def listen(nodes: Nodes, channel: str, hear: Callable[[bytes], None]) -> None:
    failures = 0

    def heard(payload: bytes | None) -> None:
        nonlocal failures
        failures = 0
        if payload is not None:
            hear(payload)

    while True:
        try:
            await _listen_once(nodes, channel, heard)
        except FAILURES as error:
            failures += 1
            log.warning("lost the connection to hints", channel=channel, error=str(error))
        await asyncio.sleep(backoff(max(1, failures), first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))


async def _listen_once(nodes: Nodes, channel: str, heard: Callable[[bytes | None], None]) -> None:
    (host,) = await nodes.locate([channel], afresh=False)
    connection = nodes.connection(host)
    try:
        await connection.connect()
        await connection.send_command("SUBSCRIBE", channel, check_health=False)
        asked = True
        while True:
            reply = await connection.read_response(disable_decoding=True, timeout=ANSWER_SECONDS)
            heed_cancellation()
            if reply is None and asked:
                raise TimeoutError(f"no answer for {ANSWER_SECONDS:g} s")
            asked = reply is None
            if asked:
                await connection.send_command("PING", check_health=False)
            else:
                message = isinstance(reply, list) and reply[0] == b"message"
                heard(reply[2] if message else None)
    finally:
        with contextlib.suppress(*FAILURES):
            await connection.disconnect(nowait=True)
