"""The Python client replays the shared vectors; README.md says what they are."""

import base64
import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format, message_factory

from toolsearch import (
    CatalogSettings,
    Client,
    EntryInput,
    Filter,
    ResourceInput,
    ToolSearchConfig,
    ToolSearchError,
    UsageReport,
    Version,
    types,
)
from toolsearch.v1 import catalog_service_pb2, plan_pb2, search_service_pb2

STORIES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(Path(__file__).parent.glob("*.json"))}
METHODS = {
    method.name: method
    for file in (search_service_pb2, catalog_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


@pytest.mark.parametrize("story", STORIES)
def test_the_client_gets_what_the_vectors_say(story: str, address: str, tenant: str) -> None:
    clients: dict[str, Client] = {}  # a client is one catalog's
    with ExitStack() as opened:
        for step in STORIES[story]["steps"]:
            catalog = step["request"].get("catalog", "default")
            if catalog not in clients:
                clients[catalog] = opened.enter_context(Client(address, catalog=catalog, tenant=tenant))
            replay(clients[catalog], step)


def test_every_method_of_the_contract_is_in_the_vectors() -> None:
    assert {step["method"] for story in STORIES.values() for step in story["steps"]} == set(METHODS)


def replay(client: Client, step: Mapping[str, Any]) -> None:
    method = step["method"]
    arguments = {snake(name): argument(name, value) for name, value in step["request"].items() if name != "catalog"}
    answers = CALLS[method](client, **arguments)
    if "error" in step:
        with pytest.raises(ToolSearchError) as refusal:
            next(answers)
        error = refusal.value
        assert {"code": error.code, "reason": error.reason, "field": error.field} == step["error"], step["about"]
        return
    for expected in step.get("responses") or [step["response"]]:
        message = message_factory.GetMessageClass(METHODS[method].output_type)()
        json_format.ParseDict(next(answers), message)
        answered = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
        differences = list(missing(expected, answered))
        assert not differences, f"{step['about']}: {differences} in {answered}"


def missing(expected: Any, answered: Any, path: str = "") -> Iterator[str]:
    """What was expected and is not so."""
    if path.endswith((".definition", ".payload")) and isinstance(expected, dict | list) and isinstance(answered, str):
        answered = json.loads(answered)
    if isinstance(expected, dict) and isinstance(answered, dict):
        for name, value in expected.items():
            yield from missing(value, answered.get(name), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(answered, list) and len(expected) == len(answered):
        for index, value in enumerate(expected):
            yield from missing(value, answered[index], f"{path}[{index}]")
    elif expected != answered:
        yield f"{path or 'the answer'} should be {expected!r}"


# From the JSON of requests to the client's arguments

PREFIXES = {
    "strategy": "STRATEGY_",
    "detail": "DETAIL_",
    "kind": "ENTRY_KIND_",
    "kinds": "ENTRY_KIND_",
    "fields": "SEARCH_FIELD_",
    "matched_by": "MATCHED_BY_",
}


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def argument(name: str, value: Any) -> Any:
    if name in PREFIXES:
        return (
            [argument(name, each) for each in value] if isinstance(value, list) else value.removeprefix(PREFIXES[name]).lower()
        )
    if name == "filter":
        return Filter(**{snake(member): argument(member, each) for member, each in value.items()})
    if name == "config":
        return ToolSearchConfig.from_message(json_format.ParseDict(value, plan_pb2.ToolSearchConfig()), "config")
    if name == "settings":
        weights = {f"{place}_weight": weight for place, weight in value.get("weights", {}).items()}
        synonyms = [group["words"] for group in value.get("synonyms", ())]
        rest = {snake(member): each for member, each in value.items() if member not in ("weights", "synonyms")}
        return CatalogSettings(**weights, synonyms=synonyms, **rest)
    if name == "reports":
        return [
            UsageReport(report["name"], report["outcome"].removeprefix("USAGE_OUTCOME_").lower(), report.get("searchId", ""))
            for report in value
        ]
    if name in ("entries", "upserts"):
        return [EntryInput(**{snake(member): argument(member, each) for member, each in entry.items()}) for entry in value]
    if name == "resources":
        return [resource(**{snake(member): each for member, each in file.items()}) for file in value]
    return value


def resource(path: str, content: str = "", media_type: str = "") -> ResourceInput:
    return ResourceInput(path, base64.b64decode(content), media_type)


def search(client: Client, queries: list[str], **options: Any) -> Iterator[Any]:
    yield as_json(client.search(queries, **options))


def get_tools(client: Client, names: list[str], **options: Any) -> Iterator[Any]:
    yield as_json(client.get_tools(names, **options))


def list_tools(client: Client, **options: Any) -> Iterator[Any]:
    yield {"entries": as_json(list(client.list_tools(**options)))}


def list_namespaces(client: Client, **options: Any) -> Iterator[Any]:
    yield {"namespaces": as_json(list(client.list_namespaces(**options)))}


def list_catalogs(client: Client, **options: Any) -> Iterator[Any]:
    yield {"catalogs": as_json(list(client.list_catalogs(**options)))}


def list_tenants(client: Client, **options: Any) -> Iterator[Any]:
    yield {"tenants": as_json(list(client.list_tenants(**options)))}


def plan_tools(client: Client, without_payload: bool = False, **options: Any) -> Iterator[Any]:
    yield as_json(client.plan_tools(payload=not without_payload, **options))


def report_usage(client: Client, reports: list[UsageReport]) -> Iterator[Any]:
    unknown = client.report_usage(reports)
    yield {"accepted": len(reports) - len(unknown), "unknown_names": list(unknown)}


def get_settings(client: Client) -> Iterator[Any]:
    settings = client.get_settings()
    places = ("name", "description", "parameters")
    yield {
        "settings": {
            "weights": {place: weight for place in places if (weight := getattr(settings, f"{place}_weight")) != 1},
            "synonyms": [{"words": list(words)} for words in settings.synonyms],
            "pinned": list(settings.pinned),
            "banned": list(settings.banned),
            "ignore_usage": settings.ignore_usage,
        }
    }


def update_settings(client: Client, settings: CatalogSettings, **options: Any) -> Iterator[Any]:
    yield {"version": as_json(client.update_settings(settings, **options).version)}


def watch(client: Client, from_revision: int | None = None) -> Iterator[Any]:
    return map(as_json, client.watch(None if from_revision is None else Version("", from_revision)))


def read_resource(client: Client, name: str, path: str) -> Iterator[Any]:
    yield {"data": base64.b64encode(client.read_resource(name, path)).decode()}


def sync_server(client: Client, server: str, entries: list[EntryInput], **options: Any) -> Iterator[Any]:
    yield as_json(client.sync_server(server, entries, **options))


def apply_changes(client: Client, **options: Any) -> Iterator[Any]:
    yield as_json(client.apply_changes(**options))


def delete_server(client: Client, server: str, **options: Any) -> Iterator[Any]:
    yield as_json(client.delete_server(server, **options))


def get_catalog(client: Client) -> Iterator[Any]:
    yield as_json(client.get_catalog())


def delete_catalog(client: Client, **options: Any) -> Iterator[Any]:
    client.delete_catalog(**options)
    yield {}


CALLS: Mapping[str, Callable[..., Iterator[Any]]] = {
    "SearchTools": search,
    "ListTools": list_tools,
    "ListNamespaces": list_namespaces,
    "GetTools": get_tools,
    "PlanTools": plan_tools,
    "ReportUsage": report_usage,
    "GetSettings": get_settings,
    "UpdateSettings": update_settings,
    "WatchCatalog": watch,
    "ReadResource": read_resource,
    "ApplyChanges": apply_changes,
    "SyncServer": sync_server,
    "DeleteServer": delete_server,
    "GetCatalog": get_catalog,
    "ListCatalogs": list_catalogs,
    "ListTenants": list_tenants,
    "DeleteCatalog": delete_catalog,
}

# From the client's values to the JSON of responses

ENTRY_FIELDS = {field.name for field in dataclasses.fields(types.Entry)}


def as_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if not dataclasses.is_dataclass(value):
        return value
    members = {field.name: member(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)}
    match value:
        case types.Version():
            del members["stale_seconds"]
        case types.CatalogListing():
            del members["updated"]
        case types.CatalogInfo():
            del members["updated"]
            members["kinds"] = [{"kind": member("kind", kind), "entry_count": count} for kind, count in value.kinds.items()]
            return {"catalog": members}
        case types.WriteResult():
            return {"version": members.pop("version"), "summary": members}
        case types.Match():
            entry = {name: members.pop(name) for name in ENTRY_FIELDS}
            return {"entry": entry, **members}
        case types.PlanResult():
            report = ("tokens_before", "tokens_after", "unmatched_patterns", "warnings", "context_window")
            counts = {"eager_count": len(value.eager), "deferred_count": len(value.deferred)}
            who = ("PROVIDER" if value.by_provider else "CLIENT") if value.search_tool else "UNSPECIFIED"
            return {
                "tools": members["tools"],
                "payload": json.dumps(value.payload) if value.payload else "",
                "report": {name: members[name] for name in report} | counts,
                "version": members["version"],
                "search_tool": value.search_tool,
                "execution": f"SEARCH_EXECUTION_{who}",
            }
        case types.WatchEvent():
            changed = {"upserted_names": members["upserted"], "deleted_names": members["deleted"]}
            changed["settings_changed"] = value.settings_changed
            return {"version": members["version"], value.kind.value: changed if value.kind == "changed" else {}}
    return members


def member(name: str, value: Any) -> Any:
    if name == "definition":
        return "" if value is None else json.dumps(value)
    if name in PREFIXES and isinstance(value, tuple):
        return [member(name, each) for each in value]
    if name in PREFIXES and isinstance(value, str):
        return PREFIXES[name] + value.upper()
    return as_json(value)
