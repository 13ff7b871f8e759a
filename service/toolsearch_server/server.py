"""The composition root: what is built from what, when it is ready, and in which order it stops."""

import asyncio
import contextlib
import os
import shutil
import signal
import ssl
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata as distribution
from pathlib import Path

import grpc
import structlog
from grpc_health.v1.health import SERVICE_NAME as HEALTH_SERVICE
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection

from toolsearch_server.admission import Admission
from toolsearch_server.audit import Audit
from toolsearch_server.auth import DEFAULT_TENANT, Identity
from toolsearch_server.backoff import backoff
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.config import Address, Config, Observing, UnixAddress
from toolsearch_server.embedders import Embedder, EmbedderOpenError
from toolsearch_server.embedders.choice import Choice
from toolsearch_server.embedders.opening import open_embedder
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.follower import Follower
from toolsearch_server.identity import IdentityError, Work, open_identity
from toolsearch_server.limits import Limits
from toolsearch_server.metrics import Metrics
from toolsearch_server.rpc import catalog_service, search_service
from toolsearch_server.rpc.calls import Edge, service_handler
from toolsearch_server.rpc.health import Health
from toolsearch_server.rpc.requests import DEFAULT_CATALOG
from toolsearch_server.rpc.tls import TlsError, server_context, server_credentials
from toolsearch_server.sample import load_sample
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.opening import open_store
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.sqlite import SqliteStore
from toolsearch_server.tracing import NoTracer, Tracer, open_tracer
from toolsearch_server.turns import Processor
from toolsearch_server.web import openapi, probes, replica
from toolsearch_server.web.access import why_closed
from toolsearch_server.web.application import Application, Door, application
from toolsearch_server.web.json_api import JsonApi, Services
from toolsearch_server.web.port import HttpServer
from toolsearch_server.web.recent import Recent

log = structlog.get_logger()

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.1, 5.0
STREAMS_PER_CONNECTION = 1_000
"""What arrives is kept in memory until it is complete, before anybody knows who sends it."""

SERVICES = (search_service.SERVICE.full_name, catalog_service.SERVICE.full_name)


class StartError(Exception):
    """The server could not start; the message tells an operator why."""


@dataclass(frozen=True, slots=True)
class Observers:
    """What is told of the service, beside its log."""

    metrics: Metrics
    audit: Audit
    tracer: Tracer

    @classmethod
    def open(cls, settings: Observing, limits: Limits, role: str) -> "Observers":
        version = distribution.version("toolsearch-server")
        metrics = Metrics(version=version, tenant_labels=limits.tenant_labels, role=role)
        try:
            audit = Audit(settings.audit_log)
        except OSError as error:
            raise StartError(f"--audit-log {settings.audit_log}: {error.strerror}") from None
        if settings.otlp is None:
            return cls(metrics, audit, NoTracer())
        try:
            return cls(metrics, audit, open_tracer(settings.otlp, version=version))
        except ImportError as error:
            raise StartError(f"--otlp: install toolsearch-server[tracing] to send traces ({error})") from error

    async def close(self) -> None:
        await asyncio.to_thread(self.tracer.close)
        self.audit.close()


