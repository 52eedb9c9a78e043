# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Split-K products: blocks share the reduction steps in parts, and a second kernel combines the partial sums.

The second kernel starts from the initial value of the whole reduction, adds the parts in order, and runs the epilogues.
The number of parts depends on sizes only, so that results are reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....bindings.affine import identity
from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....bindings.navigation import operation_before
from ....dialects.core.ir_attributes import IS_TOGETHER, PLAN
from ....emit import linalg, memrefs
from ....emit.combiner import Combiner, combiners
from ....emit.generic import GenericOp
from ....emit.linalg import PARALLEL, REDUCTION
from ....emit.numbers import Size, as_index
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.plan import Start, set_plan
from ..planned import product_kernels
from ..planned.group import PlannedGroup, part_loop
from ..unplanned.split import with_loop
from .cases import in_branches
from .fused import Fused


def split_products(groups: Sequence[Fused]) -> bool:
    """Split products according to their plans. Return True if there are any.

    Where the number of parts depends on dynamic sizes, the host checks it at run time.
    """
    in_parts = [(fused, fused.planned()) for fused in groups if fused.plan is not None and fused.plan.parts is not None]
    whole = [(planned, group) for planned, group in in_parts if part_loop(group.op, group.plan) is None]
    for planned, group in whole:
        with group.op.operation.location, ir.InsertionPoint(planned.ops[0]):
            if isinstance(count := product_kernels.parts(group.op, group.plan), int):
                _split(planned, group, count)
            else:
                split = lambda copied, count=count: _split(copied, copied.planned(), count)  # noqa: E731
                in_branches(planned, as_index(count) > 1, split, _drop_parts)
    return bool(whole)


def _drop_parts(copied: Fused) -> None:
    """Remove the parts from the plan, so that this pass does not process the copy again."""
    assert copied.plan is not None
    set_plan(copied.main, replace(copied.plan, parts=None))


def _split(planned: Fused, group: PlannedGroup, count: Size) -> None:
    op = planned.main
    (output,), (combiner,) = group.op.outputs, combiners(group.op)
    with ir.InsertionPoint(op):
        between = memrefs.allocate([count, *memrefs.dims(output)], output.type.element_type)
        rank = len(between.type.shape)
        maps = [linalg.select_dims(rank, []), identity(rank)]
        linalg.generic([combiner.neutral()], [between], maps, [PARALLEL] * rank, lambda value, _: value)
        set_plan(operation_before(op), Start())
        # Build the combination first, because it reads the operation's body, which moves afterwards.
        _put_together(between, output, combiner)
        second = operation_before(op)
        second.attributes[IS_TOGETHER] = ir.UnitAttr.get()
    with ir.InsertionPoint(second):
        _apart(group.op, between, group)
    for start in (*planned.starts, *planned.epilogues):
        if PLAN in start.attributes:  # the fill of the output may have none
            del start.attributes[PLAN]
    op.erase()


def _apart(op: StructuredOp, between: Value, group: PlannedGroup) -> None:
    """Clone the operation with an additional loop over the parts, which is the plan's outermost loop."""
    dims, generic, plan = len(op.sizes), GenericOp(op.operation), group.plan
    operation = with_loop(generic, [[ir.AffineDimExpr.get(dims), *generic.maps[-1].results]], [between])
    loops = (*plan.joined, (dims,))
    set_plan(operation, replace(plan, loops=loops, order=(len(plan.joined), *plan.order)))


def _put_together(between: Value, output: Value, combiner: Combiner) -> None:
    rank = len(output.type.shape)
    maps = [linalg.select_dims(rank + 1, dims) for dims in ([rank, *range(rank)], range(rank))]
    iterators = [*[PARALLEL] * rank, REDUCTION]
    linalg.generic([between], [output], maps, iterators, lambda part, before: combiner.apply(before, part))
