# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of onnxruntime's quantizer, against onnxruntime, which may round the last step of a result otherwise."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants

_DOMAIN = "com.microsoft"
_RANDOM = numpy.random.default_rng(11)


def _floats(*shape: int) -> Any:
    return _RANDOM.normal(size=shape).astype("float32")


def _codes(dtype: str, *shape: int) -> Any:
    limits = numpy.iinfo(dtype)
    return _RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def _weights(dtype: str, *shape: int) -> Any:
    """Return weights, signed ones with seven bits: without VNNI onnxruntime adds two products with unsigned bytes in 16
    bits."""
    codes = _codes(dtype, *shape)
    return codes // 2 if dtype == "int8" else codes


def _scale(number: float) -> Any:
    return numpy.array(number, "float32")


def _zero(dtype: str, number: int = 3) -> Any:
    return numpy.array(number, dtype)


def _parameters(name: str, scale: float, dtype: str, zero: int | None = 3) -> dict[str, Any]:
    return {f"{name}_scale": _scale(scale), f"{name}_zero": None if zero is None else _zero(dtype, zero)}


def _compare(op: str, inputs: dict[str, Any], data: tuple[str, ...], atol: float = 1, **attributes: Any) -> Compared:
    """Compare with all inputs except the data as constants, and symbols as the data's sizes."""
    model = one_node(op, inputs, domain=_DOMAIN, **attributes)
    constants = {name: value for name, value in inputs.items() if name not in data and value is not None}
    compared = Compared(with_constants(model, constants), atol=atol)
    compared(*(inputs[name] for name in data))
    return compared


# ---- element by element ----


def _sum(dtype: str, zero: int | None = 3) -> dict[str, Any]:
    inputs = {"a": _codes(dtype, 2, 5, 8), **_parameters("a", 0.03, dtype, zero)}
    return inputs | {
        "b": _codes(dtype, 5, 1), **_parameters("b", 0.05, dtype, zero), **_parameters("c", 0.07, dtype, zero)
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_arithmetic(op: str, dtype: str) -> None:
    _compare(op, _sum(dtype), ("a", "b"))


def test_zero_points_that_are_left_out() -> None:
    """Leave zero points out as the operator's definition allows. onnxruntime requires them."""
    inputs = _sum("int8", None)
    model = one_node("QLinearAdd", inputs, domain=_DOMAIN)
    main = rx.compile(rx.from_onnx(model))["main"]
    actual = numpy.from_dlpack(main(*(each for each in inputs.values() if each is not None)))
    real = inputs["a"] * numpy.float32(0.03) + inputs["b"] * numpy.float32(0.05)
    assert abs(actual - numpy.clip(numpy.rint(real / numpy.float32(0.07)), -128, 127)).max() <= 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    "op, attributes", [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {}), ("QLinearLeakyRelu", {"alpha": 0.3})]
)
def test_activations(op: str, attributes: dict[str, Any], dtype: str) -> None:
    inputs = {"x": _codes(dtype, 3, 40), **_parameters("x", 0.04, dtype), **_parameters("y", 0.005, dtype, 1)}
    _compare(op, inputs, ("x",), **attributes)


@pytest.mark.parametrize("axis, opset", [(-1, 13), (1, 13), (1, 11), (2, 11)])
def test_softmax(axis: int, opset: int) -> None:
    inputs = {
        "x": _codes("uint8", 2, 3, 7),
        **_parameters("x", 0.04, "uint8", 9),
        **_parameters("y", 1 / 256, "uint8", 0),
    }
    constants = {name: inputs[name] for name in list(inputs)[1:]}
    model = with_constants(one_node("QLinearSoftmax", inputs, domain=_DOMAIN, axis=axis), constants)
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("opset", opset))
    Compared(model, atol=1)(inputs["x"])


