"""Announcements of catalogs in Redis: who is subscribed where, and what arrives.

One connection per Redis node that announces anything we follow: one in all, except with a Cluster, where each node announces
the catalogs of its own slots. The connections are plain ones: redis-py's own PubSub takes a lost connection up again without a
word, and what was published meanwhile would be missed unnoticed.
"""

import asyncio
import contextlib
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import redis.exceptions
import structlog

from toolsearch_server.backoff import backoff
from toolsearch_server.store import CatalogKey, News, Subscribed, Unsubscribed
from toolsearch_server.store.location import Host
from toolsearch_server.store.records import decode_announcement
from toolsearch_server.store.redis_keys import Keys

QUIET_SECONDS = 2.0
"""After so long without a word we ask whether the connection is alive..."""
ANSWER_SECONDS = 3.0
"""...and give it up after so long without an answer."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.05, 5.0
CHANNELS_AT_ONCE = 500

FAILURES = (redis.exceptions.RedisError, redis.exceptions.RedisClusterException, OSError, TimeoutError)

log = structlog.get_logger()

Hear = Callable[[News], None]


class Nodes(Protocol):
    async def are_sharded(self) -> bool:
        """Whether a node announces only what it holds itself."""
        ...

    async def locate(self, channels: Sequence[str], *, afresh: bool) -> list[Host]:
        """Where each channel is announced; `afresh`: what was known of that is wrong."""
        ...

    def connection(self, host: Host) -> Any: ...


class RedisFeed:
    def __init__(self, keys: Keys, nodes: Nodes) -> None:
        self._keys = keys
        self._nodes = nodes
        self._wanted: set[CatalogKey] = set()
        self._lines: dict[Host, _Line] = {}
        self._homeless: set[CatalogKey] = set()
        self._stir = asyncio.Event()
        self._failures = 0
        self._hear: Hear = lambda _: None

    def follow(self, key: CatalogKey) -> None:
        if key not in self._wanted:
            self._wanted.add(key)
            self._homeless.add(key)
            self._stir.set()

    def unfollow(self, key: CatalogKey) -> None:
        self._wanted.discard(key)
        self._homeless.discard(key)
        for line in self._lines.values():
            line.leave(key)

    async def run(self, hear: Hear) -> None:
        self._hear = hear
        # From the beginning: of an earlier run that failed nothing is left.
        self._lines.clear()
        self._homeless = set(self._wanted)
        self._stir.set()
        async with asyncio.TaskGroup() as lines:
            while True:
                await self._stir.wait()
                self._stir.clear()
                await self._settle(lines)

    async def _settle(self, lines: asyncio.TaskGroup) -> None:
        """Subscribe whatever has no line yet, for as long as it takes."""
        while self._homeless:
            if self._failures:
                await asyncio.sleep(backoff(self._failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))
            keys = list(self._homeless)
            try:
                sharded = await self._nodes.are_sharded()
                hosts = await self._nodes.locate([self._keys.channel(key) for key in keys], afresh=self._failures > 0)
                heed_cancellation()
            except FAILURES as error:
                self._failures += 1
                log.warning("cannot subscribe to changes, trying again", error=str(error), failures=self._failures)
                continue
            for key, host in zip(keys, hosts, strict=True):
                if key not in self._homeless:
                    continue
                self._homeless.discard(key)
                line = self._lines.get(host)
                if line is None:
                    line = self._lines[host] = _Line(
                        self._keys, self._nodes.connection(host), host, self._hear_line, sharded=sharded
                    )
                    lines.create_task(self._keep(line))
                line.join(key)

    async def _keep(self, line: "_Line") -> None:
        try:
            await line.run()
        except* FAILURES as errors:
            self._failures += 1
            log.warning(
                "lost the connection to changes", host=line.host.host, port=line.host.port, error=str(errors.exceptions[0])
            )
        finally:
            if self._lines.get(line.host) is line:
                del self._lines[line.host]
            self._homeless |= line.keys & self._wanted
            self._stir.set()
            for key in line.keys:
                self._hear(Unsubscribed(key, line.heard))

    def _hear_line(self, news: News) -> None:
        if isinstance(news, Subscribed):
            self._failures = 0
        elif isinstance(news, Unsubscribed) and news.key in self._wanted:
            # The node says that it does not announce this catalog any more: its slot has moved.
            self._homeless.add(news.key)
            self._failures = max(1, self._failures)
            self._stir.set()
        self._hear(news)


def heed_cancellation() -> None:
    """Raises CancelledError if the running task was cancelled and has not noticed.

    redis-py waits with asyncio.wait_for, which on Python 3.11 forgets a cancellation that comes just as the wait ends. Without
    this, a loop of commands would then go on for ever, and whoever waits for its end would, too.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class _Line:
    """One connection and what is subscribed on it. Lives until something goes wrong."""

    def __init__(self, keys: Keys, connection: Any, host: Host, hear: Hear, *, sharded: bool) -> None:
        self.host = host
        self.keys: set[CatalogKey] = set()
        self.heard = time.monotonic()
        self._names = keys
        self._connection = connection
        self._sharded = sharded
        self._verb = "SSUBSCRIBE" if sharded else "SUBSCRIBE"
        self._unverb = "SUNSUBSCRIBE" if sharded else "UNSUBSCRIBE"
        self._hear = hear
        self._by_channel: dict[bytes, CatalogKey] = {}
        self._leaving: Counter[bytes] = Counter()
        self._outbox: deque[tuple[str, str]] = deque()
        self._outgoing = asyncio.Event()

    def join(self, key: CatalogKey) -> None:
        self.keys.add(key)
        channel = self._names.channel(key)
        self._by_channel[channel.encode()] = key
        self._post(self._verb, channel)

    def leave(self, key: CatalogKey) -> None:
        if key in self.keys:
            self.keys.discard(key)
            channel = self._names.channel(key)
            del self._by_channel[channel.encode()]
            self._leaving[channel.encode()] += 1
            self._post(self._unverb, channel)

    def _post(self, verb: str, channel: str) -> None:
        self._outbox.append((verb, channel))
        self._outgoing.set()

    async def run(self) -> None:
        try:
            await self._connection.connect()
            heed_cancellation()
            self.heard = time.monotonic()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send())
                tasks.create_task(self._watch_pulse())
                tasks.create_task(self._read())
        finally:
            with contextlib.suppress(*FAILURES):
                await self._connection.disconnect(nowait=True)

    async def _send(self) -> None:
        """Commands in the order in which they were given, many channels in one where all are on this node."""
        most = 1 if self._sharded else CHANNELS_AT_ONCE
        while True:
            await self._outgoing.wait()
            self._outgoing.clear()
            while self._outbox:
                verb = self._outbox[0][0]
                channels: list[str] = []
                while self._outbox and self._outbox[0][0] == verb and len(channels) < most:
                    channels.append(self._outbox.popleft()[1])
                await self._connection.send_command(verb, *channels, check_health=False)
                heed_cancellation()

    async def _watch_pulse(self) -> None:
        while True:
            await asyncio.sleep(max(0.01, self.heard + QUIET_SECONDS - time.monotonic()))
            asked = time.monotonic()
            if asked - self.heard < QUIET_SECONDS:
                continue
            await self._connection.send_command("PING", check_health=False)
            heed_cancellation()
            await asyncio.sleep(ANSWER_SECONDS)
            if self.heard < asked:
                raise TimeoutError(f"no answer for {QUIET_SECONDS + ANSWER_SECONDS:g} s")

    async def _read(self) -> None:
        while True:
            reply = await self._connection.read_response(disable_decoding=True, timeout=math.inf)
            heed_cancellation()
            self.heard = time.monotonic()
            if not isinstance(reply, list) or len(reply) < 3:
                continue
            kind, channel, content = reply[0], reply[1], reply[2]
            if kind in (b"unsubscribe", b"sunsubscribe") and self._leaving[channel]:
                self._leaving[channel] -= 1
                continue
            key = self._by_channel.get(channel)
            if key is None:
                continue
            if kind in (b"message", b"smessage"):
                self._hear(decode_announcement(key, content))
            elif kind in (b"subscribe", b"ssubscribe"):
                self._hear(Subscribed(key))
            elif kind in (b"unsubscribe", b"sunsubscribe"):
                self.keys.discard(key)
                del self._by_channel[channel]
                self._hear(Unsubscribed(key, self.heard))
