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
from toolsearch_server.schema import Json, depth_over, parameter_text

SUMMARY_TARGET = 160
BYTES_PER_TOKEN = 4
TAGS_META = "toolsearch/tags"
CAPABILITIES_META = "toolsearch/capabilities"
ALWAYS_LOAD_META = "anthropic/alwaysLoad"
UNSEEN_MEMBERS = ("outputSchema", "annotations", "_meta", "icons", "execution", "title")
"""Members of a definition that no provider shows to a model."""


class Kind(IntEnum):
    """What sort of thing an entry is; the numbers are the contract's."""

    TOOL = 1
    SKILL = 2
    AGENT = 3
    PROMPT = 4
    RESOURCE = 5


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
    """Of all that was given: definition, summary, labels and names."""

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
        parameters=_printable(parameter_text(input_schema(parsed))),
        tags=_merged(draft.tags, meta.get(TAGS_META), limits),
        capabilities=_merged(draft.capabilities, meta.get(CAPABILITIES_META), limits),
        annotations=effective_annotations(parsed.get("annotations")),
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


def input_schema(parsed: Mapping[str, Json]) -> Json:
    """MCP says inputSchema, Anthropic's API input_schema, OpenAI's parameters."""
    return parsed.get("inputSchema") or parsed.get("input_schema") or parsed.get("parameters")


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
    content = json.dumps(
        [draft.server, draft.kind, name, alias, draft.definition, draft.tags, draft.capabilities, draft.summary]
    )
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


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
