"""Changes: what a write does to a catalog's entries. Pure functions; the store makes them durable, the view searchable."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from toolsearch_server import naming
from toolsearch_server.entry import Draft, Entry, EntryKey, make_entry
from toolsearch_server.errors import CatalogFull, DuplicateEntry
from toolsearch_server.limits import Limits
from toolsearch_server.naming import NameGroups, Names
from toolsearch_server.settings import NO_SETTINGS, Settings


@dataclass(frozen=True, slots=True)
class Version:
    """`id` is that of the change that led here, where the store keeps one: after a loss another may have the same revision."""

    epoch: str
    revision: int
    id: str = field(default="", compare=False)


NO_VERSION = Version("", 0)
"""The version of a catalog that does not exist."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a catalog: its entries, and the bytes that were given for them."""

    entries: int
    bytes: int


NO_SIZE = Size(0, 0)


Contents = Mapping[str, bytes]
"""Of resources, by digest."""
NO_CONTENTS: Contents = {}


@dataclass(frozen=True, slots=True)
class Change:
    """What one write does: entries to put in place of those with the same key, and keys to delete.

    `gone_names` are the canonical names that mean nothing any more: of deleted entries, and old names of renamed ones.
    `size` is the catalog's after a planned change; `trace_parent` leads back to the write.
    """

    upserts: tuple[Entry, ...] = ()
    deletes: tuple[EntryKey, ...] = ()
    gone_names: tuple[str, ...] = ()
    size: Size = field(default=NO_SIZE, compare=False)
    trace_parent: str = field(default="", compare=False)
    previous_id: str = field(default="", compare=False)
    """Of the change that led to the version before, where the store keeps ids."""
    settings: Settings | None = None
    """None: as they were."""
    contents: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Of the resources of `upserts`, by digest, as far as they are not kept already. For the store alone, like the next."""
    gone_resources: tuple[str, ...] = field(default=(), compare=False)
    """Digests of what no entry of the catalog refers to any more."""

    def __bool__(self) -> bool:
        return bool(self.upserts or self.deletes or self.settings is not None)

    @classmethod
    def joined(cls, changes: Iterable["Change"]) -> "Change":
        """One change that does what these do, in this order."""
        upserts: dict[EntryKey, Entry] = {}
        deletes: dict[EntryKey, None] = {}
        gone_names: dict[str, None] = {}
        settings: Settings | None = None
        for change in changes:
            settings = change.settings or settings
            for key in change.deletes:
                upserts.pop(key, None)
                deletes[key] = None
            for entry in change.upserts:
                deletes.pop(entry.key, None)
                upserts[entry.key] = entry
            gone_names.update(dict.fromkeys(change.gone_names))
        names = {entry.name for entry in upserts.values()}
        gone = tuple(name for name in gone_names if name not in names)
        return cls(tuple(upserts.values()), tuple(deletes), gone, settings=settings)


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries of a catalog at one version, by identity and by name; immutable."""

    version: Version
    by_key: Mapping[EntryKey, Entry]
    by_name: Mapping[str, Entry]
    by_alias: Mapping[str, Entry]
    groups: NameGroups
    bytes: int = 0
    """That were given for all of them, without resources."""
    resource_bytes: int = 0
    settings: Settings = NO_SETTINGS

    @property
    def size(self) -> Size:
        return Size(len(self.by_key), self.bytes + self.resource_bytes)

    @classmethod
    def of(cls, version: Version, entries: Iterable[Entry], settings: Settings = NO_SETTINGS) -> "Entries":
        return NO_ENTRIES.after(Change(upserts=tuple(entries), settings=settings), version)

    def find(self, name: str) -> Entry | None:
        """By canonical name or alias."""
        return self.by_name.get(name) or self.by_alias.get(name)

    def after(self, change: Change, version: Version) -> "Entries":
        by_key, by_name, by_alias = dict(self.by_key), dict(self.by_name), dict(self.by_alias)
        outdated = [by_key.pop(key) for key in change.deletes if key in by_key]
        outdated += [by_key[entry.key] for entry in change.upserts if entry.key in by_key]
        for entry in outdated:
            del by_name[entry.name], by_alias[entry.alias]
        for entry in change.upserts:
            by_key[entry.key] = by_name[entry.name] = by_alias[entry.alias] = entry
        groups = naming.regrouped(
            self.groups,
            removed=[(entry.key, entry.draft.namespace, entry.name) for entry in outdated],
            added=[(entry.key, entry.draft.namespace, entry.name) for entry in change.upserts],
        )
        grown = sum(entry.bytes for entry in change.upserts) - sum(entry.bytes for entry in outdated)
        stored = sum(entry.stored_bytes for entry in change.upserts) - sum(entry.stored_bytes for entry in outdated)
        return Entries(
            version,
            by_key,
            by_name,
            by_alias,
            groups,
            bytes=self.bytes + grown,
            resource_bytes=self.resource_bytes + stored - grown,
            settings=change.settings or self.settings,
        )


