# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions whose steps may be taken in any order, and in parts: what they add with, and what changes nothing."""

from __future__ import annotations

from typing import NamedTuple

from ...bindings.ir import Attribute
from ..loops.primitives import Edit
from ..loops.scalars import Compute, Element, Expr
from ..loops.tree import Block

#: What changes nothing, where a reduction must start from that to be done in parts; None where starting again is fine.
_NEUTRAL: dict[str, float | None] = {
    **dict.fromkeys(("arith.addf", "arith.addi", "arith.ori", "arith.xori"), 0.0),
    **dict.fromkeys(("arith.mulf", "arith.muli"), 1.0),
    **dict.fromkeys(
        ("arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui", "arith.minimumf", "arith.minnumf",
         "arith.minsi", "arith.minui", "arith.andi"), None
    ),
}  # fmt: skip


class Reducer(NamedTuple):
    """`operation(what there is, value)`."""

    operation: Compute
    value: Expr


def reducer_of(edit: Edit, block: Block) -> Reducer:
    """How a block's one output is reduced; refuses others."""
    if len(block.results) != 1:
        edit.refuse(f"'{block.name}' reduces {len(block.results)} outputs together: only one can be done in parts")
    result, own = block.results[0], len(block.reads)
    if not isinstance(result, Compute) or result.name not in _NEUTRAL:
        known = ", ".join(name.partition(".")[2] for name in _NEUTRAL)
        edit.refuse(f"'{block.name}' is no reduction by {known}: its steps cannot be put together again")
    held = [part for part in result.operands if isinstance(part, Element) and part.number == own]
    others = [part for part in result.operands if part not in held]
    if len(held) != 1 or len(others) != 1 or own in others[0].elements():
        edit.refuse(f"'{block.name}' does not add one value at each step to what '{block.writes[0].buffer.name}' holds")
    return Reducer(result, others[0])


def check_neutral(edit: Edit, block: Block, reducer: Reducer) -> None:
    """Starting each part from the init must change nothing."""
    neutral = _NEUTRAL[reducer.operation.name]
    if neutral is None or block.inits is None:
        return
    start = block.inits[0]
    value = dict(start.attributes).get("value") if isinstance(start, Compute) else None
    if value is None or _number(value) != neutral:
        edit.refuse(f"'{block.name}' starts from something else than {neutral:g}, which each part would add")


def _number(attribute: Attribute) -> float:
    return float(attribute.value)
