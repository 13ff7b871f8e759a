"""What is measured: toolsearch through its service, and in-process searchers as their users run them."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from quality.sets import LabelledSet, LabelledTool
from support import running_server, wait_for
from toolsearch import Client, EntryInput

Search = Callable[[str], list[str]]
"""From a query to tool ids, best first, at most ten."""

Rated = list[tuple[str, float]]
"""Tool ids with the relevance that the service gives them."""

BY_MEANING = ("auto", "hybrid", "semantic")
EMBEDDING_SECONDS = 3600.0
STRATEGIES = ("auto", "bm25", "hybrid", "semantic", "fuzzy")


@contextmanager
def toolsearch(strategy: str, embeddings: str = "auto") -> Iterator[Callable[[LabelledSet], Search]]:
    """The service's answers without their relevance."""
    with rated_toolsearch(strategy, embeddings) as prepare_rated:

        def prepare(labelled: LabelledSet) -> Search:
            search = prepare_rated(labelled)
            return lambda query: [found for found, _ in search(query)]

        yield prepare


@contextmanager
def rated_toolsearch(strategy: str, embeddings: str = "auto") -> Iterator[Callable[[LabelledSet], Callable[[str], Rated]]]:
    """A real server, each set loaded into a catalog of its own, each query one call."""
    with running_server("--store", "memory:", "--embeddings", embeddings) as (_, address):
        clients: list[Client] = []

        def prepare(labelled: LabelledSet) -> Callable[[str], Rated]:
            client = Client(address, catalog=labelled.name, timeout=60)
            clients.append(client)
            client.apply_changes([EntryInput(definition=tool.definition, server=tool.server) for tool in labelled.tools])

            def search(query: str) -> Rated:
                matches = client.search(query, strategy=strategy, limit=10, detail="name").matches
                return [(f"{match.server}::{match.local_name}", match.relevance) for match in matches]

            if strategy in BY_MEANING:
                wait_for(lambda: _is_embedded(client), seconds=EMBEDDING_SECONDS, what="the vectors of all entries")
            search("warm up")
            return search

        try:
            yield prepare
        finally:
            for client in clients:
                client.close()


def _is_embedded(client: Client) -> bool:
    """Whether a search by both says nothing of vectors that it lacks, or that there will be none."""
    said = client.search("warm up", strategy="hybrid").message
    return "no embedding model" in said or not ("words alone" in said or "not known yet" in said)


def rank_bm25(labelled: LabelledSet) -> Search:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([_text(tool).lower().split() for tool in labelled.tools])

    def search(query: str) -> list[str]:
        scores = index.get_scores(query.lower().split())
        best = sorted(range(len(scores)), key=lambda number: -scores[number])[:10]
        return [labelled.tools[number].id for number in best if scores[number] > 0]

    return search


def bm25s(labelled: LabelledSet) -> Search:
    import bm25s as library
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    index = library.BM25()
    tokens = library.tokenize([_text(tool) for tool in labelled.tools], stopwords="en", stemmer=stemmer, show_progress=False)
    index.index(tokens, show_progress=False)

    def search(query: str) -> list[str]:
        asked = library.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = index.retrieve(asked, k=min(10, len(labelled.tools)), show_progress=False)
        pairs = zip(found[0], scores[0], strict=True)
        return [labelled.tools[int(number)].id for number, score in pairs if score > 0]

    return search


def fastmcp(labelled: LabelledSet) -> Search:
    from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
    from fastmcp.tools.base import Tool

    logging.getLogger("fastmcp").setLevel(logging.ERROR)  # it has opinions about the names of real tools
    logging.getLogger("mcp").setLevel(logging.ERROR)
    tools = [
        Tool(name=_unique(tool), description=tool.description, parameters=tool.schema or {"type": "object"})
        for tool in labelled.tools
    ]
    ids = {_unique(tool): tool.id for tool in labelled.tools}
    transform = BM25SearchTransform(max_results=10)

    def search(query: str) -> list[str]:
        return [ids[tool.name] for tool in asyncio.run(transform._search(tools, query))]

    return search


def pydantic_ai(labelled: LabelledSet) -> Search:
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets._tool_search import keywords_search_fn

    tools = [ToolDefinition(name=_unique(tool), description=tool.description) for tool in labelled.tools]
    ids = {_unique(tool): tool.id for tool in labelled.tools}
    context: Any = None

    def search(query: str) -> list[str]:
        return [ids[name] for name in keywords_search_fn(context, [query], tools)[:10]]

    return search


PEERS: dict[str, Callable[[LabelledSet], Search]] = {
    "rank_bm25": rank_bm25,
    "bm25s": bm25s,
    "fastmcp": fastmcp,
    "pydantic-ai": pydantic_ai,
}


def _text(tool: LabelledTool) -> str:
    parameters = " ".join(
        f"{name} {about.get('description') or ''}" if isinstance(about, dict) else name
        for name, about in (tool.schema.get("properties") or {}).items()
    )
    return f"{tool.name} {tool.server} {tool.description} {parameters}"


def _unique(tool: LabelledTool) -> str:
    return f"{tool.server}_{tool.name}" if tool.server else tool.name
