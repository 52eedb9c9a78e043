# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output of onnxruntime's optimizer and quantizers, against onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnxruntime
import pytest
from against_onnxruntime import Compared
from onnx import parser
from onnxruntime import quantization
from onnxruntime.capi._pybind_state import quantize_matmul_4bits

_RANDOM = numpy.random.default_rng(23)
# Weights of seven bits: on CPUs without VNNI onnxruntime adds two products with unsigned bytes in 16 bits.
_SEVEN_BITS = True


def _model(text: str, shapes: dict[str, tuple[int, ...]]) -> Any:
    """Return a model in ONNX's text with random constants."""
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\n{text}')
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array((0.4 * _RANDOM.normal(size=shape)).astype("float32"), name)
        for name, shape in shapes.items()
    )
    return model


def _images() -> Any:
    return _model(
        """
images (float[n, 3, 12, 12] x) => (float[n, 5] y) {
    a = Conv <pads = [1, 1, 1, 1]> (x, w0, b0)
    b = Relu (a)
    c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (b, w1, b1)
    d = LeakyRelu <alpha = 0.1> (c)
    e = Conv <pads = [1, 1, 1, 1]> (d, w2, b2)
    f = Add (e, d)
    g = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (f)
    h = Concat <axis = 1> (g, g)
    i = Sigmoid (h)
    j = Mul (h, i)
    k = GlobalAveragePool (j)
    l = Flatten (k)
    m = Gemm <transB = 1> (l, w3, b3)
    y = Softmax <axis = -1> (m)
}""",
        {"w0": (8, 3, 3, 3), "b0": (8,), "w1": (8, 8, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "b2": (8,),
         "w3": (5, 16), "b3": (5,)},
    )  # fmt: skip


def _words() -> Any:
    return _model(
        """
words (float[n, length, 64] x) => (float[n, length, 64] y) {
    a = MatMul (x, w0)
    b = Add (a, b0)
    root = Constant <value = float {1.4142135}> ()
    half = Constant <value = float {0.5}> ()
    one = Constant <value = float {1.0}> ()
    c = Div (b, root)
    d = Erf (c)
    e = Add (d, one)
    f = Mul (b, e)
    g = Mul (f, half)
    h = MatMul (g, w1)
    i = Add (h, b1)
    j = Add (i, x)
    k = LayerNormalization <axis = -1> (j, s, t)
    turned = Transpose <perm = [0, 2, 1]> (k)
    scores = MatMul (k, turned)
    q = Softmax <axis = -1> (scores)
    y = MatMul (q, k)
}""",
        {"w0": (64, 128), "b0": (128,), "w1": (128, 64), "b1": (64,), "s": (64,), "t": (64,)},
    )


class _Samples(quantization.CalibrationDataReader):
    def __init__(self) -> None:
        self._left: Iterator[Any] = iter(
            [{"x": _RANDOM.normal(size=(2, 3, 12, 12)).astype("float32")} for _ in range(4)]
        )

    def get_next(self) -> Any:
        return next(self._left, None)


def _operators(path: Path) -> tuple[Any, set[str]]:
    model = onnx.load(path)
    return model, {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("format_", [quantization.QuantFormat.QOperator, quantization.QuantFormat.QDQ], ids=str)
@pytest.mark.parametrize("per_channel", [False, True])
def test_statically_quantized(tmp_path: Path, format_: Any, per_channel: bool) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "q.onnx"
    onnx.save(_images(), source)
    quantization.quantize_static(
        source, target, _Samples(), quant_format=format_, per_channel=per_channel, reduce_range=_SEVEN_BITS
    )
    model, operators = _operators(target)
    if format_ is quantization.QuantFormat.QOperator:
        assert {"QLinearConv", "QLinearAdd", "QLinearConcat", "QGemm", "QLinearGlobalAveragePool"} <= operators
    # A step more or less, on the way to shares of 1.
    compared = Compared(model, atol=0.02)
    compared(_RANDOM.normal(size=(3, 3, 12, 12)).astype("float32"))
    compared(_RANDOM.normal(size=(1, 3, 12, 12)).astype("float32"))


def test_dynamically_quantized(tmp_path: Path) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "q.onnx"
    onnx.save(_words(), source)
    quantization.quantize_dynamic(source, target, reduce_range=_SEVEN_BITS)
    compared = Compared(onnx.load(target), atol=0.05)
    compared(_RANDOM.normal(size=(2, 7, 64)).astype("float32"))


@pytest.mark.parametrize("block, symmetric", [(16, True), (32, False)])
def test_weights_of_four_bits(block: int, symmetric: bool) -> None:
    """Packed by onnxruntime's own function."""
    model = _words()
    for node in model.graph.node:
        weights = (
            [each for each in model.graph.initializer if each.name == node.input[1]] if node.op_type == "MatMul" else []
        )
        if weights:
            _pack(model, node, onnx.numpy_helper.to_array(weights[0]), block, symmetric)
    model.opset_import.add(domain="com.microsoft", version=1)
    compared = Compared(model, atol=1e-3)
    compared(_RANDOM.normal(size=(2, 7, 64)).astype("float32"))
    compared(_RANDOM.normal(size=(1, 3, 64)).astype("float32"))


def _pack(model: Any, node: Any, weights: Any, block: int, symmetric: bool) -> None:
    depth, columns = weights.shape
    blocks = -(-depth // block)
    packed, zero = numpy.zeros((columns, blocks, block // 2), "uint8"), numpy.zeros(columns * -(-blocks // 2), "uint8")
    scale = numpy.zeros(columns * blocks, "float32")
    quantize_matmul_4bits(packed, weights, scale, zero, block, columns, depth, symmetric)
    node.op_type, node.domain = "MatMulNBits", "com.microsoft"
    held = {"packed": packed, "scale": scale, **({} if symmetric else {"zero": zero})}
    for name, array in held.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, f"{node.output[0]}_{name}"))
    node.input[1:] = [f"{node.output[0]}_{name}" for name in held]
    for name, value in (("bits", 4), ("block_size", block), ("N", columns), ("K", depth)):
        node.attribute.append(onnx.helper.make_attribute(name, value))


def _optimized(model: Any, path: Path) -> tuple[Any, set[str]]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return _operators(path)


def test_optimized_images(tmp_path: Path) -> None:
    model, operators = _optimized(_images(), tmp_path / "o.onnx")
    assert "FusedConv" in operators
    Compared(model)(_RANDOM.normal(size=(2, 3, 12, 12)).astype("float32"))


def test_optimized_words(tmp_path: Path) -> None:
    model, operators = _optimized(_words(), tmp_path / "o.onnx")
    assert operators & {"BiasGelu", "Gelu", "FusedMatMul", "SkipLayerNormalization"}
    compared = Compared(model)
    compared(_RANDOM.normal(size=(2, 7, 64)).astype("float32"))


def test_optimized_after_dynamic_quantization(tmp_path: Path) -> None:
    """Import an optimized model in which quantization and product are one operator."""
    source, target = tmp_path / "m.onnx", tmp_path / "q.onnx"
    onnx.save(_words(), source)
    quantization.quantize_dynamic(source, target, reduce_range=_SEVEN_BITS)
    model, operators = _optimized(onnx.load(target), tmp_path / "o.onnx")
    assert operators & {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
    Compared(model, atol=0.05)(_RANDOM.normal(size=(2, 7, 64)).astype("float32"))
