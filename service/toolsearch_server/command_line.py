"""From flags and environment variables to settings, checked before anything starts."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from toolsearch_server.auth import ROLES, TokenSettings
from toolsearch_server.config import Address, AnyConfig, Config, ConfigError, KeysConfig, Observing, TlsFiles, WatchConfig
from toolsearch_server.embedders.choice import Choice, ChoiceError, parse_choice
from toolsearch_server.entry import check_name
from toolsearch_server.errors import ServiceError
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.options import DEFAULT_HTTP, DEFAULT_LISTEN, make_parser
from toolsearch_server.store.location import Location, LocationError, SqliteLocation, parse_location


def parse(argv: Sequence[str], environment: Mapping[str, str]) -> AnyConfig:
    """Settings of a command. Exits with 2 and an explanation when they are wrong."""
    parser = make_parser(environment)
    arguments = parser.parse_args(argv)
    try:
        match arguments.command:
            case "watch":
                return _watch(arguments, environment)
            case "keys":
                return _keys(arguments)
        return _serve(arguments, environment)
    except ConfigError as error:
        _fail(parser, str(error))


def _serve(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Config:
    tokens = _tokens(arguments)
    check = parse_address if arguments.keys or tokens else parse_listen
    tls = _tls(arguments)
    if arguments.http_tls and tls is None:
        raise ConfigError("--http-tls needs --tls-certificate and --tls-key, whose certificate it uses")
    elsewhere = arguments.http == "auto"
    http = DEFAULT_HTTP if elsewhere else arguments.http
    return Config(
        listen=check(arguments.listen, "--listen"),
        store=parse_store(arguments.store, environment),
        http=check(http, "--http") if http else None,
        http_elsewhere=elsewhere,
        http_tls=arguments.http_tls,
        http_cors=tuple(map(parse_origin, dict.fromkeys(arguments.http_cors))),
        console=not arguments.no_console,
        sample=arguments.sample,
        log_level=arguments.log_level,
        log_format=_log_format(arguments.log_format),
        drain_delay=arguments.drain_delay,
        drain_grace=arguments.drain_grace,
        connection_age=arguments.connection_age or None,
        idle_seconds=arguments.idle_seconds,
        embeddings=parse_embeddings(arguments.embeddings, arguments.embeddings_model, environment),
        mcp_config=_path(arguments.mcp_config),
        stale_after=arguments.stale_after,
        forget_after=arguments.forget_after or None,
        poll_seconds=arguments.poll_seconds or 10.0,
        keys=_path(arguments.keys),
        tokens=tokens,
        tls=tls,
        limits=_limits(arguments),
        observing=_observing(arguments),
    )


def _tokens(arguments: argparse.Namespace) -> TokenSettings | None:
    given = {f"--jwt-{name}": getattr(arguments, f"jwt_{name}") for name in ("issuer", "audience", "keys")}
    if not any(given.values()):
        return None
    missing = [flag for flag, value in given.items() if not value]
    if missing:
        raise ConfigError(f"{missing[0]} is missing: tokens need --jwt-issuer, --jwt-audience and --jwt-keys")
    return TokenSettings(
        issuer=arguments.jwt_issuer,
        audience=arguments.jwt_audience,
        key_set=arguments.jwt_keys,
        tenant_claim=arguments.jwt_tenant_claim,
        role_claim=arguments.jwt_role_claim,
    )


def _tls(arguments: argparse.Namespace) -> TlsFiles | None:
    certificate, key, client_ca = arguments.tls_certificate, arguments.tls_key, arguments.tls_client_ca
    if not (certificate or key or client_ca):
        return None
    if not (certificate and key):
        raise ConfigError("--tls-certificate and --tls-key belong together")
    return TlsFiles(certificate=Path(certificate), key=Path(key), client_ca=_path(client_ca))


def _limits(arguments: argparse.Namespace) -> Limits:
    try:
        return DEFAULT_LIMITS.changed(" ".join(arguments.limit or ()))
    except ValueError as error:
        raise ConfigError(f"--limit: {error}") from None


def _observing(arguments: argparse.Namespace) -> Observing:
    otlp = arguments.otlp
    if otlp and urlsplit(otlp).scheme not in ("http", "https"):
        raise ConfigError(f"--otlp {otlp}: expected http://HOST:PORT or https://HOST:PORT of a collector that speaks OTLP/gRPC")
    return Observing(
        audit_log=_path(arguments.audit_log), otlp=otlp or None, log_queries=getattr(arguments, "log_queries", False)
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _keys(arguments: argparse.Namespace) -> KeysConfig:
    tenant = getattr(arguments, "tenant", "")
    if arguments.action == "create":
        try:
            check_name(tenant, field="--tenant", length=DEFAULT_LIMITS.tenant_length, limit="tenant_length")
        except ServiceError as error:
            raise ConfigError(error.message) from None
    return KeysConfig(
        action=arguments.action,
        file=Path(arguments.file),
        tenant=tenant,
        role=ROLES[getattr(arguments, "role", "reader")],
        expires=getattr(arguments, "expires", None) or "",
        overlap=getattr(arguments, "overlap", None) or "",
        note=getattr(arguments, "note", None) or "",
        id=getattr(arguments, "id", ""),
        json=getattr(arguments, "json", False),
    )


def _watch(arguments: argparse.Namespace, environment: Mapping[str, str]) -> WatchConfig:
    if not arguments.config:
        raise ConfigError("--config is required: a file with mcpServers, as MCP clients have it")
    if arguments.json and not arguments.once:
        raise ConfigError("--json goes with --once")
    store = parse_store(arguments.store, environment)
    if isinstance(store, SqliteLocation) and not arguments.once:
        raise ConfigError(
            f"--store {store}: the embedded store belongs to one process; follow MCP servers inside it, with "
            "toolsearch-server serve --mcp-config, or use a shared store"
        )
    return WatchConfig(
        store=store,
        mcp_config=Path(arguments.config),
        once=arguments.once,
        json=arguments.json,
        stale_after=arguments.stale_after,
        forget_after=arguments.forget_after or None,
        log_level=arguments.log_level,
        log_format=_log_format(arguments.log_format),
        # Tells nothing of what is in catalogs, so it may be asked from elsewhere.
        http=parse_address(arguments.http, "--http") if arguments.http else None,
        limits=_limits(arguments),
        observing=_observing(arguments),
        prune=arguments.prune,
    )


def parse_listen(text: str, flag: str) -> Address:
    address = parse_address(text, flag)
    if not address.loopback:
        raise ConfigError(
            f"{flag} {text}: refused, because no credentials are configured and everybody who can connect could read and "
            "change every catalog; configure --keys or --jwt-issuer, or listen on 127.0.0.1 or [::1]"
        )
    return address


def parse_address(text: str, flag: str) -> Address:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{flag} {text}: {error}") from None
    if not host or port is None or parts.path:
        raise ConfigError(f"{flag} {text}: expected HOST:PORT, such as {DEFAULT_LISTEN}")
    return Address(host, port)


def parse_origin(text: str) -> str:
    """As browsers say it: in lower case, without the usual port, without anything behind it."""
    try:
        parts = urlsplit(text)
        usual = {"http": 80, "https": 443}.get(parts.scheme)
        fine = usual is not None and parts.hostname is not None and parts.port != usual
    except ValueError:
        fine = False
    if not fine or "*" in text or text != f"{parts.scheme}://{parts.netloc}".lower() or "@" in text:
        raise ConfigError(f"--http-cors {text}: expected an origin, such as https://tools.example.com, and no pattern")
    return text


def parse_store(url: str, environment: Mapping[str, str]) -> Location:
    try:
        return parse_location(
            url,
            username=environment.get("TOOLSEARCH_REDIS_USERNAME"),
            password=environment.get("TOOLSEARCH_REDIS_PASSWORD"),
            sentinel_password=environment.get("TOOLSEARCH_REDIS_SENTINEL_PASSWORD"),
        )
    except LocationError as error:
        raise ConfigError(f"--store {error}") from None


def parse_embeddings(text: str, model: str | None, environment: Mapping[str, str]) -> Choice:
    try:
        return parse_choice(text, model=model or "", key=environment.get("TOOLSEARCH_EMBEDDINGS_KEY", ""))
    except ChoiceError as error:
        raise ConfigError(f"--embeddings {error}") from None


def _log_format(text: str) -> str:
    if text != "auto":
        return text
    return "console" if sys.stderr.isatty() else "json"


def _fail(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    parser.exit(2, f"toolsearch-server: {message}\n")


def from_process() -> AnyConfig:
    return parse(sys.argv[1:], os.environ)
