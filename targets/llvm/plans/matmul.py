# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products: a tile of the result stays in registers during the reduction."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ....bindings.rewriting import Decline
from ....dialects.core.infos import bit_width
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.fitting import check_reads_outputs
from ....passes.kernels.schedule.plan import Panel, Plan
from ....passes.kernels.schedule.vector_body import widest_bits
from ...core.machine import Machine
from .elementwise import fitting_lanes, fitting_tile, outer_loops
from .reduction import is_over, partial_results, reduction_order, vector_across, vector_along

#: Register count that allows wide tiles, and the vectors of columns with that many or fewer registers.
_MANY_REGISTERS, _COLUMNS, _FEWER_COLUMNS = 32, 4, 2
#: Vectors of columns that come from blocks of N channels; the registers limit the rows.
_BLOCKED_COLUMNS = 2
_STEPS_OF_ONE_ROW, _COLUMNS_OF_ONE_ROW = 8, 8
#: Up to this number of rows, a copy of the other matrix does not pay off.
_FEW_ROWS = 16
#: Ratio of weight to image traffic from which weights stay in the cache while images pass.
_FEWEST_TIMES = 4
#: Steps of a reduction per panel. A shorter panel is mostly overhead, a longer panel gains nothing.
_SHORTEST_PANEL, _LONGEST_PANEL = 64, 1024


def check_contraction(op: StructuredOp) -> None:
    """Raise Decline if the body is not a sum of products of two inputs' elements."""
    if not op.reductions:
        raise Decline("it reduces nothing")
    check_reads_outputs(op)
    (combiner, *more) = combiners(op)
    if more or not combiner.is_sum:
        raise Decline("it is no sum")
    if combiner.product is None:
        raise Decline("it is no sum of products")
    if sum(bool(op.accesses[operand]) for operand in range(op.input_count)) < 2:
        raise Decline("it is no sum of products of two inputs")


def check_product(op: StructuredOp) -> None:
    """Raise Decline if the operation is no contraction, or moves a window."""
    check_contraction(op)
    if any(len(index.factors) > 1 for access in op.accesses for index in access):
        raise Decline("its indices are sums")


def plan_matmul(op: StructuredOp, machine: Machine) -> Plan:
    check_product(op)
    if (vector := vector_across(op)) is not None:
        return across(op, vector, fitting_lanes(machine.lanes(widest_bits(op)), op.sizes[vector]), machine)
    if (vector := vector_along(op)) is None:
        raise Decline("no loop has the inputs' elements contiguous")
    return along(op, vector, machine.lanes(widest_bits(op)), machine)


def across(op: StructuredOp, vector: int, lanes: int, machine: Machine, group: int = 1) -> Plan:
    """Plan vectors along the columns of the result.

    Rows of the second matrix are multiplied by one element, or one group, of the first.
    """
    columns = fitting_tile(column_tile(machine), lanes, op.sizes[vector])
    if (rows := row_loop(op, vector)) is None:
        return _one_row(op, vector, lanes, columns) if group == 1 else _one_row_of_groups(op, vector, lanes)
    tile = tile_of(op, vector, columns, rows, machine)
    # The column panel of the second matrix serves all rows before the next columns start.
    outer = [dim for dim in outside_of_step(op, vector, tile, machine) if dim != rows]
    order = (*outer, vector, rows, *reduction_order(op))
    panel = _panel(op, vector, rows, lanes * columns, _longest_panel(machine) * group)
    blocks = ((panel.dim, panel.length),) if panel is not None and op.sizes[panel.dim] != panel.length else ()
    carried = len(op.reductions)
    return Plan(order=order, carried=carried, vector=vector, lanes=lanes, tile=tile, blocks=blocks, panel=panel)


