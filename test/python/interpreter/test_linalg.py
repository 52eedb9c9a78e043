# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg: structured operations with and without a name, on tensors and on memrefs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from run_text import equal, run

import relax_mlir as rx

A = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
B = numpy.arange(12, dtype=numpy.int32).reshape(3, 4) - 5
SUMS = numpy.ones((2, 4), numpy.int32)

NAMED: dict[str, tuple[str, Any]] = {
    "matmul": ("linalg.matmul ins(%a, %b : tensor<2x3xi32>, tensor<3x4xi32>) outs(%c : tensor<2x4xi32>)", A @ B + 1),
    "fill": ("linalg.fill ins(%seven : i32) outs(%c : tensor<2x4xi32>)", numpy.full((2, 4), 7)),
    "add": ("linalg.add ins(%c, %c : tensor<2x4xi32>, tensor<2x4xi32>) outs(%c : tensor<2x4xi32>)", SUMS + SUMS),
    "copy": ("linalg.copy ins(%c : tensor<2x4xi32>) outs(%c : tensor<2x4xi32>)", SUMS),
}


@pytest.mark.parametrize("case", NAMED)
def test_with_a_name(case: str) -> None:
    text, expected = NAMED[case]
    found = run(
        f"""
        func.func @main(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>, %c: tensor<2x4xi32>) -> tensor<2x4xi32> {{
          %seven = arith.constant 7 : i32
          %0 = {text} -> tensor<2x4xi32>
          return %0 : tensor<2x4xi32>
        }}""",
        A, B, SUMS,
    )  # fmt: skip
    equal(found, expected)


def test_shapes_and_reductions() -> None:
    text = """
        func.func @main(%a: tensor<2x3xi32>, %v: tensor<2xi32>, %t: tensor<3x2xi32>)
            -> (tensor<2xi32>, tensor<3x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>) {
          %0 = linalg.reduce { arith.addi } ins(%a : tensor<2x3xi32>) outs(%v : tensor<2xi32>) dimensions = [1]
          %1 = linalg.transpose ins(%a : tensor<2x3xi32>) outs(%t : tensor<3x2xi32>) permutation = [1, 0]
          %2 = linalg.broadcast ins(%v : tensor<2xi32>) outs(%a : tensor<2x3xi32>) dimensions = [1]
          %3 = linalg.map { arith.muli } ins(%a, %a : tensor<2x3xi32>, tensor<2x3xi32>) outs(%a : tensor<2x3xi32>)
          return %0, %1, %2, %3 : tensor<2xi32>, tensor<3x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>
        }"""
    start = numpy.array([10, 20], numpy.int32)
    total, turned, spread, product = run(text, A, start, A.reshape(3, 2))
    equal(total, A.sum(1) + start)
    equal(turned, A.T)
    equal(spread, numpy.repeat(start[:, None], 3, 1))
    equal(product, A * A)


