"""How long a plan takes, and what it saves, at 10 to 10,000 real tools: through the service, payload included."""

from collections.abc import Iterator
from typing import Any

import pytest

from quality.sets import read_tools
from support import DATA, running_server
from toolsearch import Client, EntryInput, ToolSearchConfig

CATALOG = DATA / "toucan_catalog" / "tools.jsonl"
SIZES = (10, 100, 1_000, 10_000)
PROVIDERS = (("anthropic", "claude-sonnet-5", "provider"), ("openai", "gpt-5.4", "provider"), ("openai", "gpt-5.4", "client"))


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with running_server("--store", "memory:", "--embeddings", "off") as (_, address):
        yield address


def fill(client: Client, count: int) -> None:
    """Real tools; beyond those that there are, again under other servers' names."""
    tools = read_tools(CATALOG)
    entries = [
        EntryInput(
            definition=tools[number % len(tools)].definition,
            server=f"{tools[number % len(tools)].server}{number // len(tools)}",
        )
        for number in range(count)
    ]
    for first in range(0, count, 2_000):
        client.apply_changes(entries[first : first + 2_000], timeout=60)


@pytest.mark.skipif(not CATALOG.exists(), reason=f"no real catalogs in {DATA}: set TOOLSEARCH_DATA")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("provider", "model", "execution"), PROVIDERS)
def test_plan(target: str, benchmark: Any, provider: str, model: str, execution: str, size: int) -> None:
    size = size if benchmark.enabled else min(size, 100)
    config = ToolSearchConfig(min_tokens=0, execution=execution)  # type: ignore[arg-type]
    with Client(target, catalog=f"{size}", timeout=60) as client:
        fill(client, size)
        client.plan_tools(provider, model, config)
        made = benchmark.pedantic(client.plan_tools, args=(provider, model, config), rounds=5)
    assert len(made.tools) == size
    benchmark.extra_info |= {"tokens_before": made.tokens_before, "tokens_after": made.tokens_after}
    assert made.tokens_after < made.tokens_before
