"""TLS for the gRPC port: certificates that are read again when their files change."""

import ssl
import threading

import grpc
import structlog

from toolsearch_server import watched_file
from toolsearch_server.config import TlsFiles

log = structlog.get_logger()


class TlsError(Exception):
    """Certificates that cannot be used; the message tells an operator why."""


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Raises TlsError if the files cannot be used now. If they cannot be later, that is logged and the old ones serve on."""
    stamps = _stamps(files)
    current = _read(files)
    lock = threading.Lock()

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        """Called for every new connection, by threads of gRPC; None: as before."""
        nonlocal stamps
        with lock:
            found = _stamps(files)
            if found == stamps:
                return None
            stamps = found
        try:
            renewed = _read(files)
        except TlsError as error:
            log.warning("certificates not renewed, those read before are used on", error=str(error))
            return None
        log.info("certificates renewed", certificate=str(files.certificate))
        return renewed

    return grpc.dynamic_ssl_server_credentials(
        current,
        fetch,  # type: ignore[arg-type]  # None is documented, the stubs do not know it
        require_client_authentication=files.client_ca is not None,
    )


def _stamps(files: TlsFiles) -> tuple[watched_file.Stamp, ...]:
    return tuple(map(watched_file.stamp, files.all))


def _read(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    try:
        # gRPC takes anything and fails every handshake: Python's own TLS says what is wrong.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.certificate, files.key, password="")
        pair = files.key.read_bytes(), files.certificate.read_bytes()
        roots = None
        if files.client_ca is not None:
            context.load_verify_locations(files.client_ca)
            roots = files.client_ca.read_bytes()
    except (OSError, ssl.SSLError) as error:
        names = " and ".join(map(str, files.all))
        raise TlsError(f"cannot use {names}: {error}") from None
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=roots)
