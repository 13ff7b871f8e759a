"""`toolsearch-server keys`, as an operator uses it."""

import json
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolsearch_server.auth.keys import caller_with, parse_keys
from toolsearch_server.errors import CredentialInvalid


def keys(path: Path, *arguments: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "toolsearch_server", "keys", arguments[0], "--file", str(path), *arguments[1:]]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert ran.returncode == code, ran.stderr
    return ran


def create(path: Path, tenant: str = "acme", role: str = "writer", *more: str) -> str:
    return keys(path, "create", "--tenant", tenant, "--role", role, *more).stdout.strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_made_key_is_printed_alone_and_its_file_is_its_owners(path: Path) -> None:
    text = create(path)
    assert caller_with(parse_keys(path.read_text()), text).tenant == "acme"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir() if stat.S_IMODE(entry.stat().st_mode) != 0o600] == []


def test_a_list_shows_everything_but_the_means_to_use_a_key(path: Path) -> None:
    text = create(path, "acme", "reader", "--expires", "90d", "--note", "for the agents")
    shown = keys(path, "list").stdout
    for word in ("acme", "reader", "for the agents", text.split("_")[1]):
        assert word in shown
    listed = json.loads(keys(path, "list", "--json").stdout)
    assert listed[0]["tenant"] == "acme"
    digest = next(iter(parse_keys(path.read_text()).values())).sha256
    for output in (shown, json.dumps(listed)):
        assert text not in output and digest not in output


def test_a_rotated_key_is_good_beside_its_successor_for_as_long_as_said(path: Path) -> None:
    old = create(path, "acme", "admin")
    new = keys(path, "rotate", old.split("_")[1], "--overlap", "2h").stdout.strip()
    known = parse_keys(path.read_text())
    assert caller_with(known, old).role == caller_with(known, new).role
    ends = known[old.split("_")[1]].expires
    assert ends is not None and abs(ends - datetime.now(UTC) - timedelta(hours=2)) < timedelta(minutes=1)


def test_a_revoked_key_is_good_for_nothing(path: Path) -> None:
    first, second = create(path), create(path)
    keys(path, "revoke", first.split("_")[1])
    known = parse_keys(path.read_text())
    assert caller_with(known, second)
    with pytest.raises(CredentialInvalid):
        caller_with(known, first)


def test_a_key_may_be_named_by_itself_and_is_never_repeated(path: Path) -> None:
    first, second = create(path), create(path)
    keys(path, "revoke", first)
    assert [key.id for key in parse_keys(path.read_text()).values()] == [second.split("_")[1]]
    refused = keys(path, "revoke", first, code=1)
    assert first not in refused.stderr + refused.stdout


def test_a_link_to_the_file_stays_a_link(path: Path) -> None:
    create(path)
    link = path.with_name("link.json")
    link.symlink_to(path)
    create(link)
    assert link.is_symlink() and len(parse_keys(path.read_text())) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("revoke", "unknown"), "there is no key with the id"),
        (("create", "--tenant", "t", "--role", "reader", "--expires", "soon"), "90d"),
        (("create", "--tenant", "t", "--role", "reader", "--expires", "2020-01-01"), "over already"),
        (("create", "--tenant", "t", "--role", "reader", "--expires", "999999w"), "longer than"),
    ],
)
def test_what_cannot_be_done_is_explained_and_changes_nothing(path: Path, arguments: tuple[str, ...], says: str) -> None:
    create(path)
    before = path.read_bytes()
    assert says in keys(path, *arguments, code=1).stderr
    assert path.read_bytes() == before


def test_a_broken_file_is_never_overwritten(path: Path) -> None:
    path.write_text("{")
    assert "not JSON" in keys(path, "create", "--tenant", "t", "--role", "reader", code=1).stderr
    assert path.read_text() == "{"


def test_keys_made_at_the_same_time_are_all_kept(path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "toolsearch_server",
        "keys",
        "create",
        "--file",
        str(path),
        "--tenant",
        "t",
        "--role",
        "reader",
    ]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(5)]
    assert [each.wait(60) for each in running] == [0] * 5
    assert len(parse_keys(path.read_text())) == 5


def test_a_tenant_that_cannot_be_one_is_refused(path: Path) -> None:
    assert "--tenant" in keys(path, "create", "--tenant", " x", "--role", "reader", code=2).stderr
