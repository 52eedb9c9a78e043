# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperation of the threads of a block.

All threads run the scalar code, and the loops and branches around shared work, alike. They share the points of linalg
operations and the steps of loops marked `tir.parallel`. Only the first thread runs ordered writes. Barriers separate
conflicting accesses.
"""

from __future__ import annotations

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import blocks_of, last_of, operations_in, operations_of
from ....emit.groups import Group
from ....emit.loops import for_range, load, store, when
from ....emit.numbers import as_index, number
from ..emit.memory_access import wait_for_block
from ..emit.threads import from_kept, kept_type, shared_memory, thread_id, threads_of, to_keep
from ..parallel_work import READS, WRITES, has_work, is_shared, is_structured
from .collapse import collapse_loops
from .points import Points
from .reduce import is_combined, reduce_row
from .row_teams import Team
from .vectors import Lanes


class Together:
    """Rewriter of a kernel's code for the threads of its blocks."""

    def __init__(self, kernel: Operation):
        self._kernel = kernel
        self._threads = threads_of(kernel)
        #: Reads and writes since the last barrier.
        self._is_read = self._is_written = False

    def share(self, block: Block) -> None:
        """Rewrite a block of operations that all threads run alike."""
        if self._threads == 1:
            return
        for op in operations_of(block):
            with op.location, ir.InsertionPoint(op):
                self._share(op)

    def _share(self, op: Operation) -> None:
        if is_structured(op):
            self._wait_before_writing()
            self._share_points(op)
            self._is_read = self._is_written = True
        elif is_shared(op):
            self._wait_before_writing()
            self._share_steps(op)
            self._is_read = self._is_written = True
        elif op.regions and has_work(op):
            # Around a loop, a barrier at the end of each step separates it from the next one.
            self._wait_before_writing()
            for block in blocks_of(op):
                self.share(block)
                with ir.InsertionPoint(last_of(block)):
                    self._wait_before_writing()
        elif _is_any(op, WRITES):
            self._wait_before_writing()
            self._run_on_one_thread(op)
            self._is_written = True
        elif _is_any(op, READS):
            if self._is_written:
                self._wait()
            self._is_read = True

    def _wait_before_writing(self) -> None:
        if self._is_read or self._is_written:
            self._wait()

    def _wait(self) -> None:
        wait_for_block()
        self._is_read = self._is_written = False

    # ---- shared work ----

    def _share_points(self, op: Operation) -> None:
        op = collapse_loops(op)
        points = Points(op)
        with ir.InsertionPoint(op):
            if self._is_for_all(points):
                for_range(0, points.count(), lambda place: self._one_row(points, place))
            else:
                for_range(thread_id(), points.count(), lambda place: points.write(points.at(place)), step=self._threads)
        op.erase()

    def _one_row(self, points: Points, place: Value) -> None:
        reduce_row(Lanes(Group((), points.operation), 1), Team(self._kernel, self._threads), place)
        wait_for_block()

    def _is_for_all(self, points: Points) -> bool:
        """Check whether all threads cooperate on one result at a time, because there are few results."""
        if not is_combined(points):
            return False
        results, steps = map(points.known_count, (points.parallels, points.reductions))
        is_few = results is not None and 0 < results < self._threads // 8
        return is_few and (steps is None or steps >= 32)

    def _share_steps(self, loop: Operation) -> None:
        first, _, step = list(loop.operands)
        loop.operands[0] = (number(first) + thread_id() * number(step)).value
        loop.operands[2] = (number(step) * self._threads).value

    # ---- work of the first thread ----

    def _run_on_one_thread(self, op: Operation) -> None:
        """Run the operation in the first thread only, which passes the results to the others."""
        slots = [shared_memory(self._kernel, [1], kept_type(result.type)) for result in op.results]
        uses = [list(result.uses) for result in op.results]

        def run() -> None:
            ir.InsertionPoint.current.insert(op.detach_from_parent())
            for result, slot in zip(op.results, slots, strict=True):
                store(to_keep(result), slot, 0)

        after = ir.InsertionPoint(op)
        with after:
            marker = as_index(0).value.owner.operation
        with ir.InsertionPoint(marker):
            when(thread_id() == 0, run)
            if slots:
                self._wait()
            for result, slot, used in zip(op.results, slots, uses, strict=True):
                received = from_kept(load(slot, 0), result.type)
                for use in used:
                    use.owner.operation.operands[use.operand_number] = received
        marker.erase()


def _is_any(op: Operation, names: frozenset[str]) -> bool:
    return op.name in names or any(operation.name in names for operation in (operations_in(op) if op.regions else ()))
