"""What the chart passes to the program is what the program knows, and what pods refer to is there."""

import re
from typing import Any

import pytest

from helm.chart import MATRIX, Manifest, example, found, pods, rendered, server
from toolsearch_server.command_line import parse
from toolsearch_server.config import Address, Config, WatchConfig
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.options import SERVE_EPILOG, make_parser
from toolsearch_server.rpc.health import LIVENESS
from toolsearch_server.server import SERVICES
from toolsearch_server.store.location import RedisLocation, SqliteLocation

EVERY = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
SECRET = "from-a-secret"


def programs(manifests: list[Manifest]) -> list[tuple[Manifest, Manifest]]:
    """(pod, container) of what runs toolsearch-server."""
    containers = [(pod, pod["spec"]["containers"][0]) for _, pod in pods(manifests)]
    return [(pod, each) for pod, each in containers if each["name"] in ("toolsearch", "watcher")]


def environment(container: Manifest) -> dict[str, str]:
    return {each["name"]: each.get("value", SECRET) for each in container.get("env", [])}


def config_of(container: Manifest) -> Any:
    assert "command" not in container, "the image's entry point runs"
    return parse(container["args"], environment(container))


def known_variables() -> set[str]:
    help_texts = []
    for action in make_parser({})._subparsers._group_actions:  # type: ignore[union-attr]
        for command in action.choices.values():  # type: ignore[union-attr]
            help_texts.append(command.format_help())
    return set(re.findall(r"TOOLSEARCH_[A-Z_]+", " ".join((*help_texts, SERVE_EPILOG))))


@EVERY
def test_the_program_understands_its_arguments_and_environment(values: dict[str, Any]) -> None:
    kinds = [type(config_of(container)) for _, container in programs(rendered(values))]
    assert kinds.count(Config) == 1
    assert kinds.count(WatchConfig) == (1 if values.get("watcher", {}).get("enabled") else 0)


@EVERY
def test_every_environment_variable_is_one_that_the_program_knows(values: dict[str, Any]) -> None:
    for _, container in programs(rendered(values)):
        ours = {name for name in environment(container) if name.startswith("TOOLSEARCH_")}
        assert ours <= known_variables()


