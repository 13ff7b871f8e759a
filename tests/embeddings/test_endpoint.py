"""Embeddings endpoints, over real HTTP, with a fake behind it."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embeddings.embedders_under_test import DIMENSIONS, FakeEndpoint, meaning, running_endpoint
from toolsearch_server.embedders import EmbeddingFailed, TextRefused
from toolsearch_server.embedders.endpoint import LONGEST_RETRY_AFTER, Endpoint

KEY = "sk-very-secret"


@pytest.fixture
def fake() -> Iterator[FakeEndpoint]:
    with running_endpoint() as fake:
        yield fake


@pytest.fixture
async def endpoint(fake: FakeEndpoint) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(fake.url, "small", KEY)
    yield endpoint
    await endpoint.close()


async def test_texts_are_sent_in_one_request_with_model_and_key(fake: FakeEndpoint, endpoint: Endpoint) -> None:
    vectors = await endpoint.embed_entries(["rain", "cash and rain"])
    assert fake.requests == [{"model": "small", "input": ["rain", "cash and rain"], "encoding_format": "float"}]
    assert fake.headers[0]["authorization"] == f"Bearer {KEY}"
    assert fake.headers[0]["path"] == "/v1/embeddings"
    expected = np.array([meaning("rain"), meaning("cash and rain")])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


async def test_without_a_key_none_is_sent(fake: FakeEndpoint) -> None:
    endpoint = Endpoint(fake.url, "small", "")
    await endpoint.embed_queries(["rain"])
    assert "authorization" not in fake.headers[0]
    await endpoint.close()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(list(range(6))))
async def test_vectors_are_in_the_order_of_the_texts_however_they_come(fake: FakeEndpoint, order: list[int]) -> None:
    fake.change = lambda data: [data[number] for number in order]
    endpoint = Endpoint(fake.url, "small", "")
    texts = ["rain", "cash", "song", "dinner", "git", "nothing"]
    vectors = await endpoint.embed_entries(texts)
    assert [int(np.argmax(vector)) for vector in vectors] == list(range(DIMENSIONS))
    await endpoint.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: [*data, data[0] | {"index": 9}],
        lambda data: [data[0], data[0]],
        lambda data: [data[0], data[1] | {"embedding": [1.0]}],
        lambda data: [data[0], data[1] | {"embedding": [0.0] * DIMENSIONS}],
        lambda data: [data[0], data[1] | {"embedding": "AAAA"}],
        lambda data: [data[0], {"index": 1}],
        lambda data: None,
    ],
    ids=["too few", "too many", "twice", "other length", "zero", "not numbers", "none", "no data"],
)
async def test_an_answer_that_is_not_a_vector_a_text_is_a_failure(fake: FakeEndpoint, endpoint: Endpoint, change: Any) -> None:
    fake.change = change
    with pytest.raises(EmbeddingFailed, match="2"):
        await endpoint.embed_entries(["rain", "cash"])


async def test_what_is_not_json_is_a_failure(fake: FakeEndpoint, endpoint: Endpoint) -> None:
    fake.script = [(200, {}, b"<html>")]
    with pytest.raises(EmbeddingFailed, match="not JSON"):
        await endpoint.embed_entries(["rain"])


@pytest.mark.parametrize("status", [429, 503])
async def test_a_failure_says_when_to_come_back(fake: FakeEndpoint, endpoint: Endpoint, status: int) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    fake.script = [(status, {"retry-after": "7"}, {}), (status, {"retry-after": date}, {}), (status, {}, {})]
    told = []
    for _ in range(3):
        with pytest.raises(EmbeddingFailed) as failure:
            await endpoint.embed_entries(["rain"])
        told.append(failure.value.retry_after)
    assert told == [7.0, LONGEST_RETRY_AFTER, None]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_texts_that_are_not_taken_are_told_from_failures(fake: FakeEndpoint, endpoint: Endpoint, status: int) -> None:
    fake.script = [(status, {}, {"error": "too long"})]
    with pytest.raises(TextRefused, match="too long"):
        await endpoint.embed_entries(["rain"])


@pytest.mark.parametrize("status", [401, 403])
async def test_what_is_said_about_a_key_is_not_repeated(fake: FakeEndpoint, endpoint: Endpoint, status: int) -> None:
    fake.script = [(status, {}, {"error": f"{KEY} is wrong"})]
    with pytest.raises(EmbeddingFailed, match=str(status)) as failure:
        await endpoint.embed_entries(["rain"])
    assert KEY not in str(failure.value)


async def test_an_endpoint_that_is_not_there_is_a_failure() -> None:
    with running_endpoint() as fake:
        url = fake.url
    endpoint = Endpoint(url, "small", KEY)
    with pytest.raises(EmbeddingFailed, match="does not answer"):
        await endpoint.embed_queries(["rain"])
    await endpoint.close()


async def test_an_empty_text_is_not_sent(fake: FakeEndpoint, endpoint: Endpoint) -> None:
    await endpoint.embed_queries([" "])
    assert fake.requests[0]["input"] == ["."]
