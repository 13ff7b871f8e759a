"""What the client takes and returns: plain, frozen values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What sort of thing an entry is."""

    TOOL = "tool"
    SKILL = "skill"
    AGENT = "agent"
    PROMPT = "prompt"
    RESOURCE = "resource"
    UNKNOWN = "unknown"
    """Newer than this client."""


class Strategy(StrEnum):
    """How a search is done."""

    AUTO = "auto"
    BM25 = "bm25"
    REGEX = "regex"
    FUZZY = "fuzzy"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"
    UNKNOWN = "unknown"
    """Newer than this client."""


class Detail(StrEnum):
    """How much of each entry an answer carries."""

    NAME = "name"
    SUMMARY = "summary"
    FULL = "full"


class SearchField(StrEnum):
    """What a regular expression is matched against."""

    NAME = "name"
    DESCRIPTION = "description"
    PARAMETERS = "parameters"


class MatchedBy(StrEnum):
    """What made an entry match."""

    NAME = "name"
    WORDS = "words"
    PATTERN = "pattern"
    SPELLING = "spelling"
    MEANING = "meaning"
    UNKNOWN = "unknown"
    """Newer than this client."""


class UsageOutcome(StrEnum):
    """What became of a use."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DECLINED = "declined"
    """A person or a policy did not let it be called."""


@dataclass(frozen=True, slots=True)
class Version:
    """Which state of a catalog an answer reflects. Revisions of different epochs cannot be compared."""

    epoch: str
    revision: int
    stale_seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Annotations:
    """MCP's hints about what a call does, with MCP's defaults for those that the server left unset."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which entries an answer may contain: every field that is set must hold.

    A list holds when any of its values does, except `capabilities`, where all must. `servers` are globs; `namespaces`
    include what is below them; `excluded_names` are canonical names or aliases.
    """

    servers: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    tags: Sequence[str] = ()
    kinds: Sequence[Kind | str] = ()
    capabilities: Sequence[str] = ()
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    excluded_names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ResourceInput:
    """A file that comes with an entry: read on demand, not searched."""

    path: str
    """Relative, with `/`: `scripts/check.py`."""
    content: bytes = field(repr=False)
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryInput:
    """An entry to write, where its definition alone does not say everything."""

    definition: Mapping[str, Any]
    server: str = ""
    kind: Kind | str = Kind.TOOL
    namespace: str = ""
    tags: Sequence[str] = ()
    capabilities: Sequence[str] = ()
    summary: str = ""
    resources: Sequence[ResourceInput] = ()


@dataclass(frozen=True, slots=True)
class Resource:
    """A file that comes with an entry; `read_resource` reads it."""

    path: str
    media_type: str
    size: int
    digest: str
    """SHA-256 of the content, in hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One findable thing. What `detail` left out is empty."""

    name: str
    """Canonical name, unique in the catalog: `github.create_issue`."""
    alias: str
    """The same in the characters that model providers accept: `github_create_issue`."""
    server: str
    local_name: str
    """What the server itself calls it."""
    kind: Kind
    title: str
    summary: str
    """One line."""
    description: str
    """All of it with detail "full"; otherwise the summary."""
    tags: tuple[str, ...]
    capabilities: tuple[str, ...]
    annotations: Annotations
    digest: str
    tokens: int
    definition: dict[str, Any] | None
    """With detail "full": the JSON that was given, e.g. an MCP tool."""
    resources: tuple[Resource, ...] = ()
    """With detail "full": what `read_resource` can read."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One addend of a match's score."""

    name: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(Entry):
    """An entry that a search found."""

    score: float
    """Orders the matches of one answer."""
    relevance: float
    """0 to 1, comparable between queries."""
    reason: str
    """One line: which words matched where."""
    matched_by: tuple[MatchedBy, ...]
    explanation: tuple[ScorePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    matches: tuple[Match, ...]
    """Best first."""
    total: int
    """How many entries matched, of which `matches` are the best."""
    version: Version
    strategy: Strategy
    """What was used: what "auto" chose."""
    message: str
    near_names: tuple[str, ...]
    search_id: str = field(default="", compare=False)
    """For UsageReport."""


@dataclass(frozen=True, slots=True)
class MissingEntry:
    name: str
    near_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GetResult:
    entries: tuple[Entry, ...]
    missing: tuple[MissingEntry, ...]
    version: Version


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    entry_count: int
    total_entry_count: int


@dataclass(frozen=True, slots=True)
class NameNotice:
    """Says that an entry's name or alias carries a hash, and why."""

    server: str
    local_name: str
    name: str
    alias: str
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What a write did, by canonical name."""

    version: Version
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    unchanged: int = 0
    notices: tuple[NameNotice, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerStats:
    server: str
    entry_count: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogInfo:
    name: str
    version: Version
    updated: datetime
    entry_count: int
    tokens: int
    """Estimated tokens of all definitions together: what an agent would pay without search."""
    servers: tuple[ServerStats, ...]
    kinds: Mapping[Kind, int]


@dataclass(frozen=True, slots=True)
class CatalogListing:
    name: str
    version: Version
    updated: datetime
    entry_count: int
    bytes: int
    """Of definitions and labels."""


@dataclass(frozen=True, slots=True)
class TenantListing:
    name: str
    catalog_count: int
    entry_count: int
    bytes: int
    """Of definitions and labels."""


class WatchKind(StrEnum):
    """What a WatchEvent says."""

    CURRENT = "current"
    """The catalog is at this version, nothing was missed."""
    CHANGED = "changed"
    SNAPSHOT_NEEDED = "snapshot_needed"
    """Changes were missed that nobody remembers: read the catalog anew."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    kind: WatchKind
    version: Version
    upserted: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    settings_changed: bool = False


@dataclass(frozen=True, slots=True)
class PlannedTool:
    """What a plan says of one tool. `reason`: why it is eager."""

    name: str
    alias: str
    server: str
    eager: bool
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """Which tools to load up front and which to find by search, and what to send for that. Tokens are estimates."""

    tools: tuple[PlannedTool, ...]
    """By canonical name."""
    payload: tuple[Mapping[str, Any], ...]
    """`tools` of the request to the provider."""
    search_tool: str
    """Empty: the payload has none, and needs none."""
    by_provider: bool
    """Whether the provider carries out the searches, and not the caller."""
    tokens_before: int
    tokens_after: int
    unmatched_patterns: tuple[str, ...]
    warnings: tuple[str, ...]
    context_window: int
    version: Version

    @property
    def eager(self) -> tuple[PlannedTool, ...]:
        return tuple(tool for tool in self.tools if tool.eager)

    @property
    def deferred(self) -> tuple[PlannedTool, ...]:
        return tuple(tool for tool in self.tools if not tool.eager)


@dataclass(frozen=True, slots=True)
class UsageReport:
    """A use of an entry, by canonical name or alias. `search_id` is that of the answer in which it was found."""

    name: str
    outcome: UsageOutcome | str = UsageOutcome.SUCCEEDED
    search_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """How a catalog is searched. Weights say how often words count that stand there, 0 to 10; `synonyms` are groups of words
    that mean the same; `pinned` and `banned` are globs on canonical names."""

    name_weight: int = 1
    description_weight: int = 1
    parameters_weight: int = 1
    synonyms: Sequence[Sequence[str]] = ()
    pinned: Sequence[str] = ()
    banned: Sequence[str] = ()
    ignore_usage: bool = False
