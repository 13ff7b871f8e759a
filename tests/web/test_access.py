"""Who may ask over HTTP, from where and with which certificate; whose pages may read the answers."""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from identity.guarded import guarded_server
from support import running_server, wait_for
from toolsearch_server.auth import Role
from toolsearch_server.command_line import parse
from toolsearch_server.config import Address, Config
from toolsearch_server.web.access import why_closed
from web.caller import JSON, Answer, Caller, http_address

MESSAGE = b'{"catalog": "never-written"}'


def asked(door: Caller, http_method: str = "GET", path: str = "/v1/ListCatalogs", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = MESSAGE if http_method == "POST" else None
    return door.send(http_method, path, body, [*(JSON.items() if body else ()), *named.items()])


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]:80", "LOCALHOST"])
def test_without_credentials_names_of_this_machine_are_answered(door: Caller, host: str) -> None:
    assert asked(door, host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "10.0.0.1:8080",
        "localhost@example.com",
        "localhost/.example.com",
        "localhost?.example.com",
        "localhost#.example.com",
        "local\thost",
        "[::1",
        "",
        "0.0.0.0",
    ],
)
@pytest.mark.parametrize("path", ["/v1/ListCatalogs", "/v1/openapi.json", "/"])
def test_without_credentials_other_names_are_misdirected(door: Caller, host: str, path: str) -> None:
    """A page may have a name that it lets lead to this machine."""
    answer = asked(door, path=path, host=host)
    assert (answer.status, answer.field) == (421, "host")


def test_two_hosts_are_refused(door: Caller) -> None:
    assert door.send("GET", "/v1/ListCatalogs", headers=[("host", "localhost"), ("host", "example.com")]).status in (400, 421)


@pytest.mark.parametrize("origin", ["https://example.com", "http://localhost:1", "null", "http://127.0.0.1"])
@pytest.mark.parametrize(("http_method", "path"), [("GET", "/v1/ListCatalogs"), ("POST", "/v1/DeleteCatalog")])
def test_without_credentials_pages_from_elsewhere_may_not_ask(door: Caller, http_method: str, path: str, origin: str) -> None:
    answer = asked(door, http_method, path, origin=origin)
    assert (answer.status, answer.field) == (403, "origin")


def test_our_own_page_may_ask(door: Caller) -> None:
    answer = asked(door, "POST", "/v1/DeleteCatalog", origin=f"http://{door.address}")
    assert answer.info["reason"] == "CATALOG_NOT_FOUND"


def test_pages_are_not_told_that_they_may_read_unless_they_were_named(door: Caller, guarded_door: Caller) -> None:
    for caller in (door, guarded_door):
        origin = {"origin": "https://example.com"}
        preflight = asked(caller, "OPTIONS", **origin, access_control_request_method="POST")
        assert preflight.status in (403, 405)
        for answer in (preflight, asked(caller, **origin), asked(caller, origin=f"http://{caller.address}")):
            assert not [name for name in answer.headers if name.startswith("access-control-")]


@contextmanager
def open_door(*arguments: str) -> Iterator[Caller]:
    with running_server("--store", "memory:", "--http", "127.0.0.1:0", "--embeddings", "off", *arguments) as (process, grpc):
        yield Caller(process, grpc, http_address(process))


@pytest.fixture(scope="module")
def shared() -> Iterator[Caller]:
    """With two origins whose pages may read answers."""
    with open_door("--http-cors", "https://tools.example.com", "--http-cors", "http://localhost:3000") as caller:
        yield caller


@pytest.mark.parametrize("origin", ["https://tools.example.com", "http://localhost:3000"])
def test_pages_of_a_named_origin_may_ask_and_read(shared: Caller, origin: str) -> None:
    asks = {"access_control_request_method": "POST", "access_control_request_headers": "authorization, content-type"}
    preflight = asked(shared, "OPTIONS", origin=origin, **asks)
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == origin
    assert preflight.headers["access-control-allow-methods"] == "GET, POST"
    answer = asked(shared, origin=origin)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, origin)
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers
    refusal = asked(shared, path="/v1/nothing", origin=origin)
    assert (refusal.status, refusal.headers["access-control-allow-origin"]) == (404, origin)


@pytest.mark.parametrize("origin", ["https://tools.example.com:444", "http://tools.example.com", "https://example.com", "null"])
def test_pages_of_other_origins_may_not(shared: Caller, origin: str) -> None:
    for answer in (asked(shared, origin=origin), asked(shared, "OPTIONS", origin=origin, access_control_request_method="GET")):
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*.example.com", "example.com", "https://example.com/", "https://Example.com", "https://example.com:443"],
)
def test_an_origin_that_browsers_would_not_say_so_is_refused_at_the_start(
    capsys: pytest.CaptureFixture[str], origin: str
) -> None:
    with pytest.raises(SystemExit):
        parse(["serve", "--http-cors", origin], {})
    assert "--http-cors" in capsys.readouterr().err


# Where the API is not answered


def config(*arguments: str) -> Config:
    parsed = parse(["serve", *arguments], {})
    assert isinstance(parsed, Config)
    return parsed


TLS = ("--tls-certificate", "c", "--tls-key", "k")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), ""),
        (("--http", "127.0.0.1:1"), ""),
        (("--http", "localhost:1", *TLS), ""),
        (("--http", "0.0.0.0:1", "--keys", "f"), ""),
        (("--http", "0.0.0.0:1", "--keys", "f", *TLS), "--http-tls"),
        (("--http", "0.0.0.0:1", "--keys", "f", *TLS, "--tls-client-ca", "a"), "--http-tls"),
        (("--http", "0.0.0.0:1", "--keys", "f", *TLS, "--http-tls"), ""),
    ],
)
def test_the_api_is_answered_where_it_is_as_safe_as_grpc(arguments: Sequence[str], why: str) -> None:
    told = why_closed(config(*arguments))
    assert why in told and bool(told) == bool(why)


