# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies into and out of device memories: the part of a copy nest that one call of the device's function copies.

The function gets views of both buffers. Loops stay loops if their elements do not form a box with constant strides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....dialects.core.indices import is_below, regrouped
from ....dialects.core.symbols_expr import Size, extremum, substituted, variables_of
from ....emit import loops
from ....emit.numbers import Number, as_index
from ....emit.subviews import part_of, seen_as, strided_metadata
from .body_scalars import Element
from .boxes import box_of
from .buffer_allocation import BufferPlace
from .device_calls import call_owner
from .intrins import TENSORIZED
from .memories import DeviceMemory, find_memory
from .ranges import Guard, factor_of, guards
from .tree import SERIAL, UNROLLED, VECTORIZED, Access, Block, Loop, Node, Tree, variable
from .tree_buffers import Buffer


@dataclass(frozen=True)
class _Side:
    """Elements of a buffer that a copy covers.

    `access` is the first element. `moves[n][m]` is the stride of the copy's dimension n along dimension m of the
    buffer.
    """

    access: Access
    moves: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DeviceCopy:
    """Copy that one call of the device's function does: all steps of `loops`, outermost first."""

    block: Block
    memory: DeviceMemory
    loops: tuple[Loop, ...]
    source: _Side
    target: _Side
    #: Number of elements along each dimension of the copy.
    sizes: tuple[Size, ...]
    #: Conditions under which there are elements to copy.
    where: tuple[Guard, ...]
    #: True if there are always elements to copy.
    is_certain: bool

    @property
    def name(self) -> str:
        """Return the name of the node that the copy replaces."""
        return self.loops[0].name if self.loops else self.block.name


def is_copy(block: Block) -> bool:
    (result, *others) = block.results
    return not others and block.inits is None and isinstance(result, Element) and result.number < len(block.reads)


def copies_of(tree: Tree) -> dict[str, DeviceCopy]:
    """Return the copies of a tree by the names of the nodes that they replace."""
    found = [_largest(tree, block, memory) for block in tree.blocks() if (memory := _memory_of(block)) is not None]
    return {each.name: each for each in found if each is not None}


def _memory_of(block: Block) -> DeviceMemory | None:
    """Return the device memory that copies: the memory of the target if it has a copy function, else of the source."""
    if not is_copy(block):
        return None
    memories = [find_memory(access.buffer.scope) for access in (block.writes[0], source_of(block))]
    return next((memory for memory in memories if memory is not None and memory.copy is not None), None)


def source_of(block: Block) -> Access:
    (result,) = block.results
    assert isinstance(result, Element)
    return block.reads[result.number]


def _largest(tree: Tree, block: Block, memory: DeviceMemory) -> DeviceCopy | None:
    around = tree.around(block.name)
    if any(loop.kind == TENSORIZED for loop in around):
        return None
    others = {buffer for each in tree.blocks() if each is not block for buffer in each.buffers}
    if any(not buffer.is_given and buffer not in others for buffer in block.buffers):
        return None  # The block is dead: the buffer lives inside of the loops.
    own = _own_loops(block, around)
    extents = tree.extents()
    found = (_over(block, memory, own[start:], extents) for start in range(len(own) + 1))
    return next((each for each in found if each is not None), None)


def _own_loops(block: Block, around: Sequence[Loop]) -> list[Loop]:
    """Return the loops that contain nothing but the block, outermost first."""
    own: list[Loop] = []
    inner: Node = block
    for loop in reversed(around):
        if len(loop.body) != 1 or loop.body[0] is not inner or loop.kind not in (SERIAL, VECTORIZED, UNROLLED):
            break
        own.insert(0, loop)
        inner = loop
    return own


def _over(block: Block, memory: DeviceMemory, own: Sequence[Loop], extents: Mapping[str, Size]) -> DeviceCopy | None:
    """Return all that the loops copy, if it is a box with constant strides."""
    inner = {loop.name: loop.extent for loop in own}
    around, clips, left_out = [], list[Guard](), list[Guard]()
    for guard in guards(block, extents):
        if variables_of(guard.at).isdisjoint(inner):
            around.append(guard)
        elif _iter_of(guard, block, inner) is not None:
            clips.append(guard)
        elif variables_of(guard.at) <= set(inner) and isinstance(guard.limit, int) and not guard.below:
            left_out.append(guard)
        else:
            return None
    if any(not variables_of(index).isdisjoint(inner) for access in block.accesses for index in access.indices):
        return None  # flat_accesses.py made these accesses loop indices, and the iters do not show their strides
    points = Access(block.writes[0].buffer, block.bindings)
    if (box := box_of(points, inner, [(guard.at, guard.limit) for guard in left_out])) is None:
        return None
    starts, sizes, is_certain = [each.start for each in box], [each.extent for each in box], not around
    for guard in clips:
        number = _iter_of(guard, block, inner)
        assert number is not None
        offset = guard.at - block.bindings[number]
        end = starts[number] + sizes[number]
        if guard.below:
            is_certain = False
            starts[number] = extremum("max", [starts[number], -offset])
        if guard.beyond:
            is_certain = is_certain and is_below(starts[number], guard.limit - offset, extents)
            end = extremum("min", [end, guard.limit - offset])
        sizes[number] = end - starts[number]
    dims = [number for number, size in enumerate(sizes) if size != 1] or list(range(len(sizes)))[-1:]
    is_certain = is_certain and all(isinstance(loop.extent, int) for loop in own)
    firsts = [each.start for each in box]
    sides = [_side(block, access, firsts, starts, [(n, box[n].extent) for n in dims])
             for access in (source_of(block), block.writes[0])]  # fmt: skip
    if sides[0] is None or sides[1] is None:
        return None
    kept = tuple(sizes[number] for number in dims)
    return DeviceCopy(block, memory, tuple(own), sides[0], sides[1], kept, tuple(around), is_certain)