NO_ENTRIES = Entries(NO_VERSION, {}, {}, {}, naming.NO_GROUPS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A planned change, and what it means to the caller, by canonical name."""

    change: Change
    added: tuple[str, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]
    unchanged: int
    notices: "tuple[Notice, ...]"


@dataclass(frozen=True, slots=True)
class Notice:
    """An entry whose name or alias carries a hash, and why."""

    entry: Entry
    explanation: str


def plan_apply(
    current: Entries, upserts: Sequence[Draft], deletes: Iterable[str], limits: Limits, contents: Contents = NO_CONTENTS
) -> Outcome:
    """Add or replace `upserts` and delete the entries named in `deletes`. `contents` are those of new resources, by digest."""
    _refuse_duplicates(upserts, field="upserts")
    named = (current.find(name) for name in deletes)
    gone = {entry.key: entry for entry in named if entry is not None}
    for index, draft in enumerate(upserts):
        if draft.key in gone:
            raise DuplicateEntry(
                f"upserts[{index}] is deleted by the same request", field="deletes", given=gone[draft.key].name
            )
    return _plan(current, upserts, tuple(gone), limits, contents)


def plan_sync(
    current: Entries, server: str, offered: Sequence[Draft], limits: Limits, contents: Contents = NO_CONTENTS
) -> Outcome:
    """Make `offered` all that there is of `server`."""
    _refuse_duplicates(offered, field="entries")
    kept = {draft.key for draft in offered}
    gone = tuple(key for key in current.by_key if key.server == server and key not in kept)
    return _plan(current, offered, gone, limits, contents)


def plan_settings(current: Entries, settings: Settings) -> Outcome:
    """Search the catalog by these settings from now on."""
    change = Change(size=current.size, settings=None if settings == current.settings else settings)
    return Outcome(change, added=(), updated=(), deleted=(), unchanged=0, notices=())


def _refuse_duplicates(drafts: Sequence[Draft], *, field: str) -> None:
    seen: dict[EntryKey, int] = {}
    for index, draft in enumerate(drafts):
        first = seen.setdefault(draft.key, index)
        if first != index:
            raise DuplicateEntry(
                f"{field}[{index}] is the same entry as {field}[{first}]: server {draft.server!r}, name {draft.local_name!r}",
                field=f"{field}[{index}]",
                given=draft.local_name,
                allowed="each entry once",
            )


def _plan(current: Entries, drafts: Sequence[Draft], gone: tuple[EntryKey, ...], limits: Limits, contents: Contents) -> Outcome:
    known = current.by_key
    different = [draft for draft in drafts if draft.key not in known or not draft.means(known[draft.key].draft)]
    new = [draft.key for draft in different if draft.key not in known]
    entries = len(known) + len(new) - len(gone)
    if new and entries > limits.entries_per_catalog:
        raise CatalogFull(entries=entries, allowed=limits.entries_per_catalog)

    moved = {draft.key for draft in different if draft.key in known and known[draft.key].draft.namespace != draft.namespace}
    names = naming.assign(
        current.groups,
        lambda key: (known[key].draft.namespace, Names(known[key].name, known[key].alias)),
        removed=(*gone, *moved),
        added={draft.key: draft.namespace for draft in different if draft.key not in known or draft.key in moved},
    )
    drafts_by_key = {draft.key: draft for draft in different}
    touched = dict.fromkeys((*drafts_by_key, *names))
    upserts: list[Entry] = []
    for key in touched:
        given = names.get(key) or Names(known[key].name, known[key].alias)
        upserts.append(make_entry(drafts_by_key.get(key) or known[key].draft, name=given.name, alias=given.alias))
    names_after = {entry.name for entry in upserts}
    had = dict.fromkeys(known[key].name for key in (*gone, *touched) if key in known)
    outdated = [known[key] for key in (*gone, *touched) if key in known]
    grown = sum(entry.stored_bytes for entry in upserts) - sum(entry.stored_bytes for entry in outdated)
    wanted = _digests(upserts)
    return Outcome(
        change=Change(
            upserts=tuple(upserts),
            deletes=gone,
            gone_names=tuple(name for name in had if name not in names_after),
            size=Size(entries, current.size.bytes + grown),
            contents={digest: contents[digest] for digest in wanted if digest in contents},
            gone_resources=_unreferenced(current, outdated, wanted),
        ),
        added=tuple(entry.name for entry in upserts if entry.key not in known),
        updated=tuple(entry.name for entry in upserts if entry.key in known),
        deleted=tuple(known[key].name for key in gone),
        unchanged=len(drafts) - len(different),
        notices=tuple(_notices(upserts)),
    )


def _digests(entries: Iterable[Entry]) -> dict[str, None]:
    return dict.fromkeys(resource.digest for entry in entries for resource in entry.resources)


def _unreferenced(current: Entries, outdated: Sequence[Entry], wanted: Mapping[str, None]) -> tuple[str, ...]:
    """What only entries that go refer to. All entries are looked at only if one that goes has resources."""
    had = [digest for digest in _digests(outdated) if digest not in wanted]
    if not had:
        return ()
    going = {entry.key for entry in outdated}
    kept = _digests(entry for key, entry in current.by_key.items() if key not in going)
    return tuple(digest for digest in had if digest not in kept)


def _notices(entries: Iterable[Entry]) -> Iterable[Notice]:
    for entry in entries:
        explanation = naming.explain(entry.draft.namespace, entry.key, Names(entry.name, entry.alias))
        if explanation:
            yield Notice(entry, explanation)
