"""A transformer in ONNX format. It comes with the extra `transformer`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolsearch_server.embedders import EmbedderOpenError, Matrix
from toolsearch_server.embedders.model_folder import DEFAULT_LENGTH, LONGEST, read_model_folder

AT_ONCE = 8
"""Texts of about the same length that run together: few, so that little is spent on padding."""
KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class OnnxModel:
    """Tokens in, one state a token out, pooled into one vector; or already pooled, if the graph does that."""

    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EmbedderOpenError(f"install toolsearch-server[transformer] for ONNX models ({error})") from error
        found = read_model_folder(folder)
        options = onnxruntime.SessionOptions()
        # Half of the processors: the others search. Waiting threads must not spin.
        options.intra_op_num_threads = max(1, (os.cpu_count() or 1) // 2)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(str(found.weights), options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(found.tokenizer))
        except Exception as error:  # both libraries raise what they like
            raise EmbedderOpenError(f"{folder} cannot be read: {error}") from error
        self._inputs = {each.name for each in self._session.get_inputs()}
        if not {"input_ids"} <= self._inputs <= KNOWN_INPUTS:
            raise EmbedderOpenError(f"{found.weights} takes {', '.join(sorted(self._inputs))}: that is not a text encoder")
        own = self._tokenizer.truncation
        length = found.length or (own["max_length"] if own else DEFAULT_LENGTH)
        self._tokenizer.enable_truncation(min(length, LONGEST))
        self._tokenizer.no_padding()
        self._pooling = found.pooling
        self._prompts = {True: found.query_prompt, False: found.entry_prompt}
        self.identity = found.identity

    def encode(self, texts: Sequence[str], *, query: bool) -> Matrix:
        encoded = self._tokenizer.encode_batch([self._prompts[query] + each for each in texts])
        by_length = sorted(range(len(texts)), key=lambda number: len(encoded[number].ids))
        vectors: dict[int, Any] = {}
        for first in range(0, len(by_length), AT_ONCE):
            chosen = by_length[first : first + AT_ONCE]
            vectors.update(zip(chosen, self._run([encoded[number].ids for number in chosen]), strict=True))
        ordered: Matrix = np.stack([vectors[number] for number in range(len(texts))])
        return ordered

    def _run(self, tokens: Sequence[Sequence[int]]) -> Matrix:
        ids = np.zeros((len(tokens), max(1, *map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(tokens):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        pooled = states if states.ndim == 2 else self._pooled(states, mask[:, :, None])
        lengths = np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        vectors: Matrix = (pooled / lengths).astype(np.float32)
        return vectors

    def _pooled(self, states: Any, mask: Any) -> Any:
        if self._pooling == "cls":
            return states[:, 0]
        if self._pooling == "max":
            return np.where(mask == 1, states, -np.inf).max(axis=1)
        return (states * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)