@pytest.mark.parametrize("axes, keepdims", [([1], 1), ([0, 2], 0), ([-1], 0)])
def test_mean(axes: list[int], keepdims: int) -> None:
    inputs = {"x": _codes("int8", 4, 3, 6), **_parameters("x", 0.04, "int8"), **_parameters("y", 0.02, "int8")}
    model = one_node("QLinearReduceMean", inputs, domain=_DOMAIN, axes=axes, keepdims=keepdims)
    x = inputs["x"]
    real = ((x.astype("float32") - 3) * numpy.float32(0.04)).mean(tuple(axes), keepdims=bool(keepdims))
    expected = numpy.clip(numpy.rint(real / numpy.float32(0.02)) + 3, -128, 127)
    # onnxruntime has no kernel for it on CPUs.
    main = rx.compile(rx.from_onnx(with_constants(model, {name: inputs[name] for name in list(inputs)[1:]})))["main"]
    actual = numpy.from_dlpack(main(x))
    assert actual.dtype == numpy.int8 and actual.shape == expected.shape
    assert abs(actual.astype(int) - expected).max() <= 1


def test_where() -> None:
    condition = numpy.array([[True], [False], [True]])
    inputs = {"c": condition, "x": _codes("uint8", 3, 4), **_parameters("x", 0.02, "uint8")}
    inputs |= {"y": _codes("uint8", 4), **_parameters("y", 0.05, "uint8", 100), **_parameters("z", 0.04, "uint8", 50)}
    _compare("QLinearWhere", inputs, ("c", "x", "y"))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    inputs: dict[str, Any] = _parameters("y", 0.05, "uint8", 20)
    for name, scale in (("a", 0.02), ("b", 0.06), ("c", 0.05)):
        inputs |= {name: _codes("uint8", 2, 3), **_parameters(name, scale, "uint8", int(1000 * scale))}
    _compare("QLinearConcat", inputs, ("a", "b", "c"), axis=axis)


# ---- images ----


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize(
    "attributes",
    [{"kernel_shape": [2, 3]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 1]},
     {"kernel_shape": [3, 3], "pads": [1, 0, 0, 1], "count_include_pad": 1}],
)  # fmt: skip
def test_average_pool(attributes: dict[str, Any], channels_last: int) -> None:
    shape = (2, 7, 6, 3) if channels_last else (2, 3, 7, 6)
    inputs = {"x": _codes("uint8", *shape), **_parameters("x", 0.05, "uint8"), **_parameters("y", 0.04, "uint8", 7)}
    _compare("QLinearAveragePool", inputs, ("x",), channels_last=channels_last, **attributes)


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_global_average_pool(dtype: str, channels_last: int) -> None:
    inputs = {"x": _codes(dtype, 2, 3, 7, 6), **_parameters("x", 0.05, dtype), **_parameters("y", 0.01, dtype, 7)}
    _compare("QLinearGlobalAveragePool", inputs, ("x",), channels_last=channels_last)


@pytest.mark.parametrize("channels_last", [0, 1])
def test_convolution(channels_last: int) -> None:
    shape = (1, 6, 5, 4) if channels_last else (1, 4, 6, 5)
    inputs = {"x": _codes("uint8", *shape), **_parameters("x", 0.05, "uint8"), "w": _weights("int8", 3, 4, 3, 3)}
    inputs |= {
        "w_scale": abs(_floats(3)) * 0.01,
        "w_zero": numpy.zeros(3, "int8"),
        **_parameters("y", 0.9, "uint8", 100),
    }
    inputs["b"] = _RANDOM.integers(-500, 500, 3).astype("int32")
    _compare("QLinearConv", inputs, ("x",), channels_last=channels_last, pads=[1, 1, 1, 1])


# ---- products ----


