"""Every limit of the service, with its default. The errors they cause name them."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


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
    indexed_words: int = 5_000
    """Of an entry's description, and of its parameters; what follows is not searched."""

    # Names of tenants and catalogs
    tenant_length: int = 128
    catalog_length: int = 128

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
    request_bytes: int = 32 * MIB


DEFAULT_LIMITS = Limits()
