from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import Key, KeysError, caller_with, dump_keys, new_key, parse_keys
from toolsearch_server.errors import CredentialInvalid

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))


@given(st.lists(st.tuples(NAMES, st.sampled_from(Role), TIMES, NAMES), max_size=5))
def test_keys_survive_the_file_and_the_file_does_not_know_them(made: list[tuple[str, Role, datetime | None, str]]) -> None:
    pairs = [new_key(tenant, role, expires=expires, note=note) for tenant, role, expires, note in made]
    text = dump_keys(key for key, _ in pairs)
    assert parse_keys(text) == {key.id: key for key, _ in pairs}
    assert not any(secret in text or secret[16:] in text for _, secret in pairs)


def test_a_key_says_whose_it_is_and_what_it_may_do() -> None:
    key, text = new_key("acme", Role.WRITER)
    caller = caller_with({key.id: key}, text)
    assert (caller.tenant, caller.role, caller.subject) == ("acme", Role.WRITER, f"key:{key.id}")


def refusal(keys: dict[str, Key], text: str) -> str:
    with pytest.raises(CredentialInvalid) as refused:
        caller_with(keys, text)
    assert refused.value.given == ""
    return refused.value.message


def test_an_unknown_key_a_wrong_secret_and_no_key_at_all_are_told_apart_by_nobody() -> None:
    key, text = new_key("acme", Role.ADMIN)
    _, other = new_key("acme", Role.ADMIN)
    wrong_secret = f"ts_{key.id}_{other[16:]}"
    messages = {refusal({key.id: key}, each) for each in (other, wrong_secret, "ts_", "x", text + "x", text.upper())}
    assert messages == {"the API key is not known"}


def test_a_key_is_good_until_the_moment_it_expires() -> None:
    now = datetime.now(UTC)
    past, past_text = new_key("t", Role.READER, expires=now)
    future, future_text = new_key("t", Role.READER, expires=now + timedelta(hours=1))
    keys = {past.id: past, future.id: future}
    assert caller_with(keys, future_text).tenant == "t"
    assert refusal(keys, past_text) == "the API key has expired"


def test_a_key_shows_neither_itself_nor_its_hash_when_it_is_printed() -> None:
    key, text = new_key("t", Role.READER)
    assert key.sha256 not in repr(key) and text not in repr(key)


GOOD = """{"format": 1, "keys": [
    {"id": "abcdefghijkm", "tenant": "t", "role": "reader", "sha256": "%s", "created": "2026-01-01T00:00:00+00:00"}
]}"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{", "[", "not JSON"),
        ('"keys"', '"key"', 'list "keys"'),
        ('"format": 1', '"format": 2', "allowed is 1"),
        ('"reader"', '"root"', "keys[0].role"),
        ('"t"', '""', "keys[0].tenant"),
        ('"t"', "7", "keys[0].tenant is not a string"),
        ("abcdefghijkm", "short", "keys[0].id"),
        ("%s", "00", "keys[0].sha256"),
        ("+00:00", "", "keys[0].created has no time zone"),
        ("2026-01-01T", "soon", "keys[0].created"),
        ('"role"', '"secret": "x", "role"', "'secret'"),
    ],
)
def test_a_file_that_cannot_be_used_is_explained(old: str, new: str, says: str) -> None:
    assert parse_keys(GOOD.replace("%s", "0" * 64))
    with pytest.raises(KeysError) as refused:
        parse_keys(GOOD.replace(old, new, 1).replace("%s", "0" * 64))
    assert says in str(refused.value)


def test_a_key_that_is_there_twice_is_refused() -> None:
    key, _ = new_key("t", Role.READER)
    with pytest.raises(KeysError, match="twice"):
        parse_keys(dump_keys([key, key]))


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_any_text_is_either_keys_or_an_explanation(text: str) -> None:
    try:
        parse_keys(text)
    except KeysError as error:
        assert str(error)
