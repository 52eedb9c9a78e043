# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of narrow numbers by registers that are tiles: some rows of the one factor times as many columns."""

from __future__ import annotations

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.schedule.dots import factor_kinds, instructions_for
from ....passes.schedule.fitting import check_plan
from ....passes.schedule.plan import Dot, Panel, Plan, Tiles
from ...core.backend import Machine
from .elementwise import outer_loops, output_vector
from .matmul import check_contraction, row_loop
from .reduction import reduction_order

#: Eight tiles: four of sums, two of each factor; where there are rows for one alone, three columns.
_STEP, _COLUMNS_OF_ONE = 2, 3
#: Fewer rows, or columns, leave most of a tile empty.
_FEWEST = 8


def plan_tiles(op: StructuredOp, machine: Machine) -> Plan:
    """Rows are copied to tiles, columns inside run over blocks that a core's own cache has room for."""
    sides = {each.rows for each in machine.dots if each.rows > 1}
    if not sides:
        raise Decline("the machine has no tiles")
    check_contraction(op)
    kinds, _ = factor_kinds(op)
    (instruction, *_) = instructions_for(op, machine, rows=max(sides))
    vector = output_vector(op)
    rows = row_loop(op, vector)
    columns = [operand for operand in kinds if op.uses(operand, vector)]
    if rows is None or len(columns) != 1:
        raise Decline("tiles need rows of one factor and columns of the other")
    dim = _reduction(op)
    steps = op.sizes[dim]
    if steps is None or min(size for size in (op.sizes[rows], op.sizes[vector], steps) if size is not None) < _FEWEST:
        raise Decline(f"tiles need sums of known sizes, and sizes of {_FEWEST} at least")
    row_bytes = steps * 4 // instruction.group
    tile = _tile(op, rows, vector, instruction.rows)
    if row_bytes * instruction.rows * tile[rows] > machine.own_cache // 2:
        raise Decline("tiles of rows have no room in a core's own cache")
    order = (*(each for each in outer_loops(op) if each not in (rows, vector)), rows, vector, *reduction_order(op))
    plan = Plan(
        order,
        len(op.reductions),
        vector,
        instruction.lanes,
        tile,
        _blocks(op, vector, row_bytes, tile[vector] * instruction.lanes, machine),
        panel=Panel(columns[0], dim, steps),
        dot=Dot(dim, instruction.group),
        tiles=Tiles(rows, instruction.rows),
    )
    check_plan(op, plan, machine)
    return plan


def _reduction(op: StructuredOp) -> int:
    found = [dim for dim in op.reductions if op.sizes[dim] != 1]
    if len(found) != 1:
        raise Decline("tiles need one reduction")
    return found[0]


def _tile(op: StructuredOp, rows: int, vector: int, side: int) -> dict[int, int]:
    known = {dim: -(-size // side) for dim in (rows, vector) if (size := op.sizes[dim]) is not None}
    height = min(known.get(rows, _STEP), _STEP)
    return {rows: height, vector: min(known.get(vector, _STEP), _STEP if height > 1 else _COLUMNS_OF_ONE)}


def _blocks(op: StructuredOp, vector: int, row_bytes: int, step: int, machine: Machine) -> tuple[tuple[int, int], ...]:
    """Columns that stay in the cache while all rows pass by; none where all of them do."""
    fitting = max(machine.own_cache // 2 // (row_bytes * step), 1) * step
    size = op.sizes[vector]
    return () if size is not None and size <= fitting else ((vector, fitting),)