def test_a_convolution_with_strides() -> None:
    random = numpy.random.default_rng(1)
    image, kernel = random.integers(-5, 5, (1, 5, 5, 2)), random.integers(-5, 5, (3, 3, 2, 4))
    image, kernel = image.astype(numpy.float32), kernel.astype(numpy.float32)
    found = run(
        """
        func.func @main(%x: tensor<1x5x5x2xf32>, %k: tensor<3x3x2x4xf32>) -> tensor<1x2x2x4xf32> {
          %zero = arith.constant dense<0.0> : tensor<1x2x2x4xf32>
          %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
            ins(%x, %k : tensor<1x5x5x2xf32>, tensor<3x3x2x4xf32>) outs(%zero : tensor<1x2x2x4xf32>)
            -> tensor<1x2x2x4xf32>
          return %0 : tensor<1x2x2x4xf32>
        }""",
        image, kernel,
    )  # fmt: skip
    for row in range(2):
        for column in range(2):
            window = image[0, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
            equal(found[0, row, column], numpy.einsum("hwc,hwco->o", window, kernel))


def test_softmax() -> None:
    x = numpy.array([[0.0, 1.0, 2.0], [1000.0, 0.0, 0.0]], numpy.float32)
    found = run(
        """
        func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
          %0 = tensor.empty() : tensor<2x3xf32>
          %1 = linalg.softmax dimension(1) ins(%x : tensor<2x3xf32>) outs(%0 : tensor<2x3xf32>) -> tensor<2x3xf32>
          return %1 : tensor<2x3xf32>
        }""",
        x,
    )
    numpy.testing.assert_allclose(found, [[0.09003057, 0.24472847, 0.66524096], [1, 0, 0]], rtol=1e-6)


def test_packed_and_unpacked() -> None:
    x = numpy.arange(15, dtype=numpy.int32).reshape(3, 5)
    packed, again = run(
        """
        func.func @main(%x: tensor<3x5xi32>) -> (tensor<3x2x2x2xi32>, tensor<3x5xi32>) {
          %zero = arith.constant 0 : i32
          %0 = tensor.empty() : tensor<3x2x2x2xi32>
          %1 = linalg.pack %x padding_value(%zero : i32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1]
            inner_tiles = [2, 2] into %0 : tensor<3x5xi32> -> tensor<3x2x2x2xi32>
          %2 = linalg.unpack %1 outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [2, 2]
            into %x : tensor<3x2x2x2xi32> -> tensor<3x5xi32>
          return %1, %2 : tensor<3x2x2x2xi32>, tensor<3x5xi32>
        }""",
        x,
    )
    room = numpy.zeros((4, 6), numpy.int32)
    room[:3, :5] = x
    equal(packed, room.reshape(2, 2, 3, 2).transpose(2, 0, 1, 3))
    equal(again, x)


def test_an_index_and_a_branch_in_a_body() -> None:
    """A branch takes one path for each point: what is outside on the other one is not read."""
    x = numpy.array([1, 2, 3], numpy.int32)
    found = run(
        """
        func.func @main(%x: tensor<3xi32>) -> tensor<4xi32> {
          %0 = tensor.empty() : tensor<4xi32>
          %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
              outs(%0 : tensor<4xi32>) {
          ^bb0(%before: i32):
            %i = linalg.index 0 : index
            %c3 = arith.constant 3 : index
            %inside = arith.cmpi slt, %i, %c3 : index
            %2 = scf.if %inside -> i32 {
              %3 = tensor.extract %x[%i] : tensor<3xi32>
              scf.yield %3 : i32
            } else {
              %minus = arith.constant -1 : i32
              scf.yield %minus : i32
            }
            linalg.yield %2 : i32
          } -> tensor<4xi32>
          return %1 : tensor<4xi32>
        }""",
        x,
    )
    equal(found, [1, 2, 3, -1])


def test_places_outside_are_refused() -> None:
    text = """
        func.func @main(%x: tensor<3xi32>, %places: tensor<2xindex>) -> tensor<2xi32> {
          %0 = tensor.empty() : tensor<2xi32>
          %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                               iterator_types = ["parallel"]}
              ins(%places : tensor<2xindex>) outs(%0 : tensor<2xi32>) {
          ^bb0(%place: index, %before: i32):
            %2 = tensor.extract %x[%place] : tensor<3xi32>
            linalg.yield %2 : i32
          } -> tensor<2xi32>
          return %1 : tensor<2xi32>
        }"""
    x = numpy.array([1, 2, 3], numpy.int32)
    equal(run(text, x, numpy.array([2, 0])), [3, 1])
    for wrong in (-1, 3):
        with pytest.raises(rx.RefusalError, match=f"'tensor.extract': it reads place {wrong} along axis 0"):
            run(text, x, numpy.array([0, wrong]))


def test_memory_is_written_in_place() -> None:
    a, c = A.copy(), SUMS.copy()
    run(
        """
        func.func @main(%a: memref<2x3xi32>, %b: memref<3x4xi32>, %c: memref<2x4xi32>) {
          linalg.matmul ins(%a, %b : memref<2x3xi32>, memref<3x4xi32>) outs(%c : memref<2x4xi32>)
          return
        }""",
        a, B.copy(), c,
    )  # fmt: skip
    equal(c, A @ B + 1)
    equal(a, A)
