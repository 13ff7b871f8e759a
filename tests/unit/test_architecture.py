"""Who may import whom. The layers are drawn in ARCHITECTURE.md."""

import ast
from pathlib import Path

import pytest

PACKAGE = "toolsearch_server"
SOURCE = Path(__file__).parents[2] / "service" / PACKAGE

# What each module may import of this package; a folder stands for all modules in it.
ALLOWED = {
    "limits": set(),
    "errors": set(),
    "schema": set(),
    "text": set(),
    "entry": {"errors", "limits", "schema"},
    "naming": {"entry"},
    "settings": {"text"},
    "changes": {"naming", "entry", "settings", "errors", "limits"},
    "selection": {"entry", "naming", "settings"},
    "concepts": {"text"},
    "document": {"text", "concepts", "entry", "selection", "settings", "limits"},
    "kernel": set(),
    "word_scores": {"kernel"},
    "bm25": {"kernel", "word_scores", "document", "text", "concepts", "selection"},
    "names": {"text", "entry", "errors", "limits"},
    "embedders": {"embedders", "text", "entry"},
    "vectors": {"kernel", "embedders", "entry"},
    "relevance": {"document", "concepts", "names"},
    "query": {"embedders", "relevance", "bm25", "names", "vectors", "document", "selection", "settings"},
    "strategies": {
        "kernel",
        "query",
        "relevance",
        "bm25",
        "names",
        "vectors",
        "document",
        "text",
        "selection",
        "errors",
        "limits",
    },
    "ranking": {"strategies", "query", "relevance", "names", "selection", "errors", "limits"},
    "allocator": set(),
    "turns": set(),
    "watched_file": set(),
    "metrics": set(),
    "tracing": set(),
    "audit": set(),
    "embeddings": {"embedders", "vectors", "store", "backoff", "errors", "limits"},
    "answers": set(),
    "usage": {"store", "entry", "errors"},
    "models": set(),
    "payloads": {"entry", "naming"},
    "plan": {"payloads", "models", "usage", "settings", "entry", "errors", "limits"},
    "catalog": {
        "answers",
        "usage",
        "settings",
        "turns",
        "embeddings",
        "embedders",
        "ranking",
        "query",
        "bm25",
        "names",
        "vectors",
        "document",
        "selection",
        "changes",
        "entry",
        "errors",
        "limits",
    },
    "backoff": set(),
    "store": {"store", "backoff", "changes", "entry", "settings", "errors", "limits"},
    "quotas": {"store", "changes", "errors", "limits"},
    "catalogs": {
        "usage",
        "allocator",
        "catalog",
        "turns",
        "quotas",
        "metrics",
        "tracing",
        "embeddings",
        "embedders",
        "store",
        "changes",
        "errors",
        "limits",
    },
    "writer": {"store", "quotas", "tracing", "changes", "errors", "limits"},
    "follower": {"catalogs", "metrics", "store", "changes", "backoff", "errors"},
    "mcp_hints": set(),
    "skill_session": {"mcp_config", "mcp_listing", "entry", "errors", "limits"},
    "mcp_listing": {"mcp_config", "changes", "entry", "errors", "limits"},
    "mcp_config": {"store", "entry", "errors", "limits"},
    "mcp_session": {"mcp_config", "mcp_listing", "entry", "errors", "limits"},
    "mcp_follower": {
        "audit",
        "metrics",
        "tracing",
        "backoff",
        "mcp_config",
        "mcp_listing",
        "mcp_session",
        "skill_session",
        "store",
        "changes",
        "errors",
        "limits",
    },
    "mcp_watcher": {
        "watched_file",
        "mcp_follower",
        "mcp_config",
        "mcp_listing",
        "mcp_session",
        "store",
        "changes",
        "entry",
        "errors",
        "limits",
        "backoff",
    },
    "sample": {"catalogs", "store", "changes", "entry", "limits"},
    "auth": {"auth", "entry", "errors", "limits"},
    "admission": {"errors", "limits"},
    "identity": {"auth", "config", "watched_file", "limits"},
    "keys_command": {"auth", "config", "errors"},
    "rpc": {
        "rpc",
        "answers",
        "plan",
        "usage",
        "settings",
        "text",
        "admission",
        "audit",
        "metrics",
        "tracing",
        "turns",
        "config",
        "watched_file",
        "catalogs",
        "catalog",
        "ranking",
        "query",
        "selection",
        "changes",
        "entry",
        "store",
        "auth",
        "errors",
        "limits",
    },
    "config": {"auth", "embedders", "store", "limits"},
    "options": {"auth", "embedders", "store", "limits"},
    "command_line": {"config", "options", "auth", "embedders", "store", "entry", "errors", "limits"},
    "facade": {
        "facade",
        "server",
        "config",
        "telemetry",
        "identity",
        "auth",
        "web",
        "mcp_watcher",
        "mcp_follower",
        "mcp_session",
        "mcp_listing",
        "mcp_config",
        "store",
        "changes",
        "entry",
        "backoff",
        "errors",
        "limits",
    },
    "telemetry": set(),
    "web": {"web", "rpc", "auth", "config", "metrics", "tracing", "turns", "errors", "limits"},
}

# Libraries that only one place may know.
ONLY_IN = {
    "grpc": {"rpc", "server"},
    "grpc_health": {"rpc", "server"},
    "grpc_reflection": {"server"},
    "tantivy": {"bm25"},
    "re2": {"names", "facade"},
    "rapidfuzz": {"names"},
    "Stemmer": {"text"},
    "ctypes": {"kernel", "word_scores", "allocator"},
    "numpy": {"names", "kernel", "word_scores", "bm25", "vectors", "strategies", "embedders", "embeddings"},
    "tokenizers": {"embedders"},
    "safetensors": {"embedders"},
    "onnxruntime": {"embedders"},
    "sentence_transformers": {"embedders"},
    "httpx2": {"embedders", "mcp_session"},
    "sqlite3": {"store"},
    "redis": {"store"},
    "mcp": {"mcp_session", "facade"},
    "mcp_types": {"mcp_session", "facade"},
    "jsonschema": {"facade"},
    "starlette": {"web", "facade"},
    "uvicorn": {"web"},
    "h11": {"web"},
    "uvloop": {"__main__"},
    "jwt": {"auth"},
    "prometheus_client": {"metrics"},
    "opentelemetry": {"tracing"},
}

SEES_EVERYTHING = {"server", "watch", "__main__", "__init__"}


def _module(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_is_below_it(path: Path) -> None:
    module = _module(path)
    if module in SEES_EVERYTHING:
        return
    own = {name.split(".")[1] for name in _imports(path) if name.startswith(f"{PACKAGE}.")}
    modules = {_module(other) for other in FILES}
    assert (own & modules) - ALLOWED[module] == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_library_is_known_in_one_place_only(path: Path) -> None:
    libraries = {name.split(".")[0] for name in _imports(path)}
    for library in libraries & ONLY_IN.keys():
        assert _module(path) in ONLY_IN[library], library


def test_every_module_has_its_place() -> None:
    assert {_module(path) for path in FILES} == ALLOWED.keys() | SEES_EVERYTHING
