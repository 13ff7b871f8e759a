"""What to follow: the `mcpServers` JSON that MCP clients read, with a few keys of our own, and `skillFolders`. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NoReturn
from urllib.parse import urlsplit

from toolsearch_server.entry import check_name
from toolsearch_server.errors import ServiceError, shorten
from toolsearch_server.limits import DEFAULT_LIMITS, MIB, Limits
from toolsearch_server.store import CatalogKey

Json = Any
"""What json.loads returns."""

KINDS = ("tools", "prompts", "resources")
HTTP_TYPES = ("http", "streamable-http")
DEFAULT_POLL_SECONDS = 300.0
MIN_POLL_SECONDS = 1.0
MAX_POLL_SECONDS = 86_400.0
DEFAULT_SCAN_SECONDS = 2.0
"""Between looks at a folder of skills."""

_STDIO_KEYS = frozenset({"command", "args", "env", "cwd"})
_HTTP_KEYS = frozenset({"url", "headers"})
_OTHER_KEYS = frozenset({"type", "tenant", "catalog", "include", "exclude", "tags", "poll_seconds", "kinds", "disabled"})
_FOLDER_KEYS = frozenset({"path", "tenant", "catalog", "include", "exclude", "tags", "poll_seconds", "disabled"})
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")


class McpConfigError(ValueError):
    """The file cannot be used; the message says which key, what it held and what it may hold, but never a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """What one MCP server may cost."""

    entries_per_server: int = 10_000
    pages: int = 1_000
    """Of one listing of one kind."""
    listing_bytes: int = 64 * MIB
    """Of all definitions in one listing together."""
    connect_seconds: float = 30.0
    request_seconds: float = 30.0
    listing_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class StdioTransport:
    """A server that is started as a subprocess. Arguments may hold expanded secrets, so they are not shown either."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """A server at a URL, which may hold a token like the headers may."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class FolderTransport:
    """No server at all: a folder of skills, read from where it is."""

    path: str
    scan_seconds: float = DEFAULT_SCAN_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    name: str
    transport: StdioTransport | HttpTransport | FolderTransport
    tenant: str = "default"
    catalog: str = "default"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    poll_seconds: float = DEFAULT_POLL_SECONDS
    kinds: tuple[str, ...] = ("tools",)

    @property
    def key(self) -> CatalogKey:
        return CatalogKey(self.tenant, self.catalog)

    def selects(self, name: str) -> bool:
        """Whether an entry of this name is wanted."""
        included = not self.include or any(fnmatchcase(name, pattern) for pattern in self.include)
        return included and not any(fnmatchcase(name, pattern) for pattern in self.exclude)


@dataclass(frozen=True, slots=True)
class McpConfig:
    servers: tuple[ServerSpec, ...]
    notes: tuple[str, ...] = ()
    """What the file has that is not used."""


def parse(text: str, environment: Mapping[str, str], limits: Limits = DEFAULT_LIMITS) -> McpConfig:
    """The servers in the text of an `mcpServers` file. `${NAME}` and `${NAME:-default}` are taken from `environment`."""
    top = _load(text)
    if not isinstance(top, dict):
        _refuse("the file", given=_type(top), allowed='an object with the key "mcpServers"')
    if "mcpServers" not in top and "skillFolders" not in top:
        _refuse("mcpServers", given="nothing", allowed="an object: names of servers and how to reach them")
    notes = [f"{shorten(ascii(key))} is not used" for key in top if key not in _READERS]
    servers: dict[tuple[CatalogKey, str], ServerSpec] = {}
    for kind, read in _READERS.items():
        for name, member in _object(top.get(kind, {}), kind).items():
            path = f"{kind}.{shorten(name) if name.isprintable() else shorten(ascii(name))}"
            _checked(name, path, limits.server_length, "server_length")
            section = _Section(path, _object(member, path), environment, limits, notes)
            if section.flag("disabled"):
                notes.append(f"{path} is disabled")
                continue
            spec = read(name, section)
            if (spec.key, name) in servers:
                _refuse(path, given="named as one of mcpServers is", allowed="a name of its own in the catalog")
            servers[spec.key, name] = spec
    return McpConfig(tuple(servers.values()), tuple(notes))


