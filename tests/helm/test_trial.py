"""The key that the chart makes, and the program that `helm test` runs, against real servers."""

import base64
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from helm.chart import CHART, example, found, helm, rendered
from support import running_server
from toolsearch import Client
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import Key, caller_with, dump_keys, new_key, parse_keys


def trial_secret() -> dict[str, str]:
    data = found(rendered(example("trial")), "Secret", "toolsearch-trial")["data"]
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def test_the_generated_key_is_one_that_the_program_accepts() -> None:
    secret = trial_secret()
    caller = caller_with(parse_keys(secret["keys.json"]), secret["api-key"])
    assert (caller.tenant, caller.role) == ("default", Role.ADMIN)


def test_every_installation_has_a_key_and_a_password_of_its_own() -> None:
    texts = {
        helm(
            "template",
            "toolsearch",
            str(CHART),
            "--values",
            str(CHART / "examples" / "trial.yaml"),
            "--show-only",
            "templates/trial-secret.yaml",
        ).stdout
        for _ in range(3)
    }
    assert len(texts) == 3
    assert all("redis-password" in text for text in texts)


def searched(address: str, key: str, *arguments: str) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, "-I", CHART / "files" / "search_test.py", address, *arguments],
        env={"TOOLSEARCH_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return result.returncode, result.stdout + result.stderr


@contextmanager
def guarded(folder: Path, kept: Key, *arguments: str) -> Iterator[str]:
    keys = folder / "keys.json"
    keys.write_text(dump_keys([kept]), encoding="utf-8")
    with running_server("--store", "memory:", "--embeddings", "off", "--keys", str(keys), *arguments) as (_, address):
        yield address


def test_the_test_writes_searches_and_leaves_nothing_behind(tmp_path: Path) -> None:
    kept, key = new_key("acme", Role.WRITER)
    with guarded(tmp_path, kept) as address:
        code, said = searched(address, key)
        assert (code, "found ['github.open_issue']" in said) == (0, True), said
        with Client(address, api_key=key) as client:
            assert list(client.list_catalogs()) == []


def test_the_test_only_searches_with_a_readers_key(tmp_path: Path) -> None:
    kept, key = new_key("acme", Role.READER)
    with guarded(tmp_path, kept) as address:
        code, said = searched(address, key)
    assert code == 0 and "may only read" in said, said


def test_the_test_fails_with_a_wrong_key(tmp_path: Path) -> None:
    kept, key = new_key("acme", Role.WRITER)
    with guarded(tmp_path, kept) as address:
        code, said = searched(address, key[:-1] + ("a" if key[-1] != "a" else "b"))
    assert code == 1 and "UNAUTHENTICATED" in said


@pytest.mark.parametrize("mutual", [False, True])
def test_the_test_speaks_tls(tmp_path: Path, mutual: bool) -> None:
    authority = trustme.CA()
    paths = {name: tmp_path / name for name in ("ca.crt", "tls.crt", "tls.key", "client.crt", "client.key")}
    authority.cert_pem.write_to_path(paths["ca.crt"])
    for certificate, name in ((authority.issue_cert("127.0.0.1"), "tls"), (authority.issue_cert("tester"), "client")):
        certificate.cert_chain_pems[0].write_to_path(paths[f"{name}.crt"])
        certificate.private_key_pem.write_to_path(paths[f"{name}.key"])
    serving = ["--tls-certificate", str(paths["tls.crt"]), "--tls-key", str(paths["tls.key"])]
    calling = ["--tls", f"--ca={paths['ca.crt']}"]
    if mutual:
        serving += ["--tls-client-ca", str(paths["ca.crt"])]
        calling += [f"--certificate={paths['client.crt']}", f"--key={paths['client.key']}"]
    kept, key = new_key("acme", Role.WRITER)
    with guarded(tmp_path, kept, *serving) as address:
        code, said = searched(address, key, *calling)
    assert code == 0, said
