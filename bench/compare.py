"""Measures two revisions in turn and tells how they differ: python3 bench/compare.py BASE HEAD

Each is checked out below .cache/compare with an environment of its own. Both are measured with this checkout's bench, one after
the other and again, so that what else the machine does hits both; of each figure the better one counts.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 2
MEASURED = "test_round_trip.py"
COUNTED = ("p50 ms", "server µs")
EXPRESSION = "not 10000 and not 100000"


def prepared(revision: str) -> Path:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", f"{revision}^{{commit}}"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    folder = ROOT / ".cache" / "compare" / commit
    if not folder.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(folder), commit], cwd=ROOT, check=True)
    subprocess.run(["make", "--no-print-directory", "setup"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def measured(folder: Path) -> dict[str, dict[str, float]]:
    """By row of the table: its figures."""
    environment = os.environ | {"TOOLSEARCH_BENCH_RESULTS": str(folder / "compared")}
    environment.setdefault("TOOLSEARCH_DATA", str(ROOT.parent / "shared" / "data"))
    subprocess.run(
        [str(folder / ".venv/bin/pytest"), "-q", str(ROOT / "bench" / MEASURED), "-k", EXPRESSION, "--benchmark-enable"],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    table = json.loads((folder / "compared" / "round_trip.json").read_text(encoding="utf-8"))
    return {row["label"]: {column: row[column] for column in COUNTED} for row in table["rows"]}


def better(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {label: {column: min(run[label][column] for run in runs) for column in COUNTED} for label in runs[0]}


def main(base: str, head: str) -> None:
    folders = {name: prepared(name) for name in (base, head)}
    runs: dict[str, list[dict[str, dict[str, float]]]] = {name: [] for name in folders}
    for number in range(ROUNDS):
        for name, folder in folders.items():
            print(f"measuring {name}, round {number + 1} of {ROUNDS}", flush=True)
            runs[name].append(measured(folder))
    before, after = better(runs[base]), better(runs[head])
    print(f"{'':32}{'p50 ms':>10}{'':>10}{'ratio':>8}{'server µs':>12}{'':>10}{'ratio':>8}")
    for label, old in before.items():
        cells = (f"{old[each]:10.2f}{after[label][each]:10.2f}{after[label][each] / old[each]:8.2f}" for each in COUNTED)
        print(f"{label:32}{'  '.join(cells)}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
