"""Entries and changes as bytes: the messages of toolsearch.v1.change, the same in every store."""

from datetime import UTC, datetime

from toolsearch.v1 import change_pb2, entry_pb2, settings_pb2
from toolsearch_server.changes import Change, Version
from toolsearch_server.entry import Draft, Entry, EntryKey, Kind, Resource, make_entry
from toolsearch_server.settings import Settings
from toolsearch_server.store import Announced, CatalogKey, Disturbed

WEIGHED = ("name", "description", "parameters")


def encode_entry(entry: Entry) -> bytes:
    return _stored(entry).SerializeToString(deterministic=True)


def decode_entry(data: bytes) -> Entry:
    return _entry(change_pb2.StoredEntry.FromString(data))


def encode_key(key: EntryKey) -> bytes:
    return _key(key).SerializeToString(deterministic=True)


def decode_key(data: bytes) -> EntryKey:
    return _decoded_key(change_pb2.EntryKey.FromString(data))


def encode_settings(settings: Settings) -> bytes:
    return settings_message(settings).SerializeToString(deterministic=True)


def decode_settings(data: bytes) -> Settings:
    return settings_value(settings_pb2.CatalogSettings.FromString(data))


def settings_message(settings: Settings) -> settings_pb2.CatalogSettings:
    message = settings_pb2.CatalogSettings(
        synonyms=[settings_pb2.Synonyms(words=words) for words in settings.synonyms],
        pinned=settings.pinned,
        banned=settings.banned,
        ignore_usage=settings.ignore_usage,
    )
    for place in WEIGHED:
        weight = getattr(settings, f"{place}_weight")
        if weight != 1:
            setattr(message.weights, place, weight)
    return message


def settings_value(message: settings_pb2.CatalogSettings) -> Settings:
    weights = {f"{place}_weight": getattr(message.weights, place) for place in WEIGHED if message.weights.HasField(place)}
    return Settings(
        synonyms=tuple(tuple(group.words) for group in message.synonyms),
        pinned=tuple(message.pinned),
        banned=tuple(message.banned),
        ignore_usage=message.ignore_usage,
        **weights,
    )


def encode_change(version: Version, time: datetime, change: Change, previous_id: str = "") -> bytes:
    message = change_pb2.Change(
        epoch=version.epoch,
        revision=version.revision,
        upserts=[_stored(entry) for entry in change.upserts],
        deletes=[_key(key) for key in change.deletes],
        gone_names=change.gone_names,
        id=version.id,
        trace_parent=change.trace_parent,
        previous_id=previous_id,
        settings=None if change.settings is None else settings_message(change.settings),
    )
    message.time.FromDatetime(time.astimezone(UTC))
    return message.SerializeToString(deterministic=True)


def decode_change(data: bytes) -> tuple[Version, Change]:
    return _change(change_pb2.Change.FromString(data))


def _change(message: change_pb2.Change) -> tuple[Version, Change]:
    change = Change(
        upserts=tuple(_entry(stored) for stored in message.upserts),
        deletes=tuple(map(_decoded_key, message.deletes)),
        gone_names=tuple(message.gone_names),
        trace_parent=message.trace_parent,
        previous_id=message.previous_id,
        settings=settings_value(message.settings) if message.HasField("settings") else None,
    )
    return Version(message.epoch, message.revision, message.id), change


def encode_announcement(version: Version, record: bytes | None) -> bytes:
    """`record` is the change as it is logged; None if it is too large to be sent along."""
    message = change_pb2.Announcement(epoch=version.epoch, revision=version.revision, id=version.id)
    if record is not None:
        message.change.ParseFromString(record)
        message.change.SetInParent()
    return message.SerializeToString(deterministic=True)


def encode_deletion(version: Version) -> bytes:
    return change_pb2.Announcement(epoch=version.epoch, revision=version.revision, deleted=True).SerializeToString()


def decode_announcement(key: CatalogKey, data: bytes) -> Announced | Disturbed:
    """What an announcement says. One that cannot be read, or contradicts itself, says that something happened."""
    try:
        message = change_pb2.Announcement.FromString(data)
        if message.deleted:
            return Disturbed(key, "deleted")
        announced = Version(message.epoch, message.revision, message.id)
        if not message.HasField("change"):
            return Announced(key, announced, None)
        version, change = _change(message.change)
    except Exception as error:  # anything may be in a message
        return Disturbed(key, f"unreadable announcement: {error}")
    if version != announced or version.id != announced.id or not announced.epoch or announced.revision < 1:
        return Disturbed(key, "contradictory announcement")
    return Announced(key, version, change)


def _stored(entry: Entry) -> change_pb2.StoredEntry:
    draft = entry.draft
    return change_pb2.StoredEntry(
        server=draft.server,
        kind=_kind(draft.kind),
        local_name=draft.local_name,
        name=entry.name,
        alias=entry.alias,
        namespace=draft.namespace,
        definition=draft.definition,
        tags=draft.tags,
        capabilities=draft.capabilities,
        summary=draft.summary,
        resources=[
            entry_pb2.Resource(path=each.path, media_type=each.media_type, size=each.size, digest=each.digest)
            for each in draft.resources
        ],
    )


def _entry(stored: change_pb2.StoredEntry) -> Entry:
    draft = Draft(
        server=stored.server,
        kind=Kind(stored.kind),
        local_name=stored.local_name,
        namespace=stored.namespace,
        definition=stored.definition,
        tags=tuple(stored.tags),
        capabilities=tuple(stored.capabilities),
        summary=stored.summary,
        resources=tuple(Resource(each.path, each.media_type, each.size, each.digest) for each in stored.resources),
    )
    return make_entry(draft, name=stored.name, alias=stored.alias)


def _decoded_key(key: change_pb2.EntryKey) -> EntryKey:
    return EntryKey(key.server, Kind(key.kind), key.local_name)


def _key(key: EntryKey) -> change_pb2.EntryKey:
    return change_pb2.EntryKey(server=key.server, kind=_kind(key.kind), local_name=key.local_name)


def _kind(kind: Kind) -> str:
    return f"ENTRY_KIND_{kind.name}"