@pytest.mark.parametrize("is_quantized", [True, False])
@pytest.mark.parametrize("per_column", [True, False])
@pytest.mark.parametrize("trans_a, trans_b", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm(trans_a: int, trans_b: int, per_column: bool, is_quantized: bool) -> None:
    inputs = {"a": _codes("uint8", *((6, 4) if trans_a else (4, 6))), **_parameters("a", 0.02, "uint8")}
    inputs["b"] = _weights("int8", *((5, 6) if trans_b else (6, 5)))
    inputs["b_scale"] = abs(_floats(5)) * 0.05 + 0.01 if per_column else _scale(0.03)
    inputs["b_zero"] = _codes("int8", 5) // 16 if per_column else _zero("int8")
    inputs["c"] = _RANDOM.integers(-900, 900, 5).astype("int32")
    if is_quantized:
        inputs |= _parameters("y", 0.8, "uint8", 120)
    _compare("QGemm", inputs, ("a",), 1 if is_quantized else 1e-3, transA=trans_a, transB=trans_b, alpha=0.5)


@pytest.mark.parametrize("per_column", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
def test_product_of_integers_to_floats(per_column: bool, has_bias: bool) -> None:
    inputs = {"a": _codes("uint8", 2, 4, 6), "b": _weights("int8", 6, 5), "a_scale": _scale(0.02)}
    inputs["b_scale"] = abs(_floats(5)) * 0.05 if per_column else _scale(0.03)
    inputs |= {"a_zero": _zero("uint8", 120), "b_zero": _codes("int8", 5) // 16 if per_column else _zero("int8")}
    inputs["bias"] = _floats(5) if has_bias else None
    _compare("MatMulIntegerToFloat", inputs, ("a",), 1e-3)


def test_products_of_types_of_other_signs_without_zero_points() -> None:
    inputs = {"a": _codes("uint8", 4, 6), "b": _weights("int8", 6, 5), "a_scale": _scale(0.02), "b_scale": _scale(0.03)}
    _compare("MatMulIntegerToFloat", inputs, ("a",), 1e-3)
    zeros = {"a_zero": _zero("uint8", 0), "b_zero": _zero("int8", 0)}
    names = ("a", "a_scale", "a_zero", "b", "b_scale", "b_zero")
    _compare("QGemm", {name: (inputs | zeros)[name] for name in names}, ("a",), 1e-3)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("has_zero", [True, False])
def test_product_that_quantizes(dtype: str, has_zero: bool) -> None:
    inputs = {"a": _floats(3, 4, 16), "b": _weights(dtype, 16, 5), "b_scale": abs(_floats(5)) * 0.05}
    inputs["b_zero"] = _codes(dtype, 5) if has_zero else None
    inputs["bias"] = _floats(5)
    compared = _compare("DynamicQuantizeMatMul", inputs, ("a",), 1e-2)
    compared(numpy.zeros((1, 2, 16), "float32"))


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("has_mask", [True, False])
def test_attention(unidirectional: int, has_mask: bool) -> None:
    inputs = {"x": _codes("uint8", 2, 4, 8), "w": _weights("int8", 8, 24), "bias": _floats(24)}
    inputs |= {"x_scale": _scale(0.01), "w_scale": _scale(0.01)}
    inputs["mask"] = numpy.array([4, 2], "int32") if has_mask else None
    inputs |= {"x_zero": _zero("uint8", 128), "w_zero": _zero("int8", 0)}
    attributes = {"num_heads": 2, "unidirectional": unidirectional}
    # A mask of lengths is for a batch of as many.
    _compare("QAttention", inputs, ("x",), 1e-4, symbolic=not has_mask, **attributes)


# ---- to numbers of few bits and back ----


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantize_and_back(dtype: str, axis: int | None) -> None:
    attributes = {} if axis is None else {"axis": axis}
    count = () if axis is None else ((3, 5)[axis],)
    scale, zero = abs(_RANDOM.normal(size=count)).astype("float32") + 0.01, numpy.full(count, 7, dtype)
    constants = {"scale": scale, "zero": zero}
    _compare("QuantizeLinear", {"x": 10 * _floats(3, 5), **constants}, ("x",), 0, **attributes)
    _compare("DequantizeLinear", {"x": _codes(dtype, 3, 5), **constants}, ("x",), **attributes)


# ---- refusals ----


def test_a_zero_point_of_another_type() -> None:
    inputs = {"a": _codes("uint8", 2), **_parameters("a", 0.03, "int8"), "b": _codes("uint8", 2)}
    inputs |= {**_parameters("b", 0.03, "uint8"), **_parameters("c", 0.03, "uint8")}
    with pytest.raises(rx.RelaxError, match="input #2 is a zero point of type i8, the elements are ui8"):
        rx.from_onnx(one_node("QLinearAdd", inputs, domain=_DOMAIN))


def test_several_scales_of_the_left_side() -> None:
    inputs = {"a": _codes("uint8", 4, 6), "b": _weights("int8", 6, 5), "a_scale": _floats(6), "b_scale": _scale(1.0)}
    with pytest.raises(rx.RelaxError, match="several scales of the first input"):
        rx.from_onnx(one_node("MatMulIntegerToFloat", inputs, domain=_DOMAIN, symbolic=False))
