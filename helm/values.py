"""Writes what values.yaml says of its values into the chart's README, between two marks. `--check` only compares."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CHART = Path(__file__).parent / "toolsearch"
BEGIN, END = "<!-- values: written by helm/values.py -->\n", "<!-- end of values -->\n"
_LINE = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]\w*):(?P<rest>.*)$")


class Value(NamedTuple):
    path: str
    default: str
    text: str


def described(text: str) -> Iterator[Value]:
    """Every value with its default, and what the comment above it says. Sections are described by what is in them."""
    content = yaml.safe_load(text)
    path: list[str] = []
    comment: list[str] = []
    known: set[str] = set()
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("# --"):
            comment = [stripped.removeprefix("# --").strip()]
            continue
        if stripped.startswith("#") and comment:
            comment.append(stripped.removeprefix("#").strip())
            continue
        matched = _LINE.match(line)
        if matched is None or len(matched["indent"]) // 2 > len(path):
            comment = []
            continue
        path[len(matched["indent"]) // 2 :] = [matched["key"]]
        dotted = ".".join(path)
        value = _at(content, path)
        section = isinstance(value, dict) and bool(value) and not comment
        inside = any(dotted.startswith(f"{each}.") for each in known)
        if not section and not inside:
            known.add(dotted)
            yield Value(dotted, json.dumps(value, ensure_ascii=False), " ".join(comment))
        comment = []


def _at(content: Any, path: list[str]) -> Any:
    for key in path:
        content = content[key]
    return content


def table(values: Iterator[Value]) -> str:
    rows = [f"| `{value.path}` | {_shown(value.default)} | {value.text.replace('|', chr(92) + '|')} |" for value in values]
    return "\n".join(["| value | default | what it is |", "| --- | --- | --- |", *rows]) + "\n"


def _shown(default: str) -> str:
    return "" if default in ('""', "null") else f"`{default if len(default) < 60 else 'see values.yaml'}`"


def written(readme: str, values: str) -> str:
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table(described(values)) + "\n" + END + after


def main() -> int:
    path = CHART / "README.md"
    readme = path.read_text(encoding="utf-8")
    new = written(readme, (CHART / "values.yaml").read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        path.write_text(new, encoding="utf-8")
        return 0
    if new == readme:
        return 0
    sys.stderr.write("helm/toolsearch/README.md is not what values.yaml gives: run python helm/values.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
