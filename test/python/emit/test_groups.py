# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills before a reduction on memory, and its epilogues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of, functions_in, operations_of
from relax_mlir.emit.generic import GenericOp
from relax_mlir.emit.groups import filled_with, group_of

import relax_mlir as rx

FILL = """linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
  iterator_types = ["parallel"]} ins(%zero : f32) outs(%sums : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
}"""
SUM = """linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
  iterator_types = ["parallel", "reduction"]} ins(%a : memref<4x8xf32>) outs(%sums : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
}"""
ROOT = """linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
  iterator_types = ["parallel"]} ins(%sums : memref<4xf32>) outs(%r : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = math.sqrt %x : f32
    linalg.yield %s : f32
}"""


@pytest.fixture
def modules() -> Iterator[list[rx.Module]]:
    held: list[rx.Module] = []
    yield held


def operations(modules: list[rx.Module], *lines: str) -> list[Operation]:
    text = "\n".join(lines)
    modules.append(
        rx.Module.parse(f"""
        func.func @f(%a: memref<4x8xf32>, %r: memref<4xf32>, %sums: memref<4xf32>, %i: index) {{
          %zero = arith.constant 0.0 : f32
          {text}
          return
        }}""")
    )
    (function,) = functions_in(modules[-1].operation)
    return operations_of(body_of(function))


def group_in(ops: list[Operation]) -> tuple[list[str], int]:
    """Return the names of the operations that start the sum, and the number of epilogues."""
    (place,) = [place for place, op in enumerate(ops) if op.name == "linalg.generic" and GenericOp(op).reductions]
    group = group_of(
        ops[place],
        ops[:place],
        ops[place + 1 :],
        lambda before, op: op.name == "linalg.generic" and GenericOp(op).inputs == GenericOp(before).outputs,
        lambda op: op.name == "memref.store",
    )
    return [op.name for op in group.starts], len(group.epilogues)


@pytest.mark.parametrize(
    ("between", "starts"),
    [
        ("", 1),
        ("%d = memref.dim %sums, %i : memref<4xf32>", 1),
        ("%v = memref.cast %sums : memref<4xf32> to memref<?xf32>", 1),
        ("%e = memref.load %r[%i] : memref<4xf32>", 1),
        ("%e = memref.load %sums[%i] : memref<4xf32>", 0),
        ("%v = memref.cast %sums : memref<4xf32> to memref<?xf32>\nmemref.store %zero, %v[%i] : memref<?xf32>", 0),
    ],
)
def test_a_sum_starts_from_a_fill_unless_its_memory_is_used_between(
    modules: list[rx.Module], between: str, starts: int
) -> None:
    assert group_in(operations(modules, FILL, between, SUM)) == (["linalg.generic"] * starts, 0)


def test_epilogues_end_where_the_caller_says(modules: list[rx.Module]) -> None:
    assert group_in(operations(modules, SUM, "%e = memref.load %a[%i, %i] : memref<4x8xf32>", ROOT)) == ([], 1)
    assert group_in(operations(modules, SUM, "memref.store %zero, %a[%i, %i] : memref<4x8xf32>", ROOT)) == ([], 0)


def test_filled_with_finds_the_fill_value(modules: list[rx.Module]) -> None:
    zero, fill, sum_, root, _ = operations(modules, FILL, SUM, ROOT)
    assert filled_with(fill) == zero.results[0]
    assert filled_with(sum_) is None and filled_with(root) is None and filled_with(zero) is None
