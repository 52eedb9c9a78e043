# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over a few numbers compute without calls and allocations, with the same results."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from relax_mlir.bindings.navigation import ancestors, operations_in

import relax_mlir as rx

#: Two tensors change places in each turn, and one of them grows by a kernel with scratch memory.
_EXCHANGE = """func.func @main(%x: tensor<{n}xf32>, %y: tensor<{n}xf32>) -> (tensor<{n}xf32>, tensor<{n}xf32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<{n}xf32>, tensor<{n}xf32>
  cond {{
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.add %a, %b : tensor<{n}xf32>
    stablehlo.return %j, %b, %s : tensor<i32>, tensor<{n}xf32>, tensor<{n}xf32>
  }}
  return %r#1, %r#2 : tensor<{n}xf32>, tensor<{n}xf32>
}}"""

#: A Newton step, or half of the number, inside of a loop over a row of numbers, which is updated in place.
_BRANCHES = """func.func @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<{n}> : tensor<i32>
  %limit = stablehlo.constant dense<1.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<{n}xf32>
  cond {{
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %row = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<{n}xf32>, tensor<i32>) -> tensor<1xf32>
    %v = stablehlo.reshape %row : (tensor<1xf32>) -> tensor<f32>
    %p = stablehlo.compare GT, %v, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %w = "stablehlo.if"(%p) ({{
      %h = stablehlo.multiply %v, %v : tensor<f32>
      stablehlo.return %h : tensor<f32>
    }}, {{
      %d = stablehlo.subtract %v, %limit : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }}) : (tensor<i1>) -> tensor<f32>
    %u = stablehlo.reshape %w : (tensor<f32>) -> tensor<1xf32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<{n}xf32>, tensor<1xf32>, tensor<i32>) -> tensor<{n}xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<{n}xf32>
  }}
  return %r#1 : tensor<{n}xf32>
}}"""


def _numbers(count: int) -> Any:
    return numpy.linspace(-2, 3, count, dtype="float32")


def _in_loops(text: str) -> list[str]:
    """Return the names of the operations in the loops of a function that is about to become an entry."""
    module = rx.from_stablehlo(text)
    lowered = rx.lower(module, pipeline=rx.stages("llvm").until("small-loops"))
    main = next(each for each in operations_in(lowered._owner.operation) if each.name == "func.func")
    loops = [each for each in operations_in(main) if each.name in ("scf.while", "scf.for")]
    assert loops
    return [each.name for each in operations_in(main) if any(around in loops for around in ancestors(each))]


@pytest.mark.parametrize("text", [_EXCHANGE, _BRANCHES])
def test_a_loop_over_a_few_numbers_calls_and_allocates_nothing(text: str) -> None:
    inside = _in_loops(text.format(n=4))
    assert not {"func.call", "memref.alloc", "memref.dealloc"}.intersection(inside)


def test_a_row_of_a_large_tensor_is_updated_in_place() -> None:
    """Call the kernels of a large tensor without an allocation for the next value."""
    inside = _in_loops(_BRANCHES.format(n=5000))
    assert not {"memref.alloc", "memref.dealloc", "memref.copy"}.intersection(inside)


@pytest.mark.parametrize("count", [0, 1, 4, 64, 65, 5000])
def test_tensors_that_change_places(count: int) -> None:
    x, y = _numbers(count), _numbers(count)[::-1].copy()
    found = rx.compile(rx.from_stablehlo(_EXCHANGE.format(n=count)))["main"](x, y)
    for _ in range(5):
        x, y = y, x + y
    for one, other in zip(found, (x, y), strict=True):
        numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [1, 4, 64, 65, 5000])
def test_rows_that_are_updated(count: int) -> None:
    x = _numbers(count)
    given = x.copy()
    found = rx.compile(rx.from_stablehlo(_BRANCHES.format(n=count)))["main"](x)
    numpy.testing.assert_array_equal(found, numpy.where(given > 1, given * given, given - 1))
    numpy.testing.assert_array_equal(x, given)
