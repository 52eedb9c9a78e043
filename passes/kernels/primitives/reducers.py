# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Associative and commutative reductions: their combiner and its identity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple, NoReturn

from ....emit.combiner import CHOICE, OPERATORS
from ....support.replacing import replace
from ..loops.body_scalars import Compute, Element, Expr, IterIndex, Load, Outside
from ..loops.primitives import Edit
from ..loops.tree import Block

_NAMES = [name for name in OPERATORS if name != CHOICE]


#: Predicates of arith.cmpf and arith.cmpi: strict, non-strict and equal; ordered and signed.
_STRICT = [("arith.cmpf", 2), ("arith.cmpf", 4), ("arith.cmpi", 2), ("arith.cmpi", 4)]
_LOOSE = [("arith.cmpf", 3), ("arith.cmpf", 5), ("arith.cmpi", 3), ("arith.cmpi", 5)]
_EQUAL = [("arith.cmpf", 1), ("arith.cmpi", 0)]


class Reducer(NamedTuple):
    """Combiner of a reduction: `operation(accumulator, value)`."""

    operation: Compute
    value: Expr


def combiner_of(edit: Edit, block: Block) -> tuple[Expr, ...]:
    """Return the combiner of partial results, one expression per output.

    Elements from 0 on are the partial results; the accumulators follow. Refuses reductions that cannot be split.
    """
    if any(expr.elements() for expr in block.inits or ()):
        edit.refuse(f"'{block.name}' starts from elements that it reads, which each partial result would add")
    if any(map(_is_choice, block.results)):
        return _choosing(edit, block)
    return tuple(_adding(edit, block, number) for number in range(len(block.results)))


def _adding(edit: Edit, block: Block, number: int) -> Expr:
    """Return the combiner of an output that does not depend on the other outputs."""
    count, first = len(block.results), len(block.reads)
    numbers = {first + number: first} | {place: place for place in range(first)}
    if not block.results[number].elements() <= numbers.keys() or block.inits is None:
        _refuse_several(edit, block)
    result, init = block.results[number].renumbered(numbers), block.inits[number]
    alone = replace(block, writes=(block.writes[number],), results=(result,), inits=(init,))
    reducer = reducer_of(edit, alone)
    check_neutral(edit, alone, reducer)
    operands = (Element(number if part is reducer.value else count + number) for part in reducer.operation.operands)
    return replace(reducer.operation, operands=tuple(operands))


def _refuse_several(edit: Edit, block: Block) -> NoReturn:
    what = f"'{block.name}' reduces {len(block.results)} outputs together"
    edit.refuse(f"{what}, but not by a choice of the larger value: partial results cannot be combined")


def _choosing(edit: Edit, block: Block) -> tuple[Expr, ...]:
    """Return the combiners of outputs that one comparison selects together, as in argmax."""
    values, first = _chosen(block), len(block.reads)
    if values is None:
        _refuse_several(edit, block)

    def change(part: Expr) -> Expr | None:
        if isinstance(part, Element) and part.number >= first:
            return Element(len(values) + part.number - first)
        return next((Element(number) for number, value in enumerate(values) if is_same(part, value)), None)

    return tuple(expr.rewritten(change) for expr in block.results)


def _is_choice(expr: Expr) -> bool:
    return isinstance(expr, Compute) and expr.name == CHOICE


def _chosen(block: Block) -> list[Expr] | None:
    """Return the new values of the outputs, if one comparison selects either them or the accumulators."""
    first, values = len(block.reads), list[Expr]()
    conditions = []
    for number, expr in enumerate(block.results):
        if not isinstance(expr, Compute) or not _is_choice(expr):
            return None
        condition, *sides = expr.operands
        held = [isinstance(side, Element) and side.number == first + number for side in sides]
        if sum(held) != 1 or any(element >= first for element in sides[held[0]].elements()):
            return None
        values.append(sides[held[0]])
        conditions.append((condition, held[0]))
    (condition, keeps), *others = conditions
    if any(is_same(*each) for each in combinations(values, 2)):
        return None
    if any(keeps != each[1] or not is_same(condition, each[0]) for each in others):
        return None
    return values if _is_order(condition, values, first) else None


