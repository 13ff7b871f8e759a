from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from facade.facades import ToolServer, http_facade, http_section, listening, write_config

# A program, whose name looks like that of a test.
collect_ignore = ["tool_server_under_test.py"]


@dataclass(frozen=True)
class Shared:
    url: str
    calc: ToolServer
    older: ToolServer
    web: ToolServer

    def server(self, name: str) -> ToolServer:
        found: ToolServer = getattr(self, name)
        return found


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """One facade in front of three servers, for all tests that harm none of them: by stdio of two protocols, and by HTTP."""
    folder = tmp_path_factory.mktemp("facade")
    calc, older, web = (ToolServer(folder / name) for name in ("calc", "older", "web"))
    older.flags = ("--style", "2025-06-18")
    with listening(web) as port:
        config = write_config(folder / "mcp.json", {"calc": calc, "older": older, "web": http_section(port)})
        with http_facade("--mcp-config", str(config)) as url:
            yield Shared(url, calc, older, web)


@pytest.fixture
def calc(tmp_path: Path) -> ToolServer:
    """A server for one test alone."""
    return ToolServer(tmp_path / "calc")


@pytest.fixture
def config(tmp_path: Path, calc: ToolServer) -> Path:
    return write_config(tmp_path / "mcp.json", {"calc": calc})
