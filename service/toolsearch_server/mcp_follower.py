"""Follows one MCP server: connects, lists, writes, waits for changes, and tries again whatever happens."""

import asyncio
import json
import random
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal, Protocol

import structlog

from toolsearch_server.audit import Audit
from toolsearch_server.backoff import backoff
from toolsearch_server.changes import Entries, Outcome, Version, plan_apply, plan_sync
from toolsearch_server.errors import ServiceError, shorten
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.mcp_config import FolderTransport, ServerSpec, WatchLimits
from toolsearch_server.mcp_listing import Listing
from toolsearch_server.mcp_session import connected, describe
from toolsearch_server.metrics import Metrics
from toolsearch_server.skill_session import opened
from toolsearch_server.store import CatalogKey
from toolsearch_server.tracing import NoTracer, Tracer

STALE_TAG = "stale"
JITTER = 0.1
HINTED_RETRY_SECONDS = 0.5
KNOWN_PROBLEMS = 100
"""Sets of problems per server that are remembered, to be logged only once."""

log = structlog.get_logger()

Planner = Callable[[Entries], Outcome]
Connect = Callable[[ServerSpec, WatchLimits, Limits], AbstractAsyncContextManager["Session"]]
State = Literal["waiting for lease", "connecting", "following", "away", "removing"]


class Writer(Protocol):
    async def write(self, key: CatalogKey, plan: Planner, *, expected_revision: int | None) -> tuple[Version, Outcome]: ...


class Session(Protocol):
    """What is followed: an MCP server, or a folder."""

    @property
    def pending(self) -> bool:
        """Whether something changed since the last listing began."""
        ...

    def nudge(self) -> None:
        """As if something had changed."""
        ...

    async def changed(self) -> None:
        """Wait until something changed since the last listing began. Raises if it cannot be followed any more."""
        ...

    async def list_all(self) -> Listing: ...


