"""How things are called in Redis. Names are quoted, so that no name can pass for another one or choose its slot."""

from urllib.parse import quote

from toolsearch_server.store import CatalogKey


class Keys:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.probe = f"{prefix}probe"
        self.hints = f"{prefix}mcp"
        self.tenants = f"{prefix}tenants"
        self.followed = f"{prefix}followed"

    def meta(self, key: CatalogKey) -> str:
        return f"{self._catalog(key)}:meta"

    def entries(self, key: CatalogKey) -> str:
        return f"{self._catalog(key)}:entries"

    def log(self, key: CatalogKey) -> str:
        return f"{self._catalog(key)}:log"

    def usage(self, key: CatalogKey) -> str:
        return f"{self._catalog(key)}:usage"

    def resources(self, key: CatalogKey) -> str:
        """Pieces of resources by digest and number."""
        return f"{self._catalog(key)}:resources"

    def channel(self, key: CatalogKey) -> str:
        return f"{self._catalog(key)}:changes"

    def catalogs(self, tenant: str) -> str:
        """The tenant's catalogs by name, each with the time at which it was last begun."""
        return f"{self._prefix}catalogs:{quote(tenant, safe='')}"

    def lease(self, name: str) -> str:
        return f"{self._prefix}lease:{quote(name, safe='')}"

    def vector(self, model: str, digest: bytes) -> str:
        """In a slot of its own: vectors are many, and belong to no catalog."""
        return f"{self._prefix}vector:{quote(model, safe='')}:{digest.hex()}"

    def _catalog(self, key: CatalogKey) -> str:
        """The braces keep all that belongs to a catalog in one slot of a Redis Cluster."""
        return f"{self._prefix}{{{quote(key.tenant, safe='')}/{quote(key.catalog, safe='')}}}"
