"""`toolsearch-server keys`: make, list, revoke and rotate API keys in a file."""

import fcntl
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import KEY_PREFIX, Key, KeysError, dump_keys, new_key, parse_keys
from toolsearch_server.config import KeysConfig
from toolsearch_server.errors import shorten

_DURATION = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class KeysCommandError(Exception):
    """What was asked for cannot be done; the message says why."""


def run(config: KeysConfig) -> int:
    """The exit code."""
    try:
        _ACTIONS[config.action](config)
    except (KeysCommandError, KeysError, OSError) as error:
        sys.stderr.write(f"toolsearch-server: {config.file}: {error}\n")
        return 1
    return 0


def _create(config: KeysConfig) -> None:
    with _opened(config.file, create=True) as keys:
        key, text = new_key(config.tenant, config.role, expires=_when(config.expires), note=config.note)
        keys[key.id] = key
    _show_new(key, text)


def _rotate(config: KeysConfig) -> None:
    """A new key in the place of an old one, which is good for a while longer."""
    with _opened(config.file) as keys:
        old = _known(keys, config.id)
        key, text = new_key(old.tenant, old.role, expires=_when(config.expires), note=old.note)
        ends = _when(config.overlap) or datetime.now(UTC)
        keys[old.id] = replace(old, expires=ends if old.expires is None else min(ends, old.expires))
        keys[key.id] = key
    _show_new(key, text)
    sys.stderr.write(f"key {old.id} is good until {keys[old.id].expires:%Y-%m-%d %H:%M:%S} UTC\n")


def _revoke(config: KeysConfig) -> None:
    with _opened(config.file) as keys:
        del keys[_known(keys, config.id).id]
    sys.stderr.write(f"key {config.id} is revoked\n")


def _list(config: KeysConfig) -> None:
    keys = list(_read(config.file).values())
    if config.json:
        rows = [json.loads(dump_keys([key]))["keys"][0] for key in keys]
        sys.stdout.write(json.dumps([{name: row[name] for name in row if name != "sha256"} for row in rows], indent=2) + "\n")
        return
    rows_shown = [("id", "tenant", "role", "created", "expires", "note"), *map(_row, keys)]
    widths = [max(len(row[column]) for row in rows_shown) for column in range(6)]
    for row in rows_shown:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


_ACTIONS: dict[str, Callable[[KeysConfig], None]] = {"create": _create, "rotate": _rotate, "revoke": _revoke, "list": _list}


def _row(key: Key) -> tuple[str, ...]:
    expires = "never" if key.expires is None else f"{key.expires:%Y-%m-%d %H:%M}"
    expired = " (expired)" if key.expired(datetime.now(UTC)) else ""
    shown = "".join(char if char.isprintable() else "?" for char in key.note)
    return key.id, key.tenant, key.role.label, f"{key.created:%Y-%m-%d}", expires + expired, shown


def _show_new(key: Key, text: str) -> None:
    """The key alone on standard output, so that it can be put where it belongs; what is to be said about it elsewhere."""
    sys.stdout.write(text + "\n")
    may = {Role.READER: "read", Role.WRITER: "read and write", Role.ADMIN: "do everything, for every tenant"}[key.role]
    sys.stderr.write(f"key {key.id} of tenant {key.tenant} may {may}; it is shown this once and cannot be recovered\n")


def _known(keys: dict[str, Key], identifier: str) -> Key:
    """By id, or by the key itself, which people have at hand."""
    parts = identifier.split("_")
    key = keys.get(parts[1] if identifier.startswith(KEY_PREFIX) and len(parts) > 1 else identifier)
    if key is None:
        shown = "of that" if identifier.startswith(KEY_PREFIX) else shorten(ascii(identifier))  # a key is never repeated
        raise KeysCommandError(f"there is no key with the id {shown}; toolsearch-server keys list shows them")
    return key


def _when(text: str) -> datetime | None:
    """`90d` from now on, or a date; None if nothing is said."""
    if not text:
        return None
    duration = _DURATION.fullmatch(text)
    now = datetime.now(UTC).replace(microsecond=0)
    if duration:
        try:
            return now + timedelta(**{_UNITS[duration[2]]: int(duration[1])})
        except OverflowError:
            raise KeysCommandError(f"{text} is longer than there are dates") from None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise KeysCommandError(
            f"{shorten(ascii(text))} is neither a duration such as 90d, 12h nor a date such as 2027-01-31"
        ) from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    if time <= now:
        raise KeysCommandError(f"{text} is over already")
    return time


def _read(path: Path) -> dict[str, Key]:
    return dict(parse_keys(path.read_text(encoding="utf-8")))


@contextmanager
def _opened(path: Path, *, create: bool = False) -> Iterator[dict[str, Key]]:
    """The keys of a file, which is replaced at the end as a whole: who reads it meanwhile sees the old or the new one."""
    path = path.resolve()
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        keys = {} if create and not path.exists() else _read(path)
        yield keys
        draft = path.with_name(f".{path.name}.new")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(dump_keys(keys.values()))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        os.close(lock)
