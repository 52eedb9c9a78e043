# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection of operations that write each element of their output exactly once."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.emit.generic import GenericOp

import relax_mlir as rx


@pytest.mark.parametrize(
    ("read", "shape", "written", "target", "kinds", "is_once"),
    [
        ("d0, d1", "4x8", "d0, d1", "4x8", "pp", True),
        ("d0, d1", "4x8", "d1, d0", "8x4", "pp", True),
        ("d0, d1", "?x8", "d1, d0", "8x?", "pp", True),
        ("d0, d1", "4x8", "d0", "4", "pr", True),
        ("d0, d1", "4x8", "d0", "4", "pp", False),
        ("d0, d1", "4x1", "d0", "4", "pp", True),
        ("d0, d1", "4x8", "d0, d1, 0", "4x8x1", "pp", True),
        ("d0, d1", "4x8", "d0, d1, 0", "4x8x2", "pp", False),
        ("d0, d1", "4x8", "d0 + d1, d1", "11x8", "pp", False),
        ("d0, d1", "4x1", "d0, d1", "4x?", "pp", True),
        ("d0, d1", "4x4", "d0, d0", "4x4", "pr", False),
    ],
)
def test_outputs_that_are_a_permutation_of_the_parallel_loops(
    read: str, shape: str, written: str, target: str, kinds: str, is_once: bool
) -> None:
    names = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in kinds)
    module = rx.Module.parse(f"""
    func.func @f(%a: memref<{shape}xf32>, %r: memref<{target}xf32>) {{
      linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ({read})>, affine_map<(d0, d1) -> ({written})>],
          iterator_types = [{names}]}} ins(%a : memref<{shape}xf32>) outs(%r : memref<{target}xf32>) {{
        ^bb0(%x: f32, %y: f32):
          linalg.yield %x : f32
      }}
      return
    }}""")
    (op,) = (op for op in operations_in(module.operation) if op.name == "linalg.generic")
    assert GenericOp(op).writes_once(1) == is_once
