# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is told a journal of the loops that a kernel's operations become."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir, string_value
from ...emit.structured import StructuredOp, shape_of
from ..core.facts import LoopsFact
from ..core.journal import Journal
from .plan import UNPLANNED, Plan

# They move or name numbers, or are counted as a part of others.
_NO_WORK = frozenset("arith.constant arith.index_cast arith.extf arith.truncf arith.bitcast linalg.yield".split())


def note_loops(op: StructuredOp, plan: Plan, epilogue: Any) -> None:
    """Tells which plan an operation's loops follow, where somebody listens. Before the operation is replaced.

    `epilogue` is the operation that goes on with its results, or None.
    """
    journal = Journal.active()
    if journal is None:
        return
    journal.add(
        LoopsFact(
            _kernel_of(op.operation),
            plan.rule,
            [_size_text(op, dim) if size is None else size for dim, size in enumerate(op.sizes)],
            sorted(op.reductions),
            plan.order,
            plan.vector,
            plan.lanes,
            {str(dim): points for dim, points in plan.tile.items()},
            plan.blocks,
            plan.panel is not None,
            None if epilogue is None else _work(epilogue),
            _work(op.operation),
        )
    )


def _size_text(op: StructuredOp, dim: int) -> str | None:
    texts = (_axis_text(op.operands[operand], axis) for operand, axis in op.places_of(dim))
    return next((text for text in texts if text is not None), None)


def _axis_text(value: Any, axis: int) -> str | None:
    """An axis' size over those of the function's parameters, as LoopsFact.sizes has it; None where it is no product."""
    if shape_of(value)[axis] >= 0:
        return str(shape_of(value)[axis])
    if isinstance(value, ir.BlockArgument):
        is_parameter = value.owner.owner.operation.name == "func.func"
        return f"{value.arg_number}.{axis}" if is_parameter else None
    owner = value.owner.operation
    if owner.name == "tensor.collapse_shape":
        group = [int(each.value) for each in list(owner.attributes["reassociation"])[axis]]
        factors = [_axis_text(owner.operands[0], each) for each in group]
        return None if None in factors else "*".join(filter(None, factors))
    if owner.name == "tensor.pad" and not any(_padding(owner, axis)):
        return _axis_text(owner.operands[0], axis)
    if owner.name == "tensor.cast":
        return _axis_text(owner.operands[0], axis)
    if owner.name.startswith("linalg."):
        outputs = len(owner.operands) - len(owner.results)
        return _axis_text(owner.operands[outputs + list(owner.results).index(value)], axis)
    if owner.name == "tensor.empty":
        open_axes = [place for place, size in enumerate(shape_of(value)) if size < 0]
        return _index_text(owner.operands[open_axes.index(axis)])
    return None


def _padding(pad: Any, axis: int) -> list[int]:
    return [list(pad.attributes[side])[axis] for side in ("static_low", "static_high")]


def _index_text(value: Any) -> str | None:
    """What an index is, where it is a size of a tensor."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensor.dim":
        return None
    tensor, axis = owner.operation.operands
    maker = axis.owner
    if isinstance(maker, ir.Block) or maker.operation.name != "arith.constant":
        return None
    return _axis_text(tensor, int(maker.operation.attributes["value"].value))


def note_unplanned(operation: Any) -> None:
    """Tells why an operation becomes plain loops, where that is known and somebody listens."""
    journal = Journal.active()
    if journal is not None and UNPLANNED in operation.attributes:
        journal.add(LoopsFact(_kernel_of(operation), "", [], reason=string_value(operation.attributes[UNPLANNED])))


def _kernel_of(operation: Any) -> str:
    around = operation.parent.operation
    while around.name != "func.func":
        around = around.parent.operation
    return string_value(around.attributes["sym_name"])


def _work(operation: Any) -> int:
    """Operations on numbers for one point of the loops."""
    names = [view.operation.name for view in operation.regions[0].blocks[0].operations]
    return sum(name.startswith(("arith.", "math.")) and name not in _NO_WORK for name in names)
