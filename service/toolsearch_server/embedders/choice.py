"""Which embedder: the setting, checked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

SHOWN = "auto, static, off, onnx:FOLDER, sentence-transformers:FOLDER, or http(s)://HOST/v1"
FOLDERS: tuple[Literal["onnx", "sentence-transformers"], ...] = ("onnx", "sentence-transformers")


class ChoiceError(ValueError):
    """A setting that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`folder` for a model in this process; `url`, `model` and `key` for an endpoint."""

    kind: Literal["auto", "static", "off", "onnx", "sentence-transformers", "endpoint"]
    folder: Path = Path()
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)

    def __str__(self) -> str:
        if self.kind == "endpoint":
            return f"{self.url} ({self.model})"
        return f"{self.kind}:{self.folder}" if self.kind in FOLDERS else self.kind


AUTO = Choice("auto")


def parse_choice(text: str, *, model: str = "", key: str = "") -> Choice:
    """What `--embeddings` says. Raises ChoiceError."""
    if text.startswith(("http://", "https://")):
        return _endpoint(text, model, key)
    if model:
        raise ChoiceError(f"{text}: a model is named only for an endpoint, http(s)://HOST/v1")
    for simple in ("auto", "static", "off"):
        if text == simple:
            return Choice(simple)
    for kind in FOLDERS:
        folder = text.removeprefix(f"{kind}:")
        if folder != text and folder:
            return Choice(kind, folder=Path(folder).expanduser())
    raise ChoiceError(f"{text!r} is not one of {SHOWN}")


def _endpoint(text: str, model: str, key: str) -> Choice:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ChoiceError(f"{text}: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise ChoiceError("a key does not belong into the URL: set $TOOLSEARCH_EMBEDDINGS_KEY")
    if not host or parts.query or parts.fragment:
        raise ChoiceError(f"{text}: expected a base URL without ? and #, such as https://HOST/v1")
    if not model:
        raise ChoiceError(f"{text}: name the model with --embeddings-model")
    if not key.isascii() or not key.isprintable():
        raise ChoiceError("$TOOLSEARCH_EMBEDDINGS_KEY has characters that no HTTP header can carry")
    return Choice("endpoint", url=text.rstrip("/").removesuffix("/embeddings"), model=model, key=key)
