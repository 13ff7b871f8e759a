"""Releases of the chart in a real API server, which checks every object as a cluster does. `make test-cluster` builds it."""

import base64
import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from cluster.api_server import ApiServer, running_api_server
from helm.chart import CACHE, CHART, MATRIX, example, program, rendered
from support import wait_for

pytestmark = pytest.mark.timeout(300)

_namespaces = itertools.count()
Helm = Callable[..., str]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with running_api_server(tmp_path_factory.mktemp("cluster")) as server:
        paths = sorted((CACHE / "crds").iterdir())
        names = [
            _define(server, definition)
            for path in paths
            for definition in yaml.safe_load_all(path.read_text("utf-8"))
            if definition
        ]
        for name in names:
            _await_definition(server, name)
        yield server


def _define(server: ApiServer, definition: dict[str, Any]) -> str:
    status, answer = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    assert status == 201, answer
    return str(definition["metadata"]["name"])


def _await_definition(server: ApiServer, name: str) -> None:
    def established() -> bool:
        _, answer = server.call("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        conditions = answer.get("status", {}).get("conditions", [])
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    wait_for(established, what=name)


@pytest.fixture
def namespace(cluster: ApiServer) -> str:
    """Where every pod has to be restricted."""
    name = f"tools-{next(_namespaces)}"
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    status, answer = cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    assert status == 201, answer
    return name


@pytest.fixture
def helm(cluster: ApiServer, namespace: str) -> Helm:
    def run(*arguments: str, values: dict[str, Any] | None = None) -> str:
        given = ("--values", "-") if values is not None else ()
        command = [program("helm"), "--kubeconfig", str(cluster.kubeconfig), "--namespace", namespace, *arguments, *given]
        done = subprocess.run(command, input=json.dumps(values or {}), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "would violate PodSecurity" not in done.stderr and "unknown field" not in done.stderr, done.stderr
        return done.stdout

    return run


def args(cluster: ApiServer, namespace: str) -> list[str]:
    status, answer = cluster.call("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/toolsearch")
    assert status == 200, answer
    containers = answer["spec"]["template"]["spec"]["containers"]
    return list(containers[0]["args"])


def secret(cluster: ApiServer, namespace: str, name: str) -> dict[str, str]:
    status, answer = cluster.call("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")
    assert status == 200, answer
    return {key: base64.b64decode(value).decode() for key, value in answer["data"].items()}


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_every_release_is_accepted_and_taken_away_again(
    helm: Helm, values: dict[str, Any], cluster: ApiServer, namespace: str
) -> None:
    helm("install", "toolsearch", str(CHART), values=values)
    helm("uninstall", "toolsearch")
    for path in ("/apis/apps/v1/namespaces/{}/deployments", "/api/v1/namespaces/{}/services", "/api/v1/namespaces/{}/secrets"):
        _, answer = cluster.call("GET", path.format(namespace))
        assert answer["items"] == [], path


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_the_server_knows_every_field_of_every_object(cluster: ApiServer, namespace: str, values: dict[str, Any]) -> None:
    """Strictly: what `kubectl apply --dry-run=server --validate=strict` would say."""
    for manifest in rendered(values):
        group, _, version = manifest["apiVersion"].rpartition("/")
        base = f"/apis/{group}/{version}" if group else f"/api/{version}"
        _, known = cluster.call("GET", base)
        plural = next(
            each["name"] for each in known["resources"] if each["kind"] == manifest["kind"] and "/" not in each["name"]
        )
        manifest["metadata"]["namespace"] = namespace
        query = "?dryRun=All&fieldValidation=Strict"
        status, answer = cluster.call("POST", f"{base}/namespaces/{namespace}/{plural}{query}", manifest)
        assert status == 201, answer


def test_a_pod_that_is_not_restricted_would_be_refused(cluster: ApiServer, namespace: str) -> None:
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    status, answer = cluster.call("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
    assert status == 403 and "PodSecurity" in answer["message"]


def test_an_upgrade_changes_and_a_rollback_restores(helm: Helm, cluster: ApiServer, namespace: str) -> None:
    helm("install", "toolsearch", str(CHART), values=example("production"))
    before = args(cluster, namespace)
    helm("upgrade", "toolsearch", str(CHART), values=example("production") | {"limits": {"tenant_rate": 5}})
    assert args(cluster, namespace) == before[:-1] + ["--limit=index_bytes=1503238553", "--limit=tenant_rate=5"]
    helm("rollback", "toolsearch", "1")
    assert args(cluster, namespace) == before


def test_a_trial_keeps_its_key_and_password_through_upgrades(helm: Helm, cluster: ApiServer, namespace: str) -> None:
    helm("install", "toolsearch", str(CHART), values=example("trial"))
    made = secret(cluster, namespace, "toolsearch-trial")
    helm("upgrade", "toolsearch", str(CHART), values=example("trial") | {"logging": {"level": "debug"}})
    assert secret(cluster, namespace, "toolsearch-trial") == made
    assert made.keys() == {"api-key", "keys.json", "redis-password"}


def test_a_trial_becomes_production_and_its_redis_goes(helm: Helm, cluster: ApiServer, namespace: str) -> None:
    helm("install", "toolsearch", str(CHART), values=example("trial"))
    helm("upgrade", "toolsearch", str(CHART), values=example("production"))
    _, answer = cluster.call("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments")
    assert {each["metadata"]["name"] for each in answer["items"]} == {"toolsearch", "toolsearch-watcher"}


def test_changed_credentials_of_redis_roll_the_pods_at_the_next_upgrade(helm: Helm, cluster: ApiServer, namespace: str) -> None:
    values = {"redis": {"url": "redis://redis:6379", "existingSecret": "redis"}}

    def store(password: str) -> None:
        content = {"metadata": {"name": "redis"}, "stringData": {"password": password}}
        cluster.call("DELETE", f"/api/v1/namespaces/{namespace}/secrets/redis")
        assert cluster.call("POST", f"/api/v1/namespaces/{namespace}/secrets", content)[0] == 201

    def template() -> dict[str, Any]:
        _, answer = cluster.call("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/toolsearch")
        return dict(answer["spec"]["template"])

    store("first")
    helm("install", "toolsearch", str(CHART), values=values)
    first = template()
    helm("upgrade", "toolsearch", str(CHART), values=values)
    assert template() == first, "nothing changed, nothing rolls"
    store("second")
    helm("upgrade", "toolsearch", str(CHART), values=values)
    assert template() != first


def test_the_upgrade_of_a_release_without_changes_changes_nothing(helm: Helm, cluster: ApiServer, namespace: str) -> None:
    def generation() -> int:
        _, answer = cluster.call("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/toolsearch")
        return int(answer["metadata"]["generation"])

    helm("install", "toolsearch", str(CHART), values=example("production"))
    before = generation()
    helm("upgrade", "toolsearch", str(CHART), values=example("production"))
    assert generation() == before


def test_a_field_that_does_not_exist_would_be_refused(cluster: ApiServer, namespace: str) -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"prots": []}}
    status, answer = cluster.call("POST", f"/api/v1/namespaces/{namespace}/services?dryRun=All&fieldValidation=Strict", wrong)
    assert status == 400 and "prots" in answer["message"]
