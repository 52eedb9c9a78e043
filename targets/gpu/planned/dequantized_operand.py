# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that a body dequantizes before it multiplies them: weights of few bits, with scales and zero points.

A block of threads dequantizes each element once, on the way to shared memory. Device memory contains only the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import last_of, made_by, users_of
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.vector_body import needed

_WIDENINGS = ("arith.extf", "arith.extsi", "arith.extui")


class Dequantized(NamedTuple):
    """Dequantized value of the body, and the inputs that it depends on, the codes first."""

    value: Value
    operands: tuple[int, ...]


def made_of(op: StructuredOp, operand: int) -> Dequantized | None:
    """Return the float that the body computes from an integer input at the same points, or None."""
    argument = op.block.arguments[operand]
    if not isinstance(argument.type, ir.IntegerType):
        return None
    (combiner,) = combiners(op)
    value, sources = argument, {operand}
    while len(users := users_of(value)) == 1 and users[0] != combiner.operation:
        if (more := _sources(op, users[0], operand)) is None:
            break
        value, sources = users[0].results[0], more
    value = narrowed(value)
    if not isinstance(value.type, ir.FloatType):
        return None
    return Dequantized(value, (operand, *sorted(sources - {operand})))


def narrowed(value: Value) -> Value:
    """Return the value before a lossless widening."""
    widening = made_by(value, *_WIDENINGS)
    return value if widening is None else widening.operands[0]


def factor_of(op: StructuredOp, operand: int) -> Value:
    """Return the value of an input that a body multiplies, before its widening."""
    made = made_of(op, operand)
    return op.block.arguments[operand] if made is None else made.value


def inputs_of_none(op: StructuredOp, factors: Sequence[Value]) -> set[int]:
    """Return the inputs that the body does not read once the values of `factors` are known."""
    (result,) = last_of(op.block).operands
    return set(range(op.input_count)) - _arguments(op, [result], factors)


def _arguments(op: StructuredOp, values: Sequence[Value], known: Sequence[Value] = ()) -> set[int]:
    """Return the inputs and outputs that values of the body depend on."""
    used = {operand for maker in needed(op.block, values, known) for operand in maker.operands} | set(values)
    return {place for place, argument in enumerate(op.block.arguments) if argument in used and argument not in known}


def _sources(op: StructuredOp, inner: Operation, operand: int) -> set[int] | None:
    """Return the inputs that an operation's results depend on.

    None if an input changes along a parallel loop that does not index `operand`.
    """
    loops = {dim for dim in op.dims if op.uses(operand, dim)} | op.reductions
    arguments = _arguments(op, inner.results)
    is_known = all(argument < op.input_count for argument in arguments) and all(
        dim in loops for argument in arguments for dim in op.dims if op.uses(argument, dim)
    )
    return arguments if is_known else None
