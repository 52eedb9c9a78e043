# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and convolutions: blocks of threads compute rectangles of the result.

Loops that index only one input are rows or columns; in convolutions several loops form one chain. Loops that index both
inputs are batches. Each step of the reduction stages rows of one input and columns of the other in shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.fitting import check_reads_outputs
from ....passes.kernels.schedule.loop_collapsing import asks_for_result
from ....passes.kernels.schedule.plan import Parts, Plan
from ....passes.kernels.schedule.vector_body import number_bits
from ...core.machine import Machine
from ..planned.group import GAP_BYTES, loops_of_no_input

#: Bits that a thread loads from shared memory at once.
_VECTOR_BITS, _MOST_LANES = 128, 4
#: Assumed number of cores if unknown.
_USUAL_CORES = 100
#: Minimum blocks per core if blocks share a reduction.
_BLOCKS_OF_CORE = 2
#: Minimum steps per part. Fewer steps take less time than the launch that combines the parts.
STEPS_OF_PART = 256
#: Products that a core computes during that launch, and during the round trip of a partial result through memory. An
#: A100 computes 64 products of f32 per clock, so these are 2.9 microseconds, and half the time of 8 bytes at its memory
#: bandwidth, because parts stay in the cache.
_LAUNCH, _ELEMENT = 1 << 18, 32
#: Blocks of steps in shared memory: the current one and the next one.
_STAGES = 2
#: Assumed length of dynamic loops.
_USUAL_SIZE = 512


class BlockShape(NamedTuple):
    """Numbers of rows and vectors per thread, and the threads of a block."""

    rows: int
    vectors: int
    threads_of_rows: int
    threads_of_columns: int
    depth: int
    #: Fraction of the time spent on multiplication. It grows with the reuse of each loaded number.
    efficiency: float

    @property
    def height(self) -> int:
        return self.rows * self.threads_of_rows

    @property
    def columns_of_vectors(self) -> int:
        return self.vectors * self.threads_of_columns

    @property
    def threads(self) -> int:
        return self.threads_of_rows * self.threads_of_columns

    def stage_bytes(self, lanes: int, element: int) -> int:
        """Return the bytes of shared memory for a block's steps of both inputs, whatever their layouts."""
        rows, columns, gap = self.height, self.columns_of_vectors * lanes, GAP_BYTES // element
        sides = (max(extent * (self.depth + gap), self.depth * (extent + gap)) for extent in (rows, columns))
        return sum(sides) * element


#: Two blocks of the largest shape fit on a core, with 128 registers for each of 256 threads.
_SHAPES = (
    BlockShape(8, 2, 16, 16, 8, 1.0),
    BlockShape(8, 1, 8, 16, 16, 0.75),
    BlockShape(8, 1, 32, 4, 8, 0.6),
    BlockShape(4, 1, 8, 8, 16, 0.45),
    BlockShape(4, 1, 4, 32, 8, 0.45),
    BlockShape(4, 1, 2, 32, 8, 0.4),
)
#: 64-bit numbers take two registers.
_WIDE_SHAPES = (
    BlockShape(4, 2, 16, 16, 8, 1.0),
    BlockShape(4, 2, 8, 8, 8, 0.8),
    BlockShape(4, 1, 32, 4, 8, 0.5),
    BlockShape(4, 1, 2, 32, 8, 0.5),
)


class Sides(NamedTuple):
    """Loops of a product, and the two inputs that blocks of threads share."""

    batches: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    steps: tuple[int, ...]
    inputs: tuple[int, int]


