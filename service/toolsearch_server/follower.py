"""Keeps loaded catalogs at what the store has, where others write to the store too.

Announcements are hints. Whenever one may have been missed (at every subscription, when a catalog was just loaded, when
revisions do not follow on each other, when an announcement cannot be read) the store is asked; and now and then for no reason.
"""

import asyncio
import random
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field

import structlog

from toolsearch_server.backoff import backoff
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import Version
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.metrics import Metrics
from toolsearch_server.store import Announced, CatalogKey, Disturbed, News, SharedStore, Subscribed, Unsubscribed

POLL_SECONDS = 10.0
"""A loss that nothing else shows is found after so long."""
INBOX_ANNOUNCEMENTS = 1_000
"""More than so many that wait for one catalog are dropped: the log has them."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.05, 5.0
LOOKS_AT_ONCE = 16
"""Catalogs that are compared with the store at the same time: each takes a connection."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Inbox:
    """What is known and not yet done about one loaded catalog."""

    announced: list[Announced] = field(default_factory=list)
    look: bool = True
    subscribed: bool = False
    task: asyncio.Task[None] | None = None


class Follower:
    def __init__(
        self, store: SharedStore, catalogs: Catalogs, *, poll_seconds: float = POLL_SECONDS, metrics: Metrics | None = None
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._catalogs = catalogs
        self._poll_seconds = poll_seconds
        self._inboxes: dict[CatalogKey, _Inbox] = {}
        self._looking = asyncio.Semaphore(LOOKS_AT_ONCE)
        self.disturbances: Counter[str] = Counter()
        catalogs.observer = self

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._store.feed.run(self._hear))
                tasks.create_task(self._poll())
        finally:
            for inbox in self._inboxes.values():
                if inbox.task is not None:
                    inbox.task.cancel()
                    inbox.task, inbox.look = None, True

    def opened(self, key: CatalogKey) -> None:
        """What was written between the reading of the catalog and now was announced to nobody: look."""
        self._inboxes[key] = _Inbox()
        self._store.feed.follow(key)
        self._stir(key)

    def closed(self, key: CatalogKey) -> None:
        self._inboxes.pop(key, None)
        self._store.feed.unfollow(key)

    def doubt(self, key: CatalogKey) -> None:
        inbox = self._inboxes.get(key)
        if inbox is not None:
            inbox.look = True
            self._stir(key)

    def _hear(self, news: News) -> None:
        inbox = self._inboxes.get(news.key)
        if inbox is None:
            return
        match news:
            case Announced():
                inbox.announced.append(news)
                if len(inbox.announced) > INBOX_ANNOUNCEMENTS:
                    inbox.announced.clear()
                    inbox.look = True
            case Subscribed():
                inbox.subscribed = inbox.look = True
            case Unsubscribed():
                inbox.subscribed = False
                self._catalogs.doubt(news.key, news.heard)
                return
            case Disturbed():
                self._count(news.cause.partition(":")[0])
                log.info("a catalog is to be looked at again", catalog=news.key.catalog, cause=news.cause)
                inbox.look = True
        self._stir(news.key)

    def _count(self, cause: str) -> None:
        self.disturbances[cause] += 1
        if self._metrics is not None:
            self._metrics.disturbed(cause)

    def _stir(self, key: CatalogKey) -> None:
        inbox = self._inboxes[key]
        if inbox.task is None:
            inbox.task = asyncio.create_task(self._work(key, inbox))

    async def _work(self, key: CatalogKey, inbox: _Inbox) -> None:
        """Everything that has come so far at a time, until nothing has: a burst costs few rounds."""
        failures = 0
        try:
            while (inbox.announced or inbox.look) and self._inboxes.get(key) is inbox:
                announced, inbox.announced = inbox.announced, []
                look, inbox.look = inbox.look, False
                subscribed = inbox.subscribed
                try:
                    async with self._looking if look else nullcontext():
                        await self._catalogs.take_in(key, announced, look=look)
                except Exception as error:
                    failures += 1
                    inbox.look = True
                    expected = isinstance(error, StoreUnavailable)
                    log.warning("cannot catch up", catalog=key.catalog, error=str(error), exc_info=not expected)
                    await asyncio.sleep(backoff(failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))
                    continue
                failures = 0
                if look:
                    self._catalogs.confirm(key, followed=subscribed and inbox.subscribed)
        finally:
            inbox.task = None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds * random.uniform(0.9, 1.1))  # noqa: S311 not a secret
            held = {key: catalog.entries.version for key, catalog in self._catalogs.loaded.items()}
            try:
                found = await self._store.versions(list(held))
            except StoreUnavailable as error:
                log.warning("cannot compare revisions with the store", error=str(error))
                continue
            for (key, version), actual in zip(held.items(), found, strict=True):
                if not _same(version, actual):
                    self.doubt(key)
                elif key in self._inboxes:
                    self._catalogs.confirm(key, followed=self._inboxes[key].subscribed)


def _same(held: Version, actual: Version | None) -> bool:
    return held == actual and actual is not None and held.id == actual.id
