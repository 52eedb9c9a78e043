# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of a tree to readable loops for a compiler that vectorizes them itself."""

from __future__ import annotations

from ....bindings.mlir import ir
from ....dialects.core.symbols_expr import Size, extremum, substituted, variables_of
from ....emit import loops
from ....emit.numbers import Number, as_index
from ....support.replacing import replace
from .ranges import Guard, factor_of, substitute_zero
from .tree import REDUCE, SERIAL, VECTORIZED, Loop, Tree, blocks_in, loops_in, loops_of
from .tree_buffers import Buffer
from .tree_reader import Read
from .tree_writer import Writer, WriterState
from .whole_steps import WholeSteps

#: Maximum number of elements of an array on the stack in a loop.
_MOST_ON_STACK = 1 << 10


class SourceWriter(Writer):
    """Writer that emits vectorized loops as serial ones.

    Loops end at the last valid point instead of testing each one.
    """

    is_source = True

    def __init__(self, read: Read, tree: Tree):
        super().__init__(read, tree)
        # The stack may be small: it has scalars, and short arrays of loops.
        for buffer, (loop, place) in self._places.items():
            is_short = place.elements is not None and place.elements <= (_MOST_ON_STACK if loop else 1)
            self._places[buffer] = loop, place._replace(on_stack=place.on_stack and is_short)

    def _loop(self, loop: Loop, state: WriterState) -> None:
        if loop.name in state.known:
            self._within(loop.name, loop.body, state)
            return
        super()._loop(replace(loop, kind=SERIAL) if loop.kind == VECTORIZED else loop, state)

    def _rest(self, loop: Loop, whole: WholeSteps, state: WriterState) -> None:
        """Emit the remainder of a loop over whole tiles, row by row if the number of rows is known at run time only."""
        inner = {each.name for each in loops_in(loop.body)}
        rows = {name for guard in whole.known for name in variables_of(guard.at) & inner}
        (limit, factor), *others = {(guard.limit, factor_of(guard.at, loop.name) or 1) for guard in whole.known}
        first, begin = limit // factor * factor, {loop.name: whole.end, **dict.fromkeys(rows, 0)}
        is_split = whole.is_almost_all and not others and not isinstance(whole.end, int)
        for guard in whole.known:
            moves = {factor_of(guard.at, row) for row in rows}
            is_split = is_split and moves <= {0, 1} and substituted(guard.at, begin) == first
        if not is_split or not are_apart(loop, rows):
            super()._rest(loop, whole, state)
            return
        state = state.with_known(loop.name, as_index(self._size(whole.end, state)))
        state = replace(state, holding=state.holding | whole.known)

        def body(row: Number) -> None:
            known = {**state.known, **dict.fromkeys(rows, row)}
            inner = replace(state, known=known, stack=ir.InsertionPoint.current.block)
            self._within(loop.name, loop.body, inner)

        loops.for_range(0, self._size(limit % factor, state), body)

    def _steps(self, loop: Loop, first: Size, end: Size, state: WriterState) -> None:
        if (guard := self._end_of(loop, state)) is not None:
            known = {name: value for name, value in state.known.items() if isinstance(value, int)}
            end = extremum("min", [end, substituted(guard.limit - substitute_zero(guard.at, loop.name), known)])
            state = replace(state, holding=state.holding | {guard})
        if not isinstance(end, int) or not isinstance(first, int) or first < end:
            super()._steps(loop, first, end, state)

    def _end_of(self, loop: Loop, state: WriterState) -> Guard | None:
        """Return the condition that all blocks in a loop impose on its steps, if the loops around are known."""
        blocks = blocks_in([loop])
        if any(block.inits is not None for block in blocks):
            return None
        for guard in self._fact(self._guards, blocks[0]):
            others = variables_of(substitute_zero(guard.at, loop.name)) & self._extents.keys()
            is_end = not guard.below and factor_of(guard.at, loop.name) == 1 and others <= state.known.keys()
            if (
                is_end
                and guard not in state.holding
                and all(guard in self._fact(self._guards, block) for block in blocks)
            ):
                return guard
        return None


def are_apart(loop: Loop, rows: set[str]) -> bool:
    """Return True if each block moves along exactly one of these loops, and iterations share no written elements."""
    blocks = blocks_in([loop])
    inner = {each.name for each in loops_in(loop.body)}
    written = {access.buffer for block in blocks for access in block.writes}
    places: dict[Buffer, set[tuple[int, Size]]] = {}
    for block in blocks:
        mine = rows & loops_of(block)
        if len(mine) != 1 or mine & loops_of(block, REDUCE) or not written.isdisjoint(block.loaded):
            return False
        (row,) = mine
        for access in (placed_access for placed_access in block.placed_accesses if placed_access.buffer in written):
            own = {
                (dim, substitute_zero(index, row))
                for dim, index in enumerate(access.indices)
                if factor_of(index, row) == 1
            }
            own = {(dim, rest) for dim, rest in own if inner.isdisjoint(variables_of(rest))}
            places[access.buffer] = places.get(access.buffer, own) & own
    return all(places.values())
