# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TMA copies of plain matrices to shared memory: one thread starts them, the device copies, barriers signal the end.

A tensor map of 128 bytes describes a matrix to the device. The host creates it for each launch, because addresses
change (cuda-make-tensor-maps). In the kernel it is an `nvgpu.tma.create.descriptor` of memory that the kernel receives.
Elements beyond the last row or step of a matrix are zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ....bindings.ir import Block, Value
from ....bindings.mlir import DYNAMIC, ir
from ....emit.arithmetic import result_of
from ....emit.numbers import Number, Size, as_i64, as_index, operation
from ....emit.subviews import seen_as
from ...gpu.emit.memory_access import shared_memory
from ...gpu.planned.group import PlannedGroup
from ...gpu.planned.staging import Origin, Staged
from ...host.llvm_ops import type_of
from .instructions import bytes_of
from .warp_group_instructions import LINE_BYTES, LINES, assembly

#: Most elements of a box along an axis, most axes of a map, and the limit of an axis for 32-bit coordinates.
_MOST_BOX, _MOST_AXES, _MOST_SIZE = 256, 5, 1 << 31
#: The strides of all but the innermost axis are multiples of `_UNIT` bytes, and less than `_MOST_STRIDE`.
_UNIT, _MOST_STRIDE = 16, 1 << 40
_BARRIER_BYTES = 8
#: Operations that build a memref from an address, on the host as in a kernel.
_SAID_AGAIN = frozenset(
    "arith.constant builtin.unrealized_conversion_cast llvm.insertvalue llvm.mlir.constant llvm.mlir.poison "
    "memref.cast memref.collapse_shape memref.expand_shape memref.reinterpret_cast memref.subview memref.view".split()
)


class MatrixAxis(NamedTuple):
    """Axis of a matrix: the chain of loops along it, its size, and its stride in elements."""

    chain: int
    size: int
    stride: int


def axes_of(staged: Staged) -> list[MatrixAxis] | None:
    """Return the axes of an input in the order of a tensor map: the axis along lines first, then by stride.

    None if the input is not a plain matrix: windows, unknown sizes, unaligned lines.
    """
    op, tile = staged.op, staged.tile
    strides = _strides_by_loop(staged)
    if strides is None or not _is_passed(staged.memref):
        return None
    inner, outer = (tile.steps, staged.side) if staged.steps_last else (staged.side, tile.steps)
    joined = tile.plan.joined
    batches = [chain for chain in tile.batches if any(dim in strides for dim in joined[chain])]
    found = [_join(chain, op.sizes, strides, joined[chain]) for chain in (inner, outer, *batches)]
    axes = [each for each in found if each is not None]
    if len(axes) != len(found) or len(axes) > _MOST_AXES or axes[0].stride != 1:
        return None
    axes = [axes[0], *sorted(axes[1:], key=lambda axis: axis.stride)]
    are_nested = all(
        each.stride % before.stride == 0 and each.stride >= before.stride * before.size
        for before, each in pairwise(axes)
    )
    bytes_ = bytes_of(staged.element)
    fits = all(axis.stride * bytes_ % _UNIT == 0 and axis.stride * bytes_ < _MOST_STRIDE for axis in axes[1:])
    return axes if are_nested and fits and all(0 < axis.size < _MOST_SIZE for axis in axes) else None


def _strides_by_loop(staged: Staged) -> dict[int, int] | None:
    """Return the strides of loops with more than one step.

    None unless each of these loops covers an axis of its own.
    """
    type_, sizes = staged.memref.type, staged.op.sizes
    strides, offset = type_.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    if DYNAMIC in type_.shape or unknown in (*strides, offset) or offset * bytes_of(staged.element) % _UNIT:
        return None
    found: dict[int, int] = {}
    for index, size, stride in zip(staged.access, type_.shape, strides, strict=True):
        dim = index.dim
        if size == 1 and not index.constant:
            continue
        if dim is None or dim in found or sizes[dim] != size:
            return None
        found[dim] = stride
    return found


