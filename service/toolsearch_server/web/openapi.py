"""The OpenAPI document of the JSON API, made of the contract's descriptors, its comments and the limits."""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, MethodDescriptor

from toolsearch_server.limits import Limits
from toolsearch_server.web.exchange import Exchange
from toolsearch_server.web.json_api import READ_ONLY, Answering, Services
from toolsearch_server.web.statuses import HTTP_STATUS

Schema = dict[str, Any]

DESCRIPTION = """\
The methods of toolsearch.v1 over HTTP, with protobuf's own JSON: names in camelCase, 64-bit integers as strings, bytes in
base64, enums by name. Answers have all fields that have no presence, also those that are empty; unknown fields of requests are
refused. Refusals are google.rpc.Status with google.rpc.ErrorInfo, whose reason is one of toolsearch.v1.ErrorReason."""

STREAMED = """

The answer is a stream of server-sent events with a message in each. A refusal after the first is an event `error`."""

ERRORS = {
    400: "The request cannot be used as it is; details say which field, what was given and what is allowed.",
    401: "A credential is required, or the one that was sent is not good.",
    403: "The credential is not for this, or the API is not answered here.",
    404: "There is no such catalog, resource or method.",
    405: "The method is not answered by this HTTP method.",
    408: "The body took too long to arrive.",
    409: "The catalog is not at the expected revision, or others keep changing it.",
    413: "The body is larger than the limit request_bytes.",
    415: "The body is not application/json.",
    421: "The host is not this machine, and without credentials nobody else is answered.",
    429: "Too many calls, or a quota is used up.",
    500: "The service failed.",
    503: "Cannot be answered now: try again, perhaps another replica.",
    504: "Not answered within x-toolsearch-timeout.",
}
HEADERS = {
    "x-toolsearch-tenant": (
        "For which tenant; only administrators may ask for another than their own.",
        {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    ),
    "x-request-id": (
        "Names the call in logs; made up if it is not said. The answer repeats it.",
        {"type": "string", "maxLength": 128, "pattern": "^[!-~]*$"},
    ),
    "x-toolsearch-timeout": (
        "Seconds that the caller waits for the answer.",
        {"type": "number", "minimum": 0.001, "maximum": 86400},
    ),
}
SCALARS: Mapping[int, Schema] = {
    FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1},
    FieldDescriptor.CPPTYPE_INT64: {"type": "string", "format": "int64", "pattern": "^-?[0-9]{1,18}$"},
    FieldDescriptor.CPPTYPE_DOUBLE: {"type": "number", "format": "double"},
}
WELL_KNOWN: Mapping[str, Schema] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?s$"},
}
REQUIRED = {
    "SearchToolsRequest": ["queries"],
    "GetToolsRequest": ["names"],
    "ReportUsageRequest": ["reports"],
    "ReadResourceRequest": ["name", "path"],
}
LENGTH_IN_URL = 1_000
COUNTED = (
    "callsUnderWay",
    "watches",
    "catalogs",
    "entries",
    "indexBytes",
    "maxRevisionLag",
    "staleCatalogs",
    "residentBytes",
)
COUNT: Schema = {"minimum": 0}
REVISION: Schema = {"pattern": "^[0-9]{1,18}$"}


def answering(services: Services, limits: Limits, version: str) -> Answering:
    encoded = json.dumps(document(services, limits, version)).encode()

    async def answer(exchange: Exchange) -> None:
        await exchange.answer(200, encoded)

    return answer


