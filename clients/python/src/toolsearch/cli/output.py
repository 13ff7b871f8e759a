"""What people and programs see: aligned and coloured on a terminal, plain in a pipe, JSON if asked for."""

import dataclasses
import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

PLAIN_WIDTH = 200
BAR_WIDTH = 30
BAR_AFTER_SECONDS = 0.5


class Output:
    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        terminal = self._stream.isatty()
        self._colours = terminal and "NO_COLOR" not in os.environ
        self._width = shutil.get_terminal_size().columns if terminal else PLAIN_WIDTH

    def line(self, text: str = "") -> None:
        self._stream.write(text + "\n")

    def json(self, value: object) -> None:
        text = json.dumps(_jsonable(value), ensure_ascii=False)
        # What a terminal might obey, or UTF-8 cannot say, is spelled out.
        self.line("".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text))

    def table(self, rows: Sequence[Sequence[str]], *, bold: int = 0, right: Sequence[int] = ()) -> None:
        """Columns as wide as they need to be; the last one is cut at the edge. Column `bold` stands out."""
        if not rows:
            return
        cleaned = [[clean(cell) for cell in row] for row in rows]
        widths = [max(map(_width, column)) for column in zip(*cleaned, strict=True)]
        for row in cleaned:
            cells = [
                _pad(cell, width, right=index in right) for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            room = self._width - sum(_width(cell) + 2 for cell in cells[:-1])
            cells[-1] = cut(cells[-1].rstrip(), max(room, 10))
            cells[bold] = self.strong(cells[bold])
            self.line("  ".join(cells).rstrip())

    def strong(self, text: str) -> str:
        return self._colour("1", text)

    def faint(self, text: str) -> str:
        return self._colour("2", text)

    def good(self, text: str) -> str:
        return self._colour("32", text)

    def bad(self, text: str) -> str:
        return self._colour("31", text)

    def _colour(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours and text else text


class Progress:
    """A bar on the terminal, once something has taken long enough to wonder."""

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._started = time.monotonic()
        self._shown = False

    def update(self, done: int) -> None:
        if not sys.stderr.isatty() or (not self._shown and time.monotonic() - self._started < BAR_AFTER_SECONDS):
            return
        self._shown = True
        filled = BAR_WIDTH * done // max(self._total, 1)
        bar = "#" * filled + "." * (BAR_WIDTH - filled)
        sys.stderr.write(f"\r{self._what} [{bar}] {done}/{self._total}")
        sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def clean(text: str) -> str:
    """One line without control characters: descriptions are other people's text, and terminals obey such characters."""
    indent = len(text) - len(text.lstrip(" "))
    line = " " * indent + " ".join(text.split())
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


def cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    kept = ""
    room = width - 1
    for char in text:
        room -= _width(char)
        if room < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


def _pad(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def _jsonable(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value
