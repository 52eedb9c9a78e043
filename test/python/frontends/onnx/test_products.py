# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and convolutions, also of quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import onnx.parser
import pytest
from against_onnxruntime import Compared, one_node, with_unknown_sizes
from fixed_inputs import with_constants
from node_suite import Case, cases, check

import relax_mlir as rx

_OPERATORS = ("Gemm", "Einsum", "MatMulInteger", "QLinearMatMul", "ConvTranspose", "ConvInteger", "QLinearConv")
rng = numpy.random.default_rng(1)


def real(*sizes: int) -> Any:
    return rng.standard_normal(sizes).astype("float32")


def scale(*sizes: int) -> Any:
    return numpy.asarray(rng.random(sizes) * 0.02 + 0.001, "float32")


def byte(*sizes: int, dtype: str = "uint8") -> Any:
    return numpy.asarray(rng.integers(0, 128, sizes), dtype)


def compare(
    op: str, x: Any, constants: dict[str, Any], symbolic: bool = True, opset: int = 21, **attributes: Any
) -> None:
    model = one_node(op, {"x": x, **constants}, opset=opset, symbolic=symbolic, **attributes)
    Compared(with_constants(model, {key: value for key, value in constants.items() if value is not None}))(x)


@pytest.mark.parametrize("case", cases(*_OPERATORS), ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", [*cases("MatMul", "Conv")][:16], ids=lambda case: case.name)
def test_node_suite_of_floats(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("mode, stride", [("SAME_UPPER", 2), ("SAME_LOWER", 3), ("SAME_UPPER", 1), ("VALID", 2)])
def test_auto_pad_of_symbolic_sizes(mode: str, stride: int) -> None:
    weights = {"Conv": real(6, 2, 3, 4), "ConvTranspose": real(4, 3, 3, 4)}
    for op in ("Conv", "ConvTranspose"):
        model = one_node(op, {"x": real(1, 4, 9, 9), "w": weights[op]}, auto_pad=mode, strides=[stride] * 2, group=2)
        model = with_constants(model, {"w": weights[op]})
        run, reshaped = Compared(model), Compared(with_unknown_sizes(model))
        for sizes in ((2, 4, 9, 10), (1, 4, 8, 7)):
            run(x := real(*sizes))
            reshaped(x, numpy.array(sizes))


def test_auto_pad_of_windows_shorter_than_their_stride() -> None:
    model = one_node("Conv", {"x": real(1, 2, 9, 9), "w": real(3, 2, 1, 2)}, auto_pad="SAME_UPPER", strides=[2, 3])
    model = with_constants(model, {"w": real(3, 2, 1, 2)})
    run, reshaped = Compared(model), Compared(with_unknown_sizes(model))
    for sizes in ((1, 2, 8, 6), (1, 2, 7, 5), (1, 2, 9, 4)):
        run(x := real(*sizes))
        reshaped(x, numpy.array(sizes))


def test_convolutions_of_one_and_three_dimensions() -> None:
    compare("Conv", real(2, 4, 9), {"w": real(6, 4, 3), "b": real(6)}, pads=[2, 1], strides=[2])
    compare("Conv", real(1, 2, 5, 6, 7), {"w": real(3, 2, 2, 3, 2)}, auto_pad="SAME_UPPER", strides=[2, 1, 2])
    compare("ConvTranspose", real(1, 4, 5), {"w": real(4, 3, 3)}, strides=[3], output_padding=[2], dilations=[2])
    compare(
        "ConvTranspose", real(1, 4, 2, 3, 2), {"w": real(4, 3, 3, 2, 2)}, strides=[3, 1, 2], pads=[1, 0, 0, 0, 1, 1]
    )


@pytest.mark.parametrize("mode", ("NOTSET", "SAME_UPPER", "SAME_LOWER"))
def test_transposed_convolutions_of_a_size(mode: str) -> None:
    weight = {"w": real(4, 3, 3, 4), "b": real(6)}
    compare("ConvTranspose", real(1, 4, 5, 6), weight, auto_pad=mode, strides=[2, 3], group=2)
    compare(
        "ConvTranspose", real(1, 4, 5, 6), weight, False, auto_pad=mode, strides=[2, 3], group=2, output_shape=[12, 19]
    )


def test_quantized_weights_may_have_a_zero_point_for_each_channel() -> None:
    for sizes in ((), (4,)):
        constants = {
            "xs": scale(), "xz": byte(), "w": byte(4, 3, 3, 3, dtype="int8"), "ws": scale(*sizes),
            "wz": byte(*sizes, dtype="int8"), "ys": numpy.array(0.2, "float32"), "yz": byte(),
            "b": numpy.arange(4, dtype="int32") * 100,
        }  # fmt: skip
        compare("QLinearConv", byte(1, 3, 6, 6), constants, auto_pad="SAME_LOWER", strides=[2, 2])


def test_integer_products_with_zero_points() -> None:
    compare("MatMulInteger", byte(5, 7), {"b": byte(7, 4, dtype="int8"), "az": byte(), "bz": byte(4, dtype="int8")})
    compare("MatMulInteger", byte(2, 5, 7), {"b": byte(7, 4)})
    weight = {"w": byte(4, 3, 3, 3, dtype="int8"), "xz": byte(), "wz": byte(dtype="int8")}
    compare("ConvInteger", byte(1, 3, 6, 6), weight, pads=[1] * 4)


def test_gemm() -> None:
    compare("Gemm", real(5, 7), {"b": real(4, 7), "c": real(4)}, alpha=0.5, beta=2.0, transB=1)
    compare("Gemm", real(7, 5), {"b": real(7, 4), "c": real(5, 1)}, opset=11, transA=1)
    model = one_node("Gemm", {"a": byte(2, 2, dtype="int32"), "b": byte(2, 2, dtype="int32")}, alpha=0.5)
    with pytest.raises(rx.RelaxError, match=r"Gemm .* alpha .* must be an integer for integer tensors, got 0.5"):
        rx.from_onnx(model)


@pytest.mark.parametrize("leading", ["", "n, ", "n, m, "])
def test_no_call_turns_weights_that_come_transposed(leading: str) -> None:
    """Fold the transposition of weights, in the form of exporters of torch's linear layers."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        linear (float[{leading}30] x) => (float[{leading}20] y) {{
            t = Transpose <perm = [1, 0]> (w)
            y = MatMul (x, t)
        }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(real(20, 30), "w"))
    assert "permute_dims" not in str(rx.from_onnx(model))
    Compared(model)(real(*(3, 2)[: leading.count(",")], 30))
    # Who else wants it gets it.
    model.graph.output.append(onnx.helper.make_tensor_value_info("t", 1, (30, 20)))
    assert str(rx.from_onnx(model)).count("permute_dims") == 1
    Compared(model)(real(*(3, 2)[: leading.count(",")], 30))


def test_transpositions_that_products_cannot_take_in() -> None:
    x, batch, square = real(4, 20), real(2, 20, 20), real(20, 20)
    for perm, weight in (([0, 1], square), ([0, 2, 1], batch), ([1, 2, 0], batch)):
        nodes = [onnx.helper.make_node("Transpose", ["w"], ["t"], perm=perm)]
        nodes.append(onnx.helper.make_node("MatMul", ["x", "t"], ["y"]))
        infos = [onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", (4, 20)), ("y", None))]
        held = [onnx.numpy_helper.from_array(weight, "w")]
        graph = onnx.helper.make_graph(nodes, "g", infos[:1], infos[1:], held)
        opset = [onnx.helper.make_opsetid("", 17)]
        Compared(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8))(x)


def test_gemm_reads_transposed_weights_as_they_lie() -> None:
    model = one_node("Gemm", {"a": real(5, 30), "b": real(20, 30)}, transB=1)
    assert "permute_dims" not in str(rx.from_onnx(model))


def test_output_shape_needs_known_input_sizes() -> None:
    model = one_node("ConvTranspose", {"x": real(1, 4, 5), "w": real(4, 3, 3)}, kernel_shape=[3], output_shape=[20])
    with pytest.raises(rx.RelaxError, match="the input's sizes must be known for 'output_shape'"):
        rx.from_onnx(model)
    with pytest.raises(rx.RelaxError, match="must be one of NOTSET, VALID, SAME_UPPER, SAME_LOWER, got 'SAME'"):
        rx.from_onnx(one_node("Conv", {"x": real(1, 4, 5), "w": real(4, 4, 3)}, kernel_shape=[3], auto_pad="SAME"))
    with pytest.raises(rx.RelaxError, match="over 1, 2 or 3 dimensions, not over 4"):
        rx.from_onnx(one_node("Conv", {"x": real(1, 1, 2, 2, 2, 2), "w": real(1, 1, 1, 1, 1, 1)}, symbolic=False))
