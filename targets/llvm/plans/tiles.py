# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and convolutions of narrow numbers by tile registers: rows of one factor, columns of the other."""

from __future__ import annotations

import math

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.dots import factor_kinds, instructions_for
from ....passes.kernels.schedule.fitting import check_plan
from ....passes.kernels.schedule.plan import Dot, Panel, Plan, Tiles
from ....passes.kernels.schedule.reduction_order import check_free
from ...core.machine import Machine
from .elementwise import outer_loops, output_vector
from .matmul import block_loop, check_contraction, row_loop
from .reduction import reduction_order

#: Eight tiles: four accumulators and two of each factor. With rows for only one tile, three columns.
_STEP, _COLUMNS_OF_ONE = 2, 3
#: Fewer rows or columns leave most of a tile empty.
_FEWEST = 6
#: Rows that justify a copy of the columns at each call.
_WORTH_COPY = 32


def plan_tiles(op: StructuredOp, machine: Machine) -> Plan:
    """Plan a contraction by tiles.

    Rows are copied to tiles; inner column loops run over blocks that fit into a core's own cache.
    """
    if not (sides := {dot.rows for dot in machine.dots if dot.rows > 1}):
        raise Decline("the machine has no tiles")
    check_contraction(op)
    check_free(op)
    kinds, _ = factor_kinds(op)
    (instruction, *_) = instructions_for(op, machine, rows=max(sides))
    vector = output_vector(op)
    rows = row_loop(op, vector)
    columns = [operand for operand in kinds if op.uses(operand, vector)]
    if rows is None or len(columns) != 1:
        raise Decline("tiles need rows of one factor and columns of the other")
    dim = op.last_dim(next(operand for operand in kinds if operand != columns[0]))
    sizes = [op.sizes[reduction] for reduction in op.reductions]
    known = [size for size in (op.sizes[rows], op.sizes[vector]) if size is not None]
    steps = math.prod(size or 0 for size in sizes)
    if dim not in op.reductions or min([*known, steps]) < _FEWEST:
        raise Decline(f"tiles need rows of sums of known sizes, and sizes of {_FEWEST} at least")
    if not op.is_contiguous(columns[0], vector) and (op.sizes[rows] or 0) < _WORTH_COPY:
        raise Decline(f"tiles need {_WORTH_COPY} rows to pay for packing strided columns at each call")
    # A convolution's columns are blocks of channels, one tile each, packed in the order of their use.
    is_of_taps = steps != op.sizes[dim]
    through = block_loop(op, vector, rows) if is_of_taps else vector
    if through is None:
        raise Decline("tiles need columns in blocks where a sum has several loops")
    tile = _tile(op, rows, through, instruction.rows, 1 if is_of_taps else instruction.lanes)
    row_bytes = steps * 4 // instruction.group
    if row_bytes * instruction.rows * tile[rows] > machine.own_cache // 2:
        raise Decline("tiles of rows have no room in a core's own cache")
    inside = [rows, *([through] if is_of_taps else []), vector]
    step = tile[through] * instruction.lanes
    plan = Plan(
        order=(*(loop for loop in outer_loops(op) if loop not in inside), *inside, *reduction_order(op)),
        carried=len(op.reductions),
        vector=vector,
        lanes=instruction.lanes,
        tile=tile,
        blocks=() if is_of_taps else _blocks(op, vector, row_bytes, step, machine),
        panel=None if is_of_taps else Panel(columns[0], dim, steps),
        dot=Dot(dim, instruction.group),
        tiles=Tiles(rows, instruction.rows),
    )
    check_plan(op, plan, machine)
    return plan


def _tile(op: StructuredOp, rows: int, columns: int, side: int, points: int) -> dict[int, int]:
    """Return the tiles of one step: of rows, and of columns, given the points of a loop per tile."""
    sizes = ((rows, side), (columns, points))
    known = {dim: -(-size // each) for dim, each in sizes if (size := op.sizes[dim]) is not None}
    height = min(known.get(rows, _STEP), _STEP)
    return {rows: height, columns: min(known.get(columns, _STEP), _STEP if height > 1 else _COLUMNS_OF_ONE)}


def _blocks(op: StructuredOp, vector: int, row_bytes: int, step: int, machine: Machine) -> tuple[tuple[int, int], ...]:
    """Return blocks of columns that stay in the cache while all rows pass, or nothing if all columns fit."""
    fitting = max(machine.own_cache // 2 // (row_bytes * step), 1) * step
    size = op.sizes[vector]
    return () if size is not None and size <= fitting else ((vector, fitting),)
