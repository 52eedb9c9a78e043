# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpointing: values between start_checkpoint and end_checkpoint are rematerialized for the backward pass."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import made_by, operations_in, used_by

from .scf_derivatives import Inside, leave_out_effects

START, END = "relax.grad.start_checkpoint", "relax.grad.end_checkpoint"


def computed_again(
    end: Operation, arriving: Value, varying: AbstractSet[Value], inside: Inside
) -> list[tuple[Value, Value]]:
    """Rematerialize the operands of an end_checkpoint, and return the values outside with their gradients.

    The result is empty if the marked value itself is from outside. Without a start_checkpoint the recomputation starts
    at the tensors to differentiate by.
    """
    (marked,) = end.operands
    copies: dict[Value, Value] = {}
    outside: dict[Value, None] = {}
    for operation in _find_between(marked, varying):
        copy = operation.clone().operation
        for each in [copy, *operations_in(copy)]:
            for place, operand in enumerate(each.operands):
                if operand in copies:
                    each.operands[place] = copies[operand]
        outside.update(dict.fromkeys(value for value in used_by(operation) if value not in copies))
        leave_out_effects(copy)
        copies.update(zip(operation.results, copy.results, strict=True))
    if marked not in copies:
        return []
    xs = [value for value in outside if value in varying]
    return list(zip(xs, inside([(copies[marked], arriving)], xs, outside), strict=True))


def _find_between(marked: Value, varying: AbstractSet[Value]) -> list[Operation]:
    """Return the operations that compute a value from the starts of checkpoints, in program order."""
    ordered: list[Operation] = []
    done: set[Value] = set()
    waiting = [(marked, False)]
    while waiting:
        value, has_operands = waiting.pop()
        operation = made_by(value)
        if operation is None or operation.name == START or value not in varying:
            continue
        if has_operands:
            ordered.append(operation)
        elif value not in done:
            done.update(operation.results)
            waiting.append((value, True))
            waiting.extend((used, False) for used in used_by(operation))
    return ordered