def document(services: Services, limits: Limits, version: str) -> dict[str, Any]:
    writer = _Writer(limits)
    methods = [method for service, _ in services for method in service.methods]
    for method in methods:
        writer.add(method.input_type, answered=False)
    for method in methods:
        writer.add(method.output_type, answered=True)
    paths = {f"/v1/{method.name}": writer.operations(method) for method in methods}
    return {
        "openapi": "3.1.0",
        "info": {"title": "toolsearch", "version": version, "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}],
        "paths": paths | {"/v1/status": _status_path(), "/v1/openapi.json": _own_path()},
        "components": {
            "schemas": writer.schemas | {"Status": STATUS},
            "parameters": {
                name: {"name": name, "in": "header", "description": text, "schema": schema}
                for name, (text, schema) in HEADERS.items()
            },
            "responses": {str(code): _refusal(text) for code, text in ERRORS.items()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a JSON Web Token."}
            },
        },
    }


class _Writer:
    def __init__(self, limits: Limits) -> None:
        self.schemas: dict[str, Schema] = {}
        self._constraints = _constraints(limits)
        self._comments: Mapping[str, str] = json.loads(files(__package__).joinpath("comments.json").read_text(encoding="utf-8"))

    def add(self, kind: Descriptor, *, answered: bool) -> None:
        """`answered`: in answers only, where everything without presence is there."""
        if kind.name in self.schemas or kind.full_name in WELL_KNOWN:
            return
        schema: Schema = {"type": "object", "additionalProperties": False}
        self.schemas[kind.name] = schema
        schema |= self._described(kind.name)
        schema["properties"] = {field.json_name: self._field(field, answered=answered) for field in kind.fields}
        required = [field.json_name for field in kind.fields if not field.has_presence] if answered else REQUIRED.get(kind.name)
        if required:
            schema["required"] = required
        groups = [group for group in kind.oneofs if len(group.fields) > 1]
        if groups and answered:
            schema["oneOf"] = [{"required": [field.json_name]} for field in groups[0].fields]

    def _field(self, field: FieldDescriptor, *, answered: bool) -> Schema:
        assert field.containing_type is not None
        place = f"{field.containing_type.name}.{field.name}"
        schema = self._value(field, answered=answered)
        if field.is_repeated and not _is_map(field):
            schema = {"type": "array", "items": schema}
        if not answered:
            schema = _merged(schema, self._constraints.get(place, self._constraints.get(f"*.{field.name}", {})))
        return schema | self._described(place)

    def _value(self, field: FieldDescriptor, *, answered: bool) -> Schema:
        if field.message_type is not None and _is_map(field):
            value = field.message_type.fields_by_name["value"]
            return {"type": "object", "additionalProperties": self._value(value, answered=answered)}
        if field.message_type is not None:
            self.add(field.message_type, answered=answered)
            return dict(WELL_KNOWN.get(field.message_type.full_name, _reference(field.message_type.name)))
        if field.enum_type is not None:
            self._add_enum(field.enum_type)
            return _reference(field.enum_type.name)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return {"type": "string", "contentEncoding": "base64"}
        return dict(SCALARS[field.cpp_type])

    def _add_enum(self, kind: EnumDescriptor) -> None:
        values = [value.name for value in kind.values]
        known = [
            f"- {name}: {self._comments[f'{kind.name}.{name}']}" for name in values if f"{kind.name}.{name}" in self._comments
        ]
        text = "\n\n".join(filter(None, [self._comments.get(kind.name, ""), "\n".join(known)]))
        self.schemas[kind.name] = {"type": "string", "enum": values} | ({"description": text} if text else {})

    def _described(self, place: str) -> Schema:
        text = self._comments.get(place)
        return {"description": text} if text else {}

    def operations(self, method: MethodDescriptor) -> dict[str, Any]:
        described = self._operation(method)
        body = {"required": True, "content": {"application/json": {"schema": _reference(method.input_type.name)}}}
        found = {"parameters": _header_parameters(method), "post": described | {"requestBody": body}}
        if method.name in READ_ONLY:
            operation_id = f"{method.name}ByGet"
            found["get"] = described | {"operationId": operation_id, "parameters": list(self._parameters(method.input_type))}
        return found

    def _operation(self, method: MethodDescriptor) -> dict[str, Any]:
        service = method.containing_service.name
        text = self._comments[f"{service}.{method.name}"]
        answer = _reference(method.output_type.name)
        content: Schema = {"application/json": {"schema": answer}}
        if method.server_streaming:
            text += STREAMED
            content = {"text/event-stream": {"schema": _event(answer)}}
        return {
            "operationId": method.name,
            "tags": [service],
            "summary": text.partition(".")[0],
            "description": text,
            "responses": {"200": {"description": "Answered.", "content": content, "headers": ECHO}, **_refusals()},
        }

    def _parameters(self, kind: Descriptor, path: str = "", depth: int = 0) -> Iterator[dict[str, Any]]:
        """What can be said in a URL: everything but lists of messages."""
        for field in kind.fields:
            name = f"{path}{field.json_name}"
            if field.message_type is None:
                schema = dict(self._field(field, answered=False))
                text = schema.pop("description", "")
                schema = _shortened(schema)
                required = not depth and field.json_name in REQUIRED.get(kind.name, ())
                yield {
                    "name": name,
                    "in": "query",
                    "schema": schema,
                    **({"description": text} if text else {}),
                    **({"required": True} if required else {}),
                }
            elif not field.is_repeated:
                yield from self._parameters(field.message_type, f"{name}.", depth + 1)


def _constraints(limits: Limits) -> Mapping[str, Schema]:
    """By message and field; `*` stands for all requests."""
    values = {"maxItems": limits.filter_values, "items": {"maxLength": limits.filter_value_length}}
    text = {"maxLength": limits.filter_value_length}
    return {
        "*.catalog": {"maxLength": limits.catalog_length},
        "*.epoch": {"maxLength": limits.epoch_length},
        "*.page_size": COUNT,
        "*.min_revision": REVISION,
        "*.from_revision": REVISION,
        "*.expected_revision": REVISION,
        "SearchToolsRequest.queries": {
            "minItems": 1,
            "maxItems": limits.queries_per_request,
            "items": {"minLength": 1, "maxLength": limits.query_length},
        },
        "SearchToolsRequest.limit": COUNT,
        "SearchToolsRequest.min_relevance": {"minimum": 0, "maximum": 1},
        **{f"Filter.{name}": values for name in ("servers", "namespaces", "tags", "capabilities", "excluded_names")},
        "Filter.kinds": {"maxItems": limits.filter_values},
        "GetToolsRequest.names": {
            "minItems": 1,
            "maxItems": limits.names_per_get,
            "items": {"maxLength": limits.lookup_length},
        },
        "PlanToolsRequest.provider": text,
        "PlanToolsRequest.model": text,
        "PlanToolsRequest.purpose": {"maxLength": limits.purpose_length},
        "ReportUsageRequest.reports": {"minItems": 1, "maxItems": limits.usage_reports},
        "UsageReport.name": {"maxLength": limits.lookup_length},
        "ReadResourceRequest.name": {"minLength": 1, "maxLength": limits.lookup_length},
        "ReadResourceRequest.path": {"minLength": 1, "maxLength": limits.resource_path_length},
        "ApplyChangesRequest.upserts": {"maxItems": limits.entries_per_catalog},
        "ApplyChangesRequest.deletes": {"maxItems": limits.entries_per_catalog},
        "SyncServerRequest.entries": {"maxItems": limits.entries_per_catalog},
        "*.server": {"maxLength": limits.server_length},
        "EntryInput.definition": {"maxLength": limits.definition_bytes},
        "EntryInput.namespace": {"maxLength": limits.namespace_length},
        "EntryInput.summary": {"maxLength": limits.summary_length},
        "EntryInput.tags": {"maxItems": limits.tags_per_entry, "items": {"maxLength": limits.tag_length}},
        "EntryInput.capabilities": {"maxItems": limits.tags_per_entry, "items": {"maxLength": limits.tag_length}},
        "EntryInput.resources": {"maxItems": limits.resources_per_entry},
        "ResourceInput.path": {"maxLength": limits.resource_path_length},
        "ResourceInput.media_type": {"maxLength": limits.media_type_length},
        "CatalogSettings.synonyms": {"maxItems": limits.synonym_groups},
        "CatalogSettings.pinned": {"maxItems": limits.patterns_per_setting, "items": text},
        "CatalogSettings.banned": {"maxItems": limits.patterns_per_setting, "items": text},
    }


def _merged(schema: Schema, constraint: Schema) -> Schema:
    merged = schema | constraint
    if "items" in schema and "items" in constraint:
        merged["items"] = schema["items"] | constraint["items"]
    return merged


def _shortened(schema: Schema) -> Schema:
    """For a URL, which servers and proxies cut off somewhere."""
    items = {"items": _shortened(schema["items"])} if "items" in schema else {}
    return schema | items | ({"maxLength": LENGTH_IN_URL} if schema.get("maxLength", 0) > LENGTH_IN_URL else {})


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _event(message: Schema) -> Schema:
    """Of each event in a stream."""
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"anyOf": [message, _reference("Status")]},
    }
    return {
        "type": "object",
        "required": ["data"],
        "properties": {"data": data, "event": {"type": "string"}, "id": {"type": "string"}},
    }


