# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions: a piece of an output row, for several output channels, stays in registers."""

from __future__ import annotations

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.plan import Plan
from ....passes.kernels.schedule.vector_body import widest_bits
from ...core.machine import Machine
from .elementwise import fitting_lanes, fitting_tile, outer_loops
from .matmul import check_contraction, column_tile, outside_of_step, row_loop, row_tile, tile_of
from .reduction import reduction_order, vector_across

#: Vectors of a row of dynamic length. The remainder is computed one by one; more channels at a time make up for the
#: smaller tile.
_COLUMNS_OF_ANY_ROW = 2
_ROWS = 2
#: Adjacent positions per tile, if vectors are blocks of channels.
_ROWS_OF_BLOCKS = 8


def plan_conv(op: StructuredOp, machine: Machine) -> Plan:
    check_contraction(op)
    if (vector := vector_across(op)) is None:
        raise Decline("the output's last loop does not run through the input's neighbours")
    return conv(op, vector, fitting_lanes(machine.lanes(widest_bits(op)), op.sizes[vector]), machine)


def conv(op: StructuredOp, vector: int, lanes: int, machine: Machine) -> Plan:
    """Plan a convolution. Vectors are adjacent elements of a result row, or channels of a block."""
    most = _COLUMNS_OF_ANY_ROW if op.sizes[vector] is None else column_tile(machine)
    columns = fitting_tile(most, lanes, op.sizes[vector])
    tile = {vector: columns}
    channels = row_loop(op, vector)
    # The input part of an output row serves all channels before the next row starts. With one filter per channel, there
    # is nothing to share; two rows at a time keep the adders busy.
    around = [dim for dim in outer_loops(op) if dim != vector]
    last = [channels] if channels is not None else ([dim for dim in around if op.sizes[dim] != 1] or around)[-1:]
    if channels is not None:
        tile = tile_of(op, vector, columns, channels, machine)
        around = outside_of_step(op, vector, tile, machine)
    else:
        most = _ROWS if columns > 1 else _ROWS_OF_BLOCKS
        tile.update({dim: min(row_tile(machine, columns, op.sizes[dim]), most) for dim in last})
    outer = [dim for dim in around if dim not in last]
    order = (*outer, vector, *last, *reduction_order(op))
    return Plan(order=order, carried=len(op.reductions), vector=vector, lanes=lanes, tile=tile)