def _is_order(condition: Expr, values: Sequence[Expr], first: int) -> bool:
    """Return True if a condition compares an accumulator with its new value.

    In case of a tie, it may compare another pair.
    """
    if not isinstance(condition, Compute):
        return False
    if condition.name == "arith.ori":
        one, other = condition.operands
        both = other if isinstance(other, Compute) and other.name == "arith.andi" else one
        strict = one if both is other else other
        if not isinstance(both, Compute) or both.name != "arith.andi":
            return False
        equal, next_ = sorted(both.operands, key=lambda operand: not _compares(operand, _EQUAL, values, first))
        return (
            _compares(strict, _STRICT, values, first)
            and _compares(equal, _EQUAL, values, first)
            and _compares(next_, _STRICT + _LOOSE, values, first)
        )
    return _compares(condition, _STRICT + _LOOSE, values, first)


def _compares(expr: Expr, kinds: Sequence[tuple[str, int]], values: Sequence[Expr], first: int) -> bool:
    """Return True if an expression is one of these comparisons of an accumulator with its new value."""
    if not isinstance(expr, Compute) or expr.name not in ("arith.cmpf", "arith.cmpi"):
        return False
    predicate = int(dict(expr.attributes)["predicate"].value)
    for held, value in (expr.operands, expr.operands[::-1]):
        number = held.number - first if isinstance(held, Element) else -1
        if 0 <= number < len(values) and is_same(value, values[number]):
            return (expr.name, predicate) in kinds
    return False


def is_same(one: Expr, other: Expr) -> bool:
    """Return True if two expressions are structurally equal."""
    if one is other:
        return True
    if type(one) is not type(other) or len(one.parts()) != len(other.parts()):
        return False
    if isinstance(one, Compute) and isinstance(other, Compute):
        if (one.name, one.attributes, one.type) != (other.name, other.attributes, other.type):
            return False
    elif isinstance(one, Element) and isinstance(other, Element):
        return one.number == other.number
    elif isinstance(one, (IterIndex, Outside)) and isinstance(other, (IterIndex, Outside)):
        return one.value == other.value
    elif isinstance(one, Load) and isinstance(other, Load) and one.buffer is not other.buffer:
        return False
    return all(is_same(*parts) for parts in zip(one.parts(), other.parts(), strict=True))


def reducer_of(edit: Edit, block: Block) -> Reducer:
    """Return the reducer of a block with one output. Refuses other blocks."""
    if len(block.results) != 1:
        edit.refuse(
            f"'{block.name}' reduces {len(block.results)} outputs together: only a reduction of one output can be split"
        )
    result, own = block.results[0], len(block.reads)
    if not isinstance(result, Compute) or result.name not in _NAMES:
        known = ", ".join(name.partition(".")[2] for name in _NAMES)
        edit.refuse(f"'{block.name}' is no reduction by {known}: partial results cannot be combined")
    operands = _operands(result, result.name)
    parts = [part for part in operands if isinstance(part, Element) and part.number == own]
    others = [part for part in operands if part not in parts]
    if len(parts) != 1 or not others or any(own in part.elements() for part in others):
        edit.refuse(f"'{block.name}' does not combine one value per step with '{block.writes[0].buffer.name}'")
    value = reduce(lambda one, other: replace(result, operands=(one, other)), others)
    return Reducer(replace(result, operands=(parts[0], value)) if len(operands) > 2 else result, value)


def _operands(expr: Expr, name: str) -> list[Expr]:
    """Return the operands of nested applications of an operation."""
    if not isinstance(expr, Compute) or expr.name != name:
        return [expr]
    return [part for operand in expr.operands for part in _operands(operand, name)]


def check_neutral(edit: Edit, block: Block, reducer: Reducer) -> None:
    """Check that the init is the combiner's identity, since each partial result starts from the init."""
    operator = OPERATORS[reducer.operation.name]
    if operator.is_idempotent or operator.identity is None or block.inits is None:
        return
    identity = operator.identity(0) + 0  # turns -0 into 0
    start = block.inits[0]
    value = dict(start.attributes).get("value") if isinstance(start, Compute) else None
    if value is None or float(value.value) != identity:
        edit.refuse(f"'{block.name}' does not start from {identity:g}: each partial result would add its init")
