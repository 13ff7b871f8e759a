"""What is rendered: valid for every Kubernetes that is promised, restricted, and the same as it was."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from helm.chart import CACHE, CHART, MATRIX, NAMESPACE, example, found, helm, pods, program, rendered, rendered_text, server

KUBERNETES = ("1.30", "1.32", "1.34", "1.37")
OLDEST = "1.27"
SNAPSHOT = Path(__file__).parent / "default.yaml"
EVERY = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)

# CPU limits throttle and help nobody; topology spread takes the place of anti-affinity; digests and tags that do not move make
# pulling always a waste.
NOT_SHARED = ("deployment-has-host-podantiaffinity", "container-image-pull-policy")


@EVERY
def test_lint_has_nothing_to_say(values: dict[str, Any]) -> None:
    result = helm("lint", "--strict", str(CHART), "--values", "-", stdin=json.dumps(values))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[WARNING]" not in result.stdout and "[ERROR]" not in result.stdout


@pytest.mark.parametrize("version", KUBERNETES)
@EVERY
def test_every_object_is_valid(values: dict[str, Any], version: str, tmp_path: Path) -> None:
    check_validity(rendered_text(values, kubernetes=f"{version}.0"), version, tmp_path)


@pytest.mark.parametrize("name", ["trial", "production"])
def test_every_object_is_valid_for_the_oldest_kubernetes(name: str, tmp_path: Path) -> None:
    check_validity(rendered_text(example(name), kubernetes=f"{OLDEST}.0"), OLDEST, tmp_path)


def check_validity(text: str, version: str, folder: Path) -> None:
    known = [each for each in yaml.safe_load_all(text) if each and not is_custom(each)]
    file = folder / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(known), encoding="utf-8")
    validator = CACHE / "venv" / "bin" / "kubernetes-validate"
    result = subprocess.run(
        [validator, "--strict", "-k", version, file], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count(" passed ") + result.stderr.count(" passed ") == len(known)


def is_custom(manifest: dict[str, Any]) -> bool:
    group = manifest["apiVersion"].partition("/")[0]
    return ("." in group and not group.endswith(".k8s.io")) or group == "gateway.networking.k8s.io"


def definitions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(apiVersion, kind, schema) of the custom resources that the chart knows."""
    for path in (CACHE / "crds").iterdir():
        for definition in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            for version in (definition or {"spec": {"versions": []}})["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                yield (
                    f"{definition['spec']['group']}/{version['name']}",
                    definition["spec"]["names"]["kind"],
                    strict(schema),
                )


