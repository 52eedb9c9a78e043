# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of networks in the form of exporters, at -O3: their kernels, their memory, their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.runtime import to_numpy

import relax_mlir as rx


class Graph:
    """Graph of nodes in sequence. Weights are initializers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._random = numpy.random.default_rng(3)

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, array: Any) -> str:
        name = f"constant{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape: int) -> str:
        scale = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        return self.constant((self._random.standard_normal(shape) * scale).astype("float32"))

    def positive(self, *shape: int) -> str:
        return self.constant((1 + self._random.random(shape)).astype("float32"))

    def number(self, value: float) -> str:
        return self.constant(numpy.float32(value))

    def dense(self, x: str, inner: int, outer: int, bias: bool = True) -> str:
        product = self(
            "MatMul", x, self.constant((self._random.standard_normal((inner, outer)) * inner**-0.5).astype("f"))
        )
        return self("Add", product, self.weight(outer)) if bias else product

    def heads(self, x: str, length: int, count: int, size: int) -> str:
        split = self("Reshape", x, self.constant([1, length, count, size]))
        return self("Transpose", split, perm=[0, 2, 1, 3])

    def model(self, inputs: dict[str, tuple[int, ...]], result: str) -> Any:
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        output = helper.make_empty_tensor_value_info(result)
        graph = helper.make_graph(self.nodes, "block", values, [output], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


LENGTH, WIDTH, HEADS = 16, 64, 4
SIZE = WIDTH // HEADS


def resnet_block() -> Any:
    g, x = Graph(), "x"
    y = g("Conv", x, g.weight(16, 16, 3, 3), pads=[1, 1, 1, 1])
    y = g("Relu", g("BatchNormalization", y, g.positive(16), g.weight(16), g.weight(16), g.positive(16)))
    y = g("Conv", y, g.weight(16, 16, 3, 3), pads=[1, 1, 1, 1])
    y = g("BatchNormalization", y, g.positive(16), g.weight(16), g.weight(16), g.positive(16))
    return g.model({"x": (1, 16, 14, 14)}, g("Relu", g("Add", y, x)))


def _attention(g: Graph, query: str, key: str, value: str) -> str:
    scores = g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g("Add", g("Div", scores, g.number(math.sqrt(SIZE))), "mask")
    seen = g("MatMul", g("Softmax", scores, axis=-1), value)
    return g("Reshape", g("Transpose", seen, perm=[0, 2, 1, 3]), g.constant([1, LENGTH, WIDTH]))


def transformer_block() -> Any:
    g, x = Graph(), "x"
    y = g("LayerNormalization", x, g.positive(WIDTH), g.weight(WIDTH), axis=-1)
    query, key, value = (g.heads(g.dense(y, WIDTH, WIDTH), LENGTH, HEADS, SIZE) for _ in range(3))
    x = g("Add", x, g.dense(_attention(g, query, key, value), WIDTH, WIDTH))
    y = g("LayerNormalization", x, g.positive(WIDTH), g.weight(WIDTH), axis=-1)
    y = g("Gelu", g.dense(y, WIDTH, 4 * WIDTH))
    result = g("Add", x, g.dense(y, 4 * WIDTH, WIDTH))
    return g.model({"x": (1, LENGTH, WIDTH), "mask": (1, 1, LENGTH, LENGTH)}, result)


def _rms_norm(g: Graph, x: str) -> str:
    mean = g("ReduceMean", g("Pow", x, g.number(2)), g.constant([-1]), keepdims=1)
    scale = g("Reciprocal", g("Sqrt", g("Add", mean, g.number(1e-5))))
    return g("Mul", g.positive(WIDTH), g("Mul", x, scale))


def _rotated(g: Graph, x: str, cosine: str, sine: str) -> str:
    def half(begin: int) -> str:
        bounds = [g.constant([each]) for each in (begin, begin + SIZE // 2, 3)]
        return g("Slice", x, *bounds)

    turned = g("Concat", g("Neg", half(SIZE // 2)), half(0), axis=-1)
    return g("Add", g("Mul", x, cosine), g("Mul", turned, sine))


def llama_block() -> Any:
    g, x = Graph(), "x"
    y = _rms_norm(g, x)
    query, key, value = (g.heads(g.dense(y, WIDTH, WIDTH, bias=False), LENGTH, HEADS, SIZE) for _ in range(3))
    angles = g.weight(1, 1, LENGTH, SIZE), g.weight(1, 1, LENGTH, SIZE)
    seen = _attention(g, _rotated(g, query, *angles), _rotated(g, key, *angles), value)
    x = g("Add", x, g.dense(seen, WIDTH, WIDTH, bias=False))
    y = _rms_norm(g, x)
    gate = g.dense(y, WIDTH, 2 * WIDTH, bias=False)
    y = g("Mul", g("Mul", gate, g("Sigmoid", gate)), g.dense(y, WIDTH, 2 * WIDTH, bias=False))
    result = g("Add", x, g.dense(y, 2 * WIDTH, WIDTH, bias=False))
    return g.model({"x": (1, LENGTH, WIDTH), "mask": (1, 1, LENGTH, LENGTH)}, result)


def compiled(block: Callable[[], Any]) -> tuple[Any, list[Any]]:
    """Return the block compiled at -O3, and its inputs after a comparison with onnxruntime."""
    model = block()
    random = numpy.random.default_rng(5)
    shapes = {each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in model.graph.input}
    arrays = {name: random.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    executable = rx.compile(rx.from_onnx(model), opt_level=3)
    return executable, [to_numpy(executable["main"](*arrays.values())), expected.run(None, arrays)[0]]


@pytest.mark.parametrize(("block", "most"), [(resnet_block, 2), (transformer_block, 10), (llama_block, 20)])
def test_blocks(block: Callable[[], Any], most: int) -> None:
    executable, (actual, expected) = compiled(block)
    numpy.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
    entry = executable.signature("main")
    kernels = [kernel["operators"] for kernel in entry["profile"]["kernels"]]
    sites = [kernels[site["kernel"]] for site in entry["profile"]["sites"]]
    # Convolutions have layouts of their own: the graph's ends are brought into them and out again, nothing inside.
    conversions = [place for place, kernel in enumerate(sites) if "relax.layout_transform" in kernel]
    assert set(conversions) <= {0, len(sites) - 1} and len(sites) - len(conversions) <= most, sites
    assert not any("relax.nn.batch_norm" in kernel for kernel in sites)
    sites = [kernel for place, kernel in enumerate(sites) if place not in conversions]
    # Elementwise operators after a product or a convolution are in its kernel.
    alone = [kernel for kernel in sites if not {"relax.matmul", "relax.einsum", "relax.nn.conv2d"} & set(kernel)]
    assert not any(name in kernel for kernel in alone for name in ("relax.nn.relu", "relax.nn.gelu")), alone
    memory = entry["memory"]
    assert memory["arena"] <= 1.2 * memory["peak"]
