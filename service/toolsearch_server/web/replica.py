"""GET /v1/status: which replica answers, as whom it knows the caller, and how it fared lately."""

import json
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from google.protobuf.empty_pb2 import Empty

from toolsearch_server.auth import Role
from toolsearch_server.rpc.calls import Around, Edge
from toolsearch_server.web.exchange import Exchange
from toolsearch_server.web.json_api import Answering
from toolsearch_server.web.recent import SAMPLE_SECONDS, Recent


class _Method(NamedTuple):
    """Beside those of the contract, as what is around a call knows them."""

    name: str
    full_name: str
    server_streaming: bool = False


STRATEGIES = ("auto", "bm25", "regex", "fuzzy", "hybrid", "semantic")
STATUS = _Method("GetStatus", "toolsearch.http.GetStatus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """`store` and `embeddings` are kinds; `embeddings` is empty where there is no search by meaning."""

    version: str
    store: str
    embeddings: str
    credentials: bool
    ready: Callable[[], bool]
    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{secrets.token_hex(4)}")
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


def answering(replica: Replica, recent: Recent, edge: Edge) -> Answering:
    async def answer(exchange: Exchange) -> None:
        async with exchange.within_deadline(), Around(STATUS, Role.READER, exchange, edge, b"", Empty.FromString) as around:
            caller = around.call.caller
            told = {
                "replica": replica.name,
                "version": replica.version,
                "startedAt": replica.started.isoformat(timespec="milliseconds"),
                "ready": replica.ready(),
                "store": replica.store,
                "embeddings": replica.embeddings,
                "strategies": list(STRATEGIES if replica.embeddings else STRATEGIES[:-1]),
                "credentials": replica.credentials,
                "caller": {"tenant": caller.tenant, "role": caller.role.label},
                "sampleSeconds": SAMPLE_SECONDS,
                "samples": recent.samples,
            }
        await exchange.answer(200, json.dumps(told).encode())

    return answer
