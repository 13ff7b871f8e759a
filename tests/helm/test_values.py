"""values.yaml, its schema, its documentation and the notes agree."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
import yaml

from helm.chart import CHART, ROOT, example, helm
from toolsearch_server.limits import Limits

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


def paths_of_values(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """As deep as the schema lists members: below, values are Kubernetes' own."""
    schema = resolved(schema)
    if not isinstance(value, dict) or "properties" not in schema or "$ref" in schema:
        yield path
        return
    for key, member in value.items():
        yield from paths_of_values(member, schema["properties"].get(key, {}), f"{path}.{key}")


def paths_of_schema(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    schema = resolved(schema)
    if "properties" not in schema:
        yield path
        return
    for key, member in schema["properties"].items():
        yield from paths_of_schema(member, f"{path}.{key}")


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    # Kubernetes' own objects are one value.
    return {} if name in ("resources", "probe") else dict(SCHEMA["$defs"][name])


def test_the_schema_knows_every_value_and_no_other() -> None:
    assert set(paths_of_values(VALUES, SCHEMA)) == set(paths_of_schema(SCHEMA)) - {".global"}


def test_no_object_of_the_schema_takes_what_it_does_not_list() -> None:
    def check(schema: dict[str, Any], path: str) -> None:
        if "properties" in schema:
            assert schema["additionalProperties"] is False, path
        for key, member in schema.get("properties", {}).items():
            check(member, f"{path}.{key}")

    check(SCHEMA, "")


def test_the_schema_knows_every_limit_and_no_other() -> None:
    assert SCHEMA["properties"]["limits"]["propertyNames"]["enum"] == [field.name for field in fields(Limits)]


def test_the_readme_says_what_the_values_say() -> None:
    result = subprocess.run(
        [sys.executable, ROOT / "helm" / "values.py", "--check"], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr


def test_every_value_is_in_the_readme() -> None:
    readme = (CHART / "README.md").read_text(encoding="utf-8")
    for path in paths_of_values(VALUES, SCHEMA):
        parts = path.removeprefix(".").split(".")
        named = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
        assert any(f"| `{name}` |" in readme for name in named) or f"| `{named[-1]}." in readme, path


def test_versions_of_chart_and_program_agree() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert f'version = "{chart["appVersion"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def notes(values: dict[str, Any]) -> str:
    arguments = ("install", "toolsearch", str(CHART), "--namespace", "tools", "--dry-run=client", "--values", "-")
    result = helm(*arguments, stdin=json.dumps(values))
    assert result.returncode == 0, result.stderr
    return result.stdout.partition("NOTES:\n")[2]


@pytest.mark.parametrize(
    ("values", "said", "unsaid"),
    [
        ({}, ["create secret generic toolsearch-keys", "lost with it", "without TLS"], ["helm --namespace tools test"]),
        (
            example("trial"),
            ["for trials only", "get secret toolsearch-trial", "helm --namespace tools test toolsearch"],
            ["--role"],
        ),
        (
            example("production"),
            ["Callers need a certificate", "dns:///toolsearch-headless.tools.svc:50051"],
            ["WARNING", "--role"],
        ),
    ],
)
def test_notes_have_the_next_commands_and_the_warnings(values: dict[str, Any], said: list[str], unsaid: list[str]) -> None:
    text = notes(values)
    for each in said:
        assert each in text
    for each in unsaid:
        assert each not in text
