"""A folder of the sentence-transformers library, where that is installed: it needs gigabytes, so it is nobody's dependency."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from toolsearch_server.embedders import EmbedderOpenError, Matrix

CHUNK = 1 << 20


class SentenceModel:
    def __init__(self, folder: Path) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EmbedderOpenError(
                f"the library sentence-transformers is not installed ({error}); install it, or use an ONNX folder: onnx:FOLDER"
            ) from error
        if not (folder / "modules.json").is_file():
            raise EmbedderOpenError(f"{folder} has no modules.json: it is not a folder of sentence-transformers")
        try:
            self._model = SentenceTransformer(str(folder), local_files_only=True)
        except Exception as error:  # the library raises what it likes
            raise EmbedderOpenError(f"{folder} cannot be read: {error}") from error
        self.identity = f"sentence-transformers-{_digest(folder)}"

    def encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        # Only from version 5 on does the library know that queries and documents may differ.
        encode = getattr(self._model, "encode_query" if query else "encode_document", self._model.encode)
        vectors: Matrix = encode(list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        return vectors


def _digest(folder: Path) -> str:
    """Of all files, wherever the folder lies."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()
