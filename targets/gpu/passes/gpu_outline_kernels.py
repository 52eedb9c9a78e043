# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of kernels: what works on memory moves out of the functions on memrefs, which launch it.

What stays is host code: sizes, allocations, views, loops and branches over those. Where host code reads an element, a
device's memory is asked (gpu-lower-launches). A kernel is of one of these forms, by what its operations are:

    tiles      a planned reduction, with what is done to its results: a block for each rectangle of them
    points     an operation of linalg: a thread for each of its points
    turned     a transposition: inputs are contiguous along another loop than outputs; a block for each tile of both
    several    such operations that do not meet in memory: blocks of threads for each
    threads    a loop marked `tir.parallel`: a thread for each step
    written    such a loop with N threads for each step, whose code says what each of them does (`tir.threads`)
    blocks     such a loop with linalg's operations or such loops inside: a block of threads for each step
    rows       a loop whose steps work on a row each, or an operation that reduces rows: a team of threads for each
    row_parts, point_parts
               the first half of a reduction to few results: a block or a thread for a part of each
    block      anything else that reads and writes, in one block
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import i64_attribute, ir, string_array
from ....bindings.navigation import (
    ancestors,
    blocks_of,
    body_of,
    constant_of,
    functions_in,
    has_body,
    operation_before,
    operations_in,
    operations_of,
    symbol_name,
    used_by,
    users_of,
)
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import located_error, use_instead
from ....dialects.core.ir_attributes import DEVICE, IS_TOGETHER, KERNELS, LANES, TEAM
from ....dialects.core.ir_attributes import THREADS as THREADS_OF_STEP
from ....emit import memrefs
from ....emit.numbers import Number, as_index, ceil_divided, operation
from ....emit.structured import analyze
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...core.backend import Machine
from ..emit.threads import STATIC_SHARED, WARP, usual_threads
from ..kernels.cases import by_rows
from ..kernels.fused import Fused, fused_in
from ..kernels.outline import Kernels
from ..kernels.own_memory import own_memory
from ..kernels.split_products import split_products
from ..parallel_work import READS, has_work, is_in_order, is_scalar, is_shared, is_structured, is_work, touches
from ..planned import product_kernels
from ..unplanned.collapse import collapse_loops
from ..unplanned.points import Points
from ..unplanned.reduce import is_combined, shape_of_row
from ..unplanned.rows import Rows, rows_of
from ..unplanned.several import Several, blocks_of_points, several_in
from ..unplanned.split import in_parts
from ..unplanned.teams import TeamShape, steps_of
from ..unplanned.transpose import turned
from ..unplanned.vectors import lanes_of

#: How many steps each thread of a block is to have before there are more threads.
_STEPS = 4


@register_pass
@dataclass(frozen=True)
class OutlineKernels(Pass):
    """Takes what works on memory into kernels, which host code launches."""

    name: ClassVar[str] = "gpu-outline-kernels"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("affine", "arith", "func", "gpu", "llvm", "memref", "scf")

    #: What the device is to its driver.
    device: str = "cuda"
    #: How many threads a block may have.
    threads: int = Machine.block_threads
    #: How many bytes of shared memory a block may have.
    shared: int = STATIC_SHARED

    def run(self, op: Operation) -> None:
        kernels = Kernels(op)
        run_upstream(op, ["func.func(linalg-generalize-named-ops)"], verify=False)
        with op.context:
            for function in [each for each in functions_in(op) if has_body(each)]:
                _HostCode(kernels, symbol_name(function), self.threads, self.shared).outline(body_of(function))
            op.attributes[DEVICE] = ir.StringAttr.get(self.device)
            op.attributes[KERNELS] = string_array(kernels.names)


