# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Associative and commutative reductions: their combiner and its identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from ...emit.combiner import CHOICE, OPERATORS
from ..loops.body_scalars import Compute, Element, Expr, IterIndex, Load, Outside
from ..loops.primitives import Edit
from ..loops.tree import Block

_NAMES = [name for name in OPERATORS if name != CHOICE]


#: Of arith.cmpf and arith.cmpi: ordered, and signed.
_STRICT = [("arith.cmpf", 2), ("arith.cmpf", 4), ("arith.cmpi", 2), ("arith.cmpi", 4)]
_LOOSE = [("arith.cmpf", 3), ("arith.cmpf", 5), ("arith.cmpi", 3), ("arith.cmpi", 5)]
_EQUAL = [("arith.cmpf", 1), ("arith.cmpi", 0)]


class Reducer(NamedTuple):
    """`operation(what there is, value)`."""

    operation: Compute
    value: Expr


def combiner_of(edit: Edit, block: Block) -> tuple[Expr, ...]:
    """What puts a part of a reduction to what there is: for each output an expression of parts, which are elements from
    0 on, and of outputs, which are those behind. Refuses reductions that cannot be done in parts."""
    if any(expr.elements() for expr in block.inits or ()):
        edit.refuse(f"'{block.name}' starts from elements that it reads, which each part would add")
    if len(block.results) == 1:
        check_neutral(edit, block, reducer_of(edit, block))
    values = _chosen(block) if any(_is_choice(expr) for expr in block.results) else _added(edit, block)
    if values is None:
        what = f"'{block.name}' reduces {len(block.results)} outputs together"
        edit.refuse(f"{what}, by what is no choice of the larger one: its steps cannot be put together again")
    count = len(values)
    own = {len(block.reads) + number: count + number for number in range(count)}

    def of_parts(output: int, expr: Expr) -> Expr:
        ordered = sorted(enumerate(values), key=lambda each: each[0] != output)

        def change(part: Expr) -> Expr | None:
            if isinstance(part, Element) and part.number in own:
                return Element(own[part.number])
            return next((Element(number) for number, value in ordered if is_same(part, value)), None)

        return expr.rewritten(change)

    return tuple(of_parts(*each) for each in enumerate(block.results))


def _added(edit: Edit, block: Block) -> list[Expr] | None:
    """The values that are put to each output, by itself."""
    if len(block.results) == 1:
        return [reducer_of(edit, block).value]
    found, count = list[Expr](), len(block.reads)
    for number, write in enumerate(block.writes):
        numbers = {count + number: len(block.reads)} | {place: place for place in range(count)}
        if not block.results[number].elements() <= numbers.keys() or block.inits is None:
            return None
        alone = replace(
            block, writes=(write,), results=(block.results[number].renumbered(numbers),), inits=(block.inits[number],)
        )
        reducer = reducer_of(edit, alone)
        check_neutral(edit, alone, reducer)
        found.append(reducer.value)
    return found


def _is_choice(expr: Expr) -> bool:
    return isinstance(expr, Compute) and expr.name == CHOICE


def _chosen(block: Block) -> list[Expr] | None:
    """The values of outputs that one comparison of an output and its value chooses all of."""
    first, values = len(block.reads), list[Expr]()
    conditions = []
    for number, expr in enumerate(block.results):
        if not isinstance(expr, Compute) or not _is_choice(expr):
            return None
        condition, *sides = expr.operands
        held = [isinstance(side, Element) and side.number == first + number for side in sides]
        if sum(held) != 1 or any(each >= first for each in sides[held[0]].elements()):
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
    """Whether it compares an output with its value; where these are equal, maybe another output with its one."""
    if not isinstance(condition, Compute):
        return False
    if condition.name == "arith.ori":
        one, other = condition.operands
        both = other if isinstance(other, Compute) and other.name == "arith.andi" else one
        strict = one if both is other else other
        if not isinstance(both, Compute) or both.name != "arith.andi":
            return False
        equal, next_ = sorted(both.operands, key=lambda each: not _compares(each, _EQUAL, values, first))
        return (
            _compares(strict, _STRICT, values, first)
            and _compares(equal, _EQUAL, values, first)
            and _compares(next_, _STRICT + _LOOSE, values, first)
        )
    return _compares(condition, _STRICT + _LOOSE, values, first)


def _compares(expr: Expr, kinds: Sequence[tuple[str, int]], values: Sequence[Expr], first: int) -> bool:
    """Whether it is one of these comparisons of an output with its value."""
    if not isinstance(expr, Compute) or expr.name not in ("arith.cmpf", "arith.cmpi"):
        return False
    predicate = int(dict(expr.attributes)["predicate"].value)
    for held, value in (expr.operands, expr.operands[::-1]):
        number = held.number - first if isinstance(held, Element) else -1
        if 0 <= number < len(values) and is_same(value, values[number]):
            return (expr.name, predicate) in kinds
    return False


def is_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are written alike."""
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
    """How a block's one output is reduced; refuses others."""
    if len(block.results) != 1:
        edit.refuse(f"'{block.name}' reduces {len(block.results)} outputs together: only one can be done in parts")
    result, own = block.results[0], len(block.reads)
    if not isinstance(result, Compute) or result.name not in _NAMES:
        known = ", ".join(name.partition(".")[2] for name in _NAMES)
        edit.refuse(f"'{block.name}' is no reduction by {known}: its steps cannot be put together again")
    held = [part for part in result.operands if isinstance(part, Element) and part.number == own]
    others = [part for part in result.operands if part not in held]
    if len(held) != 1 or len(others) != 1 or own in others[0].elements():
        edit.refuse(f"'{block.name}' does not add one value at each step to what '{block.writes[0].buffer.name}' holds")
    return Reducer(result, others[0])


def check_neutral(edit: Edit, block: Block, reducer: Reducer) -> None:
    """The init must be the combiner's identity, since each part starts from it."""
    operator = OPERATORS[reducer.operation.name]
    if operator.is_idempotent or operator.identity is None or block.inits is None:
        return
    identity = operator.identity(0) + 0  # not -0
    start = block.inits[0]
    value = dict(start.attributes).get("value") if isinstance(start, Compute) else None
    if value is None or float(value.value) != identity:
        edit.refuse(f"'{block.name}' starts from something else than {identity:g}, which each part would add")
