"""Writes the contract's comments as JSON, for descriptions in the OpenAPI document: descriptors at run time have none.

comments.py FILE          writes them
comments.py --check FILE  fails if the file is not what the contract gives
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUF = HERE.parent / ".venv" / "bin" / "buf"
# Numbers of fields in descriptor.proto, by which the places of comments are told.
FILE_PARTS = {4: "messageType", 5: "enumType", 6: "service"}
PARTS = {"messageType": {2: "field", 3: "nestedType"}, "enumType": {2: "value"}, "service": {2: "method"}}


def comments() -> dict[str, str]:
    built = subprocess.run([BUF, "build", HERE, "-o", "-#format=json"], check=True, capture_output=True)  # noqa: S603 our own tool
    files = [file for file in json.loads(built.stdout)["file"] if file["package"] == "toolsearch.v1"]
    found = {name: text for file in files for name, text in _of_file(file)}
    return dict(sorted(found.items()))


def _of_file(file: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for location in file["sourceCodeInfo"]["location"]:
        text = location.get("leadingComments", "").strip()
        name = _name(file, location.get("path", [])) if text else ""
        if name:
            yield name, "\n".join(line.strip() for line in text.splitlines())


def _name(file: dict[str, Any], path: list[int]) -> str:
    """`SearchToolsRequest.limit`; empty for what has no name of its own, such as the package."""
    names: list[str] = []
    described, parts = file, FILE_PARTS
    for number, index in zip(path[::2], path[1::2], strict=False):
        part = parts.get(number)
        if part is None or len(path) % 2:
            return ""
        described, parts = described[part][index], PARTS.get(part, {})
        names.append(described["name"])
    return ".".join(names)


def main() -> None:
    path = Path(sys.argv[-1])
    text = json.dumps(comments(), indent=1) + "\n"
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif not path.is_file() or path.read_text(encoding="utf-8") != text:
        sys.exit(f"{path} is not what the contract gives: run make proto")


main()
