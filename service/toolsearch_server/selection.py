"""Filters: which entries an answer may contain.

An entry's filterable properties are *facets*, short strings. A filter, read against a catalog, becomes a Selection: sets of
facets of which each must be met. Both the word index and the name index select by the same facets, so they cannot disagree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from toolsearch_server.entry import Annotations, Entry, Kind
from toolsearch_server.naming import canonical_part
from toolsearch_server.settings import NO_SETTINGS, Settings

BANNED, PINNED = "banned", "pinned"
"""Facets by the settings of the catalog."""
HINTS = tuple(hint.name for hint in fields(Annotations))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a caller asked for; see Filter in the contract."""

    servers: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    capabilities: tuple[str, ...] = ()
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    excluded_names: tuple[str, ...] = ()


NO_FILTER = Filter()


@dataclass(frozen=True, slots=True)
class Selection:
    """`all_of`: an entry needs at least one facet of each set. `excluded`: slots of entries to leave out. `unbanned`: leave
    out what the settings ban."""

    all_of: tuple[frozenset[str], ...] = ()
    excluded: frozenset[int] = frozenset()
    unbanned: bool = False

    def admits(self, slot: int, facets: frozenset[str]) -> bool:
        if self.unbanned and BANNED in facets:
            return False
        return slot not in self.excluded and not any(wanted.isdisjoint(facets) for wanted in self.all_of)


EVERYTHING = Selection()


def facets(entry: Entry, settings: Settings = NO_SETTINGS) -> frozenset[str]:
    found = [f"server={entry.server}", f"kind={entry.kind.name}"]
    if settings.is_banned(entry.name):
        found.append(BANNED)
    if settings.is_pinned(entry.name):
        found.append(PINNED)
    found += [f"namespace={namespace}" for namespace in ancestors(entry.namespace)]
    found += [f"tag={tag}" for tag in entry.tags]
    found += [f"capability={capability}" for capability in entry.capabilities]
    found += [_hint(hint, getattr(entry.annotations, hint)) for hint in HINTS]
    return frozenset(found)


def ancestors(namespace: str) -> list[str]:
    """`s3.file` → `s3.file`, `s3`."""
    parts = namespace.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def required_facets(wanted: Filter, servers: Iterable[str]) -> tuple[frozenset[str], ...]:
    """The facets that `wanted` asks for in a catalog with these servers."""
    required: list[Iterable[str]] = []
    if wanted.servers:
        required.append(f"server={server}" for server in servers if any(fnmatchcase(server, glob) for glob in wanted.servers))
    if wanted.namespaces:
        required.append(f"namespace={canonical_part(namespace)}" for namespace in wanted.namespaces)
    if wanted.tags:
        required.append(f"tag={tag}" for tag in wanted.tags)
    if wanted.kinds:
        required.append(f"kind={kind.name}" for kind in wanted.kinds)
    required.extend((f"capability={capability}",) for capability in wanted.capabilities)
    for hint in HINTS:
        value: bool | None = getattr(wanted, hint)
        if value is not None:
            required.append((_hint(hint, value),))
    return tuple(frozenset(facets) for facets in required)


def _hint(name: str, value: bool) -> str:
    return f"{name}={value}"
