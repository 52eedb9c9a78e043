# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a counted loop appends to existing rows, for all forms of counting."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from compiling import array

import relax_mlir as rx

_GATHERED = """
func.func @copy(%x: memref<2x4xf32>, %out: memref<2x4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %e = memref.load %x[%i, %j] : memref<2x4xf32>
      memref.store %e, %out[%i, %j] : memref<2x4xf32>
    }
  }
  return
}
func.func @join(%x: memref<?x4xf32>, %y: memref<2x4xf32>, %out: memref<?x4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %e = memref.load %x[%i, %j] : memref<?x4xf32>
      memref.store %e, %out[%i, %j] : memref<?x4xf32>
    }
  }
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %e = memref.load %y[%i, %j] : memref<2x4xf32>
      %k = arith.addi %n, %i : index
      memref.store %e, %out[%k, %j] : memref<?x4xf32>
    }
  }
  return
}
func.func @main(%x: tensor<2x4xf32>, %had: tensor<3x4xf32>, %from: i64, %to: i64, %step: i64)
    -> tensor<?x4xf32, #relax.sym<["m", 4]>> {
  %first = "relax.match_cast"(%had) : (tensor<3x4xf32>) -> tensor<?x4xf32>
  %all = scf.for %i = %from to %to step %step iter_args(%r = %first) -> (tensor<?x4xf32>) : i64 {
    %rows = "relax.call_tir"(%x) {func = @copy} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %before = "relax.match_cast"(%r) : (tensor<?x4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
    %joined = "relax.call_tir"(%before, %rows) {func = @join}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #relax.sym<["n + 2", 4]>>
    %next = "relax.match_cast"(%joined) : (tensor<?x4xf32, #relax.sym<["n + 2", 4]>>) -> tensor<?x4xf32>
    scf.yield %next : tensor<?x4xf32>
  }
  %result = "relax.match_cast"(%all) : (tensor<?x4xf32>) -> tensor<?x4xf32, #relax.sym<["m", 4]>>
  return %result : tensor<?x4xf32, #relax.sym<["m", 4]>>
}
"""


@pytest.fixture(scope="module")
def main() -> Any:
    return rx.compile(rx.Module.parse(_GATHERED))["main"]


@pytest.mark.parametrize("bounds", [(0, 0, 1), (0, 1, 1), (0, 9, 1), (2, 9, 3), (2, 8, 3), (-5, 6, 2), (7, 3, 1)])
def test_as_many_as_there_are_turns(main: Any, bounds: tuple[int, int, int]) -> None:
    x, had = (numpy.random.default_rng(rows).normal(size=(rows, 4)).astype("float32") for rows in (2, 3))
    expected = numpy.concatenate([had, *[x for _ in range(*bounds)]])
    numpy.testing.assert_array_equal(array(main(x, had, *bounds)), expected)


def test_more_turns_than_any_memory_has_room_for(main: Any) -> None:
    x, had = numpy.zeros((2, 4), "float32"), numpy.zeros((3, 4), "float32")
    for count in (2**63 - 1, 2**60):
        with pytest.raises(MemoryError, match=r"a tensor of the shape \(\?, 4\) needs"):
            main(x, had, 0, count, 1)
    numpy.testing.assert_array_equal(array(main(x, had, 0, 1, 1)), numpy.zeros((5, 4)))
