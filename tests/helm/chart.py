"""The chart, rendered by helm. `make test-helm` installs what is needed."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm" / "toolsearch"
CACHE = Path(os.environ.get("TOOLSEARCH_HELM") or ROOT / ".cache" / "helm")
RELEASE, NAMESPACE = "toolsearch", "tools"

Manifest = dict[str, Any]
Values = Mapping[str, Any]


def program(name: str) -> str:
    path = CACHE / "bin" / name
    assert path.is_file(), f"{path} is not there: run make test-helm, which installs it"
    return str(path)


def example(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CHART / "examples" / f"{name}.yaml").read_text(encoding="utf-8"))
    return content


def helm(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([program("helm"), *arguments], input=stdin, capture_output=True, text=True, timeout=60)


def rendered_text(values: Values, *, kubernetes: str = "1.34.0", release: str = RELEASE) -> str:
    return _rendered(json.dumps(values), kubernetes, release)


@cache
def _rendered(values: str, kubernetes: str, release: str) -> str:
    given = ("--namespace", NAMESPACE, "--kube-version", kubernetes, "--values", "-")
    result = helm("template", release, str(CHART), *given, stdin=values)
    assert result.returncode == 0, result.stderr
    return result.stdout


def rendered(values: Values, *, kubernetes: str = "1.34.0", release: str = RELEASE) -> list[Manifest]:
    text = rendered_text(values, kubernetes=kubernetes, release=release)
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def refusal(values: Values, *, kubernetes: str = "1.34.0") -> str:
    """Why helm does not render these values."""
    arguments = ("--namespace", NAMESPACE, "--kube-version", kubernetes, "--values", "-")
    result = helm("template", RELEASE, str(CHART), *arguments, stdin=json.dumps(values))
    assert result.returncode != 0, "these values were rendered"
    return result.stderr


def found(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    matching = [each for each in manifests if each["kind"] == kind and each["metadata"]["name"] == name]
    assert len(matching) == 1, [(each["kind"], each["metadata"]["name"]) for each in manifests]
    return matching[0]


def pods(manifests: list[Manifest]) -> Iterator[tuple[Manifest, Manifest]]:
    """Each manifest that runs something, and its pod: metadata and spec."""
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            yield manifest, manifest["spec"]["template"]
        elif manifest["kind"] == "Pod":
            yield manifest, manifest


def server(manifests: list[Manifest], name: str = RELEASE) -> Manifest:
    """The one container of the server's pod."""
    containers: list[Manifest] = found(manifests, "Deployment", name)["spec"]["template"]["spec"]["containers"]
    assert len(containers) == 1
    return containers[0]


# Every feature at least once; what is checked of a rendering is checked of all of these.
_REDIS = {"redis": {"url": "redis://redis:6379"}}
MATRIX: dict[str, dict[str, Any]] = {
    "nothing set": {},
    "trial": example("trial"),
    "production": example("production"),
    "sentinel": {
        "replicas": 2,
        "redis": {
            "url": "redis+sentinel://s1:26379,s2/main",
            "existingSecret": "r",
            "usernameKey": "u",
            "sentinelPasswordKey": "s",
        },
    },
    "cluster with certificates": {
        "redis": {
            "url": "rediss+cluster://a:7000,b:7001?prefix=x:",
            "tls": {"existingSecret": "r", "certificateKey": "tls.crt", "keyKey": "tls.key"},
        },
    },
    "tokens": {
        "auth": {"jwt": {"issuer": "https://id.example", "audience": "toolsearch", "keysUrl": "https://id.example:8443/keys"}},
        "tracing": {"otlp": "http://collector:4317"},
    },
    "an embeddings endpoint": {
        "search": {
            "embeddings": "https://models.example/v1",
            "embeddingsModel": "small",
            "embeddingsKey": {"existingSecret": "e"},
        }
    },
    "autoscaled": {**_REDIS, "autoscaling": {"enabled": True}},
    "cert-manager, gateway, envoy": {
        **_REDIS,
        "tls": {"certManager": {"enabled": True, "issuerRef": {"name": "ca"}, "dnsNames": ["tools.example.com"]}},
        "grpcRoute": {"enabled": True, "parentRefs": [{"name": "gateway"}], "hostnames": ["tools.example.com"]},
        "tenantRouting": {"envoyGateway": True},
        "test": {"existingSecret": "t"},
    },
    "ingress, istio, service monitor": {
        **_REDIS,
        "ingress": {"enabled": True, "className": "nginx", "hosts": ["tools.example.com"], "tlsSecret": "front"},
        "tenantRouting": {"istio": True},
        "monitoring": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
    },
    "watcher from values": {
        **_REDIS,
        "watcher": {
            "enabled": True,
            "mcpServers": {"github": {"url": "https://mcp.example/github", "headers": {"Authorization": "Bearer ${TOKEN}"}}},
            "extraEnv": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "github", "key": "token"}}}],
            "prune": True,
            "image": {"repository": "registry.example/with-node", "tag": "1"},
        },
    },
    "all that can be added": {
        **_REDIS,
        "fullnameOverride": "search",
        "commonLabels": {"team": "agents"},
        "commonAnnotations": {"owner": "agents"},
        "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": ["registry"]},
        "listenHost": "::",
        "ports": {"grpc": 6000, "http": 6001},
        "service": {"type": "LoadBalancer", "port": 443, "annotations": {"a": "b"}},
        "limits": {"tenant_rate": 50, "index_bytes": 500000000},
        "logging": {"level": "debug", "queries": True},
        "drain": {"preStopSeconds": 5},
        "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "extraArgs": ["--poll-seconds=5"],
        "extraEnv": [{"name": "TOOLSEARCH_STALE_AFTER", "value": "60"}],
        "extraVolumes": [{"name": "models", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "models", "mountPath": "/models"}],
        "extraObjects": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "{{ .Release.Name }}-extra"},
                "data": {"a": "b"},
            }
        ],
        "networkPolicy": {"redisTo": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "redisPorts": [6380]},
        "monitoring": {
            "podMonitor": {"enabled": True},
            "prometheusRule": {"enabled": True},
            "dashboard": {"enabled": True},
        },
    },
}