def _header_parameters(method: MethodDescriptor) -> list[Schema]:
    known: list[Schema] = [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS]
    if method.name == "WatchCatalog":
        text = "The id of the last event that was seen, EPOCH:REVISION: what follows it is streamed."
        known.append(
            {
                "name": "last-event-id",
                "in": "header",
                "description": text,
                "schema": {"type": "string", "pattern": "^[!-9;-~]+:[0-9]{1,18}$"},
            }
        )
    return known


ECHO = {"x-request-id": {"description": "Names the call in logs.", "schema": {"type": "string"}}}
STATUS: Schema = {
    "type": "object",
    "description": "google.rpc.Status.",
    "required": ["code", "message", "details"],
    "properties": {
        "code": {"type": "integer", "enum": list(HTTP_STATUS), "description": "google.rpc.Code."},
        "message": {"type": "string"},
        "details": {
            "type": "array",
            "description": "google.rpc.ErrorInfo first; also BadRequest and RetryInfo.",
            "items": {"type": "object", "required": ["@type"], "properties": {"@type": {"type": "string"}}},
        },
    },
}


def _refusal(text: str) -> Schema:
    return {"description": text, "content": {"application/json": {"schema": _reference("Status")}}}


def _refusals() -> dict[str, Schema]:
    return {str(code): {"$ref": f"#/components/responses/{code}"} for code in ERRORS}


