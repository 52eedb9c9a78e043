# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans: a sample of the node suite, older versions and sizes that vary against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from compiling import array
from node_suite import Case, cases, check

import relax_mlir as rx

_REDUCTIONS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
]  # fmt: skip


def _floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).uniform(0.5, 2, shape).astype("float32")


def _integers(*numbers: int) -> Any:
    return numpy.array(numbers, "int64")


@pytest.mark.parametrize("case", cases(*_REDUCTIONS)[::6], ids=lambda case: case.name)
def test_reductions_of_the_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases("ArgMax", "ArgMin", "CumSum", "CumProd")[::2], ids=lambda case: case.name)
def test_positions_and_scans_of_the_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op", _REDUCTIONS)
def test_axes_were_an_attribute(op: str) -> None:
    compared = Compared(one_node(op, {"x": _floats(2, 3, 4)}, opset=11, axes=[-1, 0], keepdims=0))
    compared(_floats(2, 3, 4))
    compared(_floats(3, 1, 5))


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMean", "ReduceLogSumExp", "ReduceL2"])
def test_axes_that_only_the_run_tells(op: str) -> None:
    model = one_node(op, {"x": _floats(2, 3, 4), "axes": _integers(0)}, opset=18)
    compared = Compared(model)
    compared(_floats(2, 3, 4), _integers(1))
    compared(_floats(3, 1, 5), _integers(-1, 0))
    compared(_floats(3, 2, 2), _integers())


def test_axes_that_only_the_run_tells_without_their_dimensions() -> None:
    symbolic = {"x": (None, None, None), "axes": (2,)}
    model = one_node("ReduceMean", {"x": _floats(2, 3, 4), "axes": _integers(0, 1)}, opset=18, keepdims=0)
    compared = Compared(model, symbolic)
    compared(_floats(2, 3, 4), _integers(0, -1))
    compared(_floats(3, 1, 5), _integers(2, 1))
    with pytest.raises(rx.RelaxError, match="the axes must be constants"):
        rx.from_onnx(model)


def test_integers_are_reduced_as_numbers() -> None:
    x = numpy.arange(1, 7, dtype="int32").reshape(2, 3)
    for op in ("ReduceL2", "ReduceLogSumExp"):
        Compared(one_node(op, {"x": x}, opset=18, keepdims=0))(x)


@pytest.mark.parametrize("op", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers(op: str) -> None:
    """Truncate the real number. Version 28 dropped integers."""
    x = numpy.array([[1, 2, 3], [40, 41, 0], [7, 1, 1], [1, 1, 1]], "int64")
    main = rx.compile(rx.from_onnx(one_node(op, {"x": x, "a": _integers(1)}, opset=18)))["main"]
    rows = [x, x - 8] if op == "ReduceLogSumExp" else [x]
    for each in rows:
        real = each if op == "ReduceLogSum" else numpy.exp(each.astype("float64"))
        expected = numpy.trunc(numpy.log(real.sum(1, keepdims=True))).astype("int64")
        numpy.testing.assert_array_equal(array(main(each, _integers(1))), expected)
    with pytest.raises(rx.RelaxError, match="takes only floats, got i64: insert a Cast in front"):
        rx.from_onnx(one_node(op, {"x": x}, opset=28))


def test_sums_of_exponentials_do_not_overflow() -> None:
    x = numpy.array([[1000, 1001], [-numpy.inf, -numpy.inf], [numpy.inf, 0]], "float32")
    model = one_node("ReduceLogSumExp", {"x": x}, opset=13, axes=[1])
    found = array(rx.compile(rx.from_onnx(model))["main"](x))
    numpy.testing.assert_allclose(found[:, 0], [1001.3133, -numpy.inf, numpy.inf], rtol=1e-6)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_the_last_of_equal_elements(op: str) -> None:
    compared = Compared(one_node(op, {"x": _floats(2, 3)}, opset=13, axis=-1, select_last_index=1))
    compared(numpy.array([[1, 3, 3], [2, 2, 5]], "float32"))
    compared(numpy.array([[7, 7, 7, 7]], "float32"))


@pytest.mark.parametrize("options", [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}])
def test_sums_along_an_axis_that_only_the_run_tells(options: dict[str, int]) -> None:
    inputs = {"x": _floats(2, 3, 4), "axis": numpy.array(0, "int32")}
    compared = Compared(one_node("CumSum", inputs, opset=14, **options), {"x": (2, 3, 4)})
    for axis in (0, 1, -1):
        compared(inputs["x"], numpy.array(axis, "int32"))
