"""Text analysis: the words of a text, the same way for documents and queries.

Identifiers are split (`createIssue`, `create_issue`, `getHTTPResponse`) and kept joined too, case and accents are folded, and
text in scripts without spaces becomes pairs of characters.
"""

import functools
import itertools
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator

import Stemmer

MAX_WORD_LENGTH = 64

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul: spaced, but with endings that pairs see through
)
_ASCII = "[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*"
_ASCII_RUN = re.compile(_ASCII)
_RUN = re.compile(
    rf"(?P<ascii>{_ASCII})"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<other>(?:(?![{_UNSPACED}A-Za-z0-9_])[\w\u0900-\u0dff])+)"
)
_IDENTIFIER_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_LATIN_ACCENTS = re.compile("[\u0300-\u036f]")
_SPELLED_OUT = str.maketrans(
    {
        "ß": "ss",
        "ẞ": "SS",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
    }
)
"""Letters that Unicode does not take apart."""
_INNER_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any anything are as at be because been before being below between both but by
    can cannot could did do does doing done dont down during each either else etc ever every few for from further give had has
    have having he her here hers him his how i ill im in into is isnt it its ive just know let lets like lot made make many may
    me might more most much must my need needs no nor not now of off ok on once one only or other others our out over own
    please really s same shall she should show so some something such t tell than thank thanks that the their them then there
    these they thing things this those through to too under until up upon us use used using very via want wants was way we
    were what when where which while who whom whose why will with within without would yes yet you your yours
    """.split()
)


def words(text: str) -> list[str]:
    """The words of `text` in order, lower case, without accents. An identifier gives its parts and its joined form."""
    if not text.isascii():
        text = fold_accents(unicodedata.normalize("NFKC", text))
    text = _INNER_APOSTROPHE.sub("", text)
    found: list[str] = []
    if text.isascii():
        for ascii_run in _ASCII_RUN.findall(text):
            if ascii_run.islower() and ascii_run.isalnum() and len(ascii_run) <= MAX_WORD_LENGTH:
                found.append(ascii_run)
            else:
                found.extend(_identifier(ascii_run))
        return found
    for run in _RUN.finditer(text):
        match run.lastgroup:
            case "ascii":
                found.extend(_identifier(run[0]))
            case "unspaced":
                found.extend(_pairs(run[0]))
            case _:
                found.append(run[0].casefold()[:MAX_WORD_LENGTH])
    return found


def spelled(name: str) -> str:
    """A name as a person would type it: its parts with spaces between them."""
    parts = [part for run in re.split(r"[^A-Za-z0-9]+", fold_accents(name)) for part in _split(run)]
    return " ".join(parts or name.casefold().split())


def fold_accents(text: str) -> str:
    """Drop the accents of Latin, Greek and Cyrillic letters; the voicing marks of kana and the like are left alone."""
    decomposed = unicodedata.normalize("NFD", text.translate(_SPELLED_OUT))
    return unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", decomposed))


def _identifier(run: str) -> Iterable[str]:
    if run.islower() and run.isalnum():
        return (run[:MAX_WORD_LENGTH],)
    return _identifier_words(run) if len(run) <= MAX_WORD_LENGTH else tuple(_split(run))


@functools.lru_cache(maxsize=20_000)
def _identifier_words(run: str) -> tuple[str, ...]:
    parts = tuple(_split(run))
    if len(parts) == 1:
        return parts
    camel_runs = (_IDENTIFIER_PART.findall(piece) for piece in re.split("[_-]", run))
    neighbours = (
        (left + right).lower() for pieces in camel_runs if len(pieces) > 2 for left, right in itertools.pairwise(pieces)
    )
    joined = "".join(parts)
    return (*parts, joined, *(pair for pair in neighbours if pair != joined))


def _split(run: str) -> Iterator[str]:
    for part in _IDENTIFIER_PART.findall(run):
        yield part.lower()[:MAX_WORD_LENGTH]


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [run[index : index + 2] for index in range(len(run) - 1)]


_CAMEL_WORD = re.compile(r"\b(?:[A-Z]?[a-z0-9]+[A-Z][A-Za-z0-9]*)\b")


def content_words(query: str, known: Callable[[str], bool] = lambda _: False) -> list[str]:
    """The words of a query that say something, each once. If all are stop words, they are what is asked for.

    A brand such as GitHub, if its joined form is `known`, is one word and not two.
    """
    if not query.islower():
        query = _CAMEL_WORD.sub(lambda run: run[0].lower() if known(run[0].lower()) else run[0], query)
    unique = list(dict.fromkeys(words(query)))
    return [word for word in unique if word not in STOP_WORDS] or unique


_local = threading.local()  # a Stemmer must not be used by two threads at once


def stems(tokens: list[str]) -> list[str]:
    """English stems; words of other languages and scripts mostly stay as they are."""
    try:
        stemmer: Stemmer.Stemmer = _local.stemmer
    except AttributeError:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return stemmer.stemWords(tokens)


def trigrams(tokens: Iterable[str]) -> list[str]:
    """Three-character pieces of each word, with its ends marked, for words that only partly agree."""
    return [piece for token in tokens for piece in _trigrams(token)]


@functools.lru_cache(maxsize=20_000)
def _trigrams(token: str) -> tuple[str, ...]:
    marked = f"_{token}_"
    return tuple(marked[index : index + 3] for index in range(len(marked) - 2))
