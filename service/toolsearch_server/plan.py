"""Plans: which tools an agent loads up front and which it finds by search, and what to send. Pure functions; docs/plan.md is
their documentation."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

from toolsearch.tool_search import AUTO, DEFAULT_MIN_TOKENS, Execution, Fallback, Scope, ToolSearchConfig
from toolsearch.types import Strategy
from toolsearch_server import payloads
from toolsearch_server.entry import Entry
from toolsearch_server.errors import FieldInvalid, LimitExceeded
from toolsearch_server.limits import Limits
from toolsearch_server.models import Abilities, abilities
from toolsearch_server.payloads import ANTHROPIC_SEARCH, MOST_DEFERRED, MOST_SENT, OPENAI_SEARCH, Format, SearchTool
from toolsearch_server.settings import NO_SETTINGS, Settings
from toolsearch_server.usage import NO_USAGE, Usage

AUTO_LEAST, AUTO_MOST = 3, 5
"""How many entries `min_eager: auto` keeps eager: as many of the second as are used, and at least the first."""
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a plan is made for. `entries` are tools, by canonical name; `fitting` those that fit the purpose, best first."""

    entries: Sequence[Entry]
    provider: str
    model: str
    config: ToolSearchConfig = field(default_factory=ToolSearchConfig)
    fitting: Sequence[Entry] = ()
    settings: Settings = NO_SETTINGS
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`reasons`: why entries are eager, by canonical name. The others are deferred."""

    entries: Sequence[Entry]
    reasons: Mapping[str, str]
    search: SearchTool | None
    payload: str
    tokens_before: int
    tokens_after: int
    unmatched_patterns: tuple[str, ...]
    warnings: tuple[str, ...]
    context_window: int

    @property
    def deferred_count(self) -> int:
        return len(self.entries) - len(self.reasons)


def plan(asked: Asked, limits: Limits, *, with_payload: bool = True) -> Plan:
    format_ = payloads.format_for(asked.provider)
    able = abilities(asked.provider, asked.model, asked.config.models)
    warnings: list[str] = []
    reasons, unmatched = _eager(asked, able)
    deferred = [entry for entry in asked.entries if entry.name not in reasons]
    search, declared = _search(asked, format_, able, deferred, warnings)
    if search is None:
        reasons |= dict.fromkeys((entry.name for entry in deferred), "the model cannot search")
        deferred = []
    _refuse_collision(asked, search)
    eager = [entry for entry in asked.entries if entry.name in reasons]
    # Without a payload only what the model sees of deferred tools is of interest, which is something with OpenAI alone.
    shown = deferred if declared and (with_payload or format_ is Format.OPENAI) else ()
    rendered = payloads.render(format_, eager if with_payload else (), shown, search)
    if rendered.reduced:
        warnings.append(
            f"providers take no {', '.join(payloads.COMBINATORS)} at the top of a schema: left out of {_some(rendered.reduced)}"
        )
    if rendered.nameless:
        warnings.append(
            f"{format_} takes parameters with names of a-z A-Z 0-9 _ . - only: others left out of {_some(rendered.nameless)}"
        )
    sent = len(rendered.tools) + (0 if with_payload else len(eager))
    if sent > MOST_SENT.get(format_, sent):
        warnings.append(f"{format_} takes {MOST_SENT[format_]} tools at once, and these are {sent:,}")
    search_tokens = 0 if search is None else payloads.tokens(payloads.search_tool(format_, search))
    return Plan(
        entries=asked.entries,
        reasons=reasons,
        search=search,
        payload=_text(rendered.tools, limits) if with_payload else "",
        tokens_before=sum(entry.tokens for entry in asked.entries),
        tokens_after=sum(entry.tokens for entry in eager) + search_tokens + rendered.stub_tokens,
        unmatched_patterns=unmatched,
        warnings=tuple(warnings),
        context_window=able.context_window,
    )


# Which entries are eager


def _eager(asked: Asked, able: Abilities) -> tuple[dict[str, str], tuple[str, ...]]:
    """Why entries are eager, by name, and the patterns that fit none."""
    config = asked.config
    marked, unmatched = _marked(asked)
    if not config.enabled:
        return _all(asked, "search is off"), unmatched
    cost = sum(entry.tokens for entry in asked.entries)
    least = _least_tokens(config, able)
    if cost <= least:
        return _all(asked, f"all definitions cost {cost:,} tokens, search begins above {least:,}"), unmatched
    if config.scope is Scope.MCP:
        own = _own_servers(asked)
        local = {entry.name: "the caller's own" for entry in asked.entries if entry.server in own}
        marked = local | marked
    reasons = marked | _preloaded(asked, marked)
    return reasons | _forced(asked, reasons), unmatched


def _least_tokens(config: ToolSearchConfig, able: Abilities) -> int:
    if config.min_context_share is not None:
        return int(config.min_context_share * able.context_window)
    return DEFAULT_MIN_TOKENS if config.min_tokens is None else config.min_tokens


def _all(asked: Asked, reason: str) -> dict[str, str]:
    return dict.fromkeys((entry.name for entry in asked.entries), reason)


def _own_servers(asked: Asked) -> set[str]:
    """The servers whose entries are the caller's own. Globs are matched against servers, not against each of their entries."""
    matches = re.compile("|".join(map(translate, asked.config.local_servers)) or "(?!)").match
    return {server for server in {entry.server for entry in asked.entries} if not server or matches(server)}


