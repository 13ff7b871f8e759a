"""What the folder of a transformer says about it, in the files that sentence-transformers writes."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsearch_server.embedders import EmbedderOpenError

DEFAULT_LENGTH = 256
LONGEST = 512
POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
}
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """`prompts` are what is to stand before a query and before an entry, for models that were trained so."""

    weights: Path
    tokenizer: Path
    pooling: str
    length: int | None
    query_prompt: str
    entry_prompt: str

    @property
    def identity(self) -> str:
        """Of what decides about the vectors, and not of where it lies."""
        digest = hashlib.blake2b(digest_size=16)
        # The weights of a large model may be in files beside the graph.
        for path in (*sorted(self.weights.parent.glob(f"{self.weights.name}*")), self.tokenizer):
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
        digest.update(repr((self.pooling, self.length, self.query_prompt, self.entry_prompt)).encode())
        return f"onnx-{digest.hexdigest()}"


def read_model_folder(folder: Path) -> ModelFolder:
    weights = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
    if weights is None:
        raise EmbedderOpenError(f"{folder} has neither model.onnx nor onnx/model.onnx")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderOpenError(f"{folder} has no tokenizer.json")
    prompts = _members(folder / "config_sentence_transformers.json").get("prompts") or {}
    return ModelFolder(
        weights=weights,
        tokenizer=tokenizer,
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        length=_length(_members(folder / "sentence_bert_config.json").get("max_seq_length")),
        query_prompt=str(prompts.get("query") or ""),
        entry_prompt=str(prompts.get("document") or prompts.get("passage") or ""),
    )


def _length(value: Any) -> int | None:
    return min(value, LONGEST) if isinstance(value, int) and value > 0 else None


def _pooling(path: Path) -> str:
    members = _members(path)
    chosen = {name for name, value in members.items() if name.startswith("pooling_mode_") and value is True}
    if not chosen:
        return "mean"
    if len(chosen) > 1 or not chosen <= POOLINGS.keys():
        raise EmbedderOpenError(f"{path}: pooling by {', '.join(sorted(chosen))} is not known; one of {', '.join(POOLINGS)} is")
    return POOLINGS[chosen.pop()]


def _members(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        members = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EmbedderOpenError(f"{path} is not JSON: {error}") from None
    return members if isinstance(members, dict) else {}
