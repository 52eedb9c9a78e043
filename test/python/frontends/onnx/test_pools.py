# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools of windows and of whole images."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node, with_unknown_sizes
from compiling import array
from fixed_inputs import with_constants
from node_suite import Case, cases, check
from onnx import parser

import relax_mlir as rx

_OPERATORS = (
    "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "MaxUnpool",
)  # fmt: skip
_POOLS = ("MaxPool", "AveragePool", "LpPool")
rng = numpy.random.default_rng(3)


def real(*sizes: int) -> Any:
    return rng.standard_normal(sizes).astype("float32")


def compare(op: str, *inputs: Any, outputs: int = 1, opset: int = 22, symbolic: bool = True, **attributes: Any) -> None:
    named = {f"x{index}": value for index, value in enumerate(inputs)}
    Compared(one_node(op, named, outputs, opset=opset, symbolic=symbolic, **attributes))(*inputs)


@pytest.mark.parametrize("case", cases(*_OPERATORS), ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op, mode, stride", list(itertools.product(_POOLS, ("SAME_UPPER", "SAME_LOWER"), (1, 2))))
def test_auto_pad_of_symbolic_sizes(op: str, mode: str, stride: int) -> None:
    model = one_node(op, {"x": real(1, 1, 1, 1)}, auto_pad=mode, strides=[stride] * 2, kernel_shape=[3, 4], opset=22)
    run = Compared(model)
    run(real(2, 3, 9, 10))
    run(real(1, 2, 8, 6))
    reshaped = Compared(with_unknown_sizes(model))
    for sizes in ((2, 3, 9, 10), (1, 2, 8, 5)):
        reshaped(real(*sizes), numpy.array(sizes))


@pytest.mark.parametrize("op", _POOLS)
def test_windows_over_the_end(op: str) -> None:
    settings: dict[str, Any] = {"strides": [2, 3], "kernel_shape": [3, 4], "pads": [1, 2, 2, 1], "ceil_mode": 1}
    compare(op, real(2, 3, 9, 10), **settings)
    if op == "AveragePool":
        compare(op, real(2, 3, 9, 10), count_include_pad=1, **settings)


@pytest.mark.parametrize("op", ("MaxPool", "LpPool"))
@pytest.mark.parametrize("taps, stride, pads", [(2, 3, (0, 0)), (3, 3, (1, 2)), (2, 4, (1, 1)), (3, 2, (2, 1))])
def test_no_window_starts_behind_the_data(op: str, taps: int, stride: int, pads: tuple[int, int]) -> None:
    """Pool data of any dynamic size."""
    settings: dict[str, Any] = {"kernel_shape": [taps], "strides": [stride], "pads": list(pads), "ceil_mode": 1}
    main = rx.compile(rx.from_onnx(one_node(op, {"x": real(1, 1, 5)}, opset=22, **settings)))["main"]
    fold, padding = (numpy.max, -numpy.inf) if op == "MaxPool" else (numpy.linalg.norm, 0)
    for size in range(4, 11):
        x = real(1, 1, size)
        row = numpy.pad(x[0, 0], (pads[0], pads[1] + stride), constant_values=padding)
        last = -(-(size + sum(pads) - taps) // stride)
        starts = [at * stride for at in range(last + 1) if at * stride < size + pads[0]]
        expected = [fold(row[start : start + taps]) for start in starts]
        numpy.testing.assert_allclose(array(main(x))[0, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("ceil_mode, storage_order", list(itertools.product((0, 1), (0, 1))))
def test_places_of_maxima(ceil_mode: int, storage_order: int) -> None:
    settings: dict[str, Any] = {"strides": [2, 3], "kernel_shape": [3, 4], "pads": [1, 2, 2, 1], "ceil_mode": ceil_mode}
    x = real(2, 3, 9, 10)
    for symbolic in (False, True):
        compare("MaxPool", x, outputs=2, symbolic=symbolic, opset=12, storage_order=storage_order, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 2], "strides": [2, 1], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [3, 3], "dilations": [2, 1], "pads": [2, 1, 0, 1], "strides": [1, 2], "ceil_mode": 1},
    ],
)
def test_places_of_maxima_of_any_sizes(settings: dict[str, Any]) -> None:
    compared = Compared(one_node("MaxPool", {"x": real(1, 1, 6, 6)}, 2, opset=12, **settings))
    for shape in ((1, 3, 8, 8), (2, 1, 7, 9), (3, 2, 6, 5), (0, 2, 6, 6)):
        compared(real(*shape))


def test_places_of_maxima_of_any_sizes_are_little_code() -> None:
    """Check that each tap is a slice of fixed bounds and equal sizes, without comparisons at run time."""
    node = "y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"
    heads = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[n, c, h, w] x) => (float[a, b, d, e] y, int64[a, b, d, e] i)'
    )
    text = str(rx.from_onnx(parser.parse_model(f"{heads} {{ {node} }}")))
    assert text.count('"relax.strided_slice"') == 8 and text.count('"relax.dynamic_strided_slice"') == 2
    assert '"?"' not in text and text.splitlines()[1].count('["n", "c", "h//2", "w//2"]') == 2


