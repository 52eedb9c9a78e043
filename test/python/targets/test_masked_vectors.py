# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks and reductions of several dimensions in PrimFuncs written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relax_mlir.runtime import cpu

import relax_mlir as rx

_DOUBLE = """
func.func private @double(%x: memref<10xf32>, %y: memref<10xf32>, %s: memref<4xf32>) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c10 = arith.constant 10 : index
  %m = vector.create_mask %c10 : vector<16xi1>
  %v = vector.mask %m {
    vector.transfer_read %x[%c0], %zero : memref<10xf32>, vector<16xf32>
  } : vector<16xi1> -> vector<16xf32>
  %w = arith.addf %v, %v : vector<16xf32>
  vector.mask %m { vector.transfer_write %w, %y[%c0] : vector<16xf32>, memref<10xf32> } : vector<16xi1>
  %g = vector.shape_cast %w : vector<16xf32> to vector<4x4xf32>
  %z = arith.constant dense<0.0> : vector<4xf32>
  %t = vector.multi_reduction <add>, %g, %z [1] : vector<4x4xf32> to vector<4xf32>
  vector.transfer_write %t, %s[%c0] : vector<4xf32>, memref<4xf32>
  return
}
func.func @main(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<4xf32>) {
  %r:2 = "relax.call_tir"(%x) {func = @double} : (tensor<10xf32>) -> (tensor<10xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<10xf32>, tensor<4xf32>
}
"""


def test_masks_and_reductions_of_several_dimensions() -> None:
    x = np.arange(10, dtype="float32")
    doubled, sums = rx.compile(rx.Module.parse(_DOUBLE))["main"](x)
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(sums, np.append(2 * x, np.zeros(6, "float32")).reshape(4, 4).sum(1))


class _Branches(rx.Instrument):
    """Number of branches before the passes that fail on control flow of many blocks."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def before_pass(self, name: str, op: Any) -> None:
        if name.startswith("lower-vector"):
            self.counts[name] = self.counts.get(name, 0) + op.get_asm().count(" cf.")


_GRAPH = """
from relax_mlir.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        if c:
            y = R.exp(x)
        else:
            y = R.cumsum(x, axis=0)
        return y
"""


def test_masks_are_lowered_before_control_flow_has_blocks() -> None:
    branches = _Branches()
    module = rx.Module.from_script(_GRAPH)
    for stage in rx.stages("llvm"):
        stage.run(module, "llvm", [branches])
    assert branches.counts == {"lower-vector-mask": 0, "lower-vector-multi-reduction": 0}


@pytest.mark.skipif("avx512f" not in cpu.host_features(), reason="this CPU has no AVX-512")
def test_one_narrowed_element_is_left() -> None:
    """Store only the element: LLVM would store a number of the wider type. The results end at a page without access."""
    report = rx.testing.check("llvm{cpu=x86-64-v4}", only=["relax.astype i64 to i32"], jobs=1)
    assert report.is_right and report.verdicts
