# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, their initial values and epilogues: one loop nest if nothing reads the memory in between."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_programs import CProgram, needs_compiler

ROWS = "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>"
FILL = (
    'linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} '
    "ins(%c : f32) outs(%out : memref<4xf32>) { ^bb0(%a: f32, %b: f32): linalg.yield %a : f32 }"
)
SUM = (
    f'linalg.generic {{indexing_maps = [{ROWS}], iterator_types = ["parallel", "reduction"]}} '
    "ins(%x : memref<4x3xf32>) outs(%out : memref<4xf32>) { ^bb0(%a: f32, %b: f32): "
    "%s = arith.addf %b, %a : f32 linalg.yield %s : f32 }"
)
DOUBLE = (
    'linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} '
    "outs(%out : memref<4xf32>) { ^bb0(%b: f32): %s = arith.addf %b, %b : f32 linalg.yield %s : f32 }"
)
KEEP = "%k = memref.load %out[%last] : memref<4xf32> memref.store %k, %kept[] : memref<f32>"
# Adds the last element to each, which it reads by another view.
LAST = (
    "%view = memref.expand_shape %out [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32> "
    "linalg.generic {indexing_maps = [affine_map<(i) -> (1, 1)>, affine_map<(i) -> (i)>], "
    'iterator_types = ["parallel"]} ins(%view : memref<2x2xf32>) outs(%out : memref<4xf32>) { '
    "^bb0(%a: f32, %b: f32): %s = arith.addf %b, %a : f32 linalg.yield %s : f32 }"
)
X = numpy.arange(12, dtype="float32").reshape(4, 3)
SUMS = X.sum(axis=1)


def module_of(*steps: str) -> rx.Module:
    body = "\n  ".join(steps)
    return rx.Module.parse(
        f"""
func.func private @kernel(%x: memref<4x3xf32>, %out: memref<4xf32>, %kept: memref<f32>) attributes {{tir.prim_func}} {{
  %c = arith.constant 10.0 : f32
  %last = arith.constant 3 : index
  memref.store %c, %kept[] : memref<f32>
  {body}
  return
}}
func.func @main(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<f32>) {{
  %y:2 = "relax.call_tir"(%x) {{func = @kernel}} : (tensor<4x3xf32>) -> (tensor<4xf32>, tensor<f32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<f32>
}}
"""
    )


@needs_compiler
@pytest.mark.parametrize(
    ("steps", "expected", "kept"),
    [
        ((FILL, SUM, DOUBLE), (10 + SUMS) * 2, 10),
        # Another operation reads the memory before the sum, or between the sum and its epilogue.
        ((FILL, DOUBLE, SUM), 20 + SUMS, 10),
        ((FILL, SUM, KEEP, DOUBLE), (10 + SUMS) * 2, 10 + SUMS[-1]),
        ((FILL, KEEP, SUM, DOUBLE), (10 + SUMS) * 2, 10),
        ((FILL, SUM, LAST), 10 + SUMS + 10 + SUMS[-1], 10),
        ((FILL, SUM, SUM), 10 + 2 * SUMS, 10),
    ],
)
def test_operations_between_loads_and_stores_run_in_order(steps: Any, expected: Any, kept: float) -> None:
    given, looked_at = CProgram(module_of(*steps))(X)
    numpy.testing.assert_allclose(given, expected)
    assert looked_at == kept


def on_tensors(*steps: str) -> rx.Module:
    """Return a module in which each step writes over the result of the step before."""
    lines = [
        f"%v{number + 1} = {step.replace('memref<', 'tensor<').replace('%out', f'%v{number}')} -> tensor<4xf32>"
        for number, step in enumerate(steps)
    ]
    body = "\n  ".join(lines)
    return rx.Module.parse(
        f"""
func.func private @kernel(%x: tensor<4x3xf32>, %v0: tensor<4xf32>) -> tensor<4xf32> attributes {{tir.prim_func}} {{
  %c = arith.constant 10.0 : f32
  {body}
  return %v{len(steps)} : tensor<4xf32>
}}
func.func @main(%x: tensor<4x3xf32>) -> tensor<4xf32> {{
  %y = "relax.call_tir"(%x) {{func = @kernel}} : (tensor<4x3xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""
    )


# Adds the last element to each.
ADD_LAST = (
    "linalg.generic {indexing_maps = [affine_map<(i) -> (3)>, affine_map<(i) -> (i)>], "
    'iterator_types = ["parallel"]} ins(%out : memref<4xf32>) outs(%out : memref<4xf32>) { '
    "^bb0(%a: f32, %b: f32): %s = arith.addf %b, %a : f32 linalg.yield %s : f32 }"
)


@needs_compiler
@pytest.mark.parametrize(
    ("steps", "loops", "expected"),
    [
        ((FILL, SUM), 2, 10 + SUMS),
        ((FILL, SUM, DOUBLE), 2, (10 + SUMS) * 2),
        ((FILL, SUM, DOUBLE, DOUBLE), 2, (10 + SUMS) * 4),
        # Work that is not done on each sum by itself, or before it, has loops of its own, as have copies of values with
        # later uses.
        ((FILL, DOUBLE, SUM), 4, 20 + SUMS),
        ((FILL, SUM, ADD_LAST), 5, 10 + SUMS + 10 + SUMS[-1]),
        ((FILL, SUM, SUM), 4, 10 + 2 * SUMS),
    ],
)
def test_values_and_loops(steps: Any, loops: int, expected: Any) -> None:
    program = CProgram(on_tensors(*steps))
    numpy.testing.assert_allclose(program(X)[0], expected)
    assert program.files["model.c"].count("for (") == loops


PARALLEL = """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.parallel (%i, %j) = (%zero, %one) to (%two, %two) step (%one, %two) {
    %k = scf.execute_region -> index {
      %t = arith.muli %i, %two : index
      %s = arith.addi %t, %j : index
      %h = arith.shrui %s, %one : index
      scf.yield %h : index
    }
    %v = memref.load %x[%k, %j] : memref<4x3xf32>
    memref.store %v, %out[%k] : memref<4xf32>
  }
"""


@needs_compiler
def test_parallel_loops_run_in_order() -> None:
    program = CProgram(module_of(FILL, PARALLEL))
    given, _ = program(X)
    expected = numpy.full(4, 10, "float32")
    for i in range(2):
        expected[(2 * i + 1) >> 1] = X[(2 * i + 1) >> 1, 1]
    numpy.testing.assert_array_equal(given, expected)


TWO = """
func.func private @kernel(%x: tensor<4x3xf32>, %sum: tensor<4xf32>, %most: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %starts:2 = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum, %most : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32):
    linalg.yield %a, %a : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x3xf32>)
      outs(%starts#0, %starts#1 : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32):
    %t = arith.addf %s, %a : f32
    %n = arith.maximumf %m, %a : f32
    linalg.yield %t, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}
func.func @main(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = "relax.call_tir"(%x) {func = @kernel} : (tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}
"""  # noqa: E501


@needs_compiler
def test_results_of_one_loop_are_named_after_their_operations() -> None:
    program = CProgram(rx.Module.parse(TWO))
    for given, expected in zip(program(X), (SUMS, X.max(axis=1)), strict=True):
        numpy.testing.assert_array_equal(given, expected)
    for line in ("float sum = 0.0f;", "float most = 0.0f;"):
        assert line in program.files["model.c"]