def test_places_of_maxima_of_sizes_that_the_data_tell() -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[n] x) => (float[a, b, c] y, int64[a, b, c] i) {
        found = NonZero (x) z = Cast <to = 1> (found) at = Constant <value_ints = [0]> () w = Unsqueeze (z, at)
        y, i = MaxPool <kernel_shape = [2], strides = [2]> (w) }""")
    compared = Compared(model)
    for count in (3, 8, 2):
        compared(numpy.ones(count, "float32"))


def test_places_of_maxima_in_other_dimensions() -> None:
    compare("MaxPool", real(2, 3, 9), outputs=2, symbolic=False, opset=12, kernel_shape=[3], dilations=[2])
    lowest = numpy.full((1, 1, 4, 4), -numpy.inf, "float32")
    model = one_node("MaxPool", {"x": lowest}, 2, symbolic=False, kernel_shape=[2, 2], pads=[1] * 4, strides=[4, 4])
    _, places = rx.compile(rx.from_onnx(model))["main"](lowest)
    numpy.testing.assert_array_equal(numpy.from_dlpack(places).ravel(), [0, 3, 12, 15])


def test_integers() -> None:
    bytes_ = rng.integers(0, 256, (2, 3, 9, 9)).astype("uint8")
    compare("MaxPool", bytes_, opset=12, kernel_shape=[3, 2], auto_pad="SAME_LOWER", strides=[2, 2])
    compare("MaxPool", bytes_.astype("int8"), opset=12, kernel_shape=[3, 2], pads=[1] * 4)


def test_whole_images_and_other_norms() -> None:
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        compare(op, real(2, 3, 4, 5), opset=21)
    compare("GlobalLpPool", real(2, 3, 4), opset=21, p=3)
    compare("LpPool", real(2, 3, 9, 10), opset=18, kernel_shape=[2, 2], p=3)
    compare("LpPool", real(2, 3, 9), opset=11, kernel_shape=[2], p=1)


def test_maxima_put_back_into_symbolic_sizes() -> None:
    places = numpy.sort(rng.permutation(72)[:18]).reshape(1, 2, 3, 3).astype("int64")
    compare("MaxUnpool", real(1, 2, 3, 3), places, kernel_shape=[2, 2], strides=[2, 2])


def test_maxima_put_back_into_a_larger_tensor_of_symbolic_sizes() -> None:
    x, places = real(1, 1, 2, 2), numpy.array([[[[5, 7], [13, 15]]]])
    shape = numpy.array([1, 1, 5, 5])
    model = one_node("MaxUnpool", {"x": x, "i": places, "s": shape}, opset=22, kernel_shape=[2, 2], strides=[2, 2])
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = 4
    found = array(rx.compile(rx.from_onnx(model))["main"](x, places, shape))
    expected = numpy.zeros((5, 5), "float32")
    expected[[1, 1, 3, 3], [1, 3, 1, 3]] = x.ravel()
    numpy.testing.assert_array_equal(found[0, 0], expected)


def test_a_constant_shape_gives_unpooling_static_sizes() -> None:
    given = {"x": real(1, 2, 3, 3), "places": numpy.zeros((1, 2, 3, 3), "int64"), "shape": numpy.array([1, 2, 7, 8])}
    model = one_node("MaxUnpool", given, opset=22, symbolic=False, kernel_shape=[2, 2], strides=[2, 2])
    known = rx.from_onnx(with_constants(model, {"shape": given["shape"]}))
    assert "-> tensor<1x2x7x8xf32>" in str(known)
    assert "-> tensor<?x?x?x?xf32" in str(rx.from_onnx(model))


@pytest.mark.parametrize("op", _POOLS)
def test_windows_larger_than_the_data(op: str) -> None:
    """Refused where the sizes are known, as by the reference; where they are dynamic, none or a failure."""
    with pytest.raises(rx.RelaxError, match="too small along W: a window is 4 wide, the padded data 3"):
        rx.from_onnx(one_node(op, {"x": real(1, 1, 3)}, kernel_shape=[4], symbolic=False))
    main = rx.compile(rx.from_onnx(one_node(op, {"x": real(1, 1, 3)}, kernel_shape=[4])))["main"]
    assert array(main(real(2, 1, 3))).shape == (2, 1, 0)
    assert array(main(real(2, 1, 4))).shape == (2, 1, 1)
    with pytest.raises(ValueError):
        main(real(1, 1, 2))
    compare(op, real(1, 1, 3), kernel_shape=[5], strides=[3], ceil_mode=1, symbolic=False)


@pytest.mark.parametrize("op, fold", list(zip(_POOLS, (numpy.max, numpy.mean, numpy.linalg.norm), strict=True)))
@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_strides_larger_than_the_window_need_no_padding(op: str, fold: Any, mode: str) -> None:
    """Clip the padding of `auto_pad` at zero: the formula is negative for 8 elements and windows of 2 every 4."""
    settings: dict[str, Any] = {"auto_pad": mode, "kernel_shape": [2], "strides": [4]}
    main = rx.compile(rx.from_onnx(one_node(op, {"x": real(1, 1, 5)}, opset=22, **settings)))["main"]
    for size in (3, 4, 5, 6, 8, 9):
        x, count = real(1, 1, size), -(-size // 4)
        before = 1 if mode == "SAME_LOWER" and (count - 1) * 4 + 2 > size else 0
        windows = [x[0, 0, max(4 * place - before, 0) : 4 * place - before + 2] for place in range(count)]
        static = rx.compile(rx.from_onnx(one_node(op, {"x": x}, opset=22, symbolic=False, **settings)))["main"]
        for found in (main(x), static(x)):
            numpy.testing.assert_allclose(array(found)[0, 0], [fold(window) for window in windows], rtol=1e-5)


def test_refusals() -> None:
    with pytest.raises(rx.RelaxError, match="over 1, 2 or 3 dimensions, not over 4"):
        rx.from_onnx(one_node("MaxPool", {"x": real(1, 1, 2, 2, 2, 2)}, kernel_shape=[1, 1, 1, 1]))
    with pytest.raises(rx.RelaxError, match="has 1 entries for 2 dimensions"):
        rx.from_onnx(one_node("MaxPool", {"x": real(1, 1, 2, 2)}, kernel_shape=[1]))
