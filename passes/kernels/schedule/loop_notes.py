# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Journal entries about the loops of a kernel's operations."""

from __future__ import annotations

import math

from ....bindings.diagnostics import warn
from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, constant_of, innermost, made_by, operations_of, symbol_name
from ....dialects.core.ir_attributes import UNPLANNED
from ....emit.collapse import groups_of
from ....emit.generic import GENERIC, GenericOp
from ....emit.structured import StructuredOp, shape_of
from ...core.facts import LoopsFact
from ...core.journal import Journal
from .plan import Plan

# Operations that move or name numbers, or that are counted as a part of others.
_NO_WORK = frozenset("arith.constant arith.index_cast arith.extf arith.truncf arith.bitcast linalg.yield".split())

#: Scalar loops with more operations take a millisecond, so that their kernel deserves a warning.
_MANY_OPERATIONS = 1_000_000


def note_loops(op: StructuredOp, plan: Plan, epilogue: Operation | None) -> None:
    """Add an operation's plan to the active journal, before the operation is replaced.

    `epilogue` is the operation that is fused to its results, or None.
    """
    if (journal := Journal.active()) is None:
        return
    kernel, work = _kernel_of(op.operation), _work(op.operation)
    sizes = [_size_text(op, dim) if size is None else size for dim, size in enumerate(op.sizes)]
    tile = {str(dim): points for dim, points in plan.tile.items()}
    how = (plan.order, plan.vector, plan.lanes, tile, plan.blocks, plan.panel is not None)
    after = None if epilogue is None else _work(epilogue)
    journal.add(LoopsFact(kernel, plan.rule, sizes, sorted(op.reductions), *how, after, work))


def _size_text(op: StructuredOp, dim: int) -> str | None:
    texts = (_axis_text(op.operands[operand], axis) for operand, axis in op.places_of(dim))
    return next((text for text in texts if text is not None), None)


def _axis_text(value: Value, axis: int) -> str | None:
    """Return an axis' size as a product of parameters' sizes, in LoopsFact.sizes' format, or None for other sizes."""
    if shape_of(value)[axis] >= 0:
        return str(shape_of(value)[axis])
    if isinstance(value, ir.BlockArgument):
        is_parameter = value.owner.owner.operation.name == "func.func"
        return f"{value.arg_number}.{axis}" if is_parameter else None
    owner = value.owner.operation
    if owner.name == "tensor.collapse_shape":
        factors = [_axis_text(owner.operands[0], each) for each in groups_of(owner)[axis]]
        return None if None in factors else "*".join(filter(None, factors))
    sides = ("static_low", "static_high") if owner.name == "tensor.pad" else ()
    if owner.name in ("tensor.cast", "tensor.pad") and not any(list(owner.attributes[side])[axis] for side in sides):
        return _axis_text(owner.operands[0], axis)
    if owner.name.startswith("linalg."):
        outputs = len(owner.operands) - len(owner.results)
        return _axis_text(owner.operands[outputs + list(owner.results).index(value)], axis)
    if owner.name == "tensor.empty":
        open_axes = [place for place, size in enumerate(shape_of(value)) if size < 0]
        return _index_text(owner.operands[open_axes.index(axis)])
    return None


def _index_text(value: Value) -> str | None:
    """Return an index as a size of a tensor, or None if it is none."""
    size = made_by(value, "tensor.dim")
    axis = None if size is None else constant_of(size.operands[1])
    return None if size is None or axis is None else _axis_text(size.operands[0], axis)


def note_unplanned(operation: Operation) -> None:
    """Note the reason why an operation becomes scalar loops, if it is known, and warn if the loops are much work."""
    if UNPLANNED not in operation.attributes or operation.name != GENERIC:
        return
    op, reason = GenericOp(operation), string_value(operation.attributes[UNPLANNED])
    if (count := _operations_in(op)) > _MANY_OPERATIONS:
        text = f"PrimFunc @{_kernel_of(operation)}: {count:,} operations or more run as scalar loops without vectors"
        warn(f"{text}: {reason}; change the operation, or write a schedule for it", operation.location)
    if (journal := Journal.active()) is not None:
        sizes, work = op.known_sizes, _work(operation)
        journal.add(LoopsFact(_kernel_of(operation), "", sizes, op.reductions, flops=work, reason=reason))


def _operations_in(op: GenericOp) -> int:
    """Return the known number of operations, not counting indices and conditions. Unknown sizes count as 1."""
    inner = [operation for operation in operations_of(op.block) if operation.name.startswith(("arith.", "math."))]
    computed = [
        operation for operation in inner if operation.name not in _NO_WORK and not _is_index(operation.results[0].type)
    ]
    return math.prod(1 if size is None else size for size in op.known_sizes) * len(computed)


def _is_index(type_: Type) -> bool:
    return isinstance(type_, ir.IndexType) or (isinstance(type_, ir.IntegerType) and type_.width == 1)


def _kernel_of(operation: Operation) -> str:
    return symbol_name(innermost(operation, "func.func"))


def _work(operation: Operation) -> int:
    """Return the number of operations on numbers for one point of the loops."""
    names = [inner.name for inner in operations_of(body_of(operation))]
    return sum(name.startswith(("arith.", "math.")) and name not in _NO_WORK for name in names)
