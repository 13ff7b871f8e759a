"""A real Kubernetes API server with its etcd, on loopback: what judges objects, and nothing that runs them."""

import base64
import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trustme
import yaml

from redis_process import free_port
from support import wait_for

ROOT = Path(__file__).parents[2]
BIN = Path(os.environ.get("TOOLSEARCH_CLUSTER") or ROOT / ".cache" / "cluster")
TOKEN = "token-of-the-tests"
START_SECONDS = 90.0


class ApiServer:
    def __init__(self, folder: Path, port: int) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.kubeconfig = folder / "kubeconfig"
        self._authorities = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        named = {"name": "test"}
        cluster = {
            "server": self.url,
            "certificate-authority-data": base64.b64encode((folder / "ca.crt").read_bytes()).decode(),
        }
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "test",
                    "clusters": [named | {"cluster": cluster}],
                    "users": [named | {"user": {"token": TOKEN}}],
                    "contexts": [named | {"context": {"cluster": "test", "user": "test"}}],
                }
            ),
            encoding="utf-8",
        )

    def call(self, method: str, path: str, body: Any = None, content: str = "application/json") -> tuple[int, dict[str, Any]]:
        """Status and answer."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": content},
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._authorities) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"{}")

    @property
    def ready(self) -> bool:
        request = urllib.request.Request(self.url + "/readyz", headers={"Authorization": f"Bearer {TOKEN}"})
        try:
            with urllib.request.urlopen(request, timeout=5, context=self._authorities) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def running_api_server(folder: Path) -> Iterator[ApiServer]:
    binaries = {name: BIN / name for name in ("etcd", "kube-apiserver")}
    for path in binaries.values():
        assert path.is_file(), f"{path} is not there: run make test-cluster, which builds it"
    _write_certificates(folder)
    clients, peers, secure = free_port(), free_port(), free_port()
    (folder / "tokens.csv").write_text(f"{TOKEN},tests,tests,system:masters\n", encoding="utf-8")
    etcd = [
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls=http://127.0.0.1:{clients}",
        f"--advertise-client-urls=http://127.0.0.1:{clients}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
        "--unsafe-no-fsync",
    ]
    api_server = [
        f"--etcd-servers=http://127.0.0.1:{clients}",
        f"--secure-port={secure}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={folder}/server.crt",
        f"--tls-private-key-file={folder}/server.key",
        f"--token-auth-file={folder}/tokens.csv",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder}/server.key",
        f"--service-account-signing-key-file={folder}/server.key",
        # Made by a controller, which does not run here.
        "--disable-admission-plugins=ServiceAccount",
    ]
    with (folder / "log").open("wb") as log:
        processes = [
            subprocess.Popen([binaries["etcd"], *etcd], stdout=log, stderr=log),
            subprocess.Popen([binaries["kube-apiserver"], *api_server], stdout=log, stderr=log),
        ]
        try:
            server = ApiServer(folder, secure)
            wait_for(lambda: server.ready or any(each.poll() is not None for each in processes), seconds=START_SECONDS)
            assert server.ready, (folder / "log").read_text(encoding="utf-8")[-3000:]
            yield server
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def _write_certificates(folder: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.crt")
    certificate.cert_chain_pems[0].write_to_path(folder / "server.crt")
    certificate.private_key_pem.write_to_path(folder / "server.key")