def _load(text: str) -> Json:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except McpConfigError:
        raise
    except RecursionError:
        raise McpConfigError("the file is nested too deeply to be an mcpServers file") from None
    except ValueError as error:
        raise McpConfigError(f"the file is not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for key, value in pairs:
        if key in members:
            raise McpConfigError(f"the key {shorten(ascii(key))} is there twice in one object, allowed is once")
        members[key] = value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise McpConfigError(f"the file is not JSON: {name} is not a JSON number")


def _server(name: str, section: "_Section") -> ServerSpec:
    limits = section.limits
    return ServerSpec(
        name=name,
        transport=_transport(section),
        tenant=section.name("tenant", limits.tenant_length, "tenant_length"),
        catalog=section.name("catalog", limits.catalog_length, "catalog_length"),
        include=section.strings("include"),
        exclude=section.strings("exclude"),
        tags=_tags(section),
        poll_seconds=_poll_seconds(section),
        kinds=_kinds(section),
    )


def _folder(name: str, section: "_Section") -> ServerSpec:
    limits = section.limits
    section.note_unused(_FOLDER_KEYS)
    path = section.expanded("path")
    if not path.startswith("/") or "\0" in path:
        _refuse(
            f"{section.path}.path", given=shorten(ascii(path)) if path else "nothing", allowed="an absolute path of a folder"
        )
    return ServerSpec(
        name=name,
        transport=FolderTransport(path, _poll_seconds(section, DEFAULT_SCAN_SECONDS)),
        tenant=section.name("tenant", limits.tenant_length, "tenant_length"),
        catalog=section.name("catalog", limits.catalog_length, "catalog_length"),
        include=section.strings("include"),
        exclude=section.strings("exclude"),
        tags=_tags(section),
    )


_READERS: Mapping[str, Callable[[str, "_Section"], ServerSpec]] = {"mcpServers": _server, "skillFolders": _folder}


def _transport(section: "_Section") -> StdioTransport | HttpTransport:
    has_command, has_url = "command" in section.members, "url" in section.members
    if has_command == has_url:
        given = '"command" and "url"' if has_url else 'neither "command" nor "url"'
        _refuse(section.path, given=given, allowed='one of "command" (a subprocess) and "url" (streamable HTTP)')
    allowed_types = ("stdio",) if has_command else HTTP_TYPES
    given_type = section.string("type", allowed_types[0])
    if given_type not in allowed_types:
        hint = "; the legacy SSE transport is not supported" if given_type == "sse" else ""
        _refuse(f"{section.path}.type", given=shorten(ascii(given_type)), allowed=" or ".join(allowed_types) + hint)
    section.note_unused((_STDIO_KEYS if has_command else _HTTP_KEYS) | _OTHER_KEYS)
    return _stdio(section) if has_command else _http(section)


def _stdio(section: "_Section") -> StdioTransport:
    command = section.expanded("command")
    if not command:
        _refuse(f"{section.path}.command", given="an empty string", allowed="a program")
    return StdioTransport(
        command=command,
        args=tuple(section.expand(arg, f"args[{index}]") for index, arg in enumerate(section.strings("args"))),
        env=section.expanded_map("env"),
        cwd=section.expanded("cwd") or None,
    )


def _http(section: "_Section") -> HttpTransport:
    url = section.expanded("url")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable():
        # The URL itself is not repeated: it may hold a token.
        _refuse(f"{section.path}.url", given="something else", allowed="a URL that begins with http:// or https://")
    headers = {name: value.strip() for name, value in section.expanded_map("headers").items()}
    for name, value in headers.items():
        path = f"{section.path}.headers.{shorten(ascii(name))}"
        if not _HEADER_NAME.fullmatch(name):
            _refuse(path, given="a name with other characters", allowed="letters, digits and -")
        if not _HEADER_VALUE.fullmatch(value):
            _refuse(path, given="a value with other characters", allowed="printable ASCII characters")
    return HttpTransport(url, headers)


def _tags(section: "_Section") -> tuple[str, ...]:
    tags, limits = section.strings("tags"), section.limits
    # One place is kept for the tag that marks entries of a server that is away.
    if len(tags) >= limits.tags_per_entry:
        _refuse(f"{section.path}.tags", given=f"{len(tags)} tags", allowed=f"at most {limits.tags_per_entry - 1}")
    for index, tag in enumerate(tags):
        _checked(tag, f"{section.path}.tags[{index}]", limits.tag_length, "tag_length")
    return tags


def _kinds(section: "_Section") -> tuple[str, ...]:
    kinds = section.strings("kinds", ("tools",))
    for index, kind in enumerate(kinds):
        if kind not in KINDS:
            _refuse(f"{section.path}.kinds[{index}]", given=shorten(ascii(kind)), allowed=", ".join(KINDS))
    if not kinds:
        _refuse(f"{section.path}.kinds", given="an empty list", allowed="some of " + ", ".join(KINDS))
    return tuple(kind for kind in KINDS if kind in kinds)


def _poll_seconds(section: "_Section", default: float = DEFAULT_POLL_SECONDS) -> float:
    value = section.members.get("poll_seconds", default)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not MIN_POLL_SECONDS <= value <= MAX_POLL_SECONDS:
        given = shorten(str(value)) if number else _type(value)
        allowed = f"a number of seconds from {MIN_POLL_SECONDS:g} to {MAX_POLL_SECONDS:g}"
        _refuse(f"{section.path}.poll_seconds", given=given, allowed=allowed)
    return float(value)


@dataclass(frozen=True, slots=True)
class _Section:
    """One server's object in the file, read key by key. Secrets may be in it: errors tell types, not values."""

    path: str
    members: Mapping[str, Json] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    limits: Limits
    notes: list[str]

    def flag(self, key: str) -> bool:
        value = self.members.get(key, False)
        if not isinstance(value, bool):
            _refuse(f"{self.path}.{key}", given=_type(value), allowed="true or false")
        return value

    def string(self, key: str, default: str = "") -> str:
        return _string(self.members.get(key, default), f"{self.path}.{key}")

    def name(self, key: str, length: int, limit: str) -> str:
        return _checked(self.string(key, "default"), f"{self.path}.{key}", length, limit)

    def strings(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self.members.get(key, list(default))
        if not isinstance(value, list):
            _refuse(f"{self.path}.{key}", given=_type(value), allowed="a list of strings")
        return tuple(_string(each, f"{self.path}.{key}[{index}]") for index, each in enumerate(value))

    def expanded(self, key: str) -> str:
        return self.expand(self.string(key), key)

    def expanded_map(self, key: str) -> dict[str, str]:
        members = _object(self.members.get(key, {}), f"{self.path}.{key}")
        named = {name: (f"{key}.{shorten(name)}", value) for name, value in members.items()}
        return {name: self.expand(_string(value, f"{self.path}.{path}"), path) for name, (path, value) in named.items()}

    def expand(self, text: str, key: str) -> str:
        if "${" in _VARIABLE.sub("", text):
            self.notes.append(f"{self.path}.{key} has a ${{ that is not ${{NAME}} or ${{NAME:-default}}, it is left as it is")
        return _VARIABLE.sub(self._value_of(key), text)

    def _value_of(self, key: str) -> Callable[[re.Match[str]], str]:
        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            # As in a shell, :- stands in for an empty variable too.
            found = self.environment.get(name)
            if found or (found is not None and default is None):
                return found
            if default is None:
                allowed = f"a set variable, or ${{{name}:-default}}"
                _refuse(f"{self.path}.{key}", given=f"the unset variable {name}", allowed=allowed)
            return str(default)

        return value

    def note_unused(self, used: frozenset[str]) -> None:
        self.notes.extend(f"{self.path}.{shorten(ascii(key)[1:-1])} is not used" for key in self.members if key not in used)


def _object(value: Json, path: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        _refuse(path, given=_type(value), allowed="an object")
    return value


def _string(value: Json, path: str) -> str:
    if not isinstance(value, str):
        _refuse(path, given=_type(value), allowed="a string")
    return value


def _checked(name: str, path: str, length: int, limit: str) -> str:
    try:
        check_name(name, field=path, length=length, limit=limit)
    except ServiceError as error:
        raise McpConfigError(error.message) from None
    return name


def _type(value: Json) -> str:
    names = {bool: "a boolean", str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "null")


def _refuse(path: str, *, given: str, allowed: str) -> NoReturn:
    raise McpConfigError(f"{path} is {given}, allowed is {allowed}")
