"""Every limit of the service, with its default. The errors they cause name them; `--limit NAME=VALUE` sets them."""

import re
from dataclasses import dataclass, fields, replace

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    # Catalogs
    entries_per_catalog: int = 100_000
    log_changes: int = 1_000
    """Changes kept per catalog for followers and watchers to catch up from..."""
    log_bytes: int = 16 * MIB
    """...while they are not more than this together."""
    announced_bytes: int = 64 * KIB
    """A change up to this size is published whole; followers read a larger one from the log."""

    # Entries
    definition_bytes: int = 256 * KIB
    definition_depth: int = 64
    name_length: int = 256
    server_length: int = 128
    namespace_length: int = 128
    summary_length: int = 1_000
    tag_length: int = 64
    tags_per_entry: int = 64
    resources_per_entry: int = 200
    resource_bytes: int = 4 * MIB
    resource_bytes_per_entry: int = 12 * MIB
    resource_path_length: int = 400
    media_type_length: int = 255
    indexed_words: int = 5_000
    """Of an entry's description, and of its parameters; what follows is not searched."""

    # Names of tenants and catalogs
    tenant_length: int = 128
    catalog_length: int = 128
    epoch_length: int = 64

    # Searches
    query_length: int = 32_768
    queries_per_request: int = 16
    query_terms: int = 256
    """Distinct words of one query that are ranked by; the rarest are kept."""
    pattern_length: int = 500
    pattern_memory: int = 1 * MIB
    pattern_program: int = 1_000
    """Steps of the compiled pattern, as RE2 counts them."""
    search_seconds: float = 2.0
    """Processor time of one search by pattern."""
    corrected_words: int = 8
    """Unknown words of a query for which near ones are looked up."""
    search_limit: int = 100
    search_limit_default: int = 5
    filter_values: int = 100
    filter_value_length: int = 400

    # Settings of a catalog
    synonym_groups: int = 500
    synonyms_per_group: int = 20
    synonym_length: int = 100
    patterns_per_setting: int = 100
    """Globs of pinned, and of banned entries."""
    field_weight: int = 10

    # Usage
    usage_reports: int = 100
    """Of one request."""
    usage_entries: int = 1_000
    """Entries of a catalog that are counted; of more, those that are used most."""

    # Plans
    plan_bytes: int = 48 * MIB
    """Of a payload: below what the clients take."""
    purpose_length: int = 4_000

    # Vectors of slow embedders
    query_embedding_seconds: float = 0.5
    """What a search waits for the vector of its query; then it goes by words alone."""
    queries_embedded_at_once: int = 64
    """Further ones go by words alone."""
    query_vector_bytes: int = 32 * MIB
    entry_vector_bytes: int = 256 * MIB
    """Of vectors remembered in memory, besides those of the catalogs."""
    stored_vectors: int = 200_000
    """Kept by the embedded store; of more, those that were used last."""
    stored_vector_seconds: int = 30 * 24 * 3600
    """How long a shared store keeps a vector that nobody asks for."""

    # Reads
    page_size: int = 1_000
    page_size_default: int = 100
    answer_bytes: int = 3 * MIB
    """Of entries in one answer: below the 4 MiB that gRPC clients take by default."""
    names_per_get: int = 100
    lookup_length: int = 400
    """Of a name that is asked for; no canonical name is longer."""

    # Messages
    request_bytes: int = 16 * MIB

    # Tenants
    tenant_rate: float = 0.0
    """Calls a second of one tenant, on one replica; 0: no limit."""
    tenant_burst: int = 100
    """Calls that a tenant may make at once, above the rate."""
    calls: int = 1_000
    """Under way at the same time on one replica."""
    calls_per_tenant: int = 250
    watches: int = 10_000
    watches_per_tenant: int = 500
    catalogs_per_tenant: int = 1_000
    entries_per_tenant: int = 1_000_000
    bytes_per_tenant: int = 2 * GIB
    """Of definitions, summaries, labels and resources. Replicas count what others wrote some seconds later."""

    # Memory
    index_bytes: int = 1 * GIB
    """Of all catalogs in memory, as estimated; beyond it the least recently used are let go of."""

    # The MCP facade
    call_argument_bytes: int = 1 * MIB
    call_result_bytes: int = 16 * MIB
    call_seconds: float = 3600.0
    """A client that gives up earlier says so, and the call ends."""
    calls_under_way: int = 64
    eager_tools: int = 64
    """Tools that are listed as themselves."""
    facade_answer_bytes: int = 96 * KIB
    """Of definitions in one answer, beyond the first."""
    facade_text_length: int = 4_000
    """Characters of a description by somebody else."""

    # Metrics
    tenant_labels: int = 50
    """Tenants that have metrics of their own; the others share theirs."""

    def changed(self, settings: str) -> "Limits":
        """With `NAME=VALUE` settings, separated by commas or spaces. Raises ValueError."""
        values = dict(_setting(setting) for setting in settings.replace(",", " ").split())
        return replace(self, **values)  # type: ignore[arg-type]  # _setting knows the types


_UNITS = {"": 1, "kib": KIB, "mib": MIB, "gib": GIB}
_MAY_BE_ZERO = frozenset({"tenant_rate", "tenant_labels"})


def _setting(setting: str) -> tuple[str, int | float]:
    name, _, text = setting.partition("=")
    defaults: dict[str, int | float] = {field.name: getattr(DEFAULT_LIMITS, field.name) for field in fields(Limits)}
    if name not in defaults:
        raise ValueError(f"{name!r} is not a limit; there are {', '.join(defaults)}")
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)(kib|mib|gib|)", text.lower())
    value = type(defaults[name])(float(matched[1]) * _UNITS[matched[2]]) if matched else -1
    if value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
        raise ValueError(f"{name} is {text!r}, allowed is a number above 0, with KiB, MiB or GiB if it is one of bytes")
    return name, value


DEFAULT_LIMITS = Limits()
