"""What tests share: tools to search, catalogs in memory, real server processes."""

import asyncio
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolsearch_server.catalog import View
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import NO_ENTRIES, Entries, Outcome, Version, plan_apply
from toolsearch_server.entry import Draft, Kind, make_draft
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.query import Query, Strategy
from toolsearch_server.ranking import Ranking
from toolsearch_server.store import CatalogKey

DATA = Path(os.environ.get("TOOLSEARCH_DATA") or Path(__file__).parents[2] / "shared" / "data")
START_SECONDS = 30.0


def tool(name: str, description: str = "", **members: Any) -> dict[str, Any]:
    """An MCP tool; `parameters` are its input schema's properties."""
    properties = members.pop("parameters", {})
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}, **members}


def draft(definition: Mapping[str, Any], server: str = "", limits: Limits = DEFAULT_LIMITS, **fields: Any) -> Draft:
    return make_draft(
        server=server,
        kind=fields.pop("kind", Kind.TOOL),
        definition=json.dumps(definition),
        namespace=fields.pop("namespace", ""),
        tags=fields.pop("tags", ()),
        capabilities=fields.pop("capabilities", ()),
        summary=fields.pop("summary", ""),
        limits=limits,
        field="entry",
        resources=fields.pop("resources", ()),
    )


def entries_of(drafts: Iterable[Draft]) -> Entries:
    outcome = plan_apply(NO_ENTRIES, list(drafts), (), DEFAULT_LIMITS)
    return NO_ENTRIES.after(outcome.change, Version("epoch", 1))


def view_of(*tools: Mapping[str, Any] | Draft, server: str = "") -> View:
    return View.of(entries_of(each if isinstance(each, Draft) else draft(each, server) for each in tools))


def ranked(view: View, *texts: str, strategy: Strategy = Strategy.AUTO, limit: int = 10, **options: Any) -> Ranking:
    options.setdefault("explain", True)
    return view.search(Query(texts=texts, strategy=strategy, limit=limit, **options), DEFAULT_LIMITS)


def names_found(view: View, *texts: str, **options: Any) -> list[str]:
    return [view.entry(match.slot).name for match in ranked(view, *texts, **options).matches]


def wait_for(condition: Callable[[], Any], *, seconds: float = 20.0, what: str = "the condition") -> Any:
    """What `condition` returns once it is true. Polls: for things that cannot be waited for."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.01)


CATALOG = CatalogKey("tenant", "catalog")


async def write_tools(
    catalogs: Catalogs,
    *names: str,
    key: CatalogKey = CATALOG,
    limits: Limits = DEFAULT_LIMITS,
    expected_revision: int | None = None,
) -> tuple[Version, Outcome]:
    """Tools of server `s`, each described as "thing"."""
    drafts = [draft(tool(name, "thing"), "s") for name in names]
    return await catalogs.write(
        key, lambda entries: plan_apply(entries, drafts, (), limits), expected_revision=expected_revision
    )


async def things_found(catalogs: Catalogs, revision: int, key: CatalogKey = CATALOG) -> list[str]:
    """Names of the tools described as "thing", once the catalog is at `revision`."""
    _, view = await catalogs.view(key, min_revision=revision, epoch="", timeout=5)
    return names_found(view, "thing", limit=100)


async def until(condition: Callable[[], Any], *, seconds: float = 10.0) -> None:
    """Let other tasks run until `condition` is true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 what is waited for has no event
            await asyncio.sleep(0)


class ServerProcess:
    """A real toolsearch-server, its log read line by line."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        command: str = "serve",
        program: Sequence[str] = ("-m", "toolsearch_server"),
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *program, command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=_clean_environment() | dict(environment or {}),
        )
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            self._queue.put(line)
        self._queue.put(None)

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def wait_until_listening(self) -> str:
        """The address, from the log."""
        return str(self.wait_for_event("listening")["address"])

    def wait_for_event(self, event: str) -> dict[str, Any]:
        end = time.monotonic() + START_SECONDS
        while True:
            line = self._queue.get(timeout=max(0.01, end - time.monotonic()))
            if line is None:
                raise AssertionError(f"the server ended with {self.process.wait()}: {self.log}")
            record = json.loads(line) if line.startswith("{") else {}
            if record.get("event") == event:
                return dict(record)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def wait(self) -> int:
        code = self.process.wait(timeout=START_SECONDS)
        self._reader.join(timeout=START_SECONDS)
        assert self.process.stderr is not None and self.process.stdout is not None
        self.process.stderr.close()
        self.process.stdout.close()
        return code


def _clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TOOLSEARCH_")}


@contextmanager
def running_server(*arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[tuple[ServerProcess, str]]:
    """A server on a free port, killed at the end if it still runs."""
    server = ServerProcess(("--listen", "127.0.0.1:0", "--drain-delay", "0", *arguments), environment)
    try:
        yield server, server.wait_until_listening()
    finally:
        server.kill() if server.process.poll() is None else server.wait()