def strict(schema: Any) -> Any:
    """Without unknown fields, as the API server takes them: what a schema does not list is dropped there."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if "properties" in schema and schema.get("type") == "object" and "additionalProperties" not in schema:
        closed["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return closed


def test_every_custom_object_is_valid() -> None:
    schemas = {(version, kind): schema for version, kind, schema in definitions()}
    seen = set()
    for values in MATRIX.values():
        for manifest in filter(is_custom, rendered(values)):
            described = (manifest["apiVersion"], manifest["kind"])
            schema = schemas[described]
            schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}
            # Not checked itself: its patterns are Go's.
            errors = list(jsonschema.Draft202012Validator(schema).iter_errors(manifest))
            assert errors == [], described
            seen.add(manifest["kind"])
    assert seen == {
        "ServiceMonitor",
        "PodMonitor",
        "PrometheusRule",
        "Certificate",
        "GRPCRoute",
        "DestinationRule",
        "BackendTrafficPolicy",
    }


@EVERY
def test_pod_security_admits_every_pod_as_restricted(values: dict[str, Any]) -> None:
    text = rendered_text(values)
    result = subprocess.run([program("podsecurity")], input=text, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == f"{len(list(pods(rendered(values))))} pods, 0 refused\n"


@pytest.mark.parametrize(
    ("name", "strictness"),
    [("trial", ()), ("production", ("--exit-one-on-warning",))],  # one replica is a warning, and what a trial is
)
def test_kube_score_finds_nothing(name: str, strictness: tuple[str, ...]) -> None:
    ignored = [part for test in NOT_SHARED for part in ("--ignore-test", test)]
    result = subprocess.run(
        [
            program("kube-score"),
            "score",
            "--output-format",
            "ci",
            *strictness,
            "--ignore-container-cpu-limit",
            *ignored,
            "-",
        ],
        input=rendered_text(example(name)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, re.findall(r"^\[(?:CRITICAL|WARNING)\].*$", result.stdout, re.MULTILINE)
    assert "[OK]" in result.stdout


@EVERY
def test_every_object_says_whose_it_is(values: dict[str, Any]) -> None:
    for manifest in rendered(values):
        if manifest["metadata"]["name"].endswith("-extra"):
            continue
        labels = manifest["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "toolsearch"
        assert manifest["metadata"]["namespace"] == NAMESPACE
        assert len(manifest["metadata"]["name"]) <= 63


@EVERY
def test_selectors_find_the_pods_of_one_component(values: dict[str, Any]) -> None:
    manifests = rendered(values)
    labels = [pod["metadata"]["labels"] for _, pod in pods(manifests)]
    selectors = [
        (each["kind"], each["metadata"]["name"], each["spec"]["selector"])
        for each in manifests
        if "selector" in each.get("spec", {})
    ]
    selectors += [
        ("NetworkPolicy", each["metadata"]["name"], each["spec"]["podSelector"])
        for each in manifests
        if each["kind"] == "NetworkPolicy"
    ]
    for kind, name, selector in selectors:
        if kind in ("ServiceMonitor", "PodMonitor"):
            continue
        wanted = selector.get("matchLabels", selector).items()
        components = {each["app.kubernetes.io/component"] for each in labels if wanted <= each.items()}
        assert len(components) == 1, (kind, name)


def test_monitors_find_the_server_and_the_watcher() -> None:
    for kind in ("serviceMonitor", "podMonitor"):
        values = MATRIX["watcher from values"] | {"monitoring": {kind: {"enabled": True}}}
        manifests = rendered(values)
        monitor = found(manifests, kind[0].upper() + kind[1:], "toolsearch")
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        candidates = [pod for _, pod in pods(manifests)] if kind == "podMonitor" else manifests
        matching = [each for each in candidates if wanted <= each["metadata"]["labels"].items()]
        if kind == "serviceMonitor":
            assert {each["metadata"]["name"] for each in matching} == {"toolsearch-headless", "toolsearch-watcher"}
            assert all("http" in [port["name"] for port in each["spec"]["ports"]] for each in matching)
            continue
        expression = monitor["spec"]["selector"]["matchExpressions"][0]
        chosen = [each for each in matching if each["metadata"]["labels"][expression["key"]] in expression["values"]]
        assert len(chosen) == 2


def test_a_long_release_name_gives_names_that_fit() -> None:
    manifests = rendered(example("production"), release="r" * 53)
    assert max(len(each["metadata"]["name"]) for each in manifests) <= 63
    assert len({(each["kind"], each["metadata"]["name"]) for each in manifests}) == len(manifests)


def test_a_release_without_values_is_as_it_was() -> None:
    """Whoever changes the chart sees here what that does. Written anew by UPDATE_SNAPSHOT=1."""
    text = rendered_text({})
    if os.environ.get("UPDATE_SNAPSHOT"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")


@EVERY
def test_no_line_of_a_rendering_is_only_spaces(values: dict[str, Any]) -> None:
    """But those of the files in ConfigMaps."""
    for manifest in rendered_text(values).split("\n---"):
        assert "kind: ConfigMap" in manifest or not re.search(r"^[ \t]+$", manifest, re.MULTILINE)


def test_alerts_and_dashboard_arrive_as_they_are_in_their_files() -> None:
    manifests = rendered(example("production"))
    rules = found(manifests, "PrometheusRule", "toolsearch")["spec"]
    assert rules == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
    board = found(manifests, "ConfigMap", "toolsearch-dashboard")["data"]["toolsearch.json"]
    assert json.loads(board) == json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))


def test_pods_do_not_roll_for_a_new_version_of_the_chart_alone() -> None:
    for _, pod in pods(rendered(example("production"))):
        assert "helm.sh/chart" not in pod["metadata"]["labels"] or pod.get("kind") == "Pod"


def test_changed_servers_roll_the_watcher() -> None:
    def checksum(url: str) -> str:
        values = {"redis": {"url": "redis://r:6379"}, "watcher": {"enabled": True, "mcpServers": {"a": {"url": url}}}}
        pod = found(rendered(values), "Deployment", "toolsearch-watcher")["spec"]["template"]
        return str(pod["metadata"]["annotations"]["checksum/mcp-servers"])

    assert checksum("https://a.example") != checksum("https://b.example")
    assert checksum("https://a.example") == checksum("https://a.example")


def test_termination_waits_for_more_than_draining_takes() -> None:
    for values in ({}, {"drain": {"preStopSeconds": 30, "delaySeconds": 20, "graceSeconds": 60}}):
        pod = found(rendered(values), "Deployment", "toolsearch")["spec"]["template"]["spec"]
        arguments = dict(each.split("=", 1) for each in server(rendered(values))["args"] if "=" in each)
        slept = pod["containers"][0].get("lifecycle", {"preStop": {"sleep": {"seconds": 0}}})["preStop"]["sleep"]["seconds"]
        drained = slept + float(arguments["--drain-delay"]) + float(arguments["--drain-grace"])
        assert pod["terminationGracePeriodSeconds"] > drained


def test_a_disruption_budget_is_made_where_there_is_more_than_one_replica() -> None:
    budgets = {name: [each for each in rendered(MATRIX[name]) if each["kind"] == "PodDisruptionBudget"] for name in MATRIX}
    assert budgets["nothing set"] == [] and budgets["trial"] == []
    assert len(budgets["production"]) == 2
    assert len(budgets["autoscaled"]) == 1


def test_an_autoscaled_deployment_does_not_say_how_many() -> None:
    manifests = rendered(MATRIX["autoscaled"])
    assert "replicas" not in found(manifests, "Deployment", "toolsearch")["spec"]
    assert found(manifests, "HorizontalPodAutoscaler", "toolsearch")["spec"]["scaleTargetRef"]["name"] == "toolsearch"