def plan_product(op: StructuredOp, machine: Machine) -> Plan:
    check_reduction(op)
    sides = sides_of(op)
    bits = number_bits(op)
    lanes = min(_VECTOR_BITS // bits, _MOST_LANES)
    shapes = [
        shape
        for shape in (_WIDE_SHAPES if bits > 32 else _SHAPES)
        if shape.threads <= machine.block_threads
        and _STAGES * shape.stage_bytes(lanes, bits // 8) <= machine.shared_bytes
    ]
    shape, parts = best_shape(op, sides, shapes, lanes, machine)
    return plan_of_shape(op, sides, shape, lanes, parts)


def check_reduction(op: StructuredOp) -> None:
    """Raise Decline unless the body is a reduction with a free order of combination."""
    if not op.reductions:
        raise Decline("it reduces nothing")
    check_reads_outputs(op)
    if len(combiners(op)) != 1 or asks_for_result(op):
        raise Decline("it reduces to several numbers, or its body uses the index of a result")
    if 0 in op.sizes:
        raise Decline("it has a loop with 0 steps")


def sides_of(op: StructuredOp, least: int = 2) -> Sides:
    """Return the sides of a product.

    Raises Decline if no two inputs divide the loops of the result, with at least `least` nonempty sides.
    """
    # The window operand of a pool only states sizes; its elements are not read.
    inputs = [
        operand
        for operand in range(op.input_count)
        if any(op.uses(operand, dim) for dim in op.reductions) and any(op.block.arguments[operand].uses)
    ]
    if len(inputs) < 2:
        raise Decline("it does not reduce over two inputs")
    if not (order := _output_order(op)):
        raise Decline("its result is a single element")
    alone = [_only_in(op, order, one, other) for one, other in (inputs[:2], inputs[1::-1])]
    if sum(map(bool, alone)) < least:
        raise Decline("one of the two inputs has no rows or columns of its own")
    columns = next((side for side in alone if order[-1] in side), alone[1])
    rows = alone[1] if columns is alone[0] else alone[0]
    batches = tuple(dim for dim in op.parallels if dim not in rows and dim not in columns)
    return Sides(batches, rows, columns, _step_order(op, inputs), (inputs[0], inputs[1]))


def _output_order(op: StructuredOp) -> list[int]:
    """Return the loops of the result, the contiguous one last."""
    return [index.dim for index in op.output_accesses[0] if index.dim is not None]


def _only_in(op: StructuredOp, dims: Sequence[int], operand: int, other: int) -> tuple[int, ...]:
    return tuple(dim for dim in dims if op.uses(operand, dim) and not op.uses(other, dim))


def _step_order(op: StructuredOp, inputs: Sequence[int]) -> tuple[int, ...]:
    """Return the reduction loops in the axis order of an input that has all of them as axes, such as a filter."""
    for operand in reversed(inputs):
        axes = [index.dim for index in op.accesses[operand]]
        if all(dim in axes or op.sizes[dim] == 1 for dim in op.reductions):
            return tuple(sorted(op.reductions, key=lambda dim: axes.index(dim) if dim in axes else -1))
    return tuple(sorted(op.reductions))


def best_shape(
    op: StructuredOp, sides: Sides, shapes: Sequence[BlockShape], lanes: int, machine: Machine, speed: int = 1
) -> tuple[BlockShape, Parts | None]:
    """Return the fastest shape, with the parts in which blocks share the steps.

    The time is the number of rounds in which the cores process all blocks, times the work per block. Instructions may
    be `speed` times as fast as a product per thread.
    """
    batches, cores = loop_size(op, sides.batches, 1), cores_of(machine)
    rows, columns, steps = (loop_size(op, side) for side in (sides.rows, sides.columns, sides.steps))

    def count(shape: BlockShape, unknown: int = _USUAL_SIZE) -> int:
        rows, columns = (loop_size(op, side, unknown) for side in (sides.rows, sides.columns))
        return batches * -(-rows // shape.height) * -(-columns // (shape.columns_of_vectors * lanes))

    def time(choice: tuple[BlockShape, Parts | None]) -> float:
        shape, parts = choice
        several = 1 if parts is None or parts.steps is not None else parts.number
        rounds = -(-count(shape) * several // cores)
        of_block = shape.height * shape.columns_of_vectors * lanes * -(-steps // several) / shape.efficiency
        more = (_LAUNCH + batches * rows * columns * several * _ELEMENT / cores) * speed if several > 1 else 0
        return rounds * of_block + more

    in_parts = [(shape, parts_of(op, sides, count(shape, 1), machine)) for shape in shapes]

    def order(choice: tuple[BlockShape, Parts | None]) -> tuple[float, bool]:
        """Return the sort key.

        At equal times a choice with a single launch wins, as the host's work is not in the estimate.
        """
        parts = choice[1]
        return time(choice), parts is not None and parts.steps is None

    return min([*in_parts, *((shape, None) for shape in shapes)], key=order)


def parts_of(op: StructuredOp, sides: Sides, fewest: int, machine: Machine) -> Parts | None:
    """Return the parts of the steps if few blocks would leave cores idle, else None.

    With dynamic sizes the number of parts is decided at run time, as there may be more blocks.
    """
    blocks, chain = _BLOCKS_OF_CORE * cores_of(machine), chains_of(sides).index(sides.steps)
    wanted = min(blocks // fewest, loop_size(op, sides.steps, blocks * STEPS_OF_PART) // STEPS_OF_PART)
    # A loop without inputs would be mistaken for the loop over parts.
    if wanted < 2 or loops_of_no_input(op):
        return None
    return Parts(chain, blocks, STEPS_OF_PART) if None in op.sizes else Parts(chain, wanted)


def loop_size(op: StructuredOp, dims: Sequence[int], unknown: int = _USUAL_SIZE) -> int:
    """Return the number of points of loops. Dynamic loops count as `unknown`."""
    return math.prod(op.sizes[dim] or unknown for dim in dims)


def cores_of(machine: Machine) -> int:
    return machine.cores if machine.cores > 1 else _USUAL_CORES


def chains_of(sides: Sides) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(filter(None, [*((dim,) for dim in sides.batches), sides.rows, sides.columns, sides.steps])))


def plan_of_shape(op: StructuredOp, sides: Sides, shape: BlockShape, lanes: int, parts: Parts | None) -> Plan:
    chains = chains_of(sides)
    rows, columns, steps = (chains.index(side) for side in (sides.rows, sides.columns, sides.steps))
    return Plan(
        order=(*(chains.index((dim,)) for dim in sides.batches), rows, columns, steps),
        carried=1,
        vector=columns,
        lanes=lanes,
        tile={rows: shape.rows, columns: shape.vectors},
        blocks=((steps, shape.depth),),
        loops=chains,
        threads=((rows, shape.threads_of_rows), (columns, shape.threads_of_columns)),
        shared=sides.inputs,
        stages=_STAGES if loop_size(op, sides.steps) > shape.depth else 1,
        parts=parts,
    )