def _marked(asked: Asked) -> tuple[dict[str, str], tuple[str, ...]]:
    """Entries that the configuration, their server or the catalog's settings want eager."""
    config = asked.config
    reasons: dict[str, str] = {}
    by_server: dict[str, list[Entry]] = {}
    for entry in asked.entries:
        by_server.setdefault(entry.server, []).append(entry)
        if asked.settings.is_pinned(entry.name):
            reasons[entry.name] = "pinned"
        elif config.always_load and entry.always_load:
            reasons[entry.name] = "its server wants it loaded"
    unmatched = []
    for server, patterns in config.eager_tools.items():
        for pattern in patterns:
            matches = re.compile(translate(pattern)).match  # a fifth of what fnmatchcase takes, of up to millions
            fitting = [entry for entry in by_server.get(server, ()) if matches(entry.local_name)]
            reasons |= {entry.name: f"eager_tools.{server}: {pattern}" for entry in fitting}
            if not fitting:
                unmatched.append(f"{server}: {pattern}")
    return reasons, tuple(unmatched)


def _preloaded(asked: Asked, already: Mapping[str, str]) -> dict[str, str]:
    """What fits the purpose, best first, as far as the budget goes. One that does not fit in makes room for smaller ones."""
    left = asked.config.preload_tokens
    reasons = {}
    for entry in asked.fitting:
        if entry.name not in already and entry.tokens <= left:
            left -= entry.tokens
            reasons[entry.name] = "fits the purpose"
    return reasons


def _forced(asked: Asked, already: Mapping[str, str]) -> dict[str, str]:
    """More, if there are fewer than there have to be: those that are used most, then what only reads and costs little."""
    rest = {entry.key: entry for entry in asked.entries if entry.name not in already}
    used = [] if asked.settings.ignore_usage else asked.usage.most_used(rest)
    least = asked.config.min_eager
    count = max(AUTO_LEAST, min(AUTO_MOST, len(used))) if least == AUTO else int(least)
    ordered = sorted(rest.values(), key=lambda entry: (not entry.annotations.read_only, entry.tokens, entry.name))
    reasons = {rest[key].name: "used most" for key in used[: max(0, count - len(already))]}
    for entry in ordered:
        if len(already) + len(reasons) >= count:
            break
        reasons.setdefault(entry.name, f"at least {count} stay eager, and it is cheap")
    return reasons


# How the rest is found


def _search(
    asked: Asked, format_: Format, able: Abilities, deferred: Sequence[Entry], warnings: list[str]
) -> tuple[SearchTool | None, bool]:
    """The search tool, if one is needed and can be had, and whether the payload declares the deferred tools."""
    config = asked.config
    if not deferred:
        return None, False
    most = MOST_DEFERRED.get(format_)
    supported = able.tool_search and format_ is not Format.OPENAI_CHAT
    if most is not None and len(deferred) > most:
        warnings.append(f"{format_} takes {most:,} deferred tools, not {len(deferred):,}: none is declared, add what is found")
        supported = False
    elif not supported:
        who = f"{asked.provider} {asked.model}".strip()
        then = "all definitions are loaded" if config.fallback is Fallback.LOAD else "add what is found to the next request"
        warnings.append(f"{who or 'the provider'} is not known to defer tools: {then}")
    if not supported:
        return (None if config.fallback is Fallback.LOAD else _own_search(asked, deferred)), False
    if config.execution is Execution.PROVIDER:
        if format_ is Format.OPENAI:
            return OPENAI_SEARCH, True
        return ANTHROPIC_SEARCH[Strategy.REGEX if config.strategy is Strategy.REGEX else Strategy.BM25], True
    own = _own_search(asked, deferred)
    if format_ is Format.OPENAI:
        return SearchTool(OPENAI_SEARCH.name, own.description, OPENAI_SEARCH.type), False
    return own, True


def _own_search(asked: Asked, deferred: Sequence[Entry]) -> SearchTool:
    namespaces = dict.fromkeys(entry.namespace.partition(".")[0] for entry in deferred if entry.namespace)
    of = f", of {_some(tuple(namespaces), 10)}" if namespaces else ""
    return SearchTool(
        asked.config.search_tool_name,
        f"Finds tools. {len(deferred):,} more than those listed here can be found{of}. "
        "Search before you conclude that something cannot be done; what is found can be called at once.",
    )


def _refuse_collision(asked: Asked, search: SearchTool | None) -> None:
    if search is None or search.type == OPENAI_SEARCH.type:
        return
    clashing = next((entry for entry in asked.entries if entry.alias == search.name), None)
    if clashing is not None:
        raise FieldInvalid(
            f"the search tool {search.name!r} has the name of {clashing.name} of server {clashing.server!r}",
            field="config.search_tool_name",
            given=search.name,
            allowed="a name that no tool has",
        )


def _text(tools: Sequence[payloads.Tool], limits: Limits) -> str:
    text = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode(errors="surrogatepass"))
    if size > limits.plan_bytes:
        raise LimitExceeded("filter", given=size, allowed=limits.plan_bytes, limit="plan_bytes", unit="bytes of definitions")
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: JSON can spell it, UTF-8 cannot
        return json.dumps(tools, separators=(",", ":"))
    return text


def _some(names: Iterable[str], shown: int = NAMES_SHOWN) -> str:
    all_names = list(names)
    more = len(all_names) - shown
    return ", ".join(all_names[:shown]) + (f" and {more:,} more" if more > 0 else "")