@EVERY
def test_the_program_listens_where_ports_probes_and_services_say(values: dict[str, Any]) -> None:
    manifests = rendered(values)
    for pod, container in programs(manifests):
        config = config_of(container)
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        assert ports["http"] == config.http.port
        if isinstance(config, Config):
            assert isinstance(config.listen, Address)
            assert ports["grpc"] == config.listen.port
        for kind in ("startup", "readiness", "liveness"):
            probe = container[f"{kind}Probe"]
            if "grpc" in probe:
                assert probe["grpc"]["port"] == ports["grpc"]
                assert config.tls is None, "kubelet's gRPC probes speak no TLS"
                assert probe["grpc"]["service"] in (SERVICES if kind == "readiness" else (LIVENESS,))
            else:
                assert probe["httpGet"]["port"] in ports
                assert probe["httpGet"]["path"] == ("/readyz" if kind == "readiness" else "/livez")
        selected = [
            each
            for each in manifests
            if each["kind"] == "Service" and each["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        ]
        assert selected
        assert {port["targetPort"] for each in selected for port in each["spec"]["ports"]} <= ports.keys()


@EVERY
def test_every_file_that_is_named_is_mounted_and_every_mount_has_a_volume(values: dict[str, Any]) -> None:
    for _, pod in pods(rendered(values)):
        container = pod["spec"]["containers"][0]
        volumes = {each["name"]: each for each in pod["spec"].get("volumes", [])}
        mounts = {each["mountPath"]: volumes[each["name"]] for each in container.get("volumeMounts", [])}
        assert len(mounts) == len(volumes)
        text = " ".join((*container.get("command", []), *container.get("args", [])))
        files = set(re.findall(r"/etc/toolsearch/[^\s&?]+", text))
        for file in files:
            folder, _, name = file.rpartition("/")
            volume = mounts[folder]
            if "secret" in volume:
                assert name in [item["path"] for item in volume["secret"]["items"]], file


@EVERY
def test_what_the_chart_refers_to_in_its_own_secrets_and_maps_is_in_them(values: dict[str, Any]) -> None:
    manifests = rendered(values)
    own = {each["metadata"]["name"]: set(each["data"]) for each in manifests if each["kind"] == "Secret"}
    maps = {each["metadata"]["name"] for each in manifests if each["kind"] == "ConfigMap"}
    for _, pod in pods(manifests):
        container = pod["spec"]["containers"][0]
        references = [each["valueFrom"]["secretKeyRef"] for each in container.get("env", []) if "valueFrom" in each]
        for reference in references:
            assert reference["name"] not in own or reference["key"] in own[reference["name"]]
        for volume in pod["spec"].get("volumes", []):
            secret = volume.get("secret", {})
            for item in secret.get("items", []):
                assert secret["secretName"] not in own or item["key"] in own[secret["secretName"]]
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps


def test_nothing_set_keeps_its_catalogs_in_the_one_place_that_can_be_written() -> None:
    manifests = rendered({})
    config = config_of(server(manifests))
    assert isinstance(config.store, SqliteLocation) and config.store.path is not None
    assert any(each["mountPath"] == str(config.store.path.parent) for each in server(manifests)["volumeMounts"])
    assert config.has_credentials


def test_production_has_credentials_tls_and_redis_over_tls() -> None:
    manifests = rendered(example("production"))
    config = config_of(server(manifests))
    assert config.keys is not None and config.tls is not None and config.tls.client_ca is not None
    assert isinstance(config.store, RedisLocation)
    assert (config.store.tls, config.store.password, config.store.ca) == (True, SECRET, "/etc/toolsearch/redis/ca.crt")
    volumes = found(manifests, "Deployment", "toolsearch")["spec"]["template"]["spec"]["volumes"]
    assert all(volume.keys() == {"name", "secret"} for volume in volumes), "no disk: Redis has the truth"


def test_sentinels_get_their_password_and_the_master_its_user() -> None:
    store = config_of(server(rendered(MATRIX["sentinel"]))).store
    assert (store.topology, store.master, len(store.hosts)) == ("sentinel", "main", 2)
    assert (store.username, store.password, store.sentinel_password) == (SECRET, SECRET, SECRET)


def test_options_of_a_redis_url_are_kept_beside_those_of_the_chart() -> None:
    store = config_of(server(rendered(MATRIX["cluster with certificates"]))).store
    assert (store.prefix, store.ca) == ("x:", "/etc/toolsearch/redis/ca.crt")
    assert (store.certificate, store.key) == ("/etc/toolsearch/redis/tls.crt", "/etc/toolsearch/redis/tls.key")


def test_what_catalogs_may_take_follows_from_the_memory_limit_unless_it_is_set() -> None:
    def index_bytes(**values: Any) -> int:
        limits = config_of(server(rendered(values))).limits
        assert limits.entries_per_tenant == DEFAULT_LIMITS.entries_per_tenant
        return int(limits.index_bytes)

    mebi = 1 << 20
    assert index_bytes() == (2048 - 256) * mebi * 4 // 5
    assert index_bytes(resources={"limits": {"memory": "8Gi"}}) == (8192 - 256) * mebi * 4 // 5
    assert index_bytes(resources={"limits": {"memory": "1500M"}}) == (1_500_000_000 - 256 * mebi) * 4 // 5
    assert index_bytes(resources={"limits": {"memory": "352Mi"}}) == 96 * mebi * 4 // 5
    assert index_bytes(limits={"index_bytes": 123_456_789}) == 123_456_789
    assert index_bytes(resources={"limits": {"memory": None}}) == DEFAULT_LIMITS.index_bytes


def test_text_from_values_stays_one_argument() -> None:
    values = {"auth": {"jwt": {"issuer": "https://i.example", "audience": 'a": b # c', "keysUrl": "https://i.example/k"}}}
    assert config_of(server(rendered(values))).tokens.audience == 'a": b # c'


def egress_ports(policy: Manifest) -> set[int]:
    return {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}


def test_the_network_policy_lets_out_what_settings_need_and_nothing_else() -> None:
    def ports(name: str) -> set[int]:
        full = "search" if name == "all that can be added" else "toolsearch"
        return egress_ports(found(rendered(MATRIX[name]), "NetworkPolicy", full))

    assert ports("nothing set") == {53}
    assert ports("trial") == {53, 6379}
    assert ports("production") == {53, 6379}
    assert ports("sentinel") == {53, 26379, 6379}
    assert ports("cluster with certificates") == {53, 7000, 7001}
    assert ports("tokens") == {53, 8443, 4317}
    assert ports("an embeddings endpoint") == {53, 443}
    assert ports("all that can be added") == {53, 6380}


def test_the_network_policy_lets_in_calls_and_scrapes_only() -> None:
    policy = found(rendered(example("production")), "NetworkPolicy", "toolsearch")
    calls, scrapes = policy["spec"]["ingress"]
    assert [port["port"] for port in calls["ports"]] == [50051]
    assert [port["port"] for port in scrapes["ports"]] == [8080]
    assert {"matchLabels": {"toolsearch-clients": "yes"}} in [peer.get("namespaceSelector") for peer in calls["from"]]
    assert any(
        peer.get("podSelector", {}).get("matchLabels", {}).get("app.kubernetes.io/component") == "test"
        for peer in calls["from"]
    )


def test_only_the_server_and_the_watcher_reach_the_bundled_redis() -> None:
    policy = found(rendered(example("trial")), "NetworkPolicy", "toolsearch-redis")
    (rule,) = policy["spec"]["ingress"]
    components = [peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in rule["from"]]
    assert components == ["server", "watcher"]
    assert policy["spec"]["egress"] == []


@EVERY
def test_no_pod_has_a_token_or_variables_made_of_services(values: dict[str, Any]) -> None:
    manifests = rendered(values)
    for _, pod in pods(manifests):
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["enableServiceLinks"] is False
        assert pod["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    accounts = [each for each in manifests if each["kind"] == "ServiceAccount"]
    assert [each["automountServiceAccountToken"] for each in accounts] == [False]