class Server:
    """A running service. `start`, then `drain` or `stop`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._limits = config.limits
        self._observers = Observers.open(config.observing, config.limits, "serve")
        self._processor = Processor()
        self._health = Health(("", *SERVICES))
        self._cleanup = contextlib.AsyncExitStack()
        self._grpc: grpc.aio.Server | None = None
        self._http: HttpServer | None = None
        self._catalogs: Catalogs | None = None
        self._ready = False
        self.address: Address | UnixAddress = config.listen
        self.http_address = config.http
        self.console_url = ""
        self.sample_entries = 0

    @property
    def catalogs(self) -> Catalogs:
        """Of a started server."""
        assert self._catalogs is not None
        return self._catalogs

    async def start(self) -> None:
        """Open the store, then the port, then say SERVING. What was begun is undone if any of it fails.

        A shared store is waited for with the port open: alive, but not ready.
        """
        metrics, tracer = self._observers.metrics, self._observers.tracer
        try:
            self._cleanup.push_async_callback(self._observers.close)
            self._processor.serve_loop()
            self._cleanup.callback(self._processor.close)
            identity = await self._open_identity()
            store = await open_store(self._config.store, self._limits)
            store.failed = metrics.store_failed
            self._cleanup.push_async_callback(store.close)
            embedder = await asyncio.to_thread(_embedder, self._config.embeddings)
            catalogs = Catalogs(
                store,
                limits=self._limits,
                idle_seconds=self._config.idle_seconds,
                embedder=embedder,
                processor=self._processor,
                metrics=metrics,
                tracer=tracer,
            )
            self._catalogs = catalogs
            metrics.watch_catalogs(catalogs.figures)
            metrics.watch_work(self._processor.figures)
            self._cleanup.push_async_callback(catalogs.close)
            if catalogs.embeddings is not None:
                catalogs.embeddings.begin()
            self._background(catalogs.run_evictions)
            self._background(catalogs.usage.run)
            if isinstance(store, RedisStore):
                self._background(Follower(store, catalogs, poll_seconds=self._config.poll_seconds, metrics=metrics).run)
            edge = self._edge(identity)
            services: Services = (
                (search_service.SERVICE, search_service.ToolSearchService(catalogs, self._limits, tracer).methods),
                (catalog_service.SERVICE, catalog_service.CatalogService(catalogs, self._limits, edge.audit).methods),
            )
            await self._open_port(services, edge)
            if self._config.http is not None:
                await self._open_http(self._config.http, self._api(catalogs, services, edge, by_meaning=embedder is not None))
            if self._config.mcp_config is not None:
                self._background(_follow_servers(self._config.mcp_config, store, catalogs, self._config, self._observers))
            if isinstance(store, RedisStore):
                self._background(partial(self._await_store, store, catalogs))
            else:
                await self._become_ready(catalogs)
        except BaseException:
            await self._cleanup.aclose()
            raise

    async def _open_identity(self) -> Identity:
        try:
            identity, works = await open_identity(self._config)
        except IdentityError as error:
            raise StartError(str(error)) from None
        for work in works:
            self._background(work)
        return identity

    async def _await_store(self, store: RedisStore, catalogs: Catalogs) -> None:
        failures = 0
        while not self._ready:
            try:
                await store.ping()
                await self._become_ready(catalogs)
            except StoreUnavailable as error:
                failures += 1
                log.warning("waiting for the store", store=str(self._config.store), error=str(error))
                await asyncio.sleep(backoff(failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))

    async def _become_ready(self, catalogs: Catalogs) -> None:
        if self._config.sample:
            key = CatalogKey(DEFAULT_TENANT, DEFAULT_CATALOG)
            self.sample_entries = await load_sample(catalogs, key, self._limits)
        self._health.set(serving=True)
        self._ready = True
        log.info("ready")

    def _edge(self, identity: Identity) -> Edge:
        admission = Admission(self._limits)
        self._observers.metrics.watch_calls(lambda: (admission.calls, admission.watches))
        return Edge(
            identity=identity,
            admission=admission,
            metrics=self._observers.metrics,
            audit=self._observers.audit,
            tracer=self._observers.tracer,
            log_queries=self._config.observing.log_queries,
        )

    async def _open_port(self, services: Services, edge: Edge) -> None:
        age = self._config.connection_age
        server = grpc.aio.server(
            options=[
                *([] if age is None else [("grpc.max_connection_age_ms", int(age * 1000))]),
                ("grpc.so_reuseport", 0),  # a second server on the port must fail, not share it
                ("grpc.max_receive_message_length", self._limits.request_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ]
        )
        server.add_generic_rpc_handlers([service_handler(service, methods, edge) for service, methods in services])
        add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((*SERVICES, HEALTH_SERVICE, reflection.SERVICE_NAME), server)
        try:
            port = self._listen(server)
        except TlsError as error:
            raise StartError(str(error)) from None
        except RuntimeError:
            raise StartError(
                f"cannot listen on {self._config.listen}: the port is taken or the address is not this machine's"
            ) from None
        if isinstance(self._config.listen, Address):
            self.address = Address(self._config.listen.host, port)
        await server.start()
        self._grpc = server
        self._cleanup.push_async_callback(server.stop, None)

    def _listen(self, server: grpc.aio.Server) -> int:
        address = str(self._config.listen)
        if self._config.tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, server_credentials(self._config.tls))

    async def _open_http(self, address: Address, api: JsonApi) -> None:
        config, closed = self._config, why_closed(self._config)
        door = Door(
            api=api,
            closed=closed,
            guarded=config.has_credentials,
            origins=config.http_cors,
            console=config.console,
        )
        app = application(probes.routes(lambda: self._ready, self._observers.metrics), door)
        try:
            tls = server_context(config.tls) if config.tls is not None and config.http_tls else None
        except TlsError as error:
            raise StartError(str(error)) from None
        try:
            server = _http_server(app, address, tls)
        except StartError:
            if not config.http_elsewhere:
                raise
            server = _http_server(app, Address(address.host, 0), tls)
            log.warning("the port for HTTP is taken, another one is used", taken=address.port, used=server.port)
        self._http = server
        self.http_address = await self._cleanup.enter_async_context(answering_http(server, address.host))
        if closed:
            log.warning("the API is not answered over HTTP", address=str(self.http_address), why=closed)
        else:
            url = f"{'https' if tls else 'http'}://{self.http_address}/"
            log.info("the API is answered over HTTP", url=f"{url}v1/", console=config.console)
            self.console_url = url if config.console else ""

    def _api(self, catalogs: Catalogs, services: Services, edge: Edge, *, by_meaning: bool) -> JsonApi:
        metrics, admission = self._observers.metrics, edge.admission
        recent = Recent(metrics, catalogs.figures, lambda: (admission.calls, admission.watches), unseen=replica.STATUS.name)
        self._background(recent.run)
        version = distribution.version("toolsearch-server")
        config = self._config
        described = replica.Replica(
            version=version,
            store=config.store.kind,
            embeddings=("static" if config.embeddings.kind == "auto" else config.embeddings.kind) if by_meaning else "",
            credentials=config.has_credentials,
            ready=lambda: self._ready,
        )
        more = {
            "status": replica.answering(described, recent, edge),
            "openapi.json": openapi.answering(services, self._limits, version),
        }
        return JsonApi(services, edge, self._processor, self._limits, more)

    def _background(self, work: Work) -> None:
        task = asyncio.create_task(kept_running(work))

        async def stop() -> None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        self._cleanup.push_async_callback(stop)

    async def drain(self, delay: float) -> None:
        """Say NOT_SERVING, give balancers `delay` seconds to notice, end watches, let calls under way finish, then stop."""
        self._ready = False
        self._health.set(serving=False)
        await asyncio.sleep(delay)
        if self._catalogs is not None:
            self._catalogs.stop_watches()
        end = time.monotonic() + self._config.drain_grace
        if self._grpc is not None:
            await self._grpc.stop(self._config.drain_grace)
        if self._http is not None:
            self._http.stop(max(0.0, end - time.monotonic()))
        await self._cleanup.aclose()


def _http_server(app: Application, address: Address, tls: ssl.SSLContext | None = None) -> HttpServer:
    try:
        return HttpServer(app, address, tls)
    except OSError as error:
        raise StartError(f"cannot listen on {address} for HTTP: {error.strerror}") from None


@contextlib.asynccontextmanager
async def answering_http(server: HttpServer, host: str) -> AsyncIterator[Address]:
    """The HTTP port, open meanwhile."""
    task = asyncio.create_task(server.run_until_stopped())
    try:
        yield Address(host, server.port)
    finally:
        server.stop()
        await task


@contextlib.asynccontextmanager
async def probed(address: Address, metrics: Metrics) -> AsyncIterator[Address]:
    """A port for probes and metrics only, of what is ready as soon as it runs."""
    async with answering_http(_http_server(application(probes.routes(lambda: True, metrics)), address), address.host) as opened:
        yield opened


def _follow_servers(
    path: Path, store: SqliteStore | RedisStore, catalogs: Catalogs, config: Config, observers: Observers
) -> Work:
    if not path.is_file():
        raise StartError(f"--mcp-config {path}: there is no such file")
    try:
        from toolsearch_server.mcp_watcher import WatchSettings
        from toolsearch_server.watch import follow_servers
    except ImportError as error:
        raise StartError(f"--mcp-config: install toolsearch-server[mcp] to follow MCP servers ({error})") from error
    settings = WatchSettings(
        limits=config.limits,
        stale_after=config.stale_after,
        forget_after=config.forget_after,
        audit=observers.audit,
        metrics=observers.metrics,
        tracer=observers.tracer,
    )
    # The embedded store has no other watcher: what is not in this file is not followed by anybody.
    prune = isinstance(store, SqliteStore)
    return partial(follow_servers, store, catalogs, settings, path, os.environ, prune=prune)


async def kept_running(work: Work) -> None:
    """A defect in what goes on in the background must be seen, and must not end it for good."""
    failures = 0
    while True:
        try:
            return await work()
        except Exception:
            failures += 1
            log.exception("background work failed, beginning again")
            await asyncio.sleep(backoff(failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))


def _embedder(choice: Choice) -> Embedder | None:
    try:
        embedder = open_embedder(choice)
    except EmbedderOpenError as error:
        raise StartError(f"--embeddings {choice}: {error}") from error
    if choice.kind == "auto":
        shown = "off, toolsearch-server[semantic] is not installed" if embedder is None else "static"
    else:
        shown = str(choice)
    log.info("search by meaning", embeddings=shown)
    return embedder


async def serve(config: Config) -> None:
    """Run until SIGTERM or SIGINT."""
    stopped: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.put_nowait, number)
    server = Server(config)
    await server.start()
    http = {} if server.http_address is None else {"http": str(server.http_address)}
    log.info("listening", address=str(server.address), store=str(config.store), **http)
    if config.log_format == "console":
        _greet(server, config)
    received = await stopped.get()
    log.info("draining", signal=received.name)
    draining = asyncio.create_task(server.drain(config.drain_delay if received is signal.SIGTERM else 0.0))
    impatient = asyncio.create_task(stopped.get())
    await asyncio.wait((draining, impatient), return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        log.warning("stopped at once by a second signal")
        raise SystemExit(1)
    impatient.cancel()
    await draining
    log.info("stopped")


def _greet(server: Server, config: Config) -> None:
    """For a person: where it listens and what to try."""
    client = _shown_path(Path(sys.executable).with_name("toolsearch"))
    usual = isinstance(server.address, Address) and server.address.port == 50051
    target = "" if usual else f" --target {server.address}"
    page = f"  or look at catalogs with a browser: {server.console_url}\n\n" if server.console_url else ""
    sample = f"\n  a sample catalog of {server.sample_entries} tools was loaded" if server.sample_entries else ""
    sys.stderr.write(
        f"\n  toolsearch is listening on {server.address}, its store is {config.store}{sample}\n"
        f"  try, in another terminal:\n\n"
        f'    {client}{target} search "open a bug report"\n'
        f"    {client}{target} describe github.open_issue\n\n{page}"
        f"  Ctrl-C stops it\n\n"
    )
    sys.stderr.flush()


def _shown_path(path: Path) -> str:
    if shutil.which(path.name) == str(path):
        return path.name
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
