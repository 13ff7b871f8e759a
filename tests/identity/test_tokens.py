"""JSON Web Tokens as credentials."""

import base64
import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from toolsearch_server.auth import Role, TokenSettings, tokens
from toolsearch_server.auth.tokens import KeySetError, Tokens, fetch_key_set, parse_key_set
from toolsearch_server.errors import CredentialInvalid
from toolsearch_server.limits import DEFAULT_LIMITS

SETTINGS = TokenSettings(issuer="https://issuer", audience="toolsearch", key_set="keys.json")
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


def public(key: Any, kid: str) -> dict[str, Any]:
    algorithm = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256", ed25519.Ed25519PrivateKey: "EdDSA"}
    name = next(name for kind, name in algorithm.items() if isinstance(key, kind))
    implementation = jwt.get_algorithm_by_name(name)
    described: dict[str, Any] = json.loads(implementation.to_jwk(key.public_key())) | {"kid": kid, "alg": name, "use": "sig"}
    return described


def key_set(**keys: Any) -> str:
    return json.dumps({"keys": [public(key, kid) for kid, key in keys.items()]})


KEYS = parse_key_set(key_set(r=RSA_KEY, e=EC_KEY, d=ED_KEY))


def claims(**changed: Any) -> dict[str, Any]:
    usual = {"iss": "https://issuer", "aud": "toolsearch", "sub": "agent-7", "exp": time.time() + 600}
    usual |= {"tenant": "acme", "role": "writer"}
    return {name: value for name, value in (usual | changed).items() if value is not None}


def token(key: Any = RSA_KEY, kid: str | None = "r", algorithm: str = "RS256", **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers={"kid": kid} if kid else {})


def checker(**settings: Any) -> Tokens:
    return Tokens(TokenSettings(issuer="https://issuer", audience="toolsearch", key_set="f", **settings), KEYS, DEFAULT_LIMITS)


async def refusal(text: str, **settings: Any) -> str:
    with pytest.raises(CredentialInvalid) as refused:
        await checker(**settings).caller_with(text)
    assert text not in str(refused.value.metadata)
    return refused.value.message


@pytest.mark.parametrize(("key", "kid", "algorithm"), [(RSA_KEY, "r", "RS256"), (EC_KEY, "e", "ES256"), (ED_KEY, "d", "EdDSA")])
async def test_a_token_says_whose_it_is_and_what_it_may_do(key: Any, kid: str, algorithm: str) -> None:
    caller = await checker().caller_with(token(key, kid, algorithm))
    assert (caller.tenant, caller.role, caller.subject) == ("acme", Role.WRITER, "token:agent-7")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"exp": time.time() - 60}, "has expired"),
        ({"nbf": time.time() + 600}, "not valid yet"),
        ({"aud": "others"}, "another audience"),
        ({"iss": "https://other"}, "another issuer"),
        ({"exp": None}, "no claim exp"),
        ({"aud": None}, "no claim aud"),
        ({"iss": None}, "no claim iss"),
        ({"tenant": None}, "no tenant"),
        ({"tenant": ["acme"]}, "no tenant"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": "x" * 129}, "tenant_length"),
        ({"role": None}, "no role"),
        ({"role": "root"}, "no role"),
        ({"role": {"admin": True}}, "no role"),
    ],
)
async def test_a_token_with_wrong_claims_is_refused_and_told_why(changed: dict[str, Any], says: str) -> None:
    assert says in await refusal(token(**changed))


async def test_a_token_of_an_unknown_key_is_refused() -> None:
    assert "a key that is not known" in await refusal(token(kid="other"))
    assert "a key that is not known" in await refusal(token(kid=None))


async def test_a_token_signed_by_somebody_else_is_refused() -> None:
    assert "signature" in await refusal(token(OTHER_RSA_KEY))


async def test_a_token_without_a_signature_is_refused() -> None:
    unsigned = jwt.encode(claims(), "", algorithm="none", headers={"kid": "r"})
    assert "algorithm that is not allowed" in await refusal(unsigned)


async def test_a_token_signed_with_a_public_key_as_a_shared_secret_is_refused() -> None:
    """The classic confusion: whoever knows the public key makes tokens with it."""
    forged = jwt.encode(claims(), "any shared secret that is long enough", algorithm="HS256", headers={"kid": "r"})
    assert "algorithm that is not allowed" in await refusal(forged)


async def test_a_token_whose_algorithm_is_not_its_keys_is_refused() -> None:
    assert "another algorithm" in await refusal(token(algorithm="RS512"))


@pytest.mark.parametrize("header", [{"alg": []}, {"alg": {}}, {"alg": None}, {"alg": 7}, {"alg": "RS256", "kid": 7}])
async def test_a_token_with_a_strange_header_is_refused(header: dict[str, Any]) -> None:
    parts = (json.dumps(part).encode() for part in (header, claims()))
    text = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + ".AA"
    assert await refusal(text)


