"""Canonical names and aliases.

A canonical name is namespace + "." + what the server calls the entry; an alias is the same in the characters that model
providers accept. Both are unique in a catalog. Where two entries would get the same name, *all* of them carry a hash of their
identity, so that no name ever silently comes to mean another entry, and so that the outcome depends only on which entries
there are, not on the order in which they came.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from toolsearch_server.entry import EntryKey, Kind

ALIAS_LENGTH = 64
HASH_DIGITS = 8
CONTESTED, LOSSY = "_h", "_u"
"""What stands before a hash: another entry wants the name, or the alias cannot show it."""
HASH_LENGTH = len(CONTESTED) + HASH_DIGITS

_NOT_CANONICAL = re.compile(r"[^\w.-]+")
_EMPTY_PARTS = re.compile(r"\.{2,}")
_NOT_ALIAS = re.compile(r"[^a-zA-Z0-9_-]")
_ENDS_LIKE_HASHED = re.compile(r"_[hu](?:[0-9a-f]{8})+$")


@dataclass(frozen=True, slots=True)
class Names:
    name: str
    alias: str


def plain_name(namespace: str, action: str) -> str:
    """The canonical name if nobody else wants it."""
    parts = (canonical_part(part) for part in (namespace, action))
    return ".".join(part for part in parts if part) or "_"


def action(key: EntryKey) -> str:
    """What an entry is called in its namespace. Skills and agents are files named with hyphens, and tasks with underscores."""
    return key.local_name.replace("-", "_") if key.kind in (Kind.SKILL, Kind.AGENT) else key.local_name


def canonical_part(text: str) -> str:
    """A namespace or a local name as it stands in a canonical name."""
    words = _NOT_CANONICAL.sub("_", unicodedata.normalize("NFC", text))
    return _EMPTY_PARTS.sub(".", words).strip(".")


def plain_alias(name: str) -> str:
    """The alias if nobody else wants it. Of a name that an alias cannot show in full: its beginning and "~"."""
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    alias = _NOT_ALIAS.sub("_", ascii_name)
    lossy = not name.isascii() or len(name) > ALIAS_LENGTH
    return alias[: ALIAS_LENGTH - HASH_LENGTH] + "~" if lossy else alias


def safe_name(text: str, taken: Collection[str]) -> str:
    """A text in the characters of aliases, and none of `taken`: with a hash where it takes one."""
    plain = plain_alias(text)
    if not plain.endswith("~") and plain not in taken:
        return plain
    hashed = hashlib.blake2b(text.encode(), digest_size=HASH_DIGITS // 2).hexdigest()
    return f"{plain.rstrip('~')[: ALIAS_LENGTH - HASH_LENGTH]}{LOSSY}{hashed}"


@dataclass(frozen=True, slots=True)
class NameGroups:
    """Which entries want which plain name and which plain alias."""

    names: Mapping[str, frozenset[EntryKey]]
    aliases: Mapping[str, frozenset[EntryKey]]


NO_GROUPS = NameGroups({}, {})


def regrouped(
    groups: NameGroups,
    *,
    removed: Iterable[tuple[EntryKey, str, str]],
    added: Iterable[tuple[EntryKey, str, str]],
) -> NameGroups:
    """The groups after entries went and came, each given as key, namespace and canonical name."""
    names, aliases = _Overlay(groups.names), _Overlay(groups.aliases)
    for key, namespace, name in removed:
        names.discard(plain_name(namespace, action(key)), key)
        aliases.discard(plain_alias(name), key)
    for key, namespace, name in added:
        names.add(plain_name(namespace, action(key)), key)
        aliases.add(plain_alias(name), key)
    return NameGroups(names.merged(), aliases.merged())


def assign(
    groups: NameGroups,
    current: Callable[[EntryKey], tuple[str, Names]],
    *,
    removed: Iterable[EntryKey],
    added: Mapping[EntryKey, str],
) -> dict[EntryKey, Names]:
    """Names for what was added, and new names for what it or the removals affect.

    `current` gives the namespace and names of an entry that is there; `added` gives the namespace of each new entry. An
    entry whose namespace changes is both removed and added.
    """
    names, aliases = _Overlay(groups.names), _Overlay(groups.aliases)
    for key in removed:
        namespace, had = current(key)
        names.discard(plain_name(namespace, action(key)), key)
        aliases.discard(plain_alias(had.name), key)
    for key, namespace in added.items():
        names.add(plain_name(namespace, action(key)), key)

    new_names: dict[EntryKey, str] = {}
    for plain, members in names.touched:
        for key, name in _unique_names(plain, members).items():
            if key in added or current(key)[1].name != name:
                new_names[key] = name
    for key, name in new_names.items():
        if key not in added:
            aliases.discard(plain_alias(current(key)[1].name), key)
        aliases.add(plain_alias(name), key)

    renamed: dict[EntryKey, Names] = {}
    for plain, members in aliases.touched:
        for key, alias in _unique_aliases(plain, members).items():
            given = Names(new_names[key] if key in new_names else current(key)[1].name, alias)
            if key in added or current(key)[1] != given:
                renamed[key] = given
    return renamed


def explain(namespace: str, key: EntryKey, given: Names) -> str:
    """Why names are not the plain ones; empty if they are."""
    plain = plain_name(namespace, action(key))
    if given.name != plain:
        return f"the name would be {plain}, which another entry wants too or which looks like a hashed name"
    alias = plain_alias(given.name)
    if given.alias == alias:
        return ""
    if alias.endswith("~"):
        return f"an alias has at most {ALIAS_LENGTH} characters of a-z A-Z 0-9 _ -, which cannot show {plain} in full"
    return f"the alias would be {alias}, which another entry wants too or which looks like a hashed name"


def _unique_names(plain: str, members: frozenset[EntryKey]) -> dict[EntryKey, str]:
    if len(members) == 1 and not _ENDS_LIKE_HASHED.search(plain):
        return dict.fromkeys(members, plain)
    return {key: plain + suffix for key, suffix in _suffixes(members, CONTESTED, HASH_DIGITS).items()}


def _unique_aliases(plain: str, members: frozenset[EntryKey]) -> dict[EntryKey, str]:
    """Hashes are compared inside a group only, so groups must not meet: lossy and contested aliases have different marks, and
    a contested one that has to be cut takes a hash too long to be found twice."""
    if plain.endswith("~"):
        begin, suffixes = plain[:-1], _suffixes(members, LOSSY, HASH_DIGITS)
    elif len(members) == 1 and not _ENDS_LIKE_HASHED.search(plain):
        return dict.fromkeys(members, plain)
    else:
        fits = len(plain) <= ALIAS_LENGTH - HASH_LENGTH
        begin, suffixes = plain, _suffixes(members, CONTESTED, HASH_DIGITS if fits else 3 * HASH_DIGITS)
    return {key: begin[: ALIAS_LENGTH - len(suffix)] + suffix for key, suffix in suffixes.items()}


def _suffixes(members: frozenset[EntryKey], mark: str, digits: int) -> dict[EntryKey, str]:
    """A different hash for each member, longer only if short ones are equal."""
    while True:
        suffixes = {key: mark + _hash(key)[:digits] for key in members}
        if len(set(suffixes.values())) == len(members):
            return suffixes
        digits += HASH_DIGITS


def _hash(key: EntryKey) -> str:
    parts = (key.server, key.kind.name, key.local_name)
    identity = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(identity.encode(), digest_size=20).hexdigest()


class _Overlay:
    """A mapping of groups with changes on top; the mapping below stays as it is."""

    def __init__(self, below: Mapping[str, frozenset[EntryKey]]) -> None:
        self._below = below
        self._changed: dict[str, set[EntryKey]] = {}

    @property
    def touched(self) -> Iterable[tuple[str, frozenset[EntryKey]]]:
        return ((plain, frozenset(members)) for plain, members in self._changed.items())

    def add(self, plain: str, key: EntryKey) -> None:
        self._members(plain).add(key)

    def discard(self, plain: str, key: EntryKey) -> None:
        self._members(plain).discard(key)

    def _members(self, plain: str) -> set[EntryKey]:
        members = self._changed.get(plain)
        if members is None:
            members = self._changed[plain] = set(self._below.get(plain, ()))
        return members

    def merged(self) -> dict[str, frozenset[EntryKey]]:
        merged = dict(self._below)
        for plain, members in self.touched:
            if members:
                merged[plain] = members
            else:
                merged.pop(plain, None)
        return merged
