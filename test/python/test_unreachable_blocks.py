# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unreachable blocks of a PrimFunc: their operations need a lowering elsewhere, but do no harm here."""

from __future__ import annotations

import numpy
import pytest

import relax_mlir as rx

_MODULE = """
memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.call_tir"(%x) {func = @kernel} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @kernel(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  cf.br ^copy
^unreachable:
  %false = arith.constant false
  "tir.assert"(%false) {message = "unreachable"} : (i1) -> ()
  %table = memref.get_global @table : memref<4xf32>
  %own = memref.alloc() : memref<4xf32>
  memref.copy %table, %own : memref<4xf32> to memref<4xf32>
  memref.dealloc %own : memref<4xf32>
  cf.br ^copy
^copy:
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
  }
  return
}
"""


@pytest.mark.parametrize("target", ["llvm", "cuda", "vulkan{threads=256}", "opencl{threads=256}"])
def test_unreachable_blocks_are_left_out(target: str) -> None:
    executable = rx.compile(rx.Module.parse(_MODULE), target=target)
    if target == "llvm":
        x = numpy.arange(4, dtype=numpy.float32)
        numpy.testing.assert_array_equal(executable["main"](x), x)