async def test_a_token_that_expires_in_a_very_long_time_is_good() -> None:
    assert (await checker().caller_with(token(exp=10**400))).tenant == "acme"


async def test_keys_are_not_fetched_from_where_a_redirect_leads() -> None:
    with key_server() as (served, url):
        served.location = url
        with pytest.raises(KeySetError):
            fetch_key_set(url.replace("/keys", "/moved"))


@pytest.mark.parametrize("text", ["x", "a.b.c", "..", "ts_abc", "é"])
async def test_what_is_no_token_is_refused(text: str) -> None:
    assert "neither an API key nor a token" in await refusal(text)


async def test_claims_may_be_nested_and_of_several_roles_the_highest_counts() -> None:
    nested = token(tenant=None, role=None, org={"id": "acme"}, access={"toolsearch": {"roles": ["reader", "admin", "x"]}})
    caller = await checker(tenant_claim="org.id", role_claim="access.toolsearch.roles").caller_with(nested)
    assert (caller.tenant, caller.role) == ("acme", Role.ADMIN)


async def test_a_claim_whose_name_has_dots_is_found_by_its_name() -> None:
    named = token(tenant=None, **{"https://example.com/tenant": "acme"})
    assert (await checker(tenant_claim="https://example.com/tenant").caller_with(named)).tenant == "acme"


async def test_a_remembered_token_is_not_good_for_longer_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    check = checker()
    text = token(exp=time.time() + 1)
    assert await check.caller_with(text)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    monkeypatch.setattr(jwt.api_jwt, "datetime", _Later)
    with pytest.raises(CredentialInvalid, match="expired"):
        await check.caller_with(text)


class _Later(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz=tz) + timedelta(seconds=120)


async def test_a_token_is_not_good_any_more_when_its_key_is_gone() -> None:
    check = checker()
    text = token()
    assert await check.caller_with(text)
    check.replace_keys(parse_key_set(key_set(e=EC_KEY)))
    with pytest.raises(CredentialInvalid, match="not known"):
        await check.caller_with(text)


def test_keys_that_could_make_signatures_are_not_taken() -> None:
    symmetric = {"kty": "oct", "k": "c2VjcmV0", "kid": "s", "alg": "HS256"}
    with pytest.raises(KeySetError, match="no public key"):
        parse_key_set(json.dumps({"keys": [symmetric, "junk", {}, {"kty": "RSA"}]}))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"keys": {}}', '{"keys": []}'])
def test_what_is_no_key_set_is_explained(text: str) -> None:
    with pytest.raises(KeySetError):
        parse_key_set(text)


class KeyServer:
    def __init__(self) -> None:
        self.content = key_set(r=RSA_KEY)
        self.asked = 0
        self.location = ""


@contextmanager
def key_server() -> Iterator[tuple[KeyServer, str]]:
    served = KeyServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked += 1
            self.send_response(302 if self.path == "/moved" else 200)
            self.send_header("location", served.location)
            self.end_headers()
            self.wfile.write(served.content.encode())

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served, f"http://127.0.0.1:{server.server_port}/keys"
    finally:
        server.shutdown()
        server.server_close()


async def test_a_new_key_of_the_issuer_is_fetched_when_a_token_needs_it_but_not_for_every_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with key_server() as (served, url):
        settings = TokenSettings(issuer="https://issuer", audience="toolsearch", key_set=url)
        check = Tokens(settings, fetch_key_set(url), DEFAULT_LIMITS)
        served.content = key_set(r=RSA_KEY, e=EC_KEY)
        with pytest.raises(CredentialInvalid, match="not known"):
            await check.caller_with(token(EC_KEY, "e", "ES256"))
        assert served.asked == 1, "they were fetched a moment ago"
        monkeypatch.setattr(tokens, "UNKNOWN_KEY_SECONDS", 0.0)
        assert (await check.caller_with(token(EC_KEY, "e", "ES256"))).tenant == "acme"
        assert served.asked == 2


async def test_an_issuer_that_is_away_leaves_the_keys_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    with key_server() as (_, url):
        settings = TokenSettings(issuer="https://issuer", audience="toolsearch", key_set=url)
        check = Tokens(settings, fetch_key_set(url), DEFAULT_LIMITS)
    monkeypatch.setattr(tokens, "UNKNOWN_KEY_SECONDS", 0.0)
    with pytest.raises(CredentialInvalid, match="not known"):
        await check.caller_with(token(kid="new"))
    assert (await check.caller_with(token())).tenant == "acme"


@pytest.mark.parametrize("url", ["http://example.com/keys", "file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_keys_are_fetched_by_https_or_from_this_machine_only(url: str) -> None:
    with pytest.raises(KeySetError):
        fetch_key_set(url)
