# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations without reductions: vectors along the output's last dimension."""

from __future__ import annotations

from ....bindings.ir import Value
from ....bindings.navigation import made_by
from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.dynamic_slices import fills_border
from ....passes.kernels.schedule.plan import Plan
from ....passes.kernels.schedule.vector_access import is_lanewise, is_transposed, loop_between
from ....passes.kernels.schedule.vector_body import widest_bits
from ...core.machine import Machine

#: Vectors per step. A shorter body would be mostly loop overhead, a longer body waits for its own operations.
_TILE = 4
#: Operations of a long body, and the registers that two more of its vectors need.
_LONG, _MANY_REGISTERS = 8, 32
#: Each lane that is loaded separately is code of its own.
MOST_LANES_ONE_BY_ONE = 16
#: LLVM turns more separate stores into scatters, which are slower.
_MOST_LANES_SCATTERED = 4
#: Fewer copies are not worth a shuffle.
_FEWEST_REPEATED = 2
#: Larger squares do not fit into registers.
_LONGEST_SQUARE = 16


def plan_elementwise(op: StructuredOp, machine: Machine) -> Plan:
    if op.reductions:
        raise Decline("it reduces")
    vector = output_vector(op)
    if (repeated := _plan_repeated(op, vector, machine)) is not None:
        return repeated
    lanes = fitting_lanes(machine.lanes(widest_bits(op)), op.sizes[vector])
    if (square := _square(op, vector)) is not None:
        return _plan_squares(op, vector, square, lanes)
    is_long = len(list(op.block.operations)) > _LONG
    tile = _TILE // 2 if is_long and machine.registers < _MANY_REGISTERS else _TILE
    if any(is_lanewise(op, vector, operand) for operand in range(len(op.operands))):
        is_scattered = any(is_lanewise(op, vector, operand) for operand in range(op.output_start, len(op.operands)))
        tile, lanes = 1, min(lanes, _MOST_LANES_SCATTERED if is_scattered else MOST_LANES_ONE_BY_ONE)
    if fills_border(op):
        tile = 1  # the loop takes no time, but its compilation would
    tiles = {vector: fitting_tile(tile, lanes, op.sizes[vector])}
    return Plan(order=output_order(op, vector), vector=vector, lanes=lanes, tile=tiles)


def _plan_repeated(op: StructuredOp, copies: int, machine: Machine) -> Plan | None:
    """Plan vectors of elements that are each stored several times in a row: a register holds all copies."""
    access, count = op.output_accesses[0], op.sizes[copies]
    vector = access[-2].dim if len(access) > 1 else None
    is_one = len(op.outputs) == 1 and not op.reads_output(0) and not _is_slice(op.outputs[0])
    if vector is None or not count or not is_one:
        return None
    lanes, size, tile = machine.lanes(widest_bits(op)) // count, op.sizes[vector], {copies: count}
    while size is not None and lanes > 1 and size % lanes:
        lanes //= 2
    inputs = range(op.input_count)
    is_row = all(not op.uses(input_, copies) and not is_lanewise(op, vector, input_) for input_ in inputs)
    if lanes < _FEWEST_REPEATED or not is_row or loop_between(op, vector, op.output_start, tile) is None:
        return None
    return Plan(order=output_order(op, copies), vector=vector, lanes=lanes, tile=tile)


def _is_slice(value: Value) -> bool:
    """Check whether a tensor may have gaps."""
    while (view := made_by(value, "tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")) is not None:
        value = view.operands[0]
    return made_by(value, "tensor.extract_slice") is not None


def _square(op: StructuredOp, vector: int) -> int | None:
    """Return the loop along which all inputs that are strided along the vectors are contiguous, or None."""
    across = [operand for operand in range(op.input_count) if is_lanewise(op, vector, operand)]
    dims = {op.last_dim(operand) for operand in across}
    square = dims.pop() if len(dims) == 1 else None
    if square == vector:
        return None  # a diagonal
    return (
        square if square is not None and all(is_transposed(op, vector, number, square) for number in across) else None
    )


def _plan_squares(op: StructuredOp, vector: int, square: int, lanes: int) -> Plan:
    """Plan the transposition of squares in registers: the loop reads rows and writes columns."""
    lanes = min(lanes, _LONGEST_SQUARE)
    outer = [dim for dim in output_order(op, vector) if dim not in (vector, square)]
    return Plan(order=(*outer, vector, square), vector=vector, lanes=lanes, tile={square: lanes}, square=square)


def output_vector(op: StructuredOp) -> int:
    """Return the loop along which all outputs are contiguous."""
    dims = {op.last_dim(op.output_start + output) for output in range(len(op.outputs))}
    if len(dims) != 1:
        raise Decline("its outputs differ in the order of their elements")
    (dim,) = dims
    if dim is None:
        raise Decline("its output is a single element")
    return dim


def output_order(op: StructuredOp, vector: int) -> tuple[int, ...]:
    """Return the parallel loops in the memory order of the first output, with the vectors last."""
    return (*(dim for dim in outer_loops(op) if dim != vector), vector)


def outer_loops(op: StructuredOp) -> list[int]:
    """Return the parallel loops in the memory order of the first output."""
    axes = [index.dim for index in op.output_accesses[0] if index.dim is not None]
    return [*(dim for dim in op.parallels if dim not in axes), *axes]


def fitting_lanes(lanes: int, size: int | None) -> int:
    """Return at most as many lanes as a loop has points, rounded up to a power of two."""
    while size is not None and lanes > 1 and lanes // 2 >= size:
        lanes //= 2
    return lanes


def fitting_tile(tile: int, lanes: int, size: int | None) -> int:
    """Return at most as many vectors as a loop has."""
    return tile if size is None else max(1, min(tile, -(-size // lanes)))
