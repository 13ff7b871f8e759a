"""A real server that asks for credentials, and the keys to it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import ServerProcess, running_server
from toolsearch import Client
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import Key, dump_keys, new_key

TENANTS = ("acme", "rival")


@dataclass
class Guarded:
    process: ServerProcess
    address: str
    folder: Path
    texts: dict[tuple[str, Role], str] = field(default_factory=dict)

    def client(self, owner: str = "acme", role: Role = Role.READER, **options: Any) -> Client:
        return Client(self.address, api_key=self.texts[owner, role], **({"timeout": 10} | options))


def make_keys() -> tuple[list[Key], dict[tuple[str, Role], str]]:
    pairs = {(tenant, role): new_key(tenant, role) for tenant in TENANTS for role in Role}
    return [key for key, _ in pairs.values()], {owner: text for owner, (_, text) in pairs.items()}


@contextmanager
def guarded_server(folder: Path, *arguments: str, keys: Sequence[Key] = ()) -> Iterator[Guarded]:
    made, texts = make_keys()
    path = folder / "keys.json"
    path.write_text(dump_keys([*made, *keys]))
    with running_server("--store", "memory:", "--keys", str(path), "--log-level", "debug", *arguments) as (process, address):
        yield Guarded(process, address, folder, texts)
