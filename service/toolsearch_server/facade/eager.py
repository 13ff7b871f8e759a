"""Tools that are listed as themselves, beside the facade's own: those that the user or their server asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from typing import Any

import structlog
from mcp_types import Tool
from pydantic import ValidationError

from toolsearch import AsyncClient, Filter, Kind
from toolsearch_server.facade.lookup import cut
from toolsearch_server.facade.settings import Destructive, EagerPattern
from toolsearch_server.facade.tools import ALWAYS_LOAD, RESERVED
from toolsearch_server.facade.upstreams import Offered
from toolsearch_server.limits import Limits

SERVICE_PAGE_SIZE = 1_000

log = structlog.get_logger()


@dataclass(frozen=True)
class Eager:
    """A tool to be listed, and where it is from."""

    tool: Tool
    server: str
    local_name: str


Wanted = dict[tuple[str, str], Offered]
"""By server and the server's own name."""


def wanted_tools(all_offered: Iterable[Offered], patterns: Sequence[EagerPattern], destructive: Destructive) -> Wanted:
    return {
        (offered.server, offered.name): offered
        for offered in all_offered
        if _is_eager(offered, patterns) and not (destructive == "exclude" and offered.annotations.destructive)
    }


async def eager_tools(client: AsyncClient, wanted: Wanted, revision: int | None, limits: Limits) -> dict[str, Eager]:
    """By alias, in the order of names."""
    if not wanted:
        return {}
    servers = sorted({escape(server) for server, _ in wanted})
    names = Filter(servers=servers, kinds=[Kind.TOOL])
    found: dict[str, Eager] = {}
    async for entry in client.list_tools(names, page_size=SERVICE_PAGE_SIZE, min_revision=revision):
        offered = wanted.get((entry.server, entry.local_name))
        if offered is None or entry.alias in RESERVED:
            continue
        if len(found) == limits.eager_tools:
            log.warning("more eager tools than allowed, the rest is found by searching", allowed=limits.eager_tools)
            break
        tool = _tool(offered.definition, entry.alias, limits)
        if tool is not None:
            found[entry.alias] = Eager(tool, entry.server, entry.local_name)
    return found


def _is_eager(offered: Offered, patterns: Sequence[EagerPattern]) -> bool:
    meta = offered.definition.get("_meta")
    if isinstance(meta, dict) and meta.get(ALWAYS_LOAD) is True:
        return True
    return any(pattern.selects(offered.server, offered.name) for pattern in patterns)


def _tool(definition: Mapping[str, Any], alias: str, limits: Limits) -> Tool | None:
    meta = definition.get("_meta")
    changed = {"name": alias, "_meta": {**(meta if isinstance(meta, dict) else {}), ALWAYS_LOAD: True}}
    if isinstance(definition.get("description"), str):
        changed["description"] = cut(definition["description"], limits.facade_text_length)
    try:
        return Tool.model_validate({**definition, **changed})
    except ValidationError:
        return None
