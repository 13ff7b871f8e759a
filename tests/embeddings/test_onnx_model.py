"""Transformers by path: ONNX folders, read with the real runtime; and folders of a library that is not there."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embeddings.embedders_under_test import CONCEPT_OF, meaning, write_onnx_folder
from toolsearch_server.embedders import EmbedderOpenError
from toolsearch_server.embedders.choice import Choice
from toolsearch_server.embedders.onnx_model import OnnxModel
from toolsearch_server.embedders.opening import open_embedder

WORDS = st.lists(st.sampled_from([*CONCEPT_OF, "unknown"]), min_size=1, max_size=30)


def configure(folder: Path, **pooling: bool) -> Path:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 6, **pooling}))
    return folder


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_onnx_folder(tmp_path / "model")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=20))
def test_a_vector_is_the_unit_mean_of_its_tokens_whatever_runs_beside_it(folder: Path, texts: list[list[str]]) -> None:
    vectors = OnnxModel(folder).encode([" ".join(words) for words in texts], query=False)
    expected = unit(np.array([np.mean([meaning(word) for word in words], axis=0) for words in texts]))
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("pooling_mode_mean_tokens", [0.5, 0.5, 0, 0, 0, 0.3]),
        ("pooling_mode_cls_token", [1, 0, 0, 0, 0, 0.3]),
        ("pooling_mode_max_tokens", [1, 1, 0, 0, 0, 0.3]),
    ],
)
def test_pooling_is_what_the_folder_says(folder: Path, mode: str, expected: list[float]) -> None:
    model = OnnxModel(configure(folder, **{mode: True}))
    (first, _) = model.encode(["rain money", "rain rain rain money"], query=False)
    np.testing.assert_allclose(first, unit(np.array(expected)), atol=1e-5)


def test_a_pooling_that_is_not_known_is_refused(folder: Path) -> None:
    with pytest.raises(EmbedderOpenError, match="pooling_mode_weightedmean_tokens"):
        OnnxModel(configure(folder, pooling_mode_weightedmean_tokens=True))


def test_a_graph_that_pools_is_taken_at_its_word(tmp_path: Path) -> None:
    model = OnnxModel(write_onnx_folder(tmp_path, pooled=True))
    np.testing.assert_allclose(model.encode(["rain"], query=True), unit(np.array([meaning("rain")])), atol=1e-5)


def test_a_long_text_is_cut_where_the_folder_says(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 3}')
    model = OnnxModel(folder)
    cut, whole = model.encode(["rain rain rain money money money", "rain rain rain"], query=False)
    np.testing.assert_allclose(cut, whole, atol=1e-6)


def test_prompts_of_the_folder_go_before_queries_and_entries(folder: Path) -> None:
    prompts = {"prompts": {"query": "money ", "document": "song "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    model, plain = OnnxModel(folder), OnnxModel(write_onnx_folder(folder.parent / "plain"))
    np.testing.assert_allclose(model.encode(["rain"], query=True), plain.encode(["money rain"], query=True), atol=1e-6)
    np.testing.assert_allclose(model.encode(["rain"], query=False), plain.encode(["song rain"], query=False), atol=1e-6)


def test_a_model_is_the_same_wherever_it_lies_and_another_with_other_weights(tmp_path: Path) -> None:
    here = OnnxModel(write_onnx_folder(tmp_path / "here"))
    there = OnnxModel(write_onnx_folder(tmp_path / "there", inside="onnx"))
    other = OnnxModel(write_onnx_folder(tmp_path / "other", table=np.ones((len(CONCEPT_OF) + 1, 4), dtype=np.float32)))
    assert here.identity == there.identity != other.identity


def test_pooling_and_length_make_another_model(tmp_path: Path) -> None:
    plain = OnnxModel(write_onnx_folder(tmp_path / "plain"))
    cls = OnnxModel(configure(write_onnx_folder(tmp_path / "cls"), pooling_mode_cls_token=True))
    assert plain.identity != cls.identity


def test_a_folder_that_lacks_something_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(EmbedderOpenError, match="is not a folder"):
        open_embedder(Choice("onnx", folder=tmp_path / "nowhere"))
    with pytest.raises(EmbedderOpenError, match=r"model\.onnx"):
        OnnxModel(tmp_path)
    write_onnx_folder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(EmbedderOpenError, match=r"tokenizer\.json"):
        OnnxModel(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_broken_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"{broken")
    with pytest.raises(EmbedderOpenError, match="cannot be read"):
        OnnxModel(folder)


def test_a_configuration_that_is_broken_is_refused(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text("{broken")
    with pytest.raises(EmbedderOpenError, match=r"sentence_bert_config\.json is not JSON"):
        OnnxModel(folder)


def test_without_the_runtime_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderOpenError, match=r"toolsearch-server\[transformer\]"):
        open_embedder(Choice("onnx", folder=folder))


def test_without_the_library_a_sentence_transformers_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderOpenError, match="sentence-transformers is not installed"):
        open_embedder(Choice("sentence-transformers", folder=tmp_path))


class StandIn:
    """In the place of the library, which is too large to install for a test."""

    def __init__(self, folder: str, local_files_only: bool) -> None:
        assert local_files_only

    def encode_query(self, texts: list[str], **options: Any) -> Any:
        assert options["normalize_embeddings"] and options["convert_to_numpy"]
        return unit(np.array([meaning(text) for text in texts], dtype=np.float32))

    encode_document = encode = encode_query


async def test_with_the_library_a_sentence_transformers_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = StandIn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    with pytest.raises(EmbedderOpenError, match=r"modules\.json"):
        open_embedder(Choice("sentence-transformers", folder=tmp_path))
    (tmp_path / "modules.json").write_text("[]")
    embedder = open_embedder(Choice("sentence-transformers", folder=tmp_path))
    assert embedder is not None and not embedder.instant
    np.testing.assert_allclose(await embedder.embed_queries(["rain"]), unit(np.array([meaning("rain")])), atol=1e-6)
    assert (await embedder.embed_entries(["rain", "cash"])).shape == (2, 6)
    await embedder.close()