@dataclass(frozen=True)
class _HostCode:
    kernels: Kernels
    name: str
    most_threads: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Of a block, where nothing says how many."""
        return usual_threads(self.most_threads)

    def outline(self, block: Block) -> None:
        group: list[Operation] = []
        fused = fused_in(block)
        for changes in (by_rows, split_products):
            if changes(fused):
                fused = fused_in(block)
        for each in fused:
            each.without_memory_between()
        together: list[Fused | Several] = [*fused, *several_in(block, [op for each in fused for op in each.ops])]
        for op in operations_of(block):
            mine = next((each for each in together if op in each.ops), None)
            if mine is not None:
                self._end_group(group)
                if op == mine.ops[-1]:
                    # Its operations may be others from here on.
                    together.remove(mine)
                    with op.location:
                        self._kernel(mine)
                continue
            if is_in_order(op) or (group and _goes_along(op) and _uses(op, group)):
                group.append(op)
                continue
            if group and (_is_step(op) or _uses(op, group)):
                self._end_group(group)
            with op.location:
                self._outline(op)

    def _end_group(self, group: list[Operation]) -> None:
        """What was gathered becomes a kernel; where it only reads, the host does."""
        if any(is_in_order(op) and op.name not in READS for op in group):
            with group[-1].location:
                self._block(group)
        group.clear()

    def _outline(self, op: Operation) -> None:
        if op.name == "memref.copy":
            op = _as_structured(op)
        if is_structured(op):
            self._kernel(Fused((), op))
        elif is_shared(op):
            self._loop(op)
        elif op.regions and touches(op):
            for inner in blocks_of(op):
                self.outline(inner)

    def _kernel(self, fused: Fused | Several) -> None:
        """By its plan, in parts, or at once. What puts parts together starts and ends as the whole would."""
        if isinstance(fused, Several):
            self._several(fused)
            return
        if fused.plan is not None:
            self._tiles(fused)
            return
        if IS_TOGETHER in fused.main.attributes:
            between = fused.main.operands[0]
            _end([between], self._points(fused))
            return
        parts = in_parts(fused.main)
        if parts is None:
            self._points(fused)
            return
        points = Points(parts.first)
        with ir.InsertionPoint(parts.first):
            count = as_index(points.count())
            blocks = count if parts.by_rows else ceil_divided(count, self.threads)
        form = "row_parts" if parts.by_rows else "point_parts"
        self.kernels.outline([parts.first], self.name, form, blocks.value, self.threads)
        _end(parts.between, self._points(replace(fused, main=parts.second)))

    def _points(self, fused: Fused) -> Operation:
        with ir.InsertionPoint(fused.ops[-1]):
            count = as_index(Points(fused.main).count())
        fused = Fused(fused.starts, collapse_loops(fused.main), tuple(map(collapse_loops, fused.epilogues)))
        points = Points(fused.main)
        if points.reduces_rows() and is_combined(points):
            with ir.InsertionPoint(fused.ops[-1]):
                return self._teams(fused.ops, fused.main, shape_of_row(points), count)
        tile_kernel = None if fused.epilogues else turned(points, self.shared_bytes)
        if tile_kernel is not None:
            _mark_lanes(fused.main, tile_kernel.lanes)
            with ir.InsertionPoint(fused.main):
                blocks = tile_kernel.blocks()
            return self.kernels.outline(fused.ops, self.name, "turned", blocks.value, self.threads)
        lanes = lanes_of(points, [Points(each) for each in fused.epilogues])
        _mark_lanes(fused.main, lanes)
        with ir.InsertionPoint(fused.ops[-1]):
            blocks = ceil_divided(count, self.threads * lanes)
        return self.kernels.outline(fused.ops, self.name, "points", blocks.value, self.threads)

    def _teams(self, ops: Sequence[Operation], main: Operation, shape: TeamShape, rows: Number) -> Operation:
        """A kernel with a team for each row of `main`."""
        known, shape = constant_of(rows), shape.within(self.most_threads)
        teams = shape.teams(-1 if known is None else known)
        main.attributes[TEAM] = shape.attribute()
        blocks = rows if teams == 1 else ceil_divided(rows, teams)
        return self.kernels.outline(ops, self.name, "rows", blocks.value, shape.threads * teams)

    def _several(self, several: Several) -> None:
        """One behind the other among the blocks."""
        ops = several.joined()
        with ops[-1].location, ir.InsertionPoint(ops[-1]):
            blocks = functools.reduce(operator.add, [blocks_of_points(op, self.threads) for op in ops])
        self.kernels.outline(ops, self.name, "several", blocks.value, self.threads)

    def _tiles(self, fused: Fused) -> None:
        assert fused.plan is not None
        with ir.InsertionPoint(fused.ops[-1]):
            count = as_index(product_kernels.blocks(analyze(fused.main, on_memrefs=True), fused.plan)).value
        self.kernels.outline(fused.ops, self.name, "tiles", count, product_kernels.threads(fused.plan))

    def _loop(self, loop: Operation) -> None:
        with ir.InsertionPoint(loop):
            steps = as_index(steps_of(loop))
        if THREADS_OF_STEP in loop.attributes:
            self.kernels.outline([loop], self.name, "written", steps.value, loop.attributes[THREADS_OF_STEP].value)
            return
        rows = rows_of(loop)
        if rows is not None:
            self._rows(loop, rows, steps)
            return
        form = "blocks" if has_work(loop) else "threads"
        own = own_memory(loop, steps, form, self.shared_bytes)
        with ir.InsertionPoint(loop):
            blocks = steps if form == "blocks" else ceil_divided(steps, self.threads)
        shared = [op for op in operations_in(loop, is_work) if is_work(op)]
        threads = _threads_for(shared, self.threads) if form == "blocks" else self.threads
        launch = self.kernels.outline([loop], self.name, form, blocks.value, threads)
        _end(own, launch)

    def _rows(self, loop: Operation, rows: Rows, steps: Number) -> None:
        shape, own = rows.shape().within(self.most_threads), list[Value]()
        if rows.length is None or not shape.chunks:
            own = own_memory(loop, steps, "rows", self.shared_bytes)
        with ir.InsertionPoint(loop):
            launch = self._teams([loop], loop, shape, steps)
        _end(own, launch)

    def _block(self, group: Sequence[Operation]) -> None:
        """What it gives goes through memory to the host, which waits for it."""
        last, ops = group[-1], list(group)
        own = [memory for op in group for memory in own_memory(op, None, "block", self.shared_bytes, before=last)]
        read: Operation | None = None
        for result in [each for op in group for each in op.results if _is_used_outside(each, group)]:
            slot, stored, read = _through_memory(result, ops, last, read)
            own.append(slot)
            ops.append(stored)
        with ir.InsertionPoint(last):
            one = as_index(1).value
        threads = self.threads if any(map(has_work, group)) else 1
        launch = self.kernels.outline(ops, self.name, "block", one, threads)
        _end(own, read or launch)


def _mark_lanes(op: Operation, lanes: int) -> None:
    op.attributes[LANES] = i64_attribute(lanes)


def _threads_for(ops: Sequence[Operation], most: int) -> int:
    """How many threads of a block share operations: a warp, or more where each has some steps to do."""
    if not all(map(is_structured, ops)):
        return most
    counts = [points.known_count(range(len(points.kinds))) for points in map(Points, ops)]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return most
    threads = WARP
    while threads < most and threads * _STEPS < max(known):
        threads *= 2
    return threads


def _through_memory(
    result: Value, ops: Sequence[Operation], last: Operation, after: Operation | None
) -> tuple[Value, Operation, Operation]:
    """Memory for a value that a kernel gives, what stores it there, and what reads it at the host."""
    if isinstance(result.type, ir.MemRefType):
        maker = result.owner.operation
        raise located_error(f"'{maker.name}' op gives memory that a kernel would have to allocate", maker.location)
    with ir.InsertionPoint(last):
        slot, place = memrefs.allocate([1], result.type), as_index(0).value
    users = [user for user in users_of(result) if not any(user == op or op in ancestors(user) for op in ops)]
    with ir.InsertionPoint.after(ops[-1]):
        stored = ir.Operation.create("memref.store", operands=[result, slot, place])
    with ir.InsertionPoint.after(after or stored):
        read = operation("memref.load", [slot, place], result.type)
    for user in users:
        use_instead(user, {result: read})
    return slot, stored, read.owner.operation


def _is_used_outside(value: Value, group: Sequence[Operation]) -> bool:
    return any(not any(user == op or op in ancestors(user) for op in group) for user in users_of(value))


def _goes_along(op: Operation) -> bool:
    """Whether a kernel may do it with what it reads, so that the host need not wait for that."""
    return is_scalar(op) or op.name == "tir.assert"


def _uses(op: Operation, group: Sequence[Operation]) -> bool:
    made = {result for each in group for result in each.results}
    return any(value in made for value in used_by(op))


def _is_step(op: Operation) -> bool:
    """Whether an operation works on memory, or gives it back: what was gathered before comes first."""
    return touches(op) or op.name in ("memref.dealloc", "func.call", "func.return") or op.name.startswith("tir.")


def _as_structured(op: Operation) -> Operation:
    """A copy as an operation of linalg."""
    with ir.InsertionPoint(op):
        memrefs.copy(*op.operands)
        made = operation_before(op)
    op.erase()
    return made


def _end(own: Sequence[Value], last: Operation) -> None:
    """Gives memory back behind its last use."""
    for memory in own:
        with ir.InsertionPoint.after(last):
            memrefs.deallocate(memory)
