# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose steps blocks share in parts, as plans say: sums of each part at first, then the parts put together.

What puts parts together starts from what the whole would start from, adds them in their order, and goes on as the
whole would. How many parts there are depends on sizes alone: results are the same at each run.
"""

from __future__ import annotations

from dataclasses import replace

from ....bindings.ir import AffineMap, Block, Operation, Value
from ....bindings.mlir import ir
from ....dialects.core.ir_attributes import IS_TOGETHER, PLAN
from ....emit import memory as memrefs
from ....emit.generic import GenericOp
from ....emit.linalg import PARALLEL, REDUCTION, generic
from ....emit.numbers import Size, as_index
from ....emit.structured import StructuredOp
from ....passes.schedule.combiner import Combiner, combiners
from ....passes.schedule.plan import Start, set_plan
from ..nests import tiles
from ..nests.group import Group, part_loop
from .cases import in_branches
from .fused import Fused, fused_in
from .split import with_loop


def split_products(block: Block) -> None:
    """Splits products of a block whose plans say so; where only sizes at run time tell, the host looks at these."""
    for planned in [each for each in fused_in(block) if each.plan is not None]:
        group = planned.group()
        if group.plan.parts is None or part_loop(group.op, group.plan) is not None:
            continue
        with group.op.operation.location, ir.InsertionPoint(planned.ops[0]):
            count = tiles.parts(group.op, group.plan)
            if isinstance(count, int):
                _split(planned, group, count)
            else:
                in_parts = lambda copied, count=count: _split(copied, copied.group(), count)  # noqa: E731
                in_branches(planned, as_index(count) > 1, in_parts, _at_once)


def _at_once(copied: Fused) -> None:
    """Not looked at for parts again."""
    assert copied.plan is not None
    set_plan(copied.main, replace(copied.plan, parts=None))


def _split(planned: Fused, group: Group, count: Size) -> None:
    op = planned.main
    (output,), (combiner,) = group.op.outputs, combiners(group.op)
    with ir.InsertionPoint(op):
        between = memrefs.allocate([count, *memrefs.dims(output)], output.type.element_type)
        rank = len(between.type.shape)
        scalar, whole = ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)
        generic([combiner.neutral()], [between], [scalar, whole], [PARALLEL] * rank, lambda value, _: value)
        set_plan(_made_before(op), Start())
        # First what reads the operation's body, which then moves.
        _put_together(between, output, combiner)
        second = _made_before(op)
        second.attributes[IS_TOGETHER] = ir.UnitAttr.get()
    with ir.InsertionPoint(second):
        _apart(group.op, between, group)
    for each in (*planned.starts, *planned.epilogues):
        del each.attributes[PLAN]
    op.erase()


def _made_before(op: Operation) -> Operation:
    ops = [each.operation for each in op.block.operations]
    return ops[ops.index(op) - 1]


def _apart(op: StructuredOp, between: Value, group: Group) -> None:
    """The operation with a loop for the parts behind its own, which the plan has as the outermost one."""
    dims, operation, plan = len(op.sizes), op.operation, group.plan
    *reads, output = GenericOp(operation).maps
    places = [ir.AffineDimExpr.get(dims), *output.results]
    maps = [_with_loop(map_, list(map_.results)) for map_ in reads] + [_with_loop(output, places)]
    made = with_loop(operation, maps, [between])
    loops = (*plan.joined, (dims,))
    set_plan(made, replace(plan, loops=loops, order=(len(plan.joined), *plan.order)))


def _with_loop(map_: AffineMap, places: list) -> AffineMap:
    return ir.AffineMap.get(map_.n_dims + 1, 0, places)


def _put_together(between: Value, output: Value, combiner: Combiner) -> None:
    rank = len(output.type.shape)
    kept = [ir.AffineDimExpr.get(dim) for dim in range(rank)]
    maps = [
        ir.AffineMap.get(rank + 1, 0, [ir.AffineDimExpr.get(rank), *kept]),
        ir.AffineMap.get(rank + 1, 0, kept),
    ]
    iterators = [*[PARALLEL] * rank, REDUCTION]
    generic([between], [output], maps, iterators, lambda part, before: combiner.apply(before, part))
