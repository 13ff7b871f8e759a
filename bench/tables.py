"""Tables of measurements: printed, and written as JSON with a picture, next to a description of the machine."""

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import metadata
from pathlib import Path

RESULTS = Path(os.environ.get("TOOLSEARCH_BENCH_RESULTS") or Path(__file__).parent / "results")

WIDTH, LABEL_WIDTH, BAR, GAP, TOP = 900, 250, 16, 14, 64
COLOURS = ("#2f6f9f", "#c8743c", "#5c8f57", "#9a5f94", "#8a8a3d", "#b0524f")

Cell = float | str


@dataclass
class Table:
    """Rows of named cells. `plotted`: the columns of the picture, all of one `unit`; its scale is logarithmic."""

    name: str
    title: str
    unit: str
    plotted: Sequence[str]
    rows: list[tuple[str, dict[str, Cell]]] = field(default_factory=list)

    def add(self, label: str, **cells: Cell) -> None:
        self.rows.append((label, cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for _, cells in self.rows for column in cells))

    def __str__(self) -> str:
        lines = [
            ["", *self.columns],
            *([label, *(_shown(cells.get(each, "")) for each in self.columns)] for label, cells in self.rows),
        ]
        widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
        aligned = (
            "  ".join(
                [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
            )
            for line in lines
        )
        return "\n".join((self.title, *aligned))

    def write(self, folder: Path = RESULTS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{"label": label, **cells} for label, cells in self.rows]
        content = {"title": self.title, "machine": machine(), "rows": rows}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        (folder / f"{self.name}.svg").write_text(self.picture(), encoding="utf-8")

    def picture(self) -> str:
        values = [
            value
            for _, cells in self.rows
            for each in self.plotted
            if isinstance(value := cells.get(each), float | int) and value > 0
        ]
        low, high = math.floor(math.log10(min(values, default=1))), math.ceil(math.log10(max(values, default=10)) + 1e-9)
        span = max(1, high - low)

        def across(value: float) -> float:
            return LABEL_WIDTH + (math.log10(value) - low) / span * (WIDTH - LABEL_WIDTH - 70)

        height = TOP + len(self.rows) * (len(self.plotted) * BAR + GAP) + 10
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            f'<text x="10" y="20" font-size="15">{escape(self.title)}</text>',
        ]
        for place, column in enumerate(self.plotted):
            at = LABEL_WIDTH + place * 150
            parts.append(f'<rect x="{at}" y="30" width="11" height="11" fill="{COLOURS[place % len(COLOURS)]}"/>')
            parts.append(f'<text x="{at + 16}" y="40">{escape(column)}</text>')
        for power in range(low, low + span + 1):
            x = across(10.0**power)
            parts.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height}" stroke="#dddddd"/>')
            parts.append(
                f'<text x="{x:.1f}" y="{TOP - 10}" fill="#777777" text-anchor="middle">{10.0**power:g} {self.unit}</text>'
            )
        y = float(TOP)
        for label, cells in self.rows:
            parts.append(f'<text x="10" y="{y + len(self.plotted) * BAR / 2 + 4:.0f}">{escape(label)}</text>')
            for place, column in enumerate(self.plotted):
                value = cells.get(column)
                if isinstance(value, float | int) and value > 0:
                    width, colour = across(value) - LABEL_WIDTH, COLOURS[place % len(COLOURS)]
                    parts.append(
                        f'<rect x="{LABEL_WIDTH}" y="{y}" width="{max(width, 1):.1f}" height="{BAR - 3}" fill="{colour}"/>'
                    )
                    parts.append(f'<text x="{LABEL_WIDTH + width + 5:.1f}" y="{y + 11}">{_shown(value)}</text>')
                y += BAR
            y += GAP
        return "\n".join((*parts, "</svg>")) + "\n"


def _shown(value: Cell) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def machine() -> Mapping[str, str | int]:
    """What was measured on."""
    cpu = Path("/proc/cpuinfo")
    models = (
        [line.partition(":")[2].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")]
        if cpu.exists()
        else []
    )
    packages = ("toolsearch-server", "grpcio", "tantivy", "numpy", "rapidfuzz", "google-re2", "uvloop")
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: metadata.version(package) for package in packages},
    }