def _iter_of(guard: Guard, block: Block, inner: Mapping[str, Size]) -> int | None:
    """Return the iter that a guard limits, for all steps of the inner loops."""
    for number, binding in enumerate(block.bindings):
        if variables_of(guard.at - binding).isdisjoint(inner) and variables_of(guard.limit).isdisjoint(inner):
            return number
    return None


def _side(
    block: Block, access: Access, firsts: Sequence[Size], starts: Sequence[Size], dims: Sequence[tuple[int, Size]]
) -> _Side | None:
    """Return the elements of one side if each dimension has a constant stride."""
    steps = {number: f"{block.iters[number].name}_step" for number, _ in dims}
    moving = dict(zip((iter_.name for iter_ in block.iters), firsts, strict=True))
    for number, extent in dims:
        moving[block.iters[number].name] = firsts[number] + variable(steps[number], extent)
    indices = [regrouped(index) for index in access.at(moving).indices]
    moves = tuple(tuple(factor_of(index, steps[number]) for index in indices) for number, _ in dims)
    if any(each is None for move in moves for each in move):
        return None
    at = [substituted(index, dict.fromkeys(steps.values(), 0)) for index in indices]
    for (number, _), move in zip(dims, moves, strict=True):
        later = starts[number] - firsts[number]
        at = [index + later * by for index, by in zip(at, move, strict=True)]  # type: ignore[operator]  # None returned above
    return _Side(Access(access.buffer, tuple(at)), moves)  # type: ignore[arg-type]


# ---- emitting ----

Sizes = Callable[[Size], "Number | int"]


def emit_copy(copy: DeviceCopy, size: Sizes, memory: Mapping[Buffer, tuple[Value, BufferPlace]]) -> None:
    """Emit the copy at the insertion point, guarded by its conditions. `size` returns the value of a size."""
    assert copy.memory.copy is not None
    function, what = copy.memory.copy, f"copy= of memory '{copy.memory.name}' for block '{copy.block.name}'"
    conditions = [condition for guard in copy.where for condition in guard.conditions(size)]
    sizes = [size(each) for each in copy.sizes]
    if not copy.is_certain:
        conditions += [each > 0 for each in sizes if not isinstance(each, int)]
    if any(isinstance(each, int) and each <= 0 for each in sizes):
        return

    def body() -> None:
        source, target = (_view(side, sizes, size, memory) for side in (copy.source, copy.target))
        call_owner(what, function, source, target)

    loops.when_all(conditions, body)


def _view(
    side: _Side, sizes: Sequence[Number | int], size: Sizes, memory: Mapping[Buffer, tuple[Value, BufferPlace]]
) -> Value:
    memref, place = memory[side.access.buffer]
    at = [size(each) for each in place.inside(side.access.indices)]
    dims = [next((dim for dim, by in enumerate(move) if by), -1) for move in side.moves]
    is_part = all(sum(map(bool, move)) == 1 and max(move) > 0 for move in side.moves) and dims == sorted(set(dims))
    if not is_part:
        return _by_strides(memref, at, sizes, side.moves)
    return part_of(memref, at, dims, sizes, list(map(max, side.moves)))


def _by_strides(
    memref: Value, at: Sequence[Number | int], sizes: Sequence[Number | int], moves: Sequence[Sequence[int]]
) -> Value:
    """Return a view with permuted dimensions, or with dimensions that move along several of the buffer's."""
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    known, _ = memref.type.get_strides_and_offset()
    base, first, *rest = strided_metadata(memref).results
    strides = [
        as_index(value) if each == unknown else each
        for value, each in zip(rest[memref.type.rank :], known, strict=True)
    ]
    offset: Number | int = as_index(first)
    for index, stride in zip(at, strides, strict=True):
        offset = offset + index * stride
    steps: list[Number | int] = []
    for move in moves:
        step: Number | int = 0
        for by, stride in zip(move, strides, strict=True):
            step = step + by * stride if by else step
        steps.append(step)
    return seen_as(base, offset, sizes, steps)
