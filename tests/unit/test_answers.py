"""Remembered answers: never of another state, never without bound."""

from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server.answers import BYTES_PER_ANSWER, KEPT_BYTES, Answer, Answers


def answer(size: int = 10) -> Answer:
    return Answer(b"x" * size, {})


def test_an_answer_is_remembered_for_the_same_request_and_state() -> None:
    answers, state = Answers(), object()
    answers.keep(state, b"a", answer())
    assert answers.get(state, b"a") == answer()
    assert answers.get(state, b"b") is None


def test_another_state_knows_nothing_of_it() -> None:
    answers = Answers()
    before, after = [], []  # type: ignore[var-annotated]  # equal, and yet two
    answers.keep(before, b"a", answer())
    assert answers.get(after, b"a") is None
    answers.keep(after, b"b", answer())
    assert answers.get(before, b"a") is None


def test_an_answer_that_fills_all_is_kept_and_a_larger_one_is_not() -> None:
    answers, state = Answers(), object()
    most = KEPT_BYTES - BYTES_PER_ANSWER - 1
    answers.keep(state, b"a", answer(most + 1))
    assert answers.get(state, b"a") is None
    answers.keep(state, b"a", answer(most))
    assert answers.get(state, b"a") is not None


@given(st.lists(st.tuples(st.sampled_from("xy"), st.binary(max_size=3), st.integers(0, KEPT_BYTES)), max_size=30))
def test_whatever_is_kept_is_bounded(steps: list[tuple[str, bytes, int]]) -> None:
    answers = Answers()
    states = {name: object() for name in "xy"}
    for name, request, size in steps:
        answers.keep(states[name], request, answer(size))
        total = sum(len(key) + len(kept.data) + BYTES_PER_ANSWER for key, kept in answers._kept.items())
        assert answers._bytes == total <= KEPT_BYTES
