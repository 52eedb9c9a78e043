# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposing kernels: inputs and outputs are contiguous along different loops.

Tiles are transposed in shared memory. A warp reads adjacent elements of an input as a row of the tile. It computes
adjacent elements of the output from a column of the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ....bindings.affine import dims_in, plain_dim
from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....emit import loops
from ....emit.linalg import product
from ....emit.memrefs import byte_count, storage_bytes
from ....emit.numbers import Number, Size, as_index, ceil_divided, number
from ....emit.vectors import from_elements
from ..emit.memory_access import elements, load, store, wait_for_block
from ..emit.threads import WARP, block_id, from_kept, kept_type, shared_memory, thread_id, threads_of, to_keep
from ..planned.index_arithmetic import is_multiple
from .points import Indices, Points, taken_apart
from .vectors import is_vector

#: Minimum steps of a tiled loop, and most bytes of a block's tiles.
_LEAST, _MOST_BYTES = 8, 40 << 10
#: Bytes that a thread moves at once if possible, equal to the width of a shared memory bank.
_WORD_BYTES = 4


@dataclass(frozen=True)
class Turned:
    """Operation with the inputs `places` contiguous along the loop `inside`, and all outputs along `outside`."""

    points: Points
    places: tuple[int, ...]
    inside: int
    outside: int

    @property
    def width(self) -> int:
        """Width and height of a tile."""
        return WARP * max(_WORD_BYTES // max(storage_bytes(self._element(place)) for place in self.places), 1)

    @property
    def lanes(self) -> int:
        """Number of adjacent elements that a thread moves at once."""
        lanes, points = self.width // WARP, self.points
        outputs = points.output_numbers
        ways = [*((place, self.inside) for place in self.places), *((place, self.outside) for place in outputs)]
        sizes = [points.known_size(dim) for dim in (self.inside, self.outside)]
        is_whole = all(size is not None and size % lanes == 0 for size in sizes)
        return lanes if is_whole and all(is_vector(points, place, lanes, dim) for place, dim in ways) else 1

    def _element(self, place: int) -> ir.Type:
        return self.points.operands[place].type.element_type

    @property
    def shape(self) -> list[int]:
        """Shape of a tile in shared memory, padded so that the elements of a column are in different banks."""
        return [self.width, self.width + 1]

    def bytes(self) -> int:
        return sum(byte_count(self.shape, kept_type(self._element(place))) for place in self.places)

    def tiles(self) -> list[Size]:
        """Return the number of tiles along each loop.

        Loops other than `inside` and `outside` have tiles of one step.
        """
        width = {self.inside: self.width, self.outside: self.width}
        return [ceil_divided(self.points.size(dim), width.get(dim, 1)) for dim in self.points.parallels]

    def blocks(self) -> Number:
        return as_index(product(self.tiles()))


def turned(points: Points, most: int = _MOST_BYTES) -> Turned | None:
    """Return the transposition of an operation if it is worth it. A block may have `most` bytes of shared memory."""
    outsides = {_last_dim(points, place) for place in points.output_numbers}
    outside = next(iter(outsides))
    if points.reductions or len(outsides) != 1 or outside is None:
        return None
    insides = {place: _last_dim(points, place) for place in points.read_inputs}
    strided = {
        place: dim
        for place, dim in insides.items()
        if dim not in (None, outside) and outside in dims_in(*points.maps[place].results)
    }
    if (inside := next(iter(strided.values()), None)) is None:
        return None
    sizes = [points.known_size(dim) for dim in (inside, outside)]
    if any(size is not None and size < _LEAST for size in sizes):
        return None
    found = Turned(points, tuple(place for place, dim in strided.items() if dim == inside), inside, outside)
    return found if found.bytes() <= min(_MOST_BYTES, most) else None


def _last_dim(points: Points, place: int) -> int | None:
    """Return the loop along which an operand's elements are contiguous."""
    exprs = points.maps[place].results
    memref = points.operands[place].type
    if not len(exprs) or not isinstance(memref, ir.MemRefType) or memref.get_strides_and_offset()[0][-1] != 1:
        return None
    return plain_dim(exprs[-1])


def write_turned(kernel: Operation, op: Turned) -> None:
    """Emit the code of a thread of a block."""
    _TransposeWriter(kernel, op).write()


class _TransposeWriter:
    def __init__(self, kernel: Operation, op: Turned):
        self._op, self._points, self._lanes = op, op.points, op.lanes
        self._tiles = {
            place: shared_memory(kernel, op.shape, kept_type(op.points.operands[place].type.element_type))
            for place in op.places
        }
        first = taken_apart(block_id(), op.tiles())
        self._first: Indices = {
            dim: (number(value) * (op.width if dim in (op.inside, op.outside) else 1)).value
            for dim, value in zip(op.points.parallels, first, strict=True)
        }
        self._lane, self._warp = thread_id() % WARP, thread_id() // WARP
        self._warps = threads_of(kernel) // WARP

    def write(self) -> None:
        self._emit_elements(self._op.outside, self._op.inside, self._read)
        wait_for_block()
        self._emit_elements(self._op.inside, self._op.outside, self._compute)

    def _emit_elements(self, slow: int, fast: int, do: Callable[[Number, Number, Indices], None]) -> None:
        """Emit `do(row, column, indices)` for a thread's elements of a tile.

        Rows belong to warps, columns to threads.
        """
        count = self._op.width // WARP
        for step in range(self._op.width // self._warps):
            row = self._warp + step * self._warps
            for part in range(count // self._lanes):
                column = self._lane * self._lanes + part * WARP
                at = {
                    **self._first,
                    slow: (number(self._first[slow]) + row).value,
                    fast: (number(self._first[fast]) + column).value,
                }
                self._where_there_is(at, partial(do, row, column, at))

    def _where_there_is(self, at: Indices, do: Callable[[], None]) -> None:
        sizes = {dim: self._points.size(dim) for dim in (self._op.inside, self._op.outside)}
        open_ = [dim for dim, size in sizes.items() if not is_multiple(size, self._op.width)]
        loops.when_all([number(at[dim]) < sizes[dim] for dim in open_], do)

    def _read(self, row: Number, column: Number, at: Indices) -> None:
        for place, tile in self._tiles.items():
            memref, indices = self._points.element(place, at)
            for lane, value in enumerate(elements(load(memref, indices, self._lanes))):
                loops.store(to_keep(value), tile, row, column + lane)

    def _compute(self, row: Number, column: Number, at: Indices) -> None:
        points = self._points
        found: list[Sequence[Value]] = []
        for lane in range(self._lanes):
            here = {**at, self._op.outside: (number(at[self._op.outside]) + lane).value}
            inputs = {place: self._input(place, row, column + lane, here) for place in points.read_inputs}
            before = points.first(here) if points.reads_outputs() else [None] * len(points.outputs)
            found.append(points.evaluated(here, inputs, before))
        for place, values in enumerate(zip(*found, strict=True), points.input_count):
            memref, indices = points.element(place, at)
            store(values[0] if self._lanes == 1 else from_elements(list(values)), memref, indices)

    def _input(self, place: int, row: Number, column: Number, at: Indices) -> Value:
        if place not in self._tiles:
            return self._points.load(place, at)
        kept = loops.load(self._tiles[place], column, row)
        return from_kept(kept, self._points.operands[place].type.element_type)
