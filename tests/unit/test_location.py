"""Where a store is, from its URL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server.store.location import LocationError, RedisLocation, SqliteLocation, parse_location


def redis(url: str, **given: str) -> RedisLocation:
    location = parse_location(url, **given)
    assert isinstance(location, RedisLocation)
    return location


def test_a_single_redis_has_host_port_database_and_credentials() -> None:
    found = redis("redis://user:p%40ss@redis.example:7000/3?prefix=x:&timeout=5&connect_timeout=0.5&client_name=me")
    assert (found.topology, found.hosts, found.db, found.tls) == ("single", (("redis.example", 7000),), 3, False)
    assert (found.username, found.password) == ("user", "p@ss")
    assert (found.prefix, found.timeout, found.connect_timeout, found.client_name) == ("x:", 5.0, 0.5, "me")


def test_sentinels_have_many_hosts_and_a_master() -> None:
    found = redis("rediss+sentinel://a,b:5000/main/2?ca=ca.pem&certificate=c.pem&key=k.pem")
    assert (found.topology, found.hosts, found.master, found.db) == ("sentinel", (("a", 26379), ("b", 5000)), "main", 2)
    assert (found.tls, found.ca, found.certificate, found.key) == (True, "ca.pem", "c.pem", "k.pem")


def test_a_cluster_has_many_hosts() -> None:
    assert redis("redis+cluster://[::1]:7000,b").hosts == (("::1", 7000), ("b", 6379))


def test_credentials_that_the_url_lacks_come_from_elsewhere() -> None:
    found = redis("redis://h", username="u", password="p", sentinel_password="s")
    assert (found.username, found.password, found.sentinel_password) == ("u", "p", "s")
    assert redis("redis://:mine@h", password="p").password == "mine"


def test_a_location_is_shown_without_its_credentials() -> None:
    found = redis("redis+sentinel://user:secret@a:1,b:2/main", sentinel_password="hidden")
    assert str(found) == "redis+sentinel://a:1,b:2/main/0"
    assert "secret" not in repr(found) and "hidden" not in repr(found)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("redis+sentinel://u:secret@h:1", "name of the master"),
        ("redis+other://u:secret@h", "is not one of"),
        ("redis://u:secret@h/x", "number of a database"),
        ("redis+cluster://u:secret@h/1", "database 0 only"),
        ("redis://u:secret@h:port", "."),
        ("redis://u:secret@", "HOST:PORT"),
        ("redis://u:secret@h?tiemout=1", "tiemout is not an option"),
        ("redis://u:secret@h?timeout=soon", "number of seconds"),
        ("redis://u:secret@h?timeout=0", "above 0"),
        ("redis://u:secret@h?prefix={x}", "braces"),
        ("postgres://u:secret@h", "expected sqlite:PATH"),
        ("", "expected sqlite:PATH"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_with_a_reason_and_without_its_password(url: str, complaint: str) -> None:
    with pytest.raises(LocationError, match=complaint) as refusal:
        parse_location(url)
    assert "secret" not in str(refusal.value)


def test_files_and_memory_are_the_embedded_store() -> None:
    assert parse_location("memory:") == SqliteLocation(None)
    assert str(parse_location("sqlite:data/x.db")) == "data/x.db"


@given(st.sampled_from(["redis://", "redis+sentinel://", "redis+cluster://", "rediss:", ""]), st.text())
def test_any_text_is_a_location_or_refused(scheme: str, rest: str) -> None:
    try:
        parse_location(scheme + rest)
    except LocationError:
        return
