"""Credentials and certificates that change while the service runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from identity.guarded import Guarded, guarded_server
from support import ServerProcess, wait_for
from toolsearch import AsyncClient, Client, Tls, ToolSearchError, Unauthenticated, Unavailable
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import dump_keys, new_key


def replace_content(path: Path, content: str | bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    new.replace(path)


def answers(make: Callable[[], Client]) -> bool:
    try:
        with make() as client:
            list(client.list_catalogs())
    except ToolSearchError:
        return False
    return True


def test_a_key_takes_effect_when_it_is_written_and_none_when_it_is_taken_out(tmp_path: Path) -> None:
    with guarded_server(tmp_path) as server:
        new, text = new_key("acme", Role.READER)
        replace_content(tmp_path / "keys.json", dump_keys([new]))
        wait_for(lambda: answers(lambda: Client(server.address, api_key=text)), what="the new key")
        with server.client("acme") as client, pytest.raises(Unauthenticated):
            client.search("thing")


def test_a_broken_file_of_keys_changes_nothing_and_is_logged(tmp_path: Path) -> None:
    with guarded_server(tmp_path) as server:
        replace_content(tmp_path / "keys.json", "{")
        wait_for(lambda: "credentials not read again" in server.process.log, what="a log line")
        assert answers(lambda: server.client("acme"))


def test_a_secret_replaced_by_turning_a_link_is_noticed(tmp_path: Path) -> None:
    """As Kubernetes does it."""
    old, old_text = new_key("acme", Role.READER)
    new, new_text = new_key("acme", Role.READER)
    for name, key in (("first", old), ("second", new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "keys.json").write_text(dump_keys([key]))
    link = tmp_path / "data"
    link.symlink_to("first")
    process = ServerProcess(("--listen", "127.0.0.1:0", "--store", "memory:", "--keys", str(link / "keys.json")))
    try:
        address = process.wait_until_listening()
        assert answers(lambda: Client(address, api_key=old_text))
        (tmp_path / "turned").symlink_to("second")
        (tmp_path / "turned").replace(link)
        wait_for(lambda: answers(lambda: Client(address, api_key=new_text)), what="the new key")
    finally:
        process.kill()


def test_a_file_of_keys_that_cannot_be_read_keeps_the_service_from_starting(tmp_path: Path) -> None:
    process = ServerProcess(("--listen", "127.0.0.1:0", "--store", "memory:", "--keys", str(tmp_path / "none")))
    assert process.wait() == 1
    assert "--keys" in process.log


class Certificates:
    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.certificate, self.key, self.client_ca = folder / "tls.crt", folder / "tls.key", folder / "ca.crt"
        self.client_ca.write_bytes(self.authority.cert_pem.bytes())
        self.issue()

    def issue(self, authority: trustme.CA | None = None) -> None:
        issued = (authority or self.authority).issue_cert("localhost", "127.0.0.1")
        replace_content(self.key, issued.private_key_pem.bytes())
        replace_content(self.certificate, b"".join(blob.bytes() for blob in issued.cert_chain_pems))

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--tls-certificate", str(self.certificate), "--tls-key", str(self.key))

    @property
    def trust(self) -> bytes:
        return self.authority.cert_pem.bytes()


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def by_tls(server: Guarded, **files: Any) -> Client:
    return server.client("acme", tls=Tls(**files), timeout=3)


async def test_both_clients_speak_tls_and_refuse_a_server_that_they_do_not_trust(
    tmp_path: Path, certificates: Certificates
) -> None:
    with guarded_server(tmp_path, *certificates.flags) as server:
        assert answers(lambda: by_tls(server, ca=certificates.trust))
        key = server.texts["acme", Role.READER]
        async with AsyncClient(server.address, api_key=key, tls=Tls(ca=certificates.trust)) as client:
            assert [each.name async for each in client.list_catalogs()] == []
        with by_tls(server, ca=trustme.CA().cert_pem.bytes()) as stranger, pytest.raises(ToolSearchError):
            stranger.search("thing", timeout=2)
        with server.client("acme", timeout=2) as plain, pytest.raises(ToolSearchError):
            plain.search("thing")


def test_with_mutual_tls_a_caller_needs_a_certificate_too(tmp_path: Path, certificates: Certificates) -> None:
    flags = (*certificates.flags, "--tls-client-ca", str(certificates.client_ca))
    issued = certificates.authority.issue_cert("agent")
    own: dict[str, Any] = {"certificate": issued.cert_chain_pems[0].bytes(), "key": issued.private_key_pem.bytes()}
    with guarded_server(tmp_path, *flags) as server:
        assert answers(lambda: by_tls(server, ca=certificates.trust, **own))
        with by_tls(server, ca=certificates.trust) as client, pytest.raises(ToolSearchError):
            client.search("thing", timeout=2)
        with Client(server.address, tls=Tls(ca=certificates.trust, **own)) as client, pytest.raises(Unauthenticated):
            client.search("thing")


def test_a_renewed_certificate_is_used_for_new_connections_and_a_broken_one_is_not(
    tmp_path: Path, certificates: Certificates
) -> None:
    other = trustme.CA()
    with guarded_server(tmp_path, *certificates.flags) as server:
        assert answers(lambda: by_tls(server, ca=certificates.trust))
        certificates.issue(other)
        wait_for(lambda: answers(lambda: by_tls(server, ca=other.cert_pem.bytes())), what="the new certificate")
        replace_content(certificates.certificate, "no certificate")
        wait_for(
            lambda: (
                answers(lambda: by_tls(server, ca=other.cert_pem.bytes())) and "certificates not renewed" in server.process.log
            ),
            what="a log line",
        )


def test_certificates_that_do_not_belong_together_keep_the_service_from_starting(
    tmp_path: Path, certificates: Certificates
) -> None:
    other = certificates.authority.issue_cert("localhost")
    certificates.key.write_bytes(other.private_key_pem.bytes())
    process = ServerProcess(("--listen", "127.0.0.1:0", "--store", "memory:", *certificates.flags))
    assert process.wait() == 1
    assert "cannot use" in process.log and "tls.crt" in process.log


def test_a_key_is_not_sent_unencrypted_to_another_machine() -> None:
    strangers = ("ipv4:///127.0.0.1:1,10.9.9.9:1", "127.0.0.1:1,10.9.9.9:1", "xds:///localhost", "localhost@example.com:1")
    for target in ("example.com:50051", "dns:///tools:50051", "10.0.0.1:50051", *strangers):
        with pytest.raises(ValueError, match="unencrypted"):
            Client(target, api_key="ts_x")
    for target in ("localhost:1", "127.0.0.1:1", "[::1]:1", "dns:///localhost:1", "unix:/x"):
        Client(target, api_key="ts_x").close()
    with Client("127.0.0.1:1", api_key="ts_x", timeout=0.2) as client, pytest.raises((Unavailable, ToolSearchError)):
        client.search("x")
