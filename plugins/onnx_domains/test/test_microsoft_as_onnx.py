# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that com.microsoft had before ONNX, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node
from compiling import array
from fixed_inputs import with_constants

_DOMAIN = "com.microsoft"
_X = numpy.random.default_rng(17).normal(size=(3, 4, 5)).astype("float32")
_INT = numpy.int64
_I16, _OTHER_I16 = ((each * 90).astype("int16", order="C") for each in (_X[0], _X[1].T))


@pytest.mark.parametrize(
    "op, inputs, constants, attributes",
    [
        ("GatherND", {"x": _X, "i": numpy.array([[0, 1], [2, 3]], _INT)}, "", {}),
        ("Pad", {"x": _X, "p": numpy.array([0, 1, 0, 2, 0, 0], _INT), "v": numpy.float32([0.5])}, "pv", {}),
        ("Pad", {"x": _X, "p": numpy.array([1, 1, 0, 0, 0, 2], _INT)}, "p", {"mode": "edge"}),
        ("Range", {"a": numpy.float32([1.0]), "b": numpy.float32([7.0]), "c": numpy.float32([2.0])}, "abc", {}),
        ("Trilu", {"x": _X, "k": numpy.array(1, _INT)}, "k", {"upper": 0}),
        ("ExpandDims", {"x": _X, "axis": numpy.array(-2, "int32")}, ["axis"], {}),
        ("MatMulInteger16", {"x": _I16, "y": _OTHER_I16}, "", {}),
    ],
)  # fmt: skip
def test_operators_equal_those_of_onnx(
    op: str, inputs: dict[str, Any], constants: Any, attributes: dict[str, Any]
) -> None:
    model = with_constants(
        one_node(op, inputs, domain=_DOMAIN, symbolic=op != "GatherND", **attributes),
        {name: inputs[name] for name in constants},
    )
    Compared(model)(*(value for name, value in inputs.items() if name not in constants))


@pytest.mark.parametrize("dtype, wide", [("int8", "int32"), ("uint8", "uint32")])
def test_sum_of_integers(dtype: str, wide: str) -> None:
    """Compare with numpy: onnxruntime has the operator for GPUs only."""
    x = numpy.random.default_rng(1).integers(0, 100, (3, 40)).astype(dtype)
    model = one_node("ReduceSumInteger", {"x": x}, domain=_DOMAIN, axes=[1], keepdims=0)
    result = array(rx.compile(rx.from_onnx(model))["main"](x))
    assert result.dtype == wide and (result == x.astype(wide).sum(1)).all()


def test_images_at_places() -> None:
    x = numpy.random.default_rng(2).normal(size=(1, 2, 5, 6)).astype("float32")
    grid = numpy.random.default_rng(3).uniform(-1.2, 1.2, (1, 3, 4, 2)).astype("float32")
    Compared(one_node("GridSample", {"x": x, "grid": grid}, domain=_DOMAIN, symbolic=False))(x, grid)
