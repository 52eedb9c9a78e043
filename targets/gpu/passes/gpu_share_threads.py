# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mapping of loops to threads in kernels: which points and steps each has, and barriers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, operations_in, operations_of, users_of
from ....bindings.rewriting import replace_op
from ....dialects.core.ir_attributes import FORM, LANES, PARALLEL
from ....emit.loops import when
from ....emit.memrefs import root_of
from ....emit.numbers import Number, as_index, number, operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..emit.threads import ALIGNMENT, block_id, shared_memory, thread_id, threads_of
from ..kernels.fused import Fused, fused_of
from ..kernels.outline import kernels_in
from ..parallel_work import is_shared, is_structured
from ..planned import product_kernels
from ..unplanned.blocks import Together
from ..unplanned.collapse import collapse_loops
from ..unplanned.points import Points
from ..unplanned.reduce import reduce_row
from ..unplanned.rows import rows_of, write_rows
from ..unplanned.several import write_several
from ..unplanned.split import reduce_part
from ..unplanned.teams import Team, shape_of, steps_of
from ..unplanned.transpose import turned, write_turned
from ..unplanned.vectors import Lanes


@register_pass
class ShareThreads(Pass):
    """Says in kernels what each thread does."""

    name: ClassVar[str] = "gpu-share-threads"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("affine", "arith", "gpu", "memref", "scf", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in [each for each in kernels_in(op) if FORM in each.attributes]:
                with kernel.location:
                    _FORMS[string_value(kernel.attributes[FORM])](kernel)
                    inside = operations_in(kernel)
                    allocations = [each for each in inside if each.name == "memref.alloc"]
                    loops = [each for each in inside if each.name == "scf.for" and PARALLEL in each.attributes]
                    structured = list(filter(is_structured, inside))
                    _place_memory(kernel, allocations)
                    _write_the_rest(structured)
                    for loop in loops:
                        del loop.attributes[PARALLEL]
                del kernel.attributes[FORM]


_Write = Callable[[Operation, Fused], None]


def _of_fused(write: _Write) -> Callable[[Operation], None]:
    """A form of what is to be written in place of a kernel's operations."""

    def of_kernel(kernel: Operation) -> None:
        fused = fused_of([each for each in operations_of(body_of(kernel)) if is_structured(each)])
        with fused.main.location, ir.InsertionPoint(fused.ops[-1]):
            write(kernel, fused)
        for op in reversed(fused.ops):
            op.erase()

    return of_kernel


def _several(kernel: Operation) -> None:
    ops = [each for each in operations_of(body_of(kernel)) if is_structured(each)]
    with ops[-1].location, ir.InsertionPoint(ops[-1]):
        write_several(ops, threads_of(kernel))
    for op in reversed(ops):
        op.erase()


def _points(kernel: Operation, fused: Fused) -> None:
    lanes = Lanes(fused, fused.main.attributes[LANES].value)
    lanes.write(_thread_of_grid(kernel) * lanes.count, as_index(lanes.points.count()))


def _turned(kernel: Operation, fused: Fused) -> None:
    op = turned(Points(fused.main))
    assert op is not None, "as gpu-outline-kernels has found"
    write_turned(kernel, op)


def _tiles(_: Operation, fused: Fused) -> None:
    product_kernels.write(fused.planned(), block_id(), thread_id())


def _rows_of_fused(kernel: Operation, fused: Fused) -> None:
    lanes, shape = Lanes(fused, 1), shape_of(fused.main)
    team = Team(kernel, shape.threads, lanes.points.count())
    reduce_row(lanes, team, team.row, shape.lanes)


def _row_parts(kernel: Operation, fused: Fused) -> None:
    reduce_row(Lanes(fused, 1), Team(kernel, threads_of(kernel)), block_id(), is_part=True)


def _point_parts(kernel: Operation, fused: Fused) -> None:
    points, thread = Points(fused.main), _thread_of_grid(kernel)
    when(thread < as_index(points.count()), lambda: reduce_part(points, thread))


def _threads(kernel: Operation) -> None:
    loop = _loop_of(kernel)
    first, last, step = map(number, loop.operands)
    with loop.location, ir.InsertionPoint(loop):
        place = first + _thread_of_grid(kernel) * step
        when(place < last, lambda: _take_body(loop, place))
    loop.erase()


def _rows(kernel: Operation) -> None:
    """Of a loop's steps, or of one reduction."""
    loop = next((each for each in operations_of(body_of(kernel)) if is_shared(each)), None)
    if loop is None:
        _of_fused(_rows_of_fused)(kernel)
        return
    rows, shape = rows_of(loop), shape_of(loop)
    assert rows is not None, "as gpu-outline-kernels has found"
    own = [op.results[0] for op in operations_of(body_of(loop)) if op.name == "memref.alloc"]
    first, _, step = map(number, loop.operands)
    with loop.location, ir.InsertionPoint(loop):
        team = Team(kernel, shape.threads, steps_of(loop))
        _take_body(loop, first + team.row * step)
        write_rows(rows, team, shape, lambda memref: root_of(memref) in own)
    loop.erase()
    for points in reversed(rows.ops):
        points.operation.erase()
    for memref in own:
        _erase_unused(memref)


def _erase_unused(memref: Value) -> None:
    """Memory of which registers have taken the place."""
    for user in users_of(memref):
        if user.name == "memref.dealloc":
            user.erase()
        elif len(user.results):
            _erase_unused(user.results[0])
    if not users_of(memref):
        memref.owner.operation.erase()


def _written(kernel: Operation) -> None:
    loop = _loop_of(kernel)
    first, _, step = map(number, loop.operands)
    with loop.location, ir.InsertionPoint(loop):
        _take_body(loop, first + block_id() * step)
    loop.erase()


def _blocks(kernel: Operation) -> None:
    _written(kernel)
    Together(kernel).share(body_of(kernel))


def _block_alone(kernel: Operation) -> None:
    Together(kernel).share(body_of(kernel))


_FORMS: dict[str, Callable[[Operation], None]] = {
    "tiles": _of_fused(_tiles),
    "points": _of_fused(_points),
    "turned": _of_fused(_turned),
    "several": _several,
    "rows": _rows,
    "row_parts": _of_fused(_row_parts),
    "point_parts": _of_fused(_point_parts),
    "threads": _threads,
    "written": _written,
    "blocks": _blocks,
    "block": _block_alone,
}


def _loop_of(kernel: Operation) -> Operation:
    (loop,) = [each for each in operations_of(body_of(kernel)) if is_shared(each)]
    return loop


def _take_body(loop: Operation, place: Value) -> None:
    """The operations of a loop's body, where the insertion point is, at a step."""
    block = body_of(loop)
    block.arguments[0].replace_all_uses_with(place)
    point = ir.InsertionPoint.current
    for op in operations_of(block)[:-1]:
        point.insert(op.detach_from_parent())


def _write_the_rest(ops: Sequence[Operation]) -> None:
    """What one thread does alone, or all of them alike: as loops."""
    for op in list(map(collapse_loops, ops)):
        with op.location, ir.InsertionPoint(op):
            Points(op).write_all()
        op.erase()


def _thread_of_grid(kernel: Operation) -> Number:
    return block_id() * threads_of(kernel) + thread_id()


def _place_memory(kernel: Operation, allocations: Sequence[Operation]) -> None:
    """What a block has for itself is shared by its threads."""
    for op in allocations:
        type_ = op.results[0].type
        with op.location, ir.InsertionPoint.at_block_begin(body_of(kernel)):
            asked = op.attributes["alignment"].value if "alignment" in op.attributes else ALIGNMENT
            shared = shared_memory(kernel, type_.shape, type_.element_type, max(asked, ALIGNMENT))
            is_same = shared.type == type_
            replace_op(op, [shared if is_same else operation("memref.memory_space_cast", [shared], type_).value])
