"""Embedders to test with: what they understand is a few concepts, and they do as they are told.

The endpoint is a fake: no real one can be reached from where the tests run. It speaks the protocol over real HTTP on loopback.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toolsearch_server import text as analysis
from toolsearch_server.embedders import TextRefused

if TYPE_CHECKING:
    from toolsearch_server.embedders import Matrix

CONCEPTS = {
    "weather": ("weather", "forecast", "rain", "umbrella", "temperature"),
    "money": ("money", "cash", "funds", "bank", "payment"),
    "music": ("music", "song", "tunes", "jazz", "playback"),
    "food": ("restaurant", "dinner", "table"),
    "code": ("branch", "git", "issue", "bug"),
}
DIMENSIONS = len(CONCEPTS) + 1
CONCEPT_OF = {word: number for number, words in enumerate(CONCEPTS.values()) for word in words}


def meaning(text: str) -> list[float]:
    """How much of each concept a text has; and a little of everything."""
    vector = [0.0] * len(CONCEPTS) + [0.3]
    for word in analysis.words(text):
        if word in CONCEPT_OF:
            vector[CONCEPT_OF[word]] += 1.0
    return vector


class ConceptEmbedder:
    """A slow embedder in this process. Calls wait for their gate, and raise what is in `failures` first."""

    instant: Literal[False] = False
    weight = 0.2
    batches_at_once = 2

    def __init__(self, model: str = "concepts", batch_size: int = 4) -> None:
        self.model = model
        self.batch_size = batch_size
        self.entries: list[str] = []
        self.queries: list[str] = []
        self.failures: list[Exception] = []
        self.query_failures: list[Exception] = []
        self.refused: set[str] = set()
        self.entry_gate, self.query_gate = asyncio.Event(), asyncio.Event()
        self.entry_gate.set()
        self.query_gate.set()
        self.permits: asyncio.Semaphore | None = None
        self.dimensions = DIMENSIONS
        self.waiting_queries = 0
        self.closed = False

    async def embed_entries(self, texts: Sequence[str]) -> "Matrix":
        await self.entry_gate.wait()
        if self.permits is not None:
            await self.permits.acquire()
        if self.failures:
            raise self.failures.pop(0)
        for text in texts:
            if any(word in text for word in self.refused):
                raise TextRefused(text)
        self.entries.extend(texts)
        return self._vectors(texts)

    async def embed_queries(self, texts: Sequence[str]) -> "Matrix":
        self.waiting_queries += 1
        await self.query_gate.wait()
        self.waiting_queries -= 1
        if self.query_failures:
            raise self.query_failures.pop(0)
        self.queries.extend(texts)
        return self._vectors(texts)

    async def close(self) -> None:
        self.closed = True

    def _vectors(self, texts: Sequence[str]) -> "Matrix":
        vectors = np.array([meaning(text) for text in texts], dtype=np.float32)[:, : self.dimensions]
        unit: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


@dataclass
class FakeEndpoint:
    """Answers like an OpenAI-compatible embeddings endpoint, after the answers in `script`: (status, headers, body)."""

    url: str = ""
    script: list[tuple[int, dict[str, str], Any]] = field(default_factory=list)
    change: Callable[[list[dict[str, Any]]], Any] = lambda data: data
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        self.requests.append(asked)
        self.arrived.set()
        assert self.gate.wait(30), "the gate stayed closed"
        if self.script:
            return self.script.pop(0)
        data = [
            {"object": "embedding", "index": index, "embedding": meaning(text)} for index, text in enumerate(asked["input"])
        ]
        return 200, {}, {"object": "list", "data": self.change(data), "model": asked["model"], "usage": {}}


@contextmanager
def running_endpoint() -> Iterator[FakeEndpoint]:
    fake = FakeEndpoint()
    fake.gate.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            fake.headers.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, headers, body = fake.answer(asked)
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            try:
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(sent))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)
            except OSError:  # who asked did not wait
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 the library's name

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield fake
    finally:
        fake.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def write_onnx_folder(folder: Path, *, inside: str = "", pooled: bool = False, table: Any = None) -> Path:
    """A model that looks each word up in a table: the smallest encoder there is."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    words = {"[UNK]": 0} | {word: number for number, word in enumerate(CONCEPT_OF, start=1)}
    rows = np.array([meaning(word) for word in words], dtype=np.float32) if table is None else table
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    (folder / inside).mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    output = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", rows.shape[1]])
    if pooled:
        nodes.append(helper.make_node("ReduceSum", ["states", "axis"], ["sum"], keepdims=0))
        output = helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["batch", rows.shape[1]])
    graph = helper.make_graph(
        nodes,
        "table",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ],
        [output],
        [numpy_helper.from_array(rows, "table"), numpy_helper.from_array(np.array([1]), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / inside / "model.onnx")
    return folder
