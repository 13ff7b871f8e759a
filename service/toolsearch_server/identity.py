"""From settings to who callers are: files and URLs of credentials, read at the start and again when they change."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path

import structlog

from toolsearch_server import watched_file
from toolsearch_server.auth import Identity, OpenAccess, TokenSettings
from toolsearch_server.auth.access import BearerAccess, TokenCheck
from toolsearch_server.auth.keys import KeysError, parse_keys
from toolsearch_server.config import Config
from toolsearch_server.limits import Limits

log = structlog.get_logger()

Work = Callable[[], Coroutine[object, object, None]]


class IdentityError(Exception):
    """Credentials that cannot be used; the message tells an operator why."""


async def open_identity(config: Config) -> tuple[Identity, list[Work]]:
    """Who identifies callers, and what has to go on in the background for it."""
    if not config.has_credentials:
        return OpenAccess(config.limits), []
    works: list[Work] = []
    tokens = None
    if config.tokens is not None:
        tokens, work = await _tokens(config.tokens, config.limits)
        works.append(work)
    access = BearerAccess(config.limits, tokens=tokens)
    if config.keys is not None:
        works.append(await _keys(access, config.keys))
    if config.tls is None and not config.listen.loopback:
        log.warning("credentials travel unencrypted: without --tls-certificate something else has to encrypt")
    return access, works


async def _keys(access: BearerAccess, path: Path) -> Work:
    def read() -> None:
        access.keys = parse_keys(path.read_text(encoding="utf-8"))

    return await _kept(read, path, "--keys", KeysError)


async def _tokens(settings: TokenSettings, limits: Limits) -> tuple[TokenCheck, Work]:
    try:
        from toolsearch_server.auth.tokens import KeySetError, Tokens, fetch_key_set, parse_key_set
    except ImportError as error:
        raise IdentityError(f"--jwt-issuer: install toolsearch-server[jwt] for JSON Web Tokens ({error})") from error
    tokens = Tokens(settings, {}, limits)
    path = settings.file
    if path is not None:
        file = path

        def read() -> None:
            tokens.replace_keys(parse_key_set(file.read_text(encoding="utf-8")))

        return tokens, await _kept(read, file, "--jwt-keys", KeySetError)
    try:
        tokens.replace_keys(await asyncio.to_thread(fetch_key_set, settings.key_set))
    except KeySetError as error:
        raise IdentityError(f"--jwt-keys {settings.key_set}: {error}") from None
    return tokens, tokens.keep_fresh


async def _kept(read: Callable[[], None], path: Path, flag: str, refused: type[Exception]) -> Work:
    """Read a file now, and again when it changes. One that cannot be used is an error now, and changes nothing later."""
    stamp = watched_file.stamp(path)
    try:
        read()
    except (OSError, UnicodeDecodeError, refused) as error:
        raise IdentityError(f"{flag} {path}: {error}") from None
    return partial(_follow, read, path, flag, refused, stamp)


async def _follow(read: Callable[[], None], path: Path, flag: str, refused: type[Exception], stamp: watched_file.Stamp) -> None:
    async for _ in watched_file.changes(path, stamp):
        try:
            read()
        except (OSError, UnicodeDecodeError, refused) as error:
            log.warning(
                "credentials not read again, those read before are used on", flag=flag, path=str(path), error=str(error)
            )
        else:
            log.info("credentials read again", flag=flag, path=str(path))
