"""The quality bench itself: its measures, and that any set in its format can be dropped in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quality.measures import Measures, measure, paired_difference
from quality.sets import read_sets

ROOT = Path(__file__).parents[2]


def test_a_perfect_ranking_measures_one_everywhere() -> None:
    assert measure(["a", "b", "c"], frozenset({"a", "b"})) == Measures(1.0, 1.0, 1.0, 1.0, 1.0)


def test_a_relevant_tool_in_second_place() -> None:
    found = measure(["x", "a"], frozenset({"a"}))
    assert (found.hit_1, found.hit_5, found.recall_10, found.mrr) == (0.0, 1.0, 1.0, 0.5)
    assert found.ndcg_10 == pytest.approx(0.6309, abs=1e-4)


def test_what_is_not_among_the_first_ten_does_not_count() -> None:
    ranked = [*map(str, range(10)), "a"]
    assert measure(ranked, frozenset({"a"})) == Measures(0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_difference_comes_with_an_interval_around_it() -> None:
    old = {str(number): 0.5 for number in range(100)}
    new = {key: value + (0.2 if int(key) % 2 else -0.1) for key, value in old.items()}
    difference = paired_difference(new, old)
    assert difference is not None
    mean, low, high = difference
    assert low < mean < high
    assert mean == pytest.approx(0.05)
    assert paired_difference(new, {}) is None


def labelled_set(folder: Path) -> None:
    folder.mkdir()
    tools = [
        {"name": "create_issue", "server": "github", "description": "Open a bug report", "input_schema": {"type": "object"}},
        {"name": "get_forecast", "server": "meteo", "description": "Weather of the next days", "input_schema": None},
    ]
    queries = [
        {"id": "1", "query": "report a bug", "relevant": ["github::create_issue"]},
        {"id": "2", "query": "will it rain", "relevant": ["meteo::get_forecast"]},
    ]
    (folder / "tools.jsonl").write_text("\n".join(map(json.dumps, tools)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))


def quality(*arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'bench'}:{ROOT / 'tests'}"}
    command = [sys.executable, "-m", "quality", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_relevance_is_compared_with_how_often_it_is_right(tmp_path: Path) -> None:
    labelled_set(tmp_path / "mine")
    report = quality("auto", "--reliability", "--data", str(tmp_path))
    rows = [line.split() for line in report.splitlines() if "-" in line.split()[0]]
    assert sum(int(row[3]) for row in rows) >= 2
    assert rows[-1][2] == "1.00", "the most relevant matches are the right ones"


def test_any_set_in_the_format_can_be_dropped_in(tmp_path: Path) -> None:
    labelled_set(tmp_path / "mine")
    report = quality("auto", "bm25", "--peers", "none", "--data", str(tmp_path))
    rows = {tuple(line.split()[:3]): line.split()[3:] for line in report.splitlines()[1:]}
    assert rows["toolsearch", "auto", "mine"][:5] == ["1.000"] * 5
    assert ("toolsearch", "bm25", "average") in rows


def test_a_folder_without_sets_is_a_clear_error(tmp_path: Path) -> None:
    assert read_sets(tmp_path) == []
