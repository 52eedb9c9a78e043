# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectorization of blocks: test whether vectors can compute a body, and emission on lanes or scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from ....bindings.ir import Attribute, Type, Value
from ....bindings.mlir import ir
from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....emit.arithmetic import result_of
from ....emit.loops import when
from ....emit.numbers import number
from ....emit.structured import is_storable
from ....emit.vectors import SCALAR_ONLY, TRAPPING, in_each_lane, is_vector, vector_of
from .body_scalars import Compute, ConditionalScalar, Element, Expr, IterIndex, Load, Outside
from .ranges import factor_of, guards
from .tree import Access, Block

#: Operations with a fast-math flag that lets a product and a sum become one instruction.
_CONTRACTED = frozenset({"arith.mulf", "arith.addf", "arith.subf"})


class LaneLoop(NamedTuple):
    """Loop with steps that run at once."""

    name: str
    width: int


# ---- legality ----


def goes_along(block: Block, lanes: LaneLoop) -> bool:
    """Return True if a block has another point in each lane."""
    indices = (*block.bindings, *(index for index, _ in block.where))  # `within` depends on the bindings
    return any(lanes.name in variables_of(index) for index in indices)


def fits_lanes(block: Block, lanes: LaneLoop, extents: Mapping[str, Size]) -> bool:
    """Return True if vectors can compute a block's points of all lanes."""
    if not goes_along(block, lanes):
        return True
    types = [access.buffer.element for access in block.accesses]
    exprs = [*block.results, *(block.inits or ())]
    is_row = partial(_loads_row, block, lanes)
    if not all(runs_on_vectors(expr, types.__getitem__, is_row) for expr in exprs):
        return False
    for guard in guards(block, extents):
        if lanes.name not in variables_of(guard.at):
            continue
        if guard.below or factor_of(guard.at, lanes.name) != 1 or any(map(may_trap, exprs)):
            return False
    indices = (index for access in block.placed_accesses for index in access.indices)
    return all(factor_of(index, lanes.name) is not None for index in indices)


def _loads_row(block: Block, lanes: LaneLoop, load: Load) -> bool:
    """Return True if lanes load adjacent elements, at indices of which only the last one may depend on the lane."""
    if not load.indices or not is_storable(load.buffer.element):
        return False
    point, (*others, last) = block.point(), load.indices
    if not isinstance(last, IterIndex) or factor_of(substituted(last.value, point), lanes.name) != 1:
        return False
    moving = {number for number, access in enumerate(block.placed_accesses) if any(moves_of(access, lanes))}
    for part in (part for other in others for part in other.walk()):
        if isinstance(part, IterIndex) and lanes.name in variables_of(substituted(part.value, point)):
            return False
        if isinstance(part, Load) or (isinstance(part, Element) and part.number in moving):
            return False
    return True


def moves_of(access: Access, lanes: LaneLoop) -> list[int]:
    """Return the distance from lane to lane along each index of an access, which is in terms of the outer loops."""
    moves = (factor_of(index, lanes.name) for index in access.indices)
    return [1 if move is None else move for move in moves]


def is_row_of(moves: Sequence[int]) -> bool:
    """Return True if the elements of the lanes are contiguous."""
    return moves[-1:] == [1] and not any(moves[:-1])


def runs_on_vectors(expr: Expr, element: Callable[[int], Type], is_row: Callable[[Load], bool]) -> bool:
    """Return True if an expression can be computed for all lanes at once. `is_row`: lanes load adjacent elements."""
    for part in expr.walk():
        if isinstance(part, ConditionalScalar) or (isinstance(part, Load) and not is_row(part)):
            return False
        if isinstance(part, Compute):
            family = part.name.partition(".")[0]
            if family not in ("arith", "math") or part.name in SCALAR_ONLY or not _has_lanes(part.type):
                return False
        if isinstance(part, Element) and not is_storable(element(part.number)):
            return False
    return True


def may_trap(expr: Expr) -> bool:
    """Check whether an expression contains an operation that may trap, such as an integer division."""
    return any(isinstance(part, Compute) and part.name in TRAPPING for part in expr.walk())


def _has_lanes(type_: Type) -> bool:
    return isinstance(type_, (ir.FloatType, ir.IntegerType, ir.IndexType))


# ---- emitting ----


class LaneEvaluation:
    """Evaluation of expressions at one point, or at the points of several lanes."""

    def __init__(
        self,
        elements: Sequence[Value | None],
        index: Callable[[IterIndex], Value],
        load: Callable[[Load, Sequence[Value]], Value],
        lanes: int = 0,
        contract: bool = False,
    ):
        self._elements, self._index, self._load, self._lanes = elements, index, load, lanes
        self._contract = contract
        self._made: dict[int, Value] = {}

    @cached_property
    def _contracting(self) -> Attribute:
        return ir.Attribute.parse("#arith.fastmath<contract>")

    def of(self, expr: Expr) -> Value:
        if id(expr) not in self._made:
            self._made[id(expr)] = self._evaluate(expr)
        return self._made[id(expr)]

    def _evaluate(self, expr: Expr) -> Value:
        if isinstance(expr, Element):
            value = self._elements[expr.number]
            assert value is not None
            return value
        if isinstance(expr, IterIndex):
            return self._index(expr)
        if isinstance(expr, Outside):
            return expr.value
        if isinstance(expr, Load):
            return self._load(expr, [self.of(index) for index in expr.indices])
        if isinstance(expr, ConditionalScalar):
            return self._choice(expr)
        assert isinstance(expr, Compute), expr
        return self._compute(expr, [self.of(operand) for operand in expr.operands])

    def _choice(self, expr: ConditionalScalar) -> Value:
        condition = number(self.of(expr.condition))
        known = dict(self._made)

        def side(which: Expr) -> Value:
            # Values that one branch computes are not available in the other one.
            self._made = dict(known)
            return self.of(which)

        value: Value = when(condition, lambda: side(expr.yes), lambda: side(expr.no), [expr.type])[0]
        self._made = known
        return value

    def _compute(self, expr: Compute, operands: Sequence[Value]) -> Value:
        type_, attributes = expr.type, dict(expr.attributes)
        if any(map(is_vector, operands)):
            type_ = vector_of(self._lanes, type_)
            operands = [in_each_lane(operand, self._lanes).value for operand in operands]
        if self._contract and expr.name in _CONTRACTED:
            attributes["fastmath"] = self._contracting
        return result_of(expr.name, operands, type_, **attributes)