def _status_path() -> dict[str, Any]:
    sample = {
        "type": "object",
        "description": "What happened in the sampleSeconds before.",
        "properties": {
            "at": {"type": "string", "format": "date-time"},
            "calls": {"type": "integer"},
            "errors": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "By code."},
            **{f"p{share}Ms": {"type": ["number", "null"]} for share in (50, 90, 99)},
            **{name: {"type": "integer"} for name in COUNTED},
            **{name: {"type": "number"} for name in ("stalestSeconds", "cpuSeconds")},
        },
    }
    caller = {"tenant": {"type": "string"}, "role": {"type": "string", "enum": ["reader", "writer", "admin"]}}
    schema = {
        "type": "object",
        "required": ["replica", "version", "startedAt", "ready", "store", "embeddings", "strategies", "credentials", "caller"],
        "properties": {
            "replica": {"type": "string", "description": "Another one after a restart."},
            "version": {"type": "string"},
            "startedAt": {"type": "string", "format": "date-time"},
            "ready": {"type": "boolean"},
            "store": {"type": "string", "enum": ["memory", "sqlite", "redis"]},
            "embeddings": {"type": "string", "description": "Empty: there is no search by meaning."},
            "strategies": {"type": "array", "items": {"type": "string"}},
            "credentials": {"type": "boolean", "description": "Whether callers need one."},
            "caller": {"type": "object", "required": list(caller), "properties": caller},
            "sampleSeconds": {"type": "number"},
            "samples": {"type": "array", "items": sample, "description": "Of the last 15 minutes, the oldest first."},
        },
    }
    answered = {"description": "Answered.", "content": {"application/json": {"schema": schema}}, "headers": ECHO}
    described = {
        "operationId": "GetStatus",
        "tags": ["Replica"],
        "summary": "Tells which replica answers, as whom it knows the caller, and how it fared lately",
        "responses": {"200": answered, **_refusals()},
    }
    return {"parameters": [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS], "get": described}


def _own_path() -> dict[str, Any]:
    answered = {"description": "Answered.", "content": {"application/json": {"schema": {"type": "object"}}}}
    described = {
        "operationId": "GetOpenApi",
        "tags": ["Replica"],
        "summary": "This document",
        "security": [{}],
        "responses": {"200": answered, **_refusals()},
    }
    return {"get": described}
