"""Tests of the adapters run where the frameworks are: make test-adapters. Elsewhere there is nothing to collect."""

from importlib.util import find_spec

import pytest

from contract import LOADS, TOOLS

collect_ignore: list[str] = []
if find_spec("pydantic_ai") is None:
    collect_ignore += [
        "test_agent_framework.py",
        "test_anthropic.py",
        "test_bigtool.py",
        "test_examples.py",
        "test_fastmcp.py",
        "test_google_adk.py",
        "test_langchain.py",
        "test_llama_index.py",
        "test_openai_agents.py",
        "test_openai_responses.py",
        "test_pydantic_ai.py",
    ]
if find_spec("fast_agent") is None:
    collect_ignore.append("test_fast_agent.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was loaded on each turn, in tools and in thousands of characters of definitions."""
    for framework, tools, sizes in LOADS:
        turns = ", ".join(f"{len(names)} tools {size / 1000:.1f} kB" for names, size in zip(tools, sizes, strict=True))
        terminalreporter.write_line(f"{framework}: {turns}; all would be {len(TOOLS)}")