def _join(
    chain: int, sizes: Sequence[int | None], strides: Mapping[int, int], loops: Sequence[int]
) -> MatrixAxis | None:
    """Combine nested loops to one axis, or return None."""
    moving = [dim for dim in loops if sizes[dim] != 1]
    if not moving or any(dim not in strides for dim in moving):
        return None
    size, stride = 1, strides[moving[-1]]
    for dim in reversed(moving):
        if strides[dim] != size * stride:
            return None
        size *= sizes[dim] or 0
    return MatrixAxis(chain, size, stride)


def _is_passed(memref: Value) -> bool:
    """Check whether memory is built from an address that the kernel receives, so that the host can rebuild it."""
    if isinstance(memref.owner, Block):
        return bool(memref.type == type_of("ptr"))
    maker = memref.owner.operation
    return maker.name in _SAID_AGAIN and all(map(_is_passed, maker.operands))


class _Box(NamedTuple):
    """Part of a block: its begin along both axes, and its first line in shared memory."""

    inner: int
    outer: int
    line: int


class _CopiedMatrix:
    """Input that a tensor map describes."""

    def __init__(self, staged: Staged, axes: Sequence[MatrixAxis], line: int):
        self.staged, self.axes, self.line = staged, axes, line
        tile = staged.tile
        inner, outer = (tile.depth, tile.extent(staged.side))[:: 1 if staged.steps_last else -1]
        pair = (tile.steps, staged.side)
        #: Axis across lines.
        self.outer = next(place for place, axis in enumerate(axes) if place and axis.chain in pair)
        self._height = next(index for index in range(min(outer, _MOST_BOX), 0, -LINES) if outer % index == 0)
        #: Lines of the next points along the inner axis follow below.
        self.boxes = [
            _Box(first, below, first // line * outer + below)
            for first in range(0, inner, line)
            for below in range(0, outer, self._height)
        ]
        self.bytes = inner * outer * bytes_of(staged.element)
        self.map = self._describe()

    def _describe(self) -> Value:
        element, memref = self.staged.element, self.staged.memref
        sizes, strides = ([axis[place] for axis in reversed(self.axes)] for place in (1, 2))
        of_block = {self.axes[0].chain: self.line, self.axes[self.outer].chain: self._height}
        box = [of_block.get(axis.chain, 1) for axis in reversed(self.axes)]
        matrix = seen_as(memref, memref.type.get_strides_and_offset()[1], sizes, strides)
        whole = operation("memref.cast", [matrix], ir.UnrankedMemRefType.get(element, None))
        shape = "x".join(map(str, box))
        kind = ir.Type.parse(
            f"!nvgpu.tensormap.descriptor<tensor = memref<{shape}x{element}, 3>, swizzle = swizzle_128b, "
            "l2promo = l2promo_128b, oob = zero, interleave = none>"
        )
        made = operation("nvgpu.tma.create.descriptor", [whole, *map(as_index, box)], kind)
        return operation("builtin.unrealized_conversion_cast", [made], type_of("ptr")).value

    def coordinates(self, origin: Origin, first_step: Number) -> list[Value]:
        """Return the coordinates of a block's first element, by axis."""
        staged, joined = self.staged, self.staged.tile.plan.joined
        known = {staged.tile.steps: first_step, staged.side: origin.starts[staged.side]}
        return [
            _as_i32(known[axis.chain] if axis.chain in known else self._linearize_batch(origin, joined[axis.chain]))
            for axis in self.axes
        ]

    def _linearize_batch(self, origin: Origin, loops: Sequence[int]) -> Number:
        """Return the linear index of a block in nested batch loops."""
        place = as_index(0)
        for dim in loops:
            place = place * (self.staged.op.sizes[dim] or 1) + origin.batch[dim]
        return place


class BulkCopies:
    """TMA copies of the input blocks of a kernel. A stage's barrier completes when the whole block has arrived."""

    def __init__(
        self, group: PlannedGroup, matrices: Sequence[_CopiedMatrix], memories: Sequence[Value], thread: Number
    ):
        self._matrices, self._memories = matrices, memories
        self._stages = group.plan.stages
        barriers = shared_memory(group.op.operation, [self._stages], ir.IntegerType.get_signless(64))
        self._barriers = _address_of(barriers)
        self._is_asking = thread == 0
        self._begin()

    def _begin(self) -> None:
        """Initialize the barriers in one thread. A block barrier separates this from the first wait."""
        init = [
            f"@asks mbarrier.init.shared::cta.b64 [$1+{_BARRIER_BYTES * stage}], 1;" for stage in range(self._stages)
        ]
        # The fences make the barriers visible to the device, which signals the copied bytes to them.
        shown = ["@asks fence.mbarrier_init.release.cluster;", "@asks fence.proxy.async.shared::cta;"]
        _predicate([*init, *shown], [_as_i32(self._is_asking), _as_i32(self._barriers)])
        ir.Operation.create("gpu.barrier", attributes={})

    def start(self, block: Number, count: Size, origin: Origin, first_step: Number) -> None:
        """Start to copy a block of steps, if it exists, to a stage that is no longer read."""
        asks = operation("arith.andi", [self._is_asking, block < count], ir.IntegerType.get_signless(1))
        values = [_as_i32(asks), _as_i32(self._barrier(block))]
        total = sum(matrix.bytes for matrix in self._matrices)
        lines = [f"@asks mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], {total};"]
        for matrix, memory in zip(self._matrices, self._memories, strict=True):
            target = _address_of(memory) + block % self._stages * matrix.bytes
            at = len(values)
            values += [_as_i32(target), matrix.map, *matrix.coordinates(origin, first_step)]
            for box in matrix.boxes:
                lines += _copy(box, at, len(matrix.axes), matrix.outer)
        _predicate(lines, values)

    def wait(self, block: Number) -> None:
        """Wait until a block has arrived in its stage, which earlier blocks have used before."""
        parity = block // self._stages % 2
        text = (
            "{\n\t.reg .pred there;\nagain:\n\t"
            "mbarrier.try_wait.parity.shared::cta.b64 there, [$0], $1;\n\t@!there bra again;\n\t}"
        )
        assembly(text, [], [_as_i32(self._barrier(block)), _as_i32(parity)])

    def _barrier(self, block: Number) -> Number:
        return self._barriers + block % self._stages * _BARRIER_BYTES


def bulk_copies(
    group: PlannedGroup, staged: Sequence[Staged], memories: Sequence[Value], lines: Sequence[int], thread: Number
) -> BulkCopies | None:
    """Return the TMA copies of inputs, or None if an input is not a plain matrix."""
    axes = [axes_of(each) for each in staged]
    if any(axis is None for axis in axes):
        return None
    matrices = [_CopiedMatrix(each, known or [], line) for each, known, line in zip(staged, axes, lines, strict=True)]
    return BulkCopies(group, matrices, memories, thread)


def _copy(box: _Box, at: int, axes: int, across: int) -> list[str]:
    """Return the instructions that copy a box.

    From `at` on, the operands are the target address, the map and the block's coordinates.
    """
    places = [f"${at + 2 + place}" for place in range(axes)]
    places[0], places[across] = "inner", "outer"
    return [
        f"add.s32 inner, ${at + 2}, {box.inner};",
        f"add.s32 outer, ${at + 2 + across}, {box.outer};",
        f"add.s32 to, ${at}, {box.line * LINE_BYTES};",
        f"@asks cp.async.bulk.tensor.{axes}d.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[to], [${at + 1}, {{{', '.join(places)}}}], [$1];",
    ]


def _predicate(lines: Sequence[str], values: Sequence[Value]) -> None:
    """Emit predicated instructions for the copying thread ($0).

    Without a branch around them, the threads of a warp stay together.
    """
    head = ["{", ".reg .pred asks; .reg .b32 to, inner, outer;", "setp.ne.b32 asks, $0, 0;"]
    assembly("\n\t".join([*head, *lines, "}"]), [], values)


def _address_of(memory: Value) -> Number:
    """Return the address in shared memory."""
    index = ir.IndexType.get()
    return operation("memref.extract_aligned_pointer_as_index", [memory], index)


def _as_i32(value: Number) -> Value:
    i32 = ir.IntegerType.get_signless(32)
    if value.value.type == ir.IntegerType.get_signless(1):
        return result_of("arith.extui", [value.value], i32)
    return result_of("arith.trunci", [as_i64(value).value], i32)
