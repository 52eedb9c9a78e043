# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dot-product instructions as tensor intrinsics, which schedules can name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from ....bindings.context import new_context
from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.rewriting import Decline
from ....emit.collapse import collapse
from ....emit.structured import analyze
from ....emit.vectors import load, repeated, store, vector_of
from ....targets.core.machine import DotInstruction
from ..loops.intrins import TensorIntrin, add_intrin, described
from ..loops.tree import Tree
from .dots import Dots, dots_of
from .loop_collapsing import join
from .plan import Plan
from .registry import ScheduleContext

#: Operations that widen elements to the type of the sums, by kind.
_WIDENING = {"s": "arith.extsi", "u": "arith.extui", "b": "arith.extf", "f": "arith.extf"}
#: Operands: a group of a row's elements, the groups of some columns, and the sums of these columns.
_DESCRIPTION = """
#rows = affine_map<(j, k) -> (k)>
#columns = affine_map<(j, k) -> (j, k)>
#sums = affine_map<(j, k) -> (j)>
func.func private @dot(%A: tensor<{group}x{rows}>, %B: tensor<{lanes}x{group}x{columns}>, %C: tensor<{lanes}x{sums}>)
    -> tensor<{lanes}x{sums}> attributes {{tir.prim_func}} {{
  %made = linalg.generic {{indexing_maps = [#rows, #columns, #sums], iterator_types = ["parallel", "reduction"]}}
      ins(%A, %B : tensor<{group}x{rows}>, tensor<{lanes}x{group}x{columns}>) outs(%C : tensor<{lanes}x{sums}>) {{
    ^bb0(%a: {rows}, %b: {columns}, %c: {sums}):
      %x = {widen_rows} %a : {rows} to {sums}
      %y = {widen_columns} %b : {columns} to {sums}
      %product = arith.mul{letter} %x, %y : {sums}
      %sum = arith.add{letter} %c, %product : {sums}
      linalg.yield %sum : {sums}
  }} -> tensor<{lanes}x{sums}>
  return %made : tensor<{lanes}x{sums}>
}}
"""


def register_dots(instructions: Iterable[tuple[DotInstruction, Sequence[str]]]) -> None:
    """Register each instruction as intrinsics, with sets of features of which the machine must have one.

    An instruction with different factors has two intrinsics. `is_swapped`: the columns are the left factors.
    """
    for instruction, needed in instructions:
        for is_swapped in (False, True) if instruction.left != instruction.right else (False,):
            tree, emit = partial(_tree, instruction, is_swapped), partial(_emit, instruction, is_swapped)
            add_intrin(_name(instruction, is_swapped), TensorIntrin(emit, tree, is_targets=True, needs=needed))


def _name(instruction: DotInstruction, is_swapped: bool) -> str:
    """Return LLVM's name of the instruction, with the element types of rows and columns."""
    return ".".join([instruction.intrinsic, *_kinds(instruction, is_swapped)])


def dot_intrin(op: Operation, plan: Plan, context: ScheduleContext) -> str:
    """Return the intrinsic of a plan's dot products.

    Raises Decline with the reason if schedule steps cannot express them.
    """
    assert plan.dot is not None
    joined = join(analyze(op, on_memrefs=True), plan.joined)
    dots, dim = dots_of(joined, plan, context.machine), plan.dot.dim
    if dots is None or dim == plan.vector or plan.blocks:
        raise Decline("it sums products of groups along vectors, or block by block, which no schedule step can express")
    if dots.is_turned:
        raise Decline("it flips the highest bits of the rows' elements, which no schedule step can express")
    if not plan.dot.is_packed and (plan.panel is None or not plan.panel.is_packed):
        raise Decline("it sums products of groups of weights that are no constants, which no schedule step can pack")
    whole = {plan.vector: plan.lanes, dim: plan.dot.group}
    if any((joined.sizes[key] or 1) % steps for key, steps in whole.items()):
        raise Decline("it has partial groups or partial vectors, which no schedule step can express")
    return _name(dots.instruction, dots.is_swapped)


def _kinds(instruction: DotInstruction, is_swapped: bool) -> tuple[str, str]:
    """Return the kinds of rows and columns."""
    left, right = instruction.left, instruction.right
    return (right, left) if is_swapped else (left, right)


def _tree(instruction: DotInstruction, is_swapped: bool) -> Tree:
    rows, columns = _kinds(instruction, is_swapped)
    text = _DESCRIPTION.format(
        group=instruction.group, lanes=instruction.lanes, rows=_element(rows), columns=_element(columns),
        widen_rows=_WIDENING[rows[0]], widen_columns=_WIDENING[columns[0]], sums=instruction.total,
        letter=instruction.total[0],
    )  # fmt: skip
    return described(ir.Module.parse(text, new_context(("arith", "func", "linalg"))))


def _element(kind: str) -> str:
    """Return the element type of a kind."""
    return kind.replace("s", "i").replace("u", "i")


def _emit(instruction: DotInstruction, is_swapped: bool, rows: Value, columns: Value, sums: Value) -> None:
    lanes, group = instruction.lanes, instruction.group
    total = vector_of(lanes, sums.type.element_type)
    shared = repeated(load(vector_of(group, rows.type.element_type), rows, 0), lanes)
    own = load(vector_of(lanes * group, columns.type.element_type), collapse(columns, [[0, 1]]), 0)
    dots = Dots(instruction, columns=1, rows=0, is_swapped=is_swapped, is_turned=False)
    store(dots.add(load(total, sums, 0), own, shared), sums, 0)