class Leases(Protocol):
    """Who follows a server when several watchers run."""

    async def acquire(self, name: str, owner: str, seconds: float) -> bool:
        """Whether `owner` has the lease for so long from now on; renews it too."""
        ...

    async def release(self, name: str, owner: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    owner: str = field(default_factory=lambda: secrets.token_hex(8))
    lease_seconds: float = 10.0
    settle_seconds: float = 0.02
    """How long further notifications are waited for before listing again."""
    stale_after: float = 600.0
    """Seconds away until a server's entries are tagged as stale; 0 is never."""
    forget_after: float | None = None
    """Seconds away until a server's entries are removed; None is never."""
    first_retry_seconds: float = 0.5
    last_retry_seconds: float = 60.0
    limits: Limits = DEFAULT_LIMITS
    watch_limits: WatchLimits = field(default_factory=WatchLimits)
    audit: Audit = field(default_factory=Audit)
    metrics: Metrics | None = None
    tracer: Tracer = field(default_factory=NoTracer)
    connect: Connect = connected
    """How a session is begun; whoever wants to use it too puts something around `connected`."""
    told: "Callable[[ServerStatus], None]" = lambda _: None
    """Hears of every listing that was written, and of every failure."""

    def count(self, outcome: str) -> None:
        """A listing that ended so."""
        if self.metrics is not None:
            self.metrics.listed(outcome)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    name: str
    key: CatalogKey
    state: State
    entries: int
    last_listed: datetime | None
    error: str


def plan_stale(current: Entries, server: str, limits: Limits) -> Outcome:
    """Tag all entries of `server`; the next sync takes the tag away, because its drafts do not have it."""
    fresh = [entry.draft for key, entry in current.by_key.items() if key.server == server and STALE_TAG not in entry.draft.tags]
    return plan_apply(current, [replace(draft, tags=(*draft.tags, STALE_TAG)) for draft in fresh], (), limits)


async def write_recorded(writer: Writer, spec: ServerSpec, plan: Planner, settings: WatchSettings) -> Outcome:
    """Write what became of a server's entries, and leave a record of it."""
    record = partial(settings.audit.record, "SyncServer", who="watcher", tenant=spec.tenant, catalog=spec.catalog)
    try:
        with settings.tracer.span("sync mcp server", attributes={"toolsearch.server": spec.name}):
            version, outcome = await writer.write(spec.key, plan, expected_revision=None)
    except ServiceError as error:
        record(outcome=type(error).__name__, facts={"server": spec.name})
        raise
    if outcome.change:
        counts = {"added": len(outcome.added), "updated": len(outcome.updated), "deleted": len(outcome.deleted)}
        record(outcome="OK", facts={"server": spec.name, "revision": version.revision, **counts})
    return outcome


def open_session(spec: ServerSpec, settings: WatchSettings) -> AbstractAsyncContextManager[Session]:
    if isinstance(spec.transport, FolderTransport):
        return opened(spec, spec.transport, settings.limits)
    return settings.connect(spec, settings.watch_limits, settings.limits)


class _LeaseLost(Exception):
    pass


class ServerFollower:
    """Follows one server."""

    def __init__(self, spec: ServerSpec, writer: Writer, leases: Leases | None, settings: WatchSettings) -> None:
        self.spec = spec
        self._writer = writer
        self._leases = leases
        self._settings = settings
        self._log = log.bind(server=spec.name, tenant=spec.tenant, catalog=spec.catalog)
        self._held_until = 0.0
        self._lease_unknown = False
        self._hinted = asyncio.Event()
        self._session: Session | None = None
        self._state: State = "connecting"
        self._entries = 0
        self._last_listed: datetime | None = None
        self._error = ""
        self._known_problems: set[tuple[str, ...]] = set()
        self._away_since: float | None = None
        self._marked_stale = self._forgotten = False

    def status(self) -> ServerStatus:
        return ServerStatus(self.spec.name, self.spec.key, self._state, self._entries, self._last_listed, self._error)

    def hint(self) -> None:
        self._hinted.set()
        if self._session is not None:
            self._session.nudge()

    async def run(self) -> None:
        leases = self._leases
        while leases is not None:
            await self._wait_for_lease(leases)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._renew(leases))
                    group.create_task(self._follow())
            except* _LeaseLost:
                self._log.warning("lease lost, another watcher may follow the mcp server now")
            finally:
                await self._release(leases)
        await self._follow()

    async def remove(self) -> None:
        """The server is not configured any more."""
        self._state = "removing"
        delays = _Delays(self._settings)
        while not await self._write(self._plan(plan_sync, offered=())):  # noqa: ASYNC110 tries again
            await asyncio.sleep(delays.next())

    @property
    def _lease(self) -> str:
        return json.dumps([self.spec.tenant, self.spec.catalog, self.spec.name])

    async def _wait_for_lease(self, leases: Leases) -> None:
        self._state = "waiting for lease"
        while not await self._acquire(leases):  # noqa: ASYNC110 tries again
            await asyncio.sleep(_jittered(self._settings.lease_seconds / 3))

    async def _renew(self, leases: Leases) -> None:
        """Ends with _LeaseLost when the lease is another's, or may be because it could not be renewed in time."""
        while True:
            await asyncio.sleep(self._settings.lease_seconds / 3)
            held_until = self._held_until
            try:
                async with asyncio.timeout(max(0.0, held_until - time.monotonic())):
                    renewed = await self._acquire(leases)
            except TimeoutError:
                renewed = False
            if not renewed and time.monotonic() < held_until and self._lease_unknown:
                continue
            if not renewed:
                raise _LeaseLost

    async def _acquire(self, leases: Leases) -> bool:
        began = time.monotonic()
        self._lease_unknown = False
        try:
            acquired = await leases.acquire(self._lease, self._settings.owner, self._settings.lease_seconds)
        except Exception as error:  # whatever keeps them is away
            self._log.warning("lease not acquired", error=shorten(repr(error)))
            self._lease_unknown = True
            return False
        if acquired:
            self._held_until = began + self._settings.lease_seconds
        return acquired

    async def _release(self, leases: Leases) -> None:
        try:
            async with asyncio.timeout(self._settings.lease_seconds):
                await leases.release(self._lease, self._settings.owner)
        except Exception as error:  # it ends by itself
            self._log.warning("lease not released", error=shorten(repr(error)))

    async def _follow(self) -> None:
        delays = _Delays(self._settings)
        while True:
            self._hinted.clear()
            if self._state == "waiting for lease":
                self._state = "connecting"
            try:
                async with open_session(self.spec, self._settings) as session:
                    self._session = session
                    await self._keep_listing(session, delays)
            except (Exception, BaseExceptionGroup) as error:  # whatever it is, it is tried again
                self._went_away(describe(error, self.spec))
            finally:
                self._session = None
            await self._age()
            delay = delays.next()
            # A hint shortens the wait, but many of them must not start a broken server many times.
            shortest = min(delay, HINTED_RETRY_SECONDS)
            await asyncio.sleep(shortest)
            with suppress(TimeoutError):
                async with asyncio.timeout(delay - shortest):
                    await self._hinted.wait()

    async def _keep_listing(self, session: Session, delays: "_Delays") -> None:
        while True:
            began = time.monotonic()
            ended = await self._list(session, delays)
            await self._something_new(session)
            # A server that notifies all the time is listed at most half of the time.
            await asyncio.sleep(max(self._settings.settle_seconds, 2 * ended - began - time.monotonic()))

    async def _list(self, session: Session, delays: "_Delays") -> float:
        """When the listing ended. Nothing of it is kept once it is written: it may hold many files."""
        listing = await session.list_all()
        ended = time.monotonic()
        delays.reset()
        self._settings.count("listed")
        self._listed(listing)
        await self._store(session, listing)
        self._settings.told(self.status())
        return ended

    async def _something_new(self, session: Session) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_jittered(self.spec.poll_seconds)):
                await session.changed()

    def _listed(self, listing: Listing) -> None:
        if self._state != "following":
            self._log.info("following mcp server", entries=len(listing.drafts))
        self._state, self._error = "following", ""
        self._entries, self._last_listed = len(listing.drafts), datetime.now(UTC)
        self._away_since, self._marked_stale, self._forgotten = None, False, False
        if not listing.problems or listing.problems in self._known_problems:
            return
        if len(self._known_problems) >= KNOWN_PROBLEMS:
            self._known_problems.clear()
        self._known_problems.add(listing.problems)
        self._log.warning("mcp server listed with problems", problems=listing.problems, truncated=listing.truncated)

    async def _store(self, session: Session, listing: Listing) -> None:
        """Write the listing, again if it fails, until there is a newer one to be had."""
        delays = _Delays(self._settings)
        give_up = time.monotonic() + self.spec.poll_seconds
        while not await self._write(self._plan(plan_sync, offered=listing.drafts, contents=listing.contents)):
            await asyncio.sleep(delays.next())
            if session.pending or time.monotonic() > give_up:
                session.nudge()
                return

    def _plan(self, plan: Callable[..., Outcome], **arguments: object) -> Planner:
        return partial(plan, server=self.spec.name, limits=self._settings.limits, **arguments)

    async def _write(self, plan: Planner) -> bool:
        if self._leases is not None and self._state != "removing" and time.monotonic() >= self._held_until:
            # Another watcher may have the lease by now, and have listed later than we did.
            self._log.warning("entries of mcp server not written, the lease has ended")
            return False
        try:
            outcome = await write_recorded(self._writer, self.spec, plan, self._settings)
        except Exception as error:
            text = str(error) if isinstance(error, ServiceError) else repr(error)
            self._log.warning("entries of mcp server not written", error=shorten(text))
            return False
        added, updated, deleted = len(outcome.added), len(outcome.updated), len(outcome.deleted)
        if outcome.change:
            self._log.info("entries of mcp server written", added=added, updated=updated, deleted=deleted)
        return True

    def _went_away(self, error: str) -> None:
        self._settings.count("failed")
        if self._state == "away" and error == self._error:
            self._log.debug("mcp server is still away", error=error)
        else:
            self._log.warning("mcp server is away", error=error)
        self._state, self._error = "away", error
        if self._away_since is None:
            self._away_since = time.monotonic()
        self._settings.told(self.status())

    async def _age(self) -> None:
        """What a server that is away had listed is kept, then tagged as stale, then removed."""
        away = time.monotonic() - (self._away_since or time.monotonic())
        settings = self._settings
        if settings.forget_after is not None and away >= settings.forget_after and not self._forgotten:
            self._forgotten = await self._write(self._plan(plan_sync, offered=()))
        elif settings.stale_after and away >= settings.stale_after and not (self._marked_stale or self._forgotten):
            self._marked_stale = await self._write(self._plan(plan_stale))


class _Delays:
    """Between attempts."""

    def __init__(self, settings: WatchSettings) -> None:
        self._settings = settings
        self._failures = 0

    def reset(self) -> None:
        self._failures = 0

    def next(self) -> float:
        self._failures += 1
        return backoff(self._failures, first=self._settings.first_retry_seconds, last=self._settings.last_retry_seconds)


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 no secret
