"""TLS for both ports: certificates that are read again when their files change."""

import ssl
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import grpc
import structlog

from toolsearch_server import watched_file
from toolsearch_server.config import TlsFiles

log = structlog.get_logger()


class TlsError(Exception):
    """Certificates that cannot be used; the message tells an operator why."""


Made = TypeVar("Made")


class _Renewed(Generic[Made]):
    """What was made of the files, and is made again when they change. If they cannot be used then, the old ones serve on."""

    def __init__(self, files: TlsFiles, make: Callable[[TlsFiles], Made]) -> None:
        """Raises TlsError if the files cannot be used now."""
        self._files = files
        self._make = make
        self._stamps = _stamps(files)
        self._lock = threading.Lock()
        self.made = make(files)

    def renew(self) -> Made | None:
        """To be called for every new connection, by any thread; None: as before."""
        with self._lock:
            found = _stamps(self._files)
            if found == self._stamps:
                return None
            self._stamps = found
        try:
            self.made = self._make(self._files)
        except TlsError as error:
            log.warning("certificates not renewed, those read before are used on", error=str(error))
            return None
        log.info("certificates renewed", certificate=str(self._files.certificate))
        return self.made


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Of the gRPC port. Raises TlsError."""
    renewed = _Renewed(files, _grpc_certificates)
    return grpc.dynamic_ssl_server_credentials(
        renewed.made,
        renewed.renew,  # type: ignore[arg-type]  # None is documented, the stubs do not know it
        require_client_authentication=files.client_ca is not None,
    )


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Of the HTTP port. Raises TlsError."""
    renewed = _Renewed(files, _context)

    def choose(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        renewed.renew()
        connection.context = renewed.made

    outermost = _context(files)
    outermost.sni_callback = choose
    return outermost


def _stamps(files: TlsFiles) -> tuple[watched_file.Stamp, ...]:
    return tuple(map(watched_file.stamp, files.all))


def _grpc_certificates(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    _context(files)  # gRPC takes anything and fails every handshake: Python's own TLS says what is wrong
    try:
        pair = files.key.read_bytes(), files.certificate.read_bytes()
        roots = None if files.client_ca is None else files.client_ca.read_bytes()
    except OSError as error:
        raise _unusable(files, error) from None
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=roots)


def _context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key, password="")
        if files.client_ca is not None:
            context.load_verify_locations(files.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise _unusable(files, error) from None
    return context


def _unusable(files: TlsFiles, error: Exception) -> TlsError:
    return TlsError(f"cannot use {' and '.join(map(str, files.all))}: {error}")
