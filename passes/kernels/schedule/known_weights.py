# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of products with a constant matrix, which is packed as panels while the results stay in registers.

With few rows, copying a panel does not pay off, but a panel that is packed at compile time costs nothing. For one row,
plans add rows of the matrix to results in the cache, since columns have a stride; panels have none.
"""

from __future__ import annotations

from dataclasses import replace

from ....emit.structured import StructuredOp
from .plan import Panel, Parallel, Plan, points_of_step

#: Number of vectors. With this many sums in flight, no sum waits for its predecessor, and a step reads contiguous
#: elements.
_COLUMNS_OF_ONE_ROW = 8


def with_panel(op: StructuredOp, plan: Plan) -> Plan | None:
    """Return the plan with a panel for the input that is read as vectors.

    Return None if the input is no matrix, or the plan's loops need its layout.
    """
    reductions = [dim for dim in op.reductions if op.sizes[dim] != 1]
    with_vectors = [operand for operand in range(op.input_count) if op.uses(operand, plan.vector)]
    if plan.vector in op.reductions or len(reductions) != 1 or len(with_vectors) != 1 or op.input_count < 2:
        return None
    (operand,), (dim,) = with_vectors, reductions
    rows, columns = op.sizes[dim], op.sizes[plan.vector]
    if [index.dim for index in op.accesses[operand]] != [dim, plan.vector] or rows is None or columns is None:
        return None
    panel = Panel(operand, dim, rows)
    if plan.carried == 0:
        return _of_one_row(op, plan, panel, columns)
    inside = plan.order[plan.order.index(plan.vector) + 1 :]
    return replace(plan, panel=panel) if dim in inside and dim not in dict(plan.blocks) else None


def _of_one_row(op: StructuredOp, plan: Plan, panel: Panel, columns: int) -> Plan | None:
    """Return a plan with sums in registers instead of rows that are added to results in the cache."""
    around = [dim for dim in plan.order if dim not in op.reductions and dim != plan.vector]
    if any(op.sizes[dim] != 1 for dim in around):
        return None
    reductions = [dim for dim in plan.order if dim in op.reductions]
    count = min(_COLUMNS_OF_ONE_ROW, -(-columns // plan.lanes))
    new = replace(
        plan,
        order=(*around, plan.vector, *reductions),
        carried=len(reductions),
        tile={plan.vector: count},
        blocks=(),
        panel=panel,
        parallel=None,
    )
    if plan.parallel is None or plan.parallel.dim != plan.vector:
        return new
    step = points_of_step(new, plan.vector)
    grain = plan.parallel.grain
    return replace(new, parallel=Parallel(plan.vector, None if grain is None else -(-grain // step) * step))
