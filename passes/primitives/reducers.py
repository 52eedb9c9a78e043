# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Associative and commutative reductions: their combiner and its identity."""

from __future__ import annotations

from typing import NamedTuple

from ...emit.combiner import CHOICE, OPERATORS
from ..loops.body_scalars import Compute, Element, Expr
from ..loops.primitives import Edit
from ..loops.tree import Block

_NAMES = [name for name in OPERATORS if name != CHOICE]


class Reducer(NamedTuple):
    """`operation(what there is, value)`."""

    operation: Compute
    value: Expr


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
