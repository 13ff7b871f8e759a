"""The sample catalog: a hundred believable tools, for a first look."""

import json
from importlib import resources

from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import plan_apply
from toolsearch_server.entry import Draft, Kind, make_draft
from toolsearch_server.limits import Limits
from toolsearch_server.store import CatalogKey


def sample_drafts(limits: Limits) -> list[Draft]:
    """One JSON-lines file per server, in the package."""
    drafts: list[Draft] = []
    for file in sorted(resources.files(__package__).joinpath("sample").iterdir(), key=lambda path: path.name):
        server = file.name.removesuffix(".jsonl")
        for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
            drafts.append(_draft(server, line, limits))
    return drafts


def _draft(server: str, line: str, limits: Limits) -> Draft:
    definition = json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":"))
    return make_draft(
        server=server,
        kind=Kind.TOOL,
        definition=definition,
        namespace="",
        tags=(),
        capabilities=(),
        summary="",
        limits=limits,
        field=server,
    )


async def load_sample(catalogs: Catalogs, key: CatalogKey, limits: Limits) -> int:
    """Fill `key` if its tenant has no catalog yet; how many entries were loaded."""
    if await catalogs.records(key.tenant):
        return 0
    drafts = sample_drafts(limits)
    await catalogs.write(key, lambda entries: plan_apply(entries, drafts, (), limits), expected_revision=0)
    return len(drafts)
