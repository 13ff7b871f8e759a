"""How long to wait before trying again."""

import random


def backoff(failures: int, *, first: float, last: float) -> float:
    """Longer and longer, with jitter so that many processes do not come back at once."""
    longest: float = min(last, first * 2.0 ** min(failures - 1, 32))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 not a secret
