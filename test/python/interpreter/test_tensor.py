# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensor: elements, slices, shapes, padding; what is outside is refused."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from run_text import equal, run

import relax_mlir as rx

X = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)
WIDER = numpy.pad(X, ((1, 0), (0, 2)), constant_values=9)

CASES: dict[str, tuple[str, str, Any]] = {
    "a slice with strides": (
        "tensor.extract_slice %x[0, 1] [2, 2] [2, 2] : tensor<3x4xi32> to tensor<2x2xi32>", "tensor<2x2xi32>",
        X[0:3:2, 1:4:2],
    ),
    "a slice of a lower rank": (
        "tensor.extract_slice %x[1, 0] [1, 4] [1, 1] : tensor<3x4xi32> to tensor<4xi32>", "tensor<4xi32>", X[1],
    ),
    "collapsed": (
        "tensor.collapse_shape %x [[0, 1]] : tensor<3x4xi32> into tensor<12xi32>", "tensor<12xi32>", X.reshape(12),
    ),
    "expanded": (
        "tensor.expand_shape %x [[0], [1, 2]] output_shape [3, 2, 2] : tensor<3x4xi32> into tensor<3x2x2xi32>",
        "tensor<3x2x2xi32>", X.reshape(3, 2, 2),
    ),
    "joined": (
        "tensor.concat dim(1) %x, %x : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x8xi32>", "tensor<3x8xi32>",
        numpy.concatenate([X, X], 1),
    ),
    "with less known": ("tensor.cast %x : tensor<3x4xi32> to tensor<?x4xi32>", "tensor<?x4xi32>", X),
    "padded": (
        """tensor.pad %x low[1, 0] high[0, 2] {
           ^bb0(%i: index, %j: index):
             %nine = arith.constant 9 : i32
             tensor.yield %nine : i32
           } : tensor<3x4xi32> to tensor<4x6xi32>""", "tensor<4x6xi32>", WIDER,
    ),
    "generated": (
        """tensor.generate {
           ^bb0(%i: index, %j: index):
             %element = tensor.extract %x[%j, %i] : tensor<3x4xi32>
             tensor.yield %element : i32
           } : tensor<4x3xi32>""", "tensor<4x3xi32>", X.T,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values(case: str) -> None:
    text, type_, expected = CASES[case]
    found = run(f"func.func @main(%x: tensor<3x4xi32>) -> {type_} {{\n %0 = {text}\n return %0 : {type_}\n}}", X)
    assert found.dtype == numpy.int32
    equal(found, expected)


def test_what_is_inserted_changes_no_other_tensor() -> None:
    before, after, slices = run(
        """
        func.func @main(%x: tensor<3x4xi32>) -> (tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>) {
          %c0 = arith.constant 0 : index
          %seven = arith.constant 7 : i32
          %0 = tensor.insert %seven into %x[%c0, %c0] : tensor<3x4xi32>
          %1 = tensor.splat %seven : tensor<2xi32>
          %2 = tensor.insert_slice %1 into %x[1, 1] [1, 2] [1, 2] : tensor<2xi32> into tensor<3x4xi32>
          return %x, %0, %2 : tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>
        }""",
        X,
    )
    equal(before, X)
    equal(after, [[7, 1, 2, 3], *X[1:]])
    equal(slices, [X[0], [4, 7, 6, 7], X[2]])


def test_gather() -> None:
    places = numpy.array([[2], [0]])
    text = """
        func.func @main(%x: tensor<3x4xi32>, %places: tensor<2x1xi64>) -> tensor<2x1x4xi32> {
          %0 = tensor.gather %x[%places] gather_dims([0])
            : (tensor<3x4xi32>, tensor<2x1xi64>) -> tensor<2x1x4xi32>
          return %0 : tensor<2x1x4xi32>
        }"""
    equal(run(text, X, places), X[[2, 0]][:, None])
    with pytest.raises(rx.RefusalError, match=r"'tensor.gather': a place along axis 0 is outside of 0 to 2"):
        run(text, X, places + 1)


@pytest.mark.parametrize("place", [-1, 3])
def test_an_element_outside_is_refused(place: int) -> None:
    text = """
        func.func @main(%x: tensor<3x4xi32>, %i: index) -> i32 {
          %c0 = arith.constant 0 : index
          %0 = tensor.extract %x[%i, %c0] : tensor<3x4xi32>
          return %0 : i32
        }"""
    with pytest.raises(
        rx.RefusalError, match=rf"case.mlir:4:.*'tensor.extract': it reads place {place} along axis 0, which has size 3"
    ):
        run(text, X, place)


def test_a_slice_outside_is_refused() -> None:
    text = """
        func.func @main(%x: tensor<3x4xi32>, %i: index) -> tensor<2x4xi32> {
          %0 = tensor.extract_slice %x[%i, 0] [2, 4] [1, 1] : tensor<3x4xi32> to tensor<2x4xi32>
          return %0 : tensor<2x4xi32>
        }"""
    equal(run(text, X, 1), X[1:])
    with pytest.raises(rx.RefusalError, match="it takes 2 places from 2 on by 1, along axis 0 of size 3"):
        run(text, X, 2)


def test_sizes_that_a_type_promises_are_checked() -> None:
    text = """
        func.func @main(%x: tensor<?x4xi32>) -> tensor<3x4xi32> {
          %0 = tensor.cast %x : tensor<?x4xi32> to tensor<3x4xi32>
          return %0 : tensor<3x4xi32>
        }"""
    equal(run(text, X), X)
    with pytest.raises(rx.RefusalError, match=r"its operand has the shape \(2, 4\)"):
        run(text, X[:2])


def test_what_nothing_has_written_is_no_number() -> None:
    found = run("%0 = tensor.empty() : tensor<2xf32>\n return %0 : tensor<2xf32>")
    assert numpy.isnan(found).all()
