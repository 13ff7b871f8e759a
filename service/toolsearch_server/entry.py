"""An entry: one findable thing. Pure values, made from the definitions that callers give."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

from toolsearch_server.errors import DefinitionInvalid, FieldInvalid, FieldRequired, LimitExceeded
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.schema import Json, depth_over, headings, parameter_text

SUMMARY_TARGET = 160
BYTES_PER_TOKEN = 4
TAGS_META = "toolsearch/tags"
CAPABILITIES_META = "toolsearch/capabilities"
ALWAYS_LOAD_META = "anthropic/alwaysLoad"
UNSEEN_MEMBERS = ("outputSchema", "annotations", "_meta", "icons", "execution", "title")
"""Members of a definition that no provider shows to a model."""
DEFAULT_MEDIA_TYPE = "application/octet-stream"


class Kind(IntEnum):
    """What sort of thing an entry is; the numbers are the contract's."""

    TOOL = 1
    SKILL = 2
    AGENT = 3
    PROMPT = 4
    RESOURCE = 5


TEXT_KINDS = (Kind.SKILL, Kind.AGENT)
"""What is written for a model to read: their definitions have a `content`, markdown."""


class EntryKey(NamedTuple):
    """Identity of an entry in its catalog: names may change, this does not."""

    server: str
    kind: Kind
    local_name: str


