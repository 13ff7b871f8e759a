"""An embeddings endpoint as OpenAI has it, and many servers of models after it. It comes with the extra `endpoint`."""

import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import numpy as np

from toolsearch_server.embedders import EmbedderOpenError, EmbeddingFailed, Matrix, TextRefused

ENDPOINT_WEIGHT = 0.2
"""As for a transformer, which is what answers at an endpoint."""
ENTRY_SECONDS, QUERY_SECONDS = 60.0, 10.0
"""Of one call. Nobody waits so long for a query, but its vector is remembered when it comes."""
LONGEST_RETRY_AFTER = 300.0
REFUSING = {400, 413, 422}
"""What an endpoint says of texts that it will never take, such as too long ones."""
KEY_REFUSED = {401, 403}
SHOWN_CHARACTERS = 200


class Endpoint:
    instant: Literal[False] = False
    weight = ENDPOINT_WEIGHT
    batch_size = 64
    batches_at_once = 4

    def __init__(self, url: str, model: str, key: str) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise EmbedderOpenError(f"install toolsearch-server[endpoint] for embedding endpoints ({error})") from error
        self.model = f"{url} {model}"
        self._name = model
        self._url = f"{url}/embeddings"
        # Bounded by who calls: so many batches, so many queries.
        self._client = httpx2.AsyncClient(
            headers={"authorization": f"Bearer {key}"} if key else {},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=60),
        )
        self._failures = (httpx2.HTTPError, httpx2.InvalidURL)

    async def embed_entries(self, texts: Sequence[str]) -> Matrix:
        return await self._embed(texts, ENTRY_SECONDS)

    async def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return await self._embed(texts, QUERY_SECONDS)

    async def close(self) -> None:
        await self._client.aclose()

    async def _embed(self, texts: Sequence[str], seconds: float) -> Matrix:
        # An empty text is an error to some.
        asked = {"model": self._name, "input": [each.strip() or "." for each in texts], "encoding_format": "float"}
        try:
            response = await self._client.post(self._url, json=asked, timeout=seconds)
        except self._failures as error:
            raise EmbeddingFailed(f"{self._url} does not answer: {str(error) or type(error).__name__}") from error
        if response.status_code != 200:
            raise _refusal(self._url, response)
        try:
            answer = response.json()
        except ValueError as error:
            raise EmbeddingFailed(f"{self._url} answered with what is not JSON") from error
        return _vectors(answer, len(texts), self._url)


def _refusal(url: str, response: Any) -> EmbeddingFailed:
    message = f"{url} answered {response.status_code}"
    if response.status_code not in KEY_REFUSED:  # some repeat parts of the key, which is nobody's business
        message += f": {response.text[:SHOWN_CHARACTERS]}"
    if response.status_code in REFUSING:
        return TextRefused(message)
    return EmbeddingFailed(message, retry_after=_seconds(response.headers.get("retry-after", "")))


def _seconds(retry_after: str) -> float | None:
    """Seconds, or a date."""
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, min(seconds, LONGEST_RETRY_AFTER))


def _vectors(answer: Any, count: int, url: str) -> Matrix:
    """One vector a text, in the order of the texts, which is not always that of the answer."""
    try:
        by_index = {int(each["index"]): each["embedding"] for each in answer["data"]}
        vectors: Matrix = np.array([by_index[number] for number in range(count)], dtype=np.float32)
    except (KeyError, TypeError, ValueError) as error:
        raise EmbeddingFailed(f"{url} answered without a vector of the same length for each of {count} texts") from error
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
    if len(by_index) != count or not np.isfinite(lengths).all() or not lengths.all():
        raise EmbeddingFailed(f"{url} answered with what are not {count} vectors")
    return vectors / lengths
