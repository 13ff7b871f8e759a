"""The audit trail: one record for every write and for every call whose identity was refused."""

import json
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

log = structlog.get_logger()


class Audit:
    """Records go to a file of their own if there is one, else to the log, as lines with `"event": "audit"`."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises OSError if the file cannot be written."""
        self._file: int | None = None
        self._lock = threading.Lock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            os.fchmod(self._file, 0o600)

    def record(
        self,
        what: str,
        *,
        who: str,
        tenant: str,
        catalog: str = "",
        origin: str = "",
        outcome: str,
        request_id: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        record = {"what": what, "who": who, "tenant": tenant, "catalog": catalog, "origin": origin, "outcome": outcome}
        record |= {"request_id": request_id, **(facts or {})}
        record = {name: value for name, value in record.items() if value != ""}
        if self._file is None:
            log.info("audit", **record)
            return
        line = json.dumps({"time": datetime.now(UTC).isoformat(), **record}) + "\n"
        try:
            with self._lock:
                os.write(self._file, line.encode(errors="replace"))
        except OSError as error:
            log.error("audit record not written to its file", error=str(error), **record)  # noqa: TRY400 the record matters

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
