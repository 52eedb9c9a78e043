# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused convolutions, products and embeddings of onnxruntime, against it, or against numpy if it has no kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node
from compiling import array
from fixed_inputs import with_constants

_DOMAIN = "com.microsoft"
_RANDOM = numpy.random.default_rng(13)


def _floats(*shape: int) -> Any:
    return _RANDOM.normal(size=shape).astype("float32")


def _run(op: str, inputs: dict[str, Any], outputs: int = 1, **attributes: Any) -> Any:
    model = one_node(op, inputs, outputs, _DOMAIN, **attributes)
    results = rx.compile(rx.from_onnx(model))["main"](*(each for each in inputs.values() if each is not None))
    return array(results) if outputs == 1 else [array(each) for each in results]


# ---- convolutions ----


@pytest.mark.parametrize(
    "activation, parameters",
    [("", []), ("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.5]),
     ("HardSigmoid", [0.3, 0.4])],
)  # fmt: skip
@pytest.mark.parametrize("has_sum", [True, False])
def test_convolutions(activation: str, parameters: list[float], has_sum: bool) -> None:
    attributes: dict[str, Any] = {"pads": [1, 1, 1, 1]}
    if activation:
        attributes |= {"activation": activation, **({"activation_params": parameters} if parameters else {})}
    inputs = {"x": _floats(2, 3, 6, 5), "w": _floats(4, 3, 3, 3), "b": _floats(4)}
    inputs["z"] = _floats(2, 4, 6, 5) if has_sum else None
    model = with_constants(
        one_node("FusedConv", inputs, domain=_DOMAIN, **attributes), {name: inputs[name] for name in "wb"}
    )
    Compared(model)(*(inputs[name] for name in "xz" if inputs[name] is not None))


@pytest.mark.parametrize("op", ["NhwcConv", "NhwcFusedConv"])
def test_convolutions_with_channels_last(op: str) -> None:
    x, w, b = _floats(2, 7, 6, 4), _floats(3, 4, 3, 2), _floats(3)
    attributes = {"activation": "Relu"} if op == "NhwcFusedConv" else {}
    actual = _run(op, {"x": x, "w": w, "b": b}, symbolic=False, strides=[2, 1], **attributes)
    plain = one_node("Conv", {"x": x.transpose(0, 3, 1, 2), "w": w, "b": b}, symbolic=False, strides=[2, 1])
    (expected,) = Compared(plain)(x.transpose(0, 3, 1, 2).copy(), w, b)
    expected = numpy.maximum(expected, 0) if attributes else expected
    numpy.testing.assert_allclose(actual, expected.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_max_pool_with_channels_last(dtype: str) -> None:
    x = _RANDOM.integers(0, 127, (2, 7, 6, 3)).astype(dtype)
    model = one_node("NhwcMaxPool", {"x": x}, domain=_DOMAIN, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0])
    Compared(model)(x)


def test_an_activation_that_is_not_known() -> None:
    inputs = {"x": _floats(1, 2, 3, 3), "w": _floats(1, 2, 3, 3)}
    with pytest.raises(rx.RelaxError, match="the activation 'Wavy' with 0 parameters is not known"):
        rx.from_onnx(one_node("FusedConv", inputs, domain=_DOMAIN, symbolic=False, activation="Wavy"))


# ---- products ----


@pytest.mark.parametrize("trans_a, trans_b, batch_a, batch_b", [
    (0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 1, 0, 1), (1, 1, 1, 1),
])  # fmt: skip
def test_products(trans_a: int, trans_b: int, batch_a: int, batch_b: int) -> None:
    def laid_out(batch: int, rows: int, columns: int, turned: int, is_batch_inside: int) -> Any:
        matrix = _floats(batch, columns, rows) if turned else _floats(batch, rows, columns)
        return numpy.ascontiguousarray(matrix.transpose(1, 0, 2)) if is_batch_inside else matrix

    inputs = {"a": laid_out(2, 3, 4, trans_a, batch_a), "b": laid_out(2, 4, 5, trans_b, batch_b)}
    model = one_node(
        "FusedMatMul", inputs, domain=_DOMAIN, alpha=0.25 if batch_a else 1.0, transA=trans_a, transB=trans_b,
        transBatchA=batch_a, transBatchB=batch_b,
    )  # fmt: skip
    Compared(model)(*inputs.values())


def test_batched_fused_products_keep_their_batch() -> None:
    """Transpose nothing and keep the batch in front, without attributes."""
    inputs = {"a": _floats(2, 3, 4), "b": _floats(2, 4, 5)}
    Compared(one_node("FusedMatMul", inputs, domain=_DOMAIN))(*inputs.values())


def test_the_older_name_of_products() -> None:
    inputs = {"a": _floats(4, 3), "b": _floats(5, 4)}
    Compared(one_node("TransposeMatMul", inputs, domain=_DOMAIN, transA=1, transB=1))(*inputs.values())


@pytest.mark.parametrize(
    "activation, more",
    [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Sigmoid", {}), ("Tanh", {}),
     ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.6})],
)  # fmt: skip
def test_gemm(activation: str, more: dict[str, float]) -> None:
    inputs = {"a": _floats(3, 4), "b": _floats(5, 4), "c": _floats(5)}
    model = one_node("FusedGemm", inputs, domain=_DOMAIN, transB=1, alpha=0.5, beta=2.0, activation=activation, **more)
    Compared(model)(*inputs.values())


