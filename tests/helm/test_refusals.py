"""Values that contradict each other, or are no values at all."""

from typing import Any

import pytest

from helm.chart import example, refusal

REDIS = {"redis": {"url": "redis://redis:6379"}}


@pytest.mark.parametrize(
    ("values", "explanation"),
    [
        ({"replicas": 2}, "replicas is 2, but replicas without a shared store"),
        ({"autoscaling": {"enabled": True}}, "need a shared store"),
        ({**REDIS, "autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 4}}, "above autoscaling.maxReplicas"),
        ({**REDIS, "autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}}, "resources.requests.cpu"),
        ({"redis": {"url": "redis://r:1", "bundled": {"enabled": True}}}, "contradict each other"),
        ({"redis": {"url": "redis://r:1", "tls": {"existingSecret": "s"}}}, "rediss://"),
        ({"redis": {"url": "rediss://r:1", "tls": {"existingSecret": "s", "keyKey": "k"}}}, "belong together"),
        ({"redis": {"url": "rediss://r:1", "tls": {"certificateKey": "c", "keyKey": "k"}}}, "which is not set"),
        ({"redis": {"url": "redis://r:1", "existingSecret": "s", "sentinelPasswordKey": "p"}}, "redis+sentinel://"),
        ({"redis": {"url": "redis://r:1", "usernameKey": "u"}}, "redis.existingSecret"),
        ({"redis": {"existingSecret": "s"}}, "redis.url, which is not set"),
        ({"auth": {"generateKey": True, "keys": {"existingSecret": "s"}}}, "contradict each other"),
        ({"auth": {"jwt": {"issuer": "https://i.example"}}}, "all three"),
        ({"tls": {"certManager": {"enabled": True}}}, "issuerRef.name"),
        ({"tls": {"clientCa": {"existingSecret": "s"}}}, "needs TLS"),
        ({"search": {"embeddings": "https://e.example/v1"}}, "search.embeddingsModel"),
        ({"search": {"embeddingsKey": {"existingSecret": "s"}}}, "has to be its URL"),
        ({"terminationGracePeriodSeconds": 25}, "draining may take 25 seconds"),
        ({"ports": {"grpc": 8080}}, "are both 8080"),
        ({"watcher": {"enabled": True, "existingSecret": "s"}}, "watcher.enabled needs Redis"),
        ({**REDIS, "watcher": {"enabled": True}}, "needs servers to follow"),
        (
            {**REDIS, "watcher": {"enabled": True, "existingSecret": "s", "mcpServers": {"a": {"url": "https://a"}}}},
            "in one of them",
        ),
        ({**REDIS, "watcher": {"enabled": True, "existingSecret": "s", "replicas": 2, "prune": True}}, "for one watcher"),
        ({"monitoring": {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}}}, "twice"),
        ({"grpcRoute": {"enabled": True}}, "grpcRoute.parentRefs"),
        ({"ingress": {"enabled": True}}, "ingress.hosts"),
        ({"tenantRouting": {"envoyGateway": True}}, "grpcRoute.enabled"),
        ({"resources": {"limits": {"memory": "300Mi"}}}, "352Mi is the least"),
        (example("production") | {"test": {"existingSecret": "s"}}, "test.clientCertificateSecret"),
    ],
)
def test_a_contradiction_is_refused_with_what_to_do(values: dict[str, Any], explanation: str) -> None:
    assert explanation in refusal(values)


def test_a_wait_before_the_signal_needs_a_kubernetes_that_has_it() -> None:
    assert "needs Kubernetes 1.30" in refusal({"drain": {"preStopSeconds": 1}}, kubernetes="1.29.0")


def test_an_old_kubernetes_is_refused() -> None:
    assert "1.27" in refusal({}, kubernetes="1.26.0")


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"replica": 3}, "replica"),
        ({"redis": {"uri": "redis://r"}}, "uri"),
        ({"watcher": {"mcpservers": {}}}, "mcpservers"),
        ({"monitoring": {"serviceMonitor": {"enable": True}}}, "enable"),
        ({"limits": {"tenant_rat": 1}}, "tenant_rat"),
        ({"replicas": "3"}, "replicas"),
        ({"replicas": -1}, "replicas"),
        ({"ports": {"grpc": 443}}, "ports/grpc"),
        ({"ports": {"grpc": 70000}}, "ports/grpc"),
        ({"redis": {"url": "redis://user:secret@r:6379"}}, "redis/url"),
        ({"redis": {"url": "http://r"}}, "redis/url"),
        ({"logging": {"level": "verbose"}}, "logging/level"),
        ({"image": {"digest": "latest"}}, "image/digest"),
        ({"auth": {"keys": {"existingSecret": "a b\nc: d"}}}, "existingSecret"),
        ({"extraEnv": [{"value": "x"}]}, "extraEnv"),
        ({"service": {"type": "Cluster"}}, "service/type"),
        ({"watcher": {"mcpServers": {"a": {}}}}, "mcpServers"),
    ],
)
def test_a_typing_error_is_refused_with_its_place(values: dict[str, Any], named: str) -> None:
    assert named in refusal(values)
