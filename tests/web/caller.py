"""Who asks the service over HTTP: a connection for each request, nothing that thinks along."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from support import ServerProcess
from toolsearch_server.auth import Role

SECONDS = 20.0
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def info(self) -> Any:
        """ErrorInfo of a refusal."""
        return next(each for each in self.json["details"] if each["@type"].endswith("google.rpc.ErrorInfo"))

    @property
    def field(self) -> str:
        return str(self.info["metadata"].get("field", ""))


@dataclass(frozen=True)
class Event:
    kind: str
    id: str
    data: Any


@dataclass
class Caller:
    """`grpc`: where the same service answers gRPC."""

    process: ServerProcess
    grpc: str
    address: str
    texts: Mapping[tuple[str, Role], str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None

    def connection(self) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection(self.address, timeout=SECONDS, context=self.tls)
        return http.client.HTTPConnection(self.address, timeout=SECONDS)

    def send(self, http_method: str, path: str, body: bytes | None = None, headers: Sequence[tuple[str, str]] = ()) -> Answer:
        with closing(self.connection()) as connection:
            names = {name.lower() for name, _ in headers}
            connection.putrequest(http_method, path, skip_host="host" in names)
            for name, value in headers:
                connection.putheader(name, value.encode())
            if body is not None and not names & {"content-length", "transfer-encoding"}:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            content = response.read()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=list(_named(headers).items()))

    def post(self, method: str, request: Any, **headers: str) -> Answer:
        """`request`: a message as JSON, or bytes as they are."""
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        return self.send("POST", f"/v1/{method}", body, list((JSON | _named(headers)).items()))

    @contextmanager
    def events(self, path: str, request: Any = None, **headers: str) -> Iterator[Iterator[Event]]:
        """Those of a stream, as they come. Comments are events of the kind `comment`."""
        connection = self.connection()
        try:
            if request is None:
                connection.request("GET", path, headers=_named(headers))
            else:
                connection.request("POST", path, json.dumps(request), JSON | _named(headers))
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.getheader("content-type") == "text/event-stream"
            yield _events(response)
        finally:
            if connection.sock is not None:
                connection.sock.close()
            connection.close()

    def metric(self, name: str) -> float:
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith(name):
                return float(line.rpartition(" ")[2])
        return 0.0

    def raw(self) -> socket.socket:
        host, _, port = self.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=SECONDS)


def http_address(process: ServerProcess) -> str:
    record = next(json.loads(line) for line in process.lines if '"event": "listening"' in line)
    return str(record["http"])


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _events(response: http.client.HTTPResponse) -> Iterator[Event]:
    fields: dict[str, str] = {}
    while line := response.readline():
        text = line.decode().rstrip("\n")
        if text.startswith(":"):
            yield Event("comment", "", text)
        elif text:
            name, _, value = text.partition(": ")
            fields[name] = value
        elif fields:
            yield Event(fields.get("event", "message"), fields.get("id", ""), json.loads(fields["data"]))
            fields = {}