def _panel(op: StructuredOp, vector: int, rows: int, width: int, longest: int) -> Panel | None:
    """Return the packing of a wide matrix's columns, or None.

    It pays off if many rows reuse columns with a stride that is too large for the cache.
    """
    reductions = [dim for dim in op.reductions if op.sizes[dim] != 1]
    with_vectors = [operand for operand in range(op.input_count) if op.uses(operand, vector)]
    if len(reductions) != 1 or len(with_vectors) != 1 or not op.is_contiguous(with_vectors[0], vector):
        return None
    (dim,) = reductions
    steps = op.sizes[dim]
    is_worth_it = is_over(op.sizes[rows], _FEW_ROWS) and is_over(op.sizes[vector], width) and is_over(steps, 0)
    if not is_worth_it or not op.uses(with_vectors[0], dim):
        return None
    return Panel(with_vectors[0], dim, steps if steps is not None and steps <= longest else longest // 2)


def _longest_panel(machine: Machine) -> int:
    """Return the steps of a panel that takes at most half of a core's own cache.

    The other half is for streamed data.
    """
    fitting = machine.own_cache // 2 // (column_tile(machine) * machine.vector_bytes)
    return min(max(fitting, _SHORTEST_PANEL), _LONGEST_PANEL)


def _one_row(op: StructuredOp, vector: int, lanes: int, columns: int) -> Plan:
    """Plan a row times a matrix.

    The loop reads the matrix once, several rows at a time, and the result stays in the cache.
    """
    outer = [dim for dim in outer_loops(op) if dim != vector]
    *others, innermost = reduction_order(op)
    tile = {vector: columns, innermost: _STEPS_OF_ONE_ROW}
    return Plan(order=(*outer, *others, innermost, vector), vector=vector, lanes=lanes, tile=tile)


def _one_row_of_groups(op: StructuredOp, vector: int, lanes: int) -> Plan:
    """Plan sums of groups in registers, with enough accumulators that no addition waits for the previous one."""
    order = (*(dim for dim in outer_loops(op) if dim != vector), vector, *reduction_order(op))
    tile = {vector: fitting_tile(_COLUMNS_OF_ONE_ROW, lanes, op.sizes[vector])}
    return Plan(order=order, carried=len(op.reductions), vector=vector, lanes=lanes, tile=tile)


def along(op: StructuredOp, vector: int, lanes: int, machine: Machine) -> Plan:
    """Plan vectors along the reduction, which is the last dimension of both matrices."""
    lanes, partials = partial_results(op, vector, lanes, 1)
    outer = outer_loops(op)
    wide = [dim for dim in outer if op.sizes[dim] != 1][-2:]
    accumulators = machine.registers // 2 // partials
    counts = (max(accumulators // 2, 1),) if len(wide) == 1 else (max(accumulators // 4, 1), min(accumulators, 4))
    tile = {dim: _limit_count(count, op.sizes[dim]) for dim, count in zip(wide, counts, strict=False)}
    outer = [*(dim for dim in outer if dim not in wide), *reversed(wide)]
    order = (*outer, *(dim for dim in reduction_order(op) if dim != vector), vector)
    if partials > 1:
        tile[vector] = partials
    return Plan(order=order, carried=len(op.reductions), vector=vector, lanes=lanes, tile=tile)


def _limit_count(count: int, size: int | None) -> int:
    return count if size is None else max(min(count, size), 1)


def row_loop(op: StructuredOp, vector: int) -> int | None:
    """Return the loop that reuses the vector operand: the rows of a product, or the channels of a convolution."""
    loops = row_loops(op, vector)
    return loops[-1] if loops else None


def row_loops(op: StructuredOp, vector: int) -> list[int]:
    """Return all loops that reuse the vector operand: images, image rows, and positions in a row."""
    with_vectors = [operand for operand in range(op.input_count) if op.uses(operand, vector)]
    return [
        dim
        for dim in outer_loops(op)
        if dim != vector and op.sizes[dim] != 1 and not any(op.uses(operand, dim) for operand in with_vectors)
    ]


def tile_of(op: StructuredOp, vector: int, columns: int, rows: int, machine: Machine) -> dict[int, int]:
    """Return the points of a step: columns, and as many rows as the registers allow.

    If the columns are few, the tile also covers another loop, over blocks of channels that are about one vector each.
    """
    blocks = block_loop(op, vector, rows)
    count = 1 if blocks is None else _blocks_at_once(op.sizes[blocks], columns)
    tile = {vector: columns, **_rows_of(op, vector, rows, columns * count, machine)}
    return tile if blocks is None or count == 1 else {**tile, blocks: count}


def _rows_of(op: StructuredOp, vector: int, rows: int, columns: int, machine: Machine) -> dict[int, int]:
    """Return the row points that the registers allow.

    If a loop has fewer points, such as a short image row, the tile extends to the enclosing loops over other rows and
    images.
    """
    tile = {rows: row_tile(machine, columns, op.sizes[rows])}
    others = [dim for dim in row_loops(op, vector) if dim != rows]
    while others and all(points == op.sizes[dim] for dim, points in tile.items()):
        accumulators = _accumulators(machine, columns) // (columns * math.prod(tile.values()))
        if (points := _even(accumulators, op.sizes[others[-1]])) == 1:
            break
        tile[others.pop()] = points
    return tile


def outside_of_step(op: StructuredOp, vector: int, tile: Mapping[int, int], machine: Machine) -> list[int]:
    """Return the loops around the vector and row loops, in the order of the result.

    Images move inside the blocks of columns if rereading the weights per image takes longer than rereading the image
    per block.
    """
    order = [dim for dim in outer_loops(op) if dim != vector]
    rows = row_loops(op, vector)
    blocks = block_loop(op, vector, rows[-1])
    if blocks is None or order.index(blocks) < order.index(rows[0]):
        return order
    weights = next(index for index in range(op.input_count) if op.uses(index, vector))
    data = next(position for position in range(op.input_count) if op.uses(position, rows[-1]))
    of_weights, of_picture = _bytes(op, weights), _bytes(op, data, without=rows[0])
    steps = (op.sizes[blocks] or 0) // tile.get(blocks, 1)
    if of_weights is None or of_picture is None:
        return order
    if of_weights <= max(machine.own_cache // 2, _FEWEST_TIMES * of_picture * steps):
        return order
    order.remove(blocks)
    order.insert(order.index(rows[0]), blocks)
    return order


def _bytes(op: StructuredOp, operand: int, without: int | None = None) -> int | None:
    """Return the bytes of an input, or of its slice at a point of a loop, or None if dynamic."""
    axes = zip(op.accesses[operand], op.shapes[operand], strict=True)
    sizes = [size for index, size in axes if without is None or index.dim != without]
    if any(size < 0 for size in sizes):
        return None
    return math.prod(sizes) * bit_width(str(op.element(operand))) // 8


def block_loop(op: StructuredOp, vector: int, rows: int) -> int | None:
    """Return the loop over further blocks of the vector operands, along which the row operands are reused, or None."""
    with_vectors = [operand for operand in range(op.input_count) if op.uses(operand, vector)]
    with_rows = [operand for operand in range(op.input_count) if op.uses(operand, rows)]
    loops = [
        dim
        for dim in outer_loops(op)
        if dim not in (vector, rows)
        and all(op.uses(operand, dim) for operand in with_vectors)
        and not any(op.uses(operand, dim) for operand in with_rows)
    ]
    return loops[-1] if loops else None


def _blocks_at_once(size: int | None, columns: int) -> int:
    """Return a number of blocks that divides the size. A remainder would be computed one by one."""
    most = max(_BLOCKED_COLUMNS // columns, 1)
    return most if size is not None and size % most == 0 else 1


def column_tile(machine: Machine) -> int:
    """Return the vectors of columns.

    All vectors of a step are in registers at once, besides the accumulators and an element of the rows. Sixteen
    registers are too few for four columns.
    """
    return _COLUMNS if machine.registers >= _MANY_REGISTERS else _FEWER_COLUMNS


def row_tile(machine: Machine, columns: int, size: int | None) -> int:
    """Return the rows that fit into the registers left by the columns and their operands. Steps are even."""
    return _even(_accumulators(machine, columns) // columns, size)


def _accumulators(machine: Machine, columns: int) -> int:
    """Return the registers for results, beside the vectors of the columns and an element of the rows."""
    return max(machine.registers * 3 // 4, machine.registers - columns - 2)


def _even(most: int, size: int | None) -> int:
    """Return the points of even steps of at most `most` points."""
    if size is None or most < 1:
        return max(most, 1)
    steps = -(-size // most)
    return max(-(-size // max(steps, 1)), 1)
