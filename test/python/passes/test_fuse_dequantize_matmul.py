# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that dequantize weights block by block before a product, against onnxruntime without its own rewriting."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

_RANDOM = numpy.random.default_rng(7)
_RANGES = {"int4": (-8, 8), "uint4": (0, 16), "int8": (-128, 128), "uint8": (0, 256)}


def _integers(kind: str, shape: Any) -> Any:
    return _RANDOM.integers(*_RANGES[kind], shape).astype("int16").astype(getattr(ml_dtypes, kind, kind))


def model(kind: str, shape: tuple[int, int], block: int, axis: int, zeros: bool, dtype: str = "float32") -> Any:
    """Return x times a matrix with blocks along an axis: axis 0 is summed, or the last one if transposed."""
    sizes = [-(-size // block) if along == axis else size for along, size in enumerate(shape)]
    held = {"w": _integers(kind, shape), "s": (0.05 * _RANDOM.normal(size=sizes)).astype(dtype)}
    if zeros:
        held["z"] = _integers(kind, sizes)
    nodes = [helper.make_node("DequantizeLinear", list(held), ["d"], axis=axis, block_size=block)]
    if axis:
        nodes.append(helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["x", "t" if axis else "d"], ["y"]))
    element = TensorProto.FLOAT if dtype == "float32" else TensorProto.FLOAT16
    inputs = [helper.make_tensor_value_info("x", element, ["m", shape[axis]])]
    outputs = [helper.make_tensor_value_info("y", element, None)]
    constants = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "blocks", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    ("kind", "shape", "block", "axis", "zeros"),
    [
        ("int4", (64, 9), 32, 0, True), ("uint4", (80, 9), 32, 0, True), ("uint4", (9, 64), 16, 1, False),
        ("int8", (9, 96), 32, 1, False), ("uint8", (100, 33), 16, 0, True), ("int4", (40, 70), 8, 0, False),
    ],
)  # fmt: skip
def test_products(kind: str, shape: tuple[int, int], block: int, axis: int, zeros: bool) -> None:
    tested = model(kind, shape, block, axis, zeros)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(tested.SerializeToString(), options)
    module = rx.from_onnx(tested)
    rx.Pipeline("relax-fuse-dequantize-matmul").run(module)
    assert "relax.matmul_nbits" in str(module)
    compiled = rx.compile(module)
    for rows in (1, 5):
        x = _RANDOM.normal(size=(rows, shape[axis])).astype("float32")
        (expected,) = session.run(None, {"x": x})
        largest = numpy.abs(expected).max()
        numpy.testing.assert_allclose(to_numpy(compiled["main"](x)), expected, rtol=0, atol=1e-5 * largest)


def test_half_precision() -> None:
    """Check that weights are not rounded to half precision."""
    tested = model("int4", (64, 9), 32, 0, True, "float16")
    module = rx.from_onnx(tested)
    rx.Pipeline("relax-fuse-dequantize-matmul").run(module)
    assert "relax.matmul_nbits" in str(module)
    x = _RANDOM.normal(size=(3, 64)).astype("float16")
    expected = onnxruntime.InferenceSession(tested.SerializeToString()).run(None, {"x": x})[0]
    numpy.testing.assert_allclose(to_numpy(rx.compile(module)["main"](x)), expected, rtol=1e-2, atol=3e-2)


def test_it_is_a_stage() -> None:
    module = rx.from_onnx(model("int4", (64, 64), 32, 0, True))
    assert "matmul_nbits_panels" in str(rx.lower(module, pipeline=rx.stages("llvm").until("layouts")))
