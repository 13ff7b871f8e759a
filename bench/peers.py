"""Searchers that people use inside their processes today, each as its users run it: built once, asked with one query at a time.

They are in an environment of their own (`make bench` makes it). Each runs in a process of its own, so that memory can be told.
"""

import asyncio
import importlib.util
import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from loads import composed

MAX_RESULTS = 5
Search = Callable[[str], Sequence[Any]]
Tools = list[tuple[str, dict[str, Any]]]


def fastmcp(tools: Tools) -> Search:
    from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
    from fastmcp.tools.base import Tool

    for name in ("fastmcp", "mcp"):
        logging.getLogger(name).setLevel(logging.ERROR)  # they have opinions about the names of real tools
    objects = [
        Tool(
            name=f"{server}_{each['name']}",
            description=each.get("description") or "",
            parameters=each.get("input_schema") or {"type": "object"},
        )
        for server, each in tools
    ]
    transform = BM25SearchTransform(max_results=MAX_RESULTS)
    loop = asyncio.new_event_loop()
    return lambda query: loop.run_until_complete(transform._search(objects, query))


def pydantic_ai(tools: Tools) -> Search:
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets._tool_search import keywords_search_fn

    objects = [
        ToolDefinition(name=f"{server}_{each['name']}", description=each.get("description") or "") for server, each in tools
    ]
    context: Any = None
    return lambda query: keywords_search_fn(context, [query], objects)[:MAX_RESULTS]


def rank_bm25(tools: Tools) -> Search:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([text_of(server, each).lower().split() for server, each in tools])
    names = [each["name"] for _, each in tools]
    return lambda query: index.get_top_n(query.lower().split(), names, MAX_RESULTS)


def bm25s(tools: Tools) -> Search:
    import bm25s as library
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    index = library.BM25()
    texts = [text_of(server, each) for server, each in tools]
    index.index(library.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def search(query: str) -> Sequence[Any]:
        asked = library.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        return list(index.retrieve(asked, k=min(MAX_RESULTS, len(tools)), show_progress=False)[0][0])

    return search


def sqlite_fts5(tools: Tools) -> Search:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE tools USING fts5(name, about, tokenize='porter unicode61')")
    database.executemany("INSERT INTO tools VALUES (?, ?)", ((each["name"], text_of(server, each)) for server, each in tools))

    def search(query: str) -> Sequence[Any]:
        words = "".join(letter if letter.isalnum() else " " for letter in query).split()
        asked = " OR ".join(f'"{word}"' for word in words)
        rows = database.execute(
            "SELECT name FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 4, 1) LIMIT ?", (asked, MAX_RESULTS)
        )
        return rows.fetchall() if words else []

    return search


def text_of(server: str, tool: dict[str, Any]) -> str:
    """What a searcher looks at that takes one text."""
    properties = (tool.get("input_schema") or {}).get("properties") or {}
    parameters = " ".join(
        f"{name} {about.get('description') or ''}" if isinstance(about, dict) else name for name, about in properties.items()
    )
    return f"{tool['name']} {server} {tool.get('description') or ''} {parameters}"


PEERS: dict[str, tuple[str, Callable[[Tools], Search]]] = {
    "FastMCP": ("fastmcp", fastmcp),
    "pydantic-ai": ("pydantic_ai", pydantic_ai),
    "rank_bm25": ("rank_bm25", rank_bm25),
    "bm25s": ("bm25s", bm25s),
    "SQLite FTS5": ("sqlite3", sqlite_fts5),
}
"""By name: the package that it takes, and how it is built."""


def is_here(name: str) -> bool:
    return importlib.util.find_spec(PEERS[name][0]) is not None


def tools(count: int) -> Tools:
    return list(composed(count))
