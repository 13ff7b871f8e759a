"""Answers to searches that were asked before: agents repeat themselves, and many agents ask the same."""

from typing import Any, NamedTuple

KEPT_BYTES = 128 * 1024
BYTES_PER_ANSWER = 300
"""Besides request and answer."""


class Answer(NamedTuple):
    """`data` is the response but for what differs between calls; `facts` are for logs and metrics."""

    data: bytes
    facts: dict[str, Any]


class Answers:
    """Of one catalog, by request. They hold for one state of it: with another, all are forgotten."""

    def __init__(self) -> None:
        self._state: object = None
        self._kept: dict[bytes, Answer] = {}
        self._bytes = 0

    def get(self, state: object, request: bytes) -> Answer | None:
        return self._kept.get(request) if state is self._state else None

    def keep(self, state: object, request: bytes, answer: Answer) -> None:
        size = len(request) + len(answer.data) + BYTES_PER_ANSWER
        if state is not self._state or self._bytes + size > KEPT_BYTES:
            self._state, self._kept, self._bytes = state, {}, 0
        if size <= KEPT_BYTES and request not in self._kept:
            self._kept[request] = answer
            self._bytes += size
