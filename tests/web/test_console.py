"""The console's files, and what a browser is told of them."""

from importlib.resources import files

import pytest

from support import running_server
from web.caller import Caller, http_address


def test_the_page_is_there_with_headers_that_leave_it_nothing_but_itself(door: Caller) -> None:
    answer = door.get("/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"].split("; ")
    assert {
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    } <= set(policy)
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-cache"


def test_a_file_that_did_not_change_is_not_sent_again(door: Caller) -> None:
    tag = door.get("/index.html").headers["etag"]
    again = door.get("/", if_none_match=tag)
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert door.get("/", if_none_match='"other"').status == 200


TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


def test_every_file_is_served_with_its_type(door: Caller) -> None:
    folder = files("toolsearch_server.web").joinpath("console")
    for file in folder.iterdir():
        kind = file.name.rpartition(".")[2]
        if kind in TYPES:
            answer = door.get(f"/{file.name}")
            assert (answer.status, answer.body) == (200, file.read_bytes())
            assert answer.headers["content-type"] == TYPES[kind]


@pytest.mark.parametrize(
    "path", ["/../openapi.py", "/%2e%2e/openapi.py", "/..%2fcomments.json", "//etc/passwd", "/index.html/", "/x.js"]
)
def test_nothing_else_is_served(door: Caller, path: str) -> None:
    assert door.get(path).status == 404


def test_the_page_can_be_left_out(tmp_path: object) -> None:
    arguments = ("--store", "memory:", "--http", "127.0.0.1:0", "--no-console", "--embeddings", "off")
    with running_server(*arguments) as (process, grpc):
        caller = Caller(process, grpc, http_address(process))
        assert caller.get("/").status == 404
        assert caller.get("/v1/ListCatalogs").status == 200