@dataclass(frozen=True, slots=True)
class Annotations:
    """MCP's hints, with MCP's defaults where the server left them unset."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


@dataclass(frozen=True, slots=True)
class Resource:
    """A file that comes with an entry. Its content is kept by digest, by the store alone."""

    path: str
    media_type: str
    size: int
    digest: str

    @classmethod
    def of(cls, path: str, media_type: str, content: bytes) -> "Resource":
        return cls(path, media_type or DEFAULT_MEDIA_TYPE, len(content), hashlib.sha256(content).hexdigest())


READ_ONLY = Annotations(read_only=True, destructive=False, idempotent=True, open_world=False)
READ_KINDS = (Kind.SKILL, Kind.PROMPT, Kind.RESOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A valid entry that has no names yet: what a caller gave, checked."""

    server: str
    kind: Kind
    local_name: str
    namespace: str
    definition: str
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    summary: str = ""
    resources: tuple[Resource, ...] = ()

    @property
    def key(self) -> EntryKey:
        return EntryKey(self.server, self.kind, self.local_name)

    def means(self, other: "Draft") -> bool:
        """Whether both say the same: spacing and the order of keys in the definition do not count."""
        if self == other:
            return True
        same_but_definition = replace(self, definition="") == replace(other, definition="")
        return same_but_definition and _canonical_json(self.definition) == _canonical_json(other.definition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A draft with names, and all that is derived from its definition."""

    draft: Draft
    name: str
    alias: str
    title: str
    description: str
    summary: str
    parameters: str
    tags: tuple[str, ...]
    capabilities: tuple[str, ...]
    annotations: Annotations
    digest: str
    tokens: int
    """Estimated, of what a model would see of it."""
    always_load: bool
    """Its server marks it as one to be loaded up front."""
    bytes: int
    """Of all that was given and is kept in memory: definition, summary, labels and names."""

    @property
    def key(self) -> EntryKey:
        return self.draft.key

    @property
    def server(self) -> str:
        return self.draft.server

    @property
    def kind(self) -> Kind:
        return self.draft.kind

    @property
    def local_name(self) -> str:
        return self.draft.local_name

    @property
    def definition(self) -> str:
        return self.draft.definition

    @property
    def resources(self) -> tuple[Resource, ...]:
        return self.draft.resources

    @property
    def stored_bytes(self) -> int:
        """Of all that was given, with the resources."""
        return self.bytes + sum(resource.size for resource in self.resources)

    @property
    def inner_words(self) -> str:
        """What `parameters` are, in a word."""
        return "headings" if self.kind in TEXT_KINDS else "parameters"

    @property
    def namespace(self) -> str:
        """All of the canonical name but its last part."""
        return self.name.rpartition(".")[0]


def make_draft(
    *,
    server: str,
    kind: Kind,
    definition: str,
    namespace: str,
    tags: Iterable[str],
    capabilities: Iterable[str],
    summary: str,
    limits: Limits,
    field: str,
    resources: Iterable[Resource] = (),
) -> Draft:
    """Check what a caller gave. `field` is the path of the entry in the request, for errors."""
    check_name(server, field=f"{field}.server", length=limits.server_length, limit="server_length", required=False)
    check_name(namespace, field=f"{field}.namespace", length=limits.namespace_length, limit="namespace_length", required=False)
    if len(summary) > limits.summary_length:
        raise LimitExceeded(
            f"{field}.summary", given=len(summary), allowed=limits.summary_length, limit="summary_length", unit="characters"
        )
    parsed = parse_definition(definition, limits=limits, field=f"{field}.definition")
    return Draft(
        server=server,
        kind=kind,
        local_name=parsed["name"],
        namespace=namespace or server,
        definition=definition,
        tags=_labels(tags, limits=limits, field=f"{field}.tags"),
        capabilities=_labels(capabilities, limits=limits, field=f"{field}.capabilities"),
        summary=" ".join(summary.split()),
        resources=_checked_resources(resources, limits=limits, field=f"{field}.resources"),
    )


def _checked_resources(resources: Iterable[Resource], *, limits: Limits, field: str) -> tuple[Resource, ...]:
    ordered = tuple(sorted(resources, key=lambda resource: resource.path))
    if len(ordered) > limits.resources_per_entry:
        raise LimitExceeded(
            field, given=len(ordered), allowed=limits.resources_per_entry, limit="resources_per_entry", unit="items"
        )
    total = sum(resource.size for resource in ordered)
    if total > limits.resource_bytes_per_entry:
        allowed = limits.resource_bytes_per_entry
        raise LimitExceeded(field, given=total, allowed=allowed, limit="resource_bytes_per_entry", unit="bytes")
    for before, resource in zip((None, *ordered), ordered, strict=False):
        _check_resource(resource, limits=limits, field=field)
        if before is not None and before.path == resource.path:
            raise FieldInvalid(f"{field} has a path twice", field=field, given=resource.path, allowed="each path once")
    return ordered


def _check_resource(resource: Resource, *, limits: Limits, field: str) -> None:
    check_name(resource.path, field=f"{field}.path", length=limits.resource_path_length, limit="resource_path_length")
    if any(part in ("", ".", "..") for part in resource.path.split("/")) or "\\" in resource.path:
        raise FieldInvalid(
            f"{field}.path is not a relative path",
            field=f"{field}.path",
            given=resource.path,
            allowed="parts with / between, none of them empty, . or .., and no backslash",
        )
    check_name(resource.media_type, field=f"{field}.media_type", length=limits.media_type_length, limit="media_type_length")
    if resource.size > limits.resource_bytes:
        raise LimitExceeded(
            f"{field}.content", given=resource.size, allowed=limits.resource_bytes, limit="resource_bytes", unit="bytes"
        )


def parse_definition(definition: str, *, limits: Limits, field: str) -> dict[str, Json]:
    """The JSON object in `definition`, if it can describe an entry."""
    size = len(definition.encode())
    if size > limits.definition_bytes:
        raise LimitExceeded(field, given=size, allowed=limits.definition_bytes, limit="definition_bytes", unit="bytes")
    too_deep = LimitExceeded(
        field,
        given=limits.definition_depth + 1,
        allowed=limits.definition_depth,
        limit="definition_depth",
        unit="or more levels",
    )
    try:
        parsed = json.loads(definition, parse_constant=_refuse_constant)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        raise DefinitionInvalid(
            f"{field} is not JSON: {error}", field=field, given=definition, allowed="a JSON object"
        ) from None
    if not isinstance(parsed, dict):
        raise DefinitionInvalid(
            f"{field} is {_json_type(parsed)}, not a JSON object", field=field, given=definition, allowed="a JSON object"
        )
    if depth_over(parsed, limits.definition_depth):
        raise too_deep
    _check_members(parsed, field=field, limits=limits)
    return parsed


def _check_members(parsed: dict[str, Json], *, field: str, limits: Limits) -> None:
    name = parsed.get("name")
    if not isinstance(name, str):
        raise DefinitionInvalid(
            f"{field} needs a name, a string", field=f"{field}.name", given=json.dumps(name), allowed="a string"
        )
    check_name(name, field=f"{field}.name", length=limits.name_length, limit="name_length")
    for member, types in _MEMBER_TYPES.items():
        value = parsed.get(member)
        if value is None or isinstance(value, types):
            continue
        allowed = "a JSON object" if types is dict else "a string"
        raise DefinitionInvalid(
            f"{field}.{member} is {_json_type(value)}, not {allowed}",
            field=f"{field}.{member}",
            given=json.dumps(value),
            allowed=allowed,
        )


_MEMBER_TYPES: Mapping[str, type] = {
    "title": str,
    "description": str,
    "inputSchema": dict,
    "input_schema": dict,
    "parameters": dict,
    "outputSchema": dict,
    "annotations": dict,
    "_meta": dict,
}


def make_entry(draft: Draft, *, name: str, alias: str, limits: Limits = DEFAULT_LIMITS) -> Entry:
    """Derive everything that is shown or searched. The draft is valid: its definition parses."""
    parsed: dict[str, Json] = json.loads(draft.definition)
    meta = parsed.get("_meta") or {}
    description = _printable(parsed.get("description") or "")
    definition_bytes = len(draft.definition.encode())
    given = (draft.server, draft.namespace, draft.summary, *draft.tags, *draft.capabilities)
    return Entry(
        draft=draft,
        name=name,
        alias=alias,
        title=_printable(parsed.get("title") or ""),
        description=description,
        summary=_one_line(draft.summary) or derive_summary(description),
        parameters=_printable(_inner_text(draft.kind, parsed)),
        tags=_merged(draft.tags, meta.get(TAGS_META), limits),
        capabilities=_merged(draft.capabilities, meta.get(CAPABILITIES_META), limits),
        annotations=_hints(draft.kind, parsed.get("annotations")),
        digest=_digest(draft, name, alias),
        tokens=tokens_of(definition_bytes - _unseen_bytes(parsed)),
        always_load=meta.get(ALWAYS_LOAD_META) is True,
        bytes=definition_bytes + sum(len(text.encode()) for text in given),
    )


def tokens_of(size: int) -> int:
    """Estimate for so many bytes. docs/plan.md says how far off it is."""
    return -(-max(size, 0) // BYTES_PER_TOKEN)


def token_estimate(text: str) -> int:
    return tokens_of(len(text.encode()))


def _unseen_bytes(parsed: Mapping[str, Json]) -> int:
    unseen = {name: parsed[name] for name in UNSEEN_MEMBERS if name in parsed}
    return len(json.dumps(unseen, separators=(",", ":"))) if unseen else 0


def _inner_text(kind: Kind, parsed: Mapping[str, Json]) -> str:
    """What is searched besides names and descriptions. Of a skill the headings: its whole text would have every word."""
    if kind not in TEXT_KINDS:
        return parameter_text(input_schema(parsed))
    content = parsed.get("content")
    return headings(content) if isinstance(content, str) else ""


def input_schema(parsed: Mapping[str, Json]) -> Json:
    """MCP says inputSchema, Anthropic's API input_schema, OpenAI's parameters."""
    return parsed.get("inputSchema") or parsed.get("input_schema") or parsed.get("parameters")


def _hints(kind: Kind, hints: Json) -> Annotations:
    """What MCP means by saying nothing is meant for calls. What is only ever read does nothing when it is used."""
    return READ_ONLY if kind in READ_KINDS and not hints else effective_annotations(hints)


def effective_annotations(hints: Json) -> Annotations:
    """Hints with the defaults of MCP; hints of the wrong type count as unset."""
    given = hints if isinstance(hints, dict) else {}

    def hint(name: str, default: bool) -> bool:
        value = given.get(name)
        return value if isinstance(value, bool) else default

    read_only = hint("readOnlyHint", default=False)
    return Annotations(
        read_only=read_only,
        destructive=not read_only and hint("destructiveHint", default=True),
        idempotent=read_only or hint("idempotentHint", default=False),
        open_world=hint("openWorldHint", default=True),
    )


_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n\s*\n")  # noqa: RUF001 the full-width marks are meant


def derive_summary(description: str) -> str:
    """The first sentence on one line, cut at a word when it is long."""
    return _one_line(_SENTENCE_END.split(description.strip(), maxsplit=1)[0])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= SUMMARY_TARGET:
        return line
    head, _, _ = line[:SUMMARY_TARGET].rpartition(" ")
    return (head or line[: SUMMARY_TARGET - 1]) + "…"


def check_name(text: str, *, field: str, length: int, limit: str, required: bool = True) -> None:
    """Names of any kind: within the limit, no control characters, no white space around them."""
    if not text and required:
        raise FieldRequired(field)
    if len(text) > length:
        raise LimitExceeded(field, given=len(text), allowed=length, limit=limit, unit="characters")
    for position, char in enumerate(text):
        if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp"):
            raise FieldInvalid(
                f"{field} has a control character at position {position}",
                field=field,
                given=ascii(text),
                allowed="printable characters",
            )
    if text != text.strip():
        raise FieldInvalid(
            f"{field} begins or ends with white space", field=field, given=repr(text), allowed="no white space around it"
        )


def _labels(labels: Iterable[str], *, limits: Limits, field: str) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(labels))
    if len(unique) > limits.tags_per_entry:
        raise LimitExceeded(field, given=len(unique), allowed=limits.tags_per_entry, limit="tags_per_entry", unit="items")
    for index, label in enumerate(unique):
        check_name(label, field=f"{field}[{index}]", length=limits.tag_length, limit="tag_length")
    return unique


def _printable(text: str) -> str:
    """JSON can spell half a surrogate pair, UTF-8 cannot: such halves are shown as replacement characters."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _merged(labels: tuple[str, ...], more: Json, limits: Limits) -> tuple[str, ...]:
    """The labels of the request, then those of the definition as far as they are fit to be labels."""
    offered = more if isinstance(more, list) else []
    fit = (label for label in offered if isinstance(label, str) and 0 < len(label) <= limits.tag_length and label.isprintable())
    return tuple(islice(dict.fromkeys((*labels, *fit)), max(len(labels), limits.tags_per_entry)))


def _digest(draft: Draft, name: str, alias: str) -> str:
    facts: list[Json] = [draft.server, draft.kind, name, alias, draft.definition, draft.tags, draft.capabilities, draft.summary]
    facts += ([resource.path, resource.media_type, resource.digest] for resource in draft.resources)
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _canonical_json(definition: str) -> str:
    # Numbers are compared as they are spelled: floats are equal when they should not be.
    return json.dumps(json.loads(definition, parse_float=_spelled_number, parse_int=_spelled_number), sort_keys=True)


def _spelled_number(digits: str) -> dict[str, str]:
    return {"number": digits}


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _json_type(value: Json) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else "an object"
