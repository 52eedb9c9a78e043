# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says in kernels what each thread does: which points, which steps, and where a block's threads wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, operations_in, operations_of
from ....bindings.rewriting import replace_op
from ....emit.loops import PARALLEL, when
from ....emit.numbers import Number, as_index, number, operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..kernels.groups import planned_of
from ..kernels.joined import join_loops
from ..kernels.lanes import Lanes
from ..kernels.outline import FORM
from ..kernels.parts import reduce_part
from ..kernels.points import Points
from ..kernels.reduced import LANES, Reduced, reduced_of
from ..kernels.threads import block_id, shared_memory, thread_id, threads_of
from ..kernels.together import Together
from ..kernels.work import is_shared, is_structured
from ..nests import tiles


@register_pass
@dataclass(frozen=True)
class ShareThreads(Pass):
    """Says in kernels what each thread does."""

    name: ClassVar[str] = "gpu-share-threads"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("affine", "arith", "gpu", "memref", "scf", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in [each for each in operations_in(op) if each.name == "gpu.func" and FORM in each.attributes]:
                with kernel.location:
                    _FORMS[string_value(kernel.attributes[FORM])](kernel)
                    _place_memory(kernel)
                    _write_the_rest(kernel)
                del kernel.attributes[FORM]


def _points(kernel: Operation) -> None:
    reduced = reduced_of([each for each in operations_of(body_of(kernel)) if is_structured(each)])
    with reduced.reduction.location, ir.InsertionPoint(reduced.ops[-1]):
        lanes = Lanes(reduced, reduced.reduction.attributes[LANES].value)
        lanes.write(_thread_of_grid(kernel) * lanes.count, as_index(lanes.points.count()))
    _erase(reduced.ops)


def _tiles(kernel: Operation) -> None:
    planned = planned_of([each for each in operations_of(body_of(kernel)) if is_structured(each)])
    with planned.reduction.location, ir.InsertionPoint(planned.ops[-1]):
        tiles.write(planned.group(), block_id(), thread_id())
    _erase(planned.ops)


def _rows(kernel: Operation) -> None:
    reduced = reduced_of([each for each in operations_of(body_of(kernel)) if is_structured(each)])
    with reduced.reduction.location, ir.InsertionPoint(reduced.ops[-1]):
        Together(kernel).reduce_row(Lanes(reduced, 1), block_id())
    _erase(reduced.ops)


def _erase(ops: Sequence[Operation]) -> None:
    for op in reversed(ops):
        op.erase()


def _row_parts(kernel: Operation) -> None:
    (op,) = [each for each in operations_of(body_of(kernel)) if is_structured(each)]
    with op.location, ir.InsertionPoint(op):
        Together(kernel).reduce_row(Lanes(Reduced((), op), 1), block_id(), is_part=True)
    op.erase()


def _point_parts(kernel: Operation) -> None:
    (op,) = [each for each in operations_of(body_of(kernel)) if is_structured(each)]
    with op.location, ir.InsertionPoint(op):
        points, thread = Points(op), _thread_of_grid(kernel)
        when(thread < as_index(points.count()), lambda: reduce_part(points, thread))
    op.erase()


def _threads(kernel: Operation) -> None:
    loop = _loop_of(kernel)
    first, last, step = map(number, loop.operands)
    with loop.location, ir.InsertionPoint(loop):
        place = first + _thread_of_grid(kernel) * step
        when(place < last, lambda: _take_body(loop, place))
    loop.erase()


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
    "tiles": _tiles,
    "points": _points,
    "rows": _rows,
    "row_parts": _row_parts,
    "point_parts": _point_parts,
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


def _write_the_rest(kernel: Operation) -> None:
    """What one thread does alone, or all of them alike: as loops."""
    for op in [join_loops(each) for each in operations_in(kernel) if is_structured(each)]:
        with op.location, ir.InsertionPoint(op):
            Points(op).write_all()
        op.erase()
    for op in operations_in(kernel):
        if op.name == "scf.for" and PARALLEL in op.attributes:
            del op.attributes[PARALLEL]


def _thread_of_grid(kernel: Operation) -> Number:
    return block_id() * threads_of(kernel) + thread_id()


def _place_memory(kernel: Operation) -> None:
    """What a block has for itself is shared by its threads."""
    for op in [each for each in operations_in(kernel) if each.name == "memref.alloc"]:
        type_ = op.results[0].type
        with op.location, ir.InsertionPoint.at_block_begin(body_of(kernel)):
            shared = shared_memory(kernel, type_.shape, type_.element_type)
            is_same = shared.type == type_
            replace_op(op, [shared if is_same else operation("memref.memory_space_cast", [shared], type_).value])
