"""From the setting to the embedder."""

from toolsearch_server.embedders import Embedder, EmbedderOpenError
from toolsearch_server.embedders.choice import Choice
from toolsearch_server.embedders.endpoint import Endpoint
from toolsearch_server.embedders.local import LocalEmbedder
from toolsearch_server.embedders.onnx_model import OnnxModel
from toolsearch_server.embedders.sentence_model import SentenceModel
from toolsearch_server.embedders.static import static_embedder


def open_embedder(choice: Choice) -> Embedder | None:
    """None: searches go by words alone. Reads files, so it takes a while. Raises EmbedderOpenError."""
    if choice.kind == "off":
        return None
    if choice.kind == "endpoint":
        return Endpoint(choice.url, choice.model, choice.key)
    if choice.kind in ("onnx", "sentence-transformers"):
        if not choice.folder.is_dir():
            raise EmbedderOpenError(f"{choice.folder} is not a folder")
        return LocalEmbedder(OnnxModel(choice.folder) if choice.kind == "onnx" else SentenceModel(choice.folder))
    static = static_embedder()
    if static is None and choice.kind == "static":
        raise EmbedderOpenError("the model is not installed; install toolsearch-server[semantic]")
    return static
