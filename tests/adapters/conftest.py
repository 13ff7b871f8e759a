"""Tests of the adapters run where the frameworks are: make test-adapters. Elsewhere there is nothing to collect."""

from importlib.util import find_spec

import pytest

from adapters.contract import LOADS, TOOLS

# What each module of tests needs; frameworks that cannot live together have environments of their own.
NEEDED = {
    "test_agent_framework.py": "agent_framework",
    "test_anthropic.py": "anthropic",
    "test_bigtool.py": "langgraph_bigtool",
    "test_fast_agent.py": "fast_agent",
    "test_fastmcp.py": "fastmcp",
    "test_google_adk.py": "google.adk",
    "test_langchain.py": "langchain",
    "test_llama_index.py": "llama_index",
    "test_openai_agents.py": "agents",
    "test_openai_responses.py": "openai",
    "test_pydantic_ai.py": "pydantic_ai",
}


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [name for name, module in NEEDED.items() if not installed(module)]


def pytest_configure(config: pytest.Config) -> None:
    """What frameworks deprecate of each other is not ours to mend."""
    if len(collect_ignore) == len(NEEDED):
        return
    config.addinivalue_line("filterwarnings", "ignore::DeprecationWarning")
    config.addinivalue_line("filterwarnings", "ignore::PendingDeprecationWarning")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was loaded on each turn, in tools and in thousands of characters of definitions."""
    for framework, tools, sizes in LOADS:
        turns = ", ".join(f"{len(names)} tools {size / 1000:.1f} kB" for names, size in zip(tools, sizes, strict=True))
        terminalreporter.write_line(f"{framework}: {turns}; all would be {len(TOOLS)}")
