# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with few rows, mainly vector times matrix. Memory is the limit, so each thread reads many bytes at once."""

from __future__ import annotations

import math

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.plan import Plan
from ....passes.kernels.schedule.vector_body import number_bits
from ...core.machine import Machine
from ..emit.threads import usual_threads
from ..planned.dequantized_operand import made_of
from ..planned.step_vectors import steps_at_once, steps_of_code
from .product import Sides, chains_of, check_reduction, cores_of, loop_size, parts_of, sides_of

#: From this number of rows on, blocks in shared memory pay off.
MANY_ROWS = 8
_NEIGHBOURS = 32
#: Minimum threads along the columns, which are adjacent in memory. Fewer threads make more blocks.
_FEWEST_COLUMNS = 8
_VECTOR_BITS, _MOST_LANES = 128, 8
#: Most bytes of a thread's sums, which are all in shared memory at the end.
_MOST_BYTES = 128
#: Steps that a thread takes at once if columns are adjacent. That many loads are in flight.
_STEPS = 4
#: Most quantized columns that a thread computes at once, and most elements of the other input in registers.
_MOST_COLUMNS, _MOST_NUMBERS = 2, 48


def plan_strip(op: StructuredOp, machine: Machine) -> Plan:
    check_reduction(op)
    return strip_of(op, _narrow_sides(op), machine)


def strip_of(op: StructuredOp, sides: Sides, machine: Machine) -> Plan:
    """Plan a block of threads for some columns. The rows are few, or none."""
    (matrix,) = [input_ for input_ in sides.inputs if any(op.uses(input_, dim) for dim in sides.columns)]
    last = op.last_dim(matrix)
    lanes = min(_VECTOR_BITS // op.element(matrix).width, _MOST_LANES)
    chains, element, height = chains_of(sides), number_bits(op) // 8, loop_size(op, sides.rows)
    columns, steps = chains.index(sides.columns), chains.index(sides.steps)
    rows = [chains.index(sides.rows)] if sides.rows else []
    at_once = 1
    if last in sides.steps:
        unit = _unit_along(op, sides, matrix, lanes)
        most = _threads_with_room(height * (_MOST_COLUMNS if made_of(op, matrix) else 1) * element, machine)
        parts = min(_NEIGHBOURS, _parts(op, sides, unit))
        lanes, threads = 1, ((columns, most // parts), (steps, parts))
        at_once = _columns_of_thread(op, sides, most // parts, machine) if made_of(op, matrix) else 1
    else:
        fitting = max(_MOST_BYTES // (height * element), 1)
        lanes = _whole(op, sides.columns, min(lanes, 1 << (fitting.bit_length() - 1)))
        most = _threads_with_room(height * lanes * element, machine)
        unit = _whole(op, sides.steps, _STEPS)
        across = _columns_at_once(op, sides, lanes, machine)
        threads = ((steps, min(most // across, _parts(op, sides, unit))), (columns, across))
    of_block = dict(threads)[columns] * lanes
    fewest = loop_size(op, sides.batches, 1) * -(-loop_size(op, sides.columns, 1) // of_block)
    return Plan(
        order=(*(chains.index((dim,)) for dim in sides.batches), *rows, columns, steps),
        carried=1,
        vector=columns,
        lanes=lanes,
        tile={**{dim: height for dim in rows}, columns: at_once, steps: unit},
        loops=chains,
        threads=(*((dim, 1) for dim in rows), *threads),
        parts=parts_of(op, sides, fewest, machine),
    )


def _threads_with_room(sums: int, machine: Machine) -> int:
    """Return the threads of a block, with `sums` bytes of sums in shared memory for each thread."""
    threads = usual_threads(machine.block_threads)
    while threads > _NEIGHBOURS and threads * sums > machine.shared_bytes:
        threads //= 2
    return threads


def _narrow_sides(op: StructuredOp) -> Sides:
    sides = sides_of(op, least=1)
    rows, columns = sides.rows, sides.columns
    if rows and columns and is_few(op, columns) and not is_few(op, rows):
        rows, columns = columns, rows
    if not columns:
        rows, columns = columns, rows
    if rows and not is_few(op, rows):
        raise Decline(f"it has {MANY_ROWS} rows or more")
    return sides._replace(rows=rows, columns=columns)


def is_few(op: StructuredOp, side: tuple[int, ...]) -> bool:
    """Check whether the number of rows is known and small."""
    return all(op.sizes[dim] is not None for dim in side) and loop_size(op, side) < MANY_ROWS


def _unit_along(op: StructuredOp, sides: Sides, matrix: int, lanes: int) -> int:
    """Return the number of steps for which the matrix elements fill a vector.

    The other input's elements take registers if there are more of them.
    """
    if made_of(op, matrix) is None:
        return _whole(op, sides.steps, lanes)
    most = (_VECTOR_BITS // op.element(matrix).width) * steps_of_code(op, matrix, sides.steps)
    while most > lanes and most * loop_size(op, sides.rows) > _MOST_NUMBERS:
        most //= 2
    return steps_at_once(op, sides.steps, most)


def _columns_of_thread(op: StructuredOp, sides: Sides, threads: int, machine: Machine) -> int:
    """Return the number of columns per thread that reuse the other input, as long as all cores have blocks."""
    count, total = _MOST_COLUMNS, loop_size(op, sides.batches) * loop_size(op, sides.columns)
    while count > 1 and total < count * threads * cores_of(machine):
        count //= 2
    return count


def _whole(op: StructuredOp, side: tuple[int, ...], count: int) -> int:
    """Return the largest number of steps up to `count` that divides the last loop."""
    size = op.sizes[side[-1]]
    return 1 if size is None else math.gcd(size, count)


def _parts(op: StructuredOp, sides: Sides, unit: int) -> int:
    """Return the number of threads that can share the steps, a power of two."""
    return 1 << max(loop_size(op, sides.steps) // unit, 1).bit_length() - 1


def _columns_at_once(op: StructuredOp, sides: Sides, lanes: int, machine: Machine) -> int:
    across = _NEIGHBOURS
    total = loop_size(op, sides.batches) * loop_size(op, sides.columns)
    while across > _FEWEST_COLUMNS and total < across * lanes * cores_of(machine):
        across //= 2
    return across