def test_product_with_fast_gelu() -> None:
    x, w, bias = _floats(2, 3, 4), _floats(4, 5), _floats(5)
    total = (x @ w + bias).astype("float64")
    expected = total / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (total + 0.044715 * total**3)))
    numpy.testing.assert_allclose(
        _run("GemmFastGelu", {"x": x, "w": w, "b": bias}, symbolic=False), expected, rtol=1e-4, atol=1e-5
    )


# ---- sums, which onnxruntime has for GPUs only ----


def test_bias_and_skipped_layer() -> None:
    x, bias, skip = _floats(2, 5, 8), _floats(8), _floats(2, 5, 8)
    actual = _run("BiasAdd", {"x": x, "b": bias, "s": skip}, symbolic=False)
    numpy.testing.assert_allclose(actual, x + bias + skip, rtol=1e-6)


def test_bias_and_gelu_of_a_half() -> None:
    x, bias = _floats(2, 5, 8), _floats(8)
    left, right = numpy.split((x + bias).astype("float64"), 2, -1)
    expected = left * right / 2 * (1 + numpy.vectorize(math.erf)(right / math.sqrt(2)))
    actual = _run("BiasSplitGelu", {"x": x, "b": bias}, symbolic=False)
    numpy.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels_last, activation", [(1, 0), (1, 1), (0, 1)])
def test_group_norm(channels_last: int, activation: int) -> None:
    x = _floats(2, 3, 5, 8) if channels_last else _floats(2, 8, 3, 5)
    gamma, beta = _floats(8), _floats(8)
    actual = _run(
        "GroupNorm", {"x": x, "gamma": gamma, "beta": beta}, symbolic=False, groups=4, activation=activation,
        channels_last=channels_last, epsilon=1e-3,
    )  # fmt: skip
    expected = _grouped(x if channels_last else x.transpose(0, 2, 3, 1), gamma, beta, activation)
    numpy.testing.assert_allclose(
        actual, expected if channels_last else expected.transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("shape", [(2, 3, 5, 8), (2, 1, 1, 8), (2, 8)])
def test_group_norm_of_a_sum(shape: tuple[int, ...]) -> None:
    x, gamma, beta, skip, bias = _floats(2, 3, 5, 8), _floats(8), _floats(8), _floats(*shape), _floats(8)
    inputs = {"x": x, "gamma": gamma, "beta": beta, "skip": skip, "bias": bias}
    result, total = _run("SkipGroupNorm", inputs, 2, symbolic=False, groups=2, activation=0, epsilon=1e-3)
    expected = x + (skip.reshape(2, 1, 1, 8) if len(shape) == 2 else skip) + bias
    numpy.testing.assert_allclose(total, expected, rtol=1e-5)
    numpy.testing.assert_allclose(result, _grouped(expected, gamma, beta, 0, 2), rtol=1e-3, atol=1e-4)


def _grouped(x: Any, gamma: Any, beta: Any, activation: int, groups: int = 4) -> Any:
    parts = x.reshape(*x.shape[:-1], groups, -1).astype("float64")
    mean, variance = parts.mean((1, 2, 4), keepdims=True), parts.var((1, 2, 4), keepdims=True)
    normal = ((parts - mean) / numpy.sqrt(variance + 1e-3)).reshape(x.shape) * gamma + beta
    return normal / (1 + numpy.exp(-normal)) if activation else normal


# ---- embeddings ----


@pytest.mark.parametrize("has_segments", [True, False])
@pytest.mark.parametrize("has_mask", [True, False])
@pytest.mark.parametrize("has_places", [True, False])
def test_embeddings(has_segments: bool, has_mask: bool, has_places: bool) -> None:
    def words(limit: int) -> Any:
        return _RANDOM.integers(0, limit, (2, 5)).astype("int32")

    inputs = {
        "words": words(20),
        "segments": words(2) if has_segments else None,
        "word_table": _floats(20, 8),
        "place_table": _floats(9, 8),
        "segment_table": _floats(2, 8) if has_segments else None,
        "gamma": _floats(8),
        "beta": _floats(8),
        "mask": numpy.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32") if has_mask else None,
        "places": words(9) if has_places else None,
    }
    data = ("words", "segments", "mask", "places")
    model = one_node("EmbedLayerNormalization", inputs, 3, _DOMAIN, epsilon=1e-3)
    constants = {name: value for name, value in inputs.items() if name not in data and value is not None}
    compared = Compared(with_constants(model, constants))
    compared(*(inputs[name] for name in data if inputs[name] is not None))
