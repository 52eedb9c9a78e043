# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""affine: bounds, places and conditions by expressions."""

from __future__ import annotations

import numpy
from run_text import equal, run


def test_expressions() -> None:
    text = """
        func.func @main(%i: index, %n: index) -> (index, index, index) {
          %0 = affine.apply affine_map<(d0)[s0] -> (d0 * 3 + s0 floordiv 2)>(%i)[%n]
          %1 = affine.min affine_map<(d0)[s0] -> (d0, s0 - 1)>(%i)[%n]
          %2 = affine.max affine_map<(d0)[s0] -> (d0 mod 4, s0 ceildiv 2)>(%i)[%n]
          return %0, %1, %2 : index, index, index
        }"""
    assert run(text, 7, 5) == (23, 4, 3)
    assert run(text, -7, 5) == (-19, -7, 3)


def test_loops_over_memory() -> None:
    x = numpy.arange(10, dtype=numpy.int32)
    y = numpy.zeros(10, numpy.int32)
    total = run(
        """
        func.func @main(%x: memref<10xi32>, %y: memref<10xi32>, %n: index) -> i32 {
          %zero = arith.constant 0 : i32
          %0 = affine.for %i = 0 to min affine_map<(d0) -> (d0, 8)>(%n) step 2 iter_args(%sum = %zero) -> i32 {
            %1 = affine.load %x[%i + 1] : memref<10xi32>
            affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%i) {
              affine.store %1, %y[%i] : memref<10xi32>
            }
            %2 = arith.addi %sum, %1 : i32
            affine.yield %2 : i32
          }
          affine.parallel (%i) = (8) to (10) {
            %1 = affine.load %x[%i] : memref<10xi32>
            affine.store %1, %y[%i] : memref<10xi32>
          }
          return %0 : i32
        }""",
        x, y, 100,
    )  # fmt: skip
    assert total == 1 + 3 + 5 + 7
    equal(y, [0, 0, 0, 0, 5, 0, 7, 0, 8, 9])
