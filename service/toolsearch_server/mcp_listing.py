"""A listing: what an MCP server offers, made into drafts within the limits. Pure."""

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from toolsearch_server.changes import Contents
from toolsearch_server.entry import Draft, Kind, make_draft
from toolsearch_server.errors import ServiceError, shorten
from toolsearch_server.limits import Limits
from toolsearch_server.mcp_config import ServerSpec, WatchLimits

PROBLEM_LINES = 20


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers. `problems` says what was left out and why."""

    drafts: tuple[Draft, ...]
    problems: tuple[str, ...] = ()
    truncated: bool = False
    contents: Contents = field(default_factory=dict, repr=False)
    """Of resources, by digest."""


class Item(Protocol):
    """A tool, prompt or resource as the SDK has it."""

    name: str

    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> dict[str, Any]: ...


class Collector:
    def __init__(self, spec: ServerSpec, limits: WatchLimits, entry_limits: Limits) -> None:
        self._spec = spec
        self._limits = limits
        self._entry_limits = entry_limits
        self._drafts: dict[tuple[Kind, str], Draft] = {}
        self._bytes = 0
        self._cuts: list[str] = []
        self._problems: list[str] = []
        self._more_problems = 0

    def copy(self) -> Self:
        """For a walk that may have to be begun again."""
        other = copy.copy(self)
        other._drafts, other._cuts, other._problems = dict(self._drafts), list(self._cuts), list(self._problems)
        return other

    def listing(self) -> Listing:
        more = (f"and {self._more_problems} more",) if self._more_problems else ()
        return Listing(tuple(self._drafts.values()), (*self._cuts, *self._problems, *more), truncated=bool(self._cuts))

    def problem(self, line: str) -> None:
        if len(self._problems) < PROBLEM_LINES:
            self._problems.append(line)
        else:
            self._more_problems += 1

    def cut(self, line: str) -> None:
        """The listing ends here; at most one such line for each kind."""
        self._cuts.append(line)

    def add(self, kind: Kind, items: Iterable[Item]) -> bool:
        """False when a limit is reached."""
        return all(self._add(kind, item) for item in items if self._spec.selects(item.name))

    def _add(self, kind: Kind, item: Item) -> bool:
        label = f"{kind.name.lower()} {shorten(ascii(item.name))}"
        if (kind, item.name) in self._drafts:
            self.problem(f"{label} is listed twice, the first is kept")
            return True
        if len(self._drafts) >= self._limits.entries_per_server:
            self.cut(f"more than {self._limits.entries_per_server} entries (entries_per_server), the rest is left out")
            return False
        try:
            definition = _definition(item)
            self._bytes += len(definition.encode())
            if self._bytes > self._limits.listing_bytes:
                self.cut(f"more than {self._limits.listing_bytes} bytes of definitions (listing_bytes), the rest is left out")
                return False
            self._drafts[kind, item.name] = self._draft(kind, definition)
        except (ServiceError, ValueError, RecursionError) as error:
            self.problem(f"{label} is left out: {shorten(str(error))}")
        return True

    def _draft(self, kind: Kind, definition: str) -> Draft:
        return make_draft(
            server=self._spec.name,
            kind=kind,
            definition=definition,
            namespace="",
            tags=self._spec.tags,
            capabilities=(),
            summary="",
            limits=self._entry_limits,
            field=kind.name.lower(),
        )


def _definition(item: Item) -> str:
    """As MCP spells it."""
    members = item.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))
