"""grpc.health.v1, whose watchers nobody waits for.

grpcio's own servicer writes to a watcher while it holds a lock that every other watcher, and the drain, needs: one caller that
reads nothing stops them all.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthServicer

MAX_WATCHES = 10_000
LIVENESS = "liveness"
"""The name that only says that the process answers: what restarts a process must not ask whether its store is there."""
Status = health_pb2.HealthCheckResponse


class Health(HealthServicer):
    def __init__(self, services: Iterable[str]) -> None:
        self._services = frozenset(services)
        self._serving = False
        self._changed = asyncio.Event()
        self._watches = 0

    def set(self, *, serving: bool) -> None:
        self._serving = serving
        self._changed.set()
        self._changed = asyncio.Event()

    def _status(self, service: str) -> Any:
        if service == LIVENESS:
            return Status.SERVING
        if service not in self._services:
            return Status.SERVICE_UNKNOWN
        return Status.SERVING if self._serving else Status.NOT_SERVING

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 the contract's name
        status = self._status(request.service)
        if status == Status.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service")
        return Status(status=status)

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802 the contract's name
        if self._watches >= MAX_WATCHES:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many watch already")
        self._watches += 1
        try:
            told = None
            while True:
                changed = self._changed
                status = self._status(request.service)
                if status != told:
                    told = status
                    yield Status(status=status)
                await changed.wait()
        finally:
            self._watches -= 1
