"""The header that proxies go by when they send like calls to like replicas."""

import pytest

from toolsearch import AsyncClient, Client
from toolsearch._channel import ROUTE_HEADER, Connection

TARGET = "localhost:1"


def route(**said: str) -> str | None:
    connection = Connection.to(
        TARGET, tenant=said.get("tenant"), api_key=said.get("api_key"), tls=False, route=said.get("route")
    )
    return dict(connection.metadata).get(ROUTE_HEADER)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, None),
        ({"tenant": ""}, None),
        # As the Go client's tests have them: all clients of a caller take the same route.
        ({"tenant": "me"}, "355f5c09a49a179a"),
        ({"api_key": "secret"}, "0036889fd7fee295"),
        ({"api_key": "secret\n"}, "0036889fd7fee295"),
        ({"tenant": "me", "api_key": "secret"}, "9571c8ee5e6273dc"),
        ({"tenant": "me", "route": "acme"}, "acme"),
        ({"tenant": "me", "route": ""}, None),
    ],
)
def test_the_route_is_that_of_the_caller_unless_said(said: dict[str, str], expected: str | None) -> None:
    assert route(**said) == expected


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("text", ["a\nb", "é", " a"])
async def test_a_route_that_cannot_be_a_header_is_refused(client: type[Client] | type[AsyncClient], text: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        client(TARGET, route=text)


def test_a_route_is_not_the_servers_business(address: str, tenant: str) -> None:
    with Client(address, tenant=tenant, route="anywhere") as client:
        assert list(client.list_catalogs()) == []
