"""What `helm test` runs: a real search through the Service, with a credential.

Not by the client, which sends no key unencrypted to another machine: a trial has no TLS.
"""

import argparse
import os
import sys
import uuid
from pathlib import Path
from typing import Any

import grpc

from toolsearch.v1 import catalog_service_pb2 as catalogs
from toolsearch.v1 import entry_pb2, search_service_pb2
from toolsearch.v1.catalog_service_pb2_grpc import CatalogServiceStub
from toolsearch.v1.search_service_pb2_grpc import ToolSearchServiceStub

SECONDS = 20.0
TOOL = '{"name": "open_issue", "description": "Report a bug", "inputSchema": {"type": "object"}}'


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--ca", type=Path)
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--key", type=Path)
    arguments = parser.parse_args()
    with _channel(arguments) as channel:
        grpc.channel_ready_future(channel).result(SECONDS)
        return _search(channel, [("authorization", f"Bearer {os.environ['TOOLSEARCH_API_KEY'].strip()}")])


def _channel(arguments: argparse.Namespace) -> grpc.Channel:
    if not arguments.tls:
        return grpc.insecure_channel(arguments.target)
    ca, key, certificate = (
        path.read_bytes() if path is not None and path.is_file() else None
        for path in (arguments.ca, arguments.key, arguments.certificate)
    )
    return grpc.secure_channel(arguments.target, grpc.ssl_channel_credentials(ca, key, certificate))


def _search(channel: grpc.Channel, metadata: list[tuple[str, str]]) -> int:
    writing: Any = CatalogServiceStub(channel)
    searching: Any = ToolSearchServiceStub(channel)
    calling: dict[str, Any] = {"metadata": metadata, "timeout": SECONDS, "wait_for_ready": True}
    catalog = f"helm-test-{uuid.uuid4().hex[:12]}"
    entry = entry_pb2.EntryInput(definition=TOOL)
    try:
        written = writing.SyncServer(catalogs.SyncServerRequest(catalog=catalog, server="github", entries=[entry]), **calling)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.PERMISSION_DENIED:
            raise
        return _only_read(searching, calling)
    try:
        asked = search_service_pb2.SearchToolsRequest(
            catalog=catalog, queries=["report a bug"], min_revision=written.version.revision, epoch=written.version.epoch
        )
        found = [match.entry.name for match in searching.SearchTools(asked, **calling).matches]
    finally:
        writing.DeleteCatalog(catalogs.DeleteCatalogRequest(catalog=catalog), **calling)
    sys.stdout.write(f"wrote a catalog, searched it and found {found}\n")
    return 0 if found == ["github.open_issue"] else 1


def _only_read(searching: Any, calling: dict[str, Any]) -> int:
    try:
        found = searching.SearchTools(search_service_pb2.SearchToolsRequest(queries=["report a bug"]), **calling)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        sys.stdout.write("the key may only read, and there is no catalog yet: the search was answered\n")
        return 0
    sys.stdout.write(f"the key may only read: found {[match.entry.name for match in found.matches]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