def test_without_credentials_the_api_is_for_this_machine_only() -> None:
    everywhere = replace(config("--http", "127.0.0.1:1"), http=Address("0.0.0.0", 1))
    assert "--keys" in why_closed(everywhere)


class Certificates:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.callers = trustme.CA()
        self.issue()
        (folder / "callers.crt").write_bytes(self.callers.cert_pem.bytes())

    def issue(self) -> None:
        made = self.authority.issue_cert("127.0.0.1", "localhost")
        made.private_key_pem.write_to_path(self.folder / "tls.key.new")
        made.cert_chain_pems[0].write_to_path(self.folder / "tls.crt.new")
        (self.folder / "tls.key.new").replace(self.folder / "tls.key")
        (self.folder / "tls.crt.new").replace(self.folder / "tls.crt")

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--tls-certificate", str(self.folder / "tls.crt"), "--tls-key", str(self.folder / "tls.key"))

    @property
    def client_ca(self) -> tuple[str, str]:
        return ("--tls-client-ca", str(self.folder / "callers.crt"))

    def trusted(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def test_beside_grpc_with_tls_probes_are_answered_without_and_the_api_says_why_it_is_not(
    tmp_path: Path, certificates: Certificates
) -> None:
    with guarded_server(tmp_path, "--http", "0.0.0.0:0", "--embeddings", "off", *certificates.flags) as server:
        port = http_address(server.process).rpartition(":")[2]
        caller = Caller(server.process, server.address, f"127.0.0.1:{port}")
        assert caller.get("/livez").status == 200
        assert b"toolsearch_build_info" in caller.get("/metrics").body
        for path in ("/v1/ListCatalogs", "/v1/openapi.json", "/v1/nothing"):
            answer = caller.get(path, authorization=f"Bearer {server.texts['acme', Role.READER]}")
            assert (answer.status, answer.json["code"]) == (403, 7)
            assert "--http-tls" in answer.json["message"]
        assert caller.get("/").status == 404
        wait_for(lambda: "the API is not answered over HTTP" in server.process.log, what="the warning")


def test_the_http_port_speaks_tls_with_a_certificate_that_may_be_renewed(tmp_path: Path, certificates: Certificates) -> None:
    with guarded_server(tmp_path, "--http", "0.0.0.0:0", "--http-tls", "--embeddings", "off", *certificates.flags) as server:
        port = http_address(server.process).rpartition(":")[2]
        caller = Caller(server.process, server.address, f"127.0.0.1:{port}", tls=certificates.trusted())
        key = f"Bearer {server.texts['acme', Role.READER]}"
        assert caller.get("/v1/ListCatalogs", authorization=key).status == 200
        assert caller.get("/livez").status == 200
        before = serial(caller)
        certificates.issue()
        wait_for(lambda: serial(caller) != before, what="the renewed certificate")
        (tmp_path / "tls.crt").write_text("broken")
        wait_for(lambda: answers(caller, key) and "certificates not renewed" in server.process.log, what="the warning")


def serial(caller: Caller) -> Any:
    with closing(caller.connection()) as connection:
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        return (connection.sock.getpeercert() or {})["serialNumber"]


def answers(caller: Caller, key: str) -> bool:
    return caller.get("/v1/ListCatalogs", authorization=key).status == 200


def test_where_callers_need_a_certificate_they_need_it_over_http_too(tmp_path: Path, certificates: Certificates) -> None:
    flags = (*certificates.flags, *certificates.client_ca)
    with guarded_server(tmp_path, "--http", "0.0.0.0:0", "--http-tls", "--embeddings", "off", *flags) as server:
        port = http_address(server.process).rpartition(":")[2]
        known = certificates.trusted()
        certificates.callers.issue_cert("caller@example.com").configure_cert(known)
        stranger = certificates.trusted()
        trustme.CA().issue_cert("caller@example.com").configure_cert(stranger)
        headers = {"authorization": f"Bearer {server.texts['acme', Role.READER]}"}
        callers = [Caller(server.process, server.address, f"127.0.0.1:{port}", tls=tls) for tls in (known, stranger)]
        assert callers[0].get("/v1/ListCatalogs", **headers).status == 200
        for refused in (callers[1], replace(callers[1], tls=certificates.trusted())):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                refused.get("/v1/ListCatalogs", **headers)
        other = trustme.CA()
        (tmp_path / "callers.crt").write_bytes(other.cert_pem.bytes())
        new = certificates.trusted()
        other.issue_cert("caller@example.com").configure_cert(new)
        assert replace(callers[0], tls=new).get("/v1/ListCatalogs", **headers).status == 200
        with pytest.raises((ssl.SSLError, ConnectionError)):
            callers[0].get("/v1/ListCatalogs", **headers)


def test_tls_over_http_needs_a_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        config("--http-tls")
    assert "--tls-certificate" in capsys.readouterr().err


def test_another_port_is_taken_where_any_will_do(door: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` is 127.0.0.1:8080, which one of the two does not get."""
    arguments = ("--store", "memory:", "--http", "auto", "--embeddings", "off")
    with running_server(*arguments) as (first, _), running_server(*arguments) as (second, _):
        addresses = {http_address(first), http_address(second)}
        assert len(addresses) == 2
        assert "the port for HTTP is taken" in second.log
        assert Caller(second, "", http_address(second)).get("/readyz").status == 200
