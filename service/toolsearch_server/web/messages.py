"""Messages as JSON, by protobuf's own mapping, and as the parameters of a URL."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from toolsearch_server.errors import FieldInvalid, MalformedRequest, shorten

MAX_DEPTH = 20
"""Of messages in messages: those of the contract are not deeper than 4."""
MAX_PARAMETERS = 2_000
EXPLAINED_LENGTH = 2_000
"""What protobuf says of a request is looked at so far from its beginning and from its end: it repeats all that was given."""

_UNKNOWN_FIELD = re.compile(r'has no field named "(?P<name>.*?)" at "(?P<path>[^"]*)"', re.DOTALL)
_FIELD = re.compile(r"Failed to parse (\w+) field: ")
_PLACE = re.compile(r" at \w+\.(?P<path>[\w.\[\]]+?)\.?$")


def as_json(message: Message) -> bytes:
    """In one line, with all fields that have no presence: who reads it need not know the defaults."""
    text = json_format.MessageToJson(message, indent=None, always_print_fields_with_no_presence=True, ensure_ascii=False)
    return text.encode()


def from_json(kind: Descriptor) -> Callable[[bytes], Message]:
    """Reads bodies. Nothing at all is an empty message."""

    def decode(data: bytes) -> Message:
        return _message(kind, _object(kind, data) if data else {})

    return decode


def from_query(kind: Descriptor) -> Callable[[bytes], Message]:
    """Reads the parameters of URLs: `queries=a&queries=b&limit=3&filter.servers=github`."""

    def decode(data: bytes) -> Message:
        try:
            pairs = parse_qsl(
                data.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS, separator="&"
            )
        except ValueError as error:
            raise MalformedRequest(f"the parameters cannot be read: {shorten(str(error))}") from None
        given: dict[str, Any] = {}
        for name, text in pairs:
            _put(kind, given, name, text)
        return _message(kind, given)

    return decode


def _object(kind: Descriptor, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise MalformedRequest(f"the body is not JSON: {shorten(str(error))}") from None
    if not isinstance(value, dict):
        raise MalformedRequest(f"the body is not a JSON object of a {kind.name}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"{next(name for name in members if counts[name] > 1)!r} is there twice")
    return members


def _message(kind: Descriptor, value: dict[str, Any]) -> Message:
    message = message_factory.GetMessageClass(kind)()
    try:
        json_format.ParseDict(value, message, max_recursion_depth=MAX_DEPTH)
    except (json_format.ParseError, ValueError, TypeError, RecursionError) as error:
        raise _explained(kind, _bounded(str(error))) from None
    except SystemError as error:  # what protobuf's compiled part says of a name that has half a character
        raise MalformedRequest(f"this is not a {kind.name}: {error.__cause__}") from None
    return message


def _bounded(text: str) -> str:
    return text if len(text) <= 2 * EXPLAINED_LENGTH else f"{text[:EXPLAINED_LENGTH]}…{text[-EXPLAINED_LENGTH:]}"


def _explained(kind: Descriptor, text: str) -> FieldInvalid | MalformedRequest:
    if unknown := _UNKNOWN_FIELD.search(text):
        place = unknown["path"].removeprefix(kind.name).lstrip(".")
        field = f"{place}.{unknown['name']}" if place else unknown["name"]
        owner = _owner(kind, place)
        allowed = ", ".join(each.json_name for each in owner.fields) if owner else ""
        return FieldInvalid(f"there is no field {shorten(field)!r}", field=shorten(field), given=field, allowed=allowed)
    parts = _FIELD.findall(text)
    if not parts:
        return MalformedRequest(f"this is not a {kind.name}: {shorten(text)}")
    text = _FIELD.sub("", text)
    place = _PLACE.search(text)
    field = place["path"] if place else ".".join(parts)
    return FieldInvalid(f"{field} cannot be read: {shorten(_PLACE.sub('', text).rstrip('.'))}", field=field)


def _owner(kind: Descriptor, path: str) -> Descriptor | None:
    """The message that is at a path such as `filter` or `upserts[3].resources[0]`."""
    for part in re.sub(r"\[\d+\]", "", path).split(".") if path else ():
        field = _field(kind, part)
        if field is None or field.message_type is None:
            return None
        kind = field.message_type
    return kind


def _field(kind: Descriptor, name: str) -> FieldDescriptor | None:
    """By either of the names that protobuf's mapping knows."""
    return kind.fields_by_name.get(name) or kind.fields_by_camelcase_name.get(name)


def _put(kind: Descriptor, given: dict[str, Any], path: str, text: str) -> None:
    *parents, name = path.split(".")
    target = given
    for depth, part in enumerate(parents, 1):
        field = _field(kind, part)
        if field is None:
            raise _no_parameter(path, kind)
        if field.message_type is None or field.is_repeated:
            raise _not_here(".".join(parents[:depth]))
        kind = field.message_type
        target = target.setdefault(field.name, {})
    field = _field(kind, name)
    if field is None:
        raise _no_parameter(path, kind)
    if field.message_type is not None:
        raise _not_here(path)
    value = _scalar(field, path, text)
    if field.is_repeated:
        target.setdefault(field.name, []).append(value)
    elif field.name in target:
        raise FieldInvalid(f"{path} is there more than once", field=path, given=text, allowed="once")
    else:
        target[field.name] = value


def _scalar(field: FieldDescriptor, path: str, text: str) -> Any:
    """As JSON has it; numbers may be texts there."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text not in ("true", "false"):
            raise FieldInvalid(f"{path} is neither true nor false", field=path, given=text, allowed="true, false")
        return text == "true"
    if field.enum_type is not None:
        if text not in field.enum_type.values_by_name:
            allowed = ", ".join(field.enum_type.values_by_name)
            raise FieldInvalid(f"{path} is not known", field=path, given=text, allowed=allowed)
        return text
    if field.cpp_type != FieldDescriptor.CPPTYPE_STRING and not text:
        raise FieldInvalid(f"{path} is empty", field=path, allowed="a number")
    return text


def _no_parameter(path: str, kind: Descriptor) -> FieldInvalid:
    allowed = ", ".join(each.json_name for each in kind.fields)
    return FieldInvalid(f"there is no parameter {shorten(path)!r}", field=shorten(path), given=path, allowed=allowed)


def _not_here(path: str) -> FieldInvalid:
    return FieldInvalid(f"{path} cannot be said in a URL: send the request as JSON by POST", field=path)
