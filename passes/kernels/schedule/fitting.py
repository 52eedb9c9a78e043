# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legality of a plan for an operation and a machine: its loops exist and may run as the plan says."""

from __future__ import annotations

import math

from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from ....targets.core.machine import Machine
from .dots import Dots, dots_of, packed_operand
from .loop_collapsing import check_joined, join
from .packing import grouped_type, masked_type, packed_source, panels_type
from .plan import Panel, Parallel, Plan, panel_form, points_of_step
from .reduction_order import check_order
from .tiles import check_tiles
from .vector_access import is_lanewise
from .vector_body import runs_on_whole_vectors, usual_bits

#: Maximum number of points of a step; each point is code.
_MOST_POINTS = 512


def check_plan(op: StructuredOp, plan: Plan, machine: Machine) -> tuple[StructuredOp, Dots | None]:
    """Return the operation with the plan's joined loops, and its dot products.

    Raises Decline with the reason if the plan does not fit.
    """
    if machine.shared_bytes:  # a GPU, and gpu-outline-kernels checks the rest
        check_loops(op, plan)
        check_order(op, plan)
        return op, None
    if plan.threads or plan.shared or plan.stages > 1 or plan.instruction or plan.parts:
        raise Decline("'threads', 'shared', 'stages', 'instruction' and 'parts' are for blocks of a GPU's threads")
    check_loops(op, plan)
    check_order(op, plan)
    check_joined(op, plan.joined)
    joined = join(op, plan.joined)
    if joined.reductions:
        check_reads_outputs(joined)
    if not joined.reductions.issuperset(plan.order[len(plan.order) - plan.carried :]):
        raise Decline(f"the last {plan.carried} loops of the order are not all reductions")
    _check_lanes(joined, plan, machine)
    _check_steps(plan)
    if plan.square is not None and (plan.square in joined.reductions or plan.tile.get(plan.square) != plan.lanes):
        raise Decline(f"squares need {plan.lanes} points, as many as lanes, of a loop that is no reduction")
    if plan.panel is not None:
        _check_panel(joined, plan, plan.panel)
    if plan.parallel is not None:
        _check_parallel(joined, plan, plan.parallel)
    if (dots := dots_of(joined, plan, machine)) is not None:
        _check_dots(joined, plan, dots)
    return joined, dots


def check_reads_outputs(op: StructuredOp) -> None:
    if not all(op.reads_output(output) for output in range(len(op.outputs))):
        raise Decline("an output is not combined with its previous value")


def check_loops(op: StructuredOp, plan: Plan) -> None:
    named = [dim for chain in plan.joined for dim in chain]
    if unknown := [dim for dim in named if dim not in op.dims]:
        raise Decline(f"it has no loop {unknown[0]}, only {', '.join(map(str, op.dims)) or 'none'}")
    if missing := [dim for dim in op.dims if dim not in named]:
        raise Decline(f"loop {missing[0]} is not in the order")
    if plan.carried > len(plan.order):
        raise Decline(f"{plan.carried} loops cannot be carried, it has {len(plan.order)}")


def _check_lanes(op: StructuredOp, plan: Plan, machine: Machine) -> None:
    if plan.lanes & (plan.lanes - 1):
        raise Decline(f"{plan.lanes} lanes are no power of two")
    bits = usual_bits(op)
    if plan.lanes > machine.lanes(bits):
        raise Decline(f"{plan.lanes} lanes of {bits} bits do not fit in a vector of {machine.vector_bytes} bytes")
    if plan.vector not in op.reductions:
        return
    combiners(op)
    if plan.vector not in plan.order[len(plan.order) - plan.carried :]:
        raise Decline("a reduction along vectors must be carried")
    partials = plan.tile.get(plan.vector, 1)
    if partials & (partials - 1):
        raise Decline(f"{partials} partial results are no power of two")
    if runs_on_whole_vectors(op) or any(is_lanewise(op, plan.vector, index) for index in range(len(op.operands))):
        raise Decline("vectors along the reduction would be loaded element by element")


def _check_steps(plan: Plan) -> None:
    if (points := math.prod(plan.tile.values())) > _MOST_POINTS:
        raise Decline(f"a step has {points} points, at most {_MOST_POINTS} are allowed: each point is code")


def _check_panel(op: StructuredOp, plan: Plan, panel: Panel) -> None:
    """Check that the part which is copied to a panel stays the same in all loops inside of the vector loop."""
    inside = plan.order[plan.order.index(plan.vector) + 1 :]
    contiguous = (plan.vector,) if plan.tiles is None else (plan.vector, panel.dim)
    if panel.operand >= op.input_count or not any(op.is_contiguous(panel.operand, dim) for dim in contiguous):
        raise Decline(f"panels need an input whose elements are contiguous along the vectors, not {panel.operand}")
    if panel.dim not in op.reductions or panel.dim not in inside or plan.vector in op.reductions:
        raise Decline("panels need a reduction inside of the vectors' loop")
    if any(op.uses(panel.operand, dim) for dim in inside if dim != panel.dim):
        raise Decline(f"operand {panel.operand} changes in the loops that use the panel")
    if panel.is_packed:
        _check_packed(op, plan, panel)
    if panel.is_packed or plan.tiles is not None:
        return
    size = op.sizes[panel.dim]
    lengths = [length for dim, length in plan.blocks if dim == panel.dim]
    if (size is None or size > panel.length) and not any(length <= panel.length for length in lengths):
        raise Decline(f"the panel is shorter than its loop: it needs blocks of at most {panel.length}")


def _check_packed(op: StructuredOp, plan: Plan, panel: Panel) -> None:
    matrix, form = op.operands[panel.operand], panel_form(plan, panel)
    panels, dot = packed_source(matrix), plan.dot
    is_matrix = len(op.shapes[panel.operand]) == 2 and op.is_contiguous(panel.operand, plan.vector)
    if panels is None or not is_matrix or panels.type != masked_type(panels_type(matrix.type, form), dot):
        of_groups = f" and groups of {form.group} rows" if form.group > 1 else ""
        of_tiles = f", {form.depth} in a tile" if form.depth > 1 else ""
        raise Decline(
            f"operand {panel.operand} is not unpacked from panels of {form.width} columns{of_groups}{of_tiles}"
        )


def _check_dots(op: StructuredOp, plan: Plan, dots: Dots) -> None:
    assert plan.dot is not None
    dim, group = plan.dot.dim, plan.dot.group
    if any(is_lanewise(op, plan.vector, index) for index in range(op.input_count, len(op.operands))):
        raise Decline("the sums of dot products would be stored element by element")
    if plan.panel is not None and (plan.panel.operand, plan.panel.dim) != (dots.columns, dim):
        raise Decline(f"the panel of dot products is of operand {dots.columns}, along loop {dim}")
    if plan.tiles is not None:
        check_tiles(op, plan, plan.tiles, dots)
    if plan.dot.pairs and packed_operand(plan, dots) is None:
        raise Decline("pairs of bytes that cannot saturate need packed weights")
    if not plan.dot.is_packed:
        return
    weights = op.operands[dots.columns]
    packed, grouped = packed_source(weights), masked_type(grouped_type(weights.type, group, plan.lanes), plan.dot)
    is_last = op.accesses[dots.columns][-2].dim == dim and op.accesses[dots.columns][-1].dim == plan.vector
    if plan.panel is not None or packed is None or not is_last or packed.type != grouped:
        raise Decline(f"operand {dots.columns} is not unpacked from groups of {group} rows of whole vectors")


def _check_parallel(op: StructuredOp, plan: Plan, parallel: Parallel) -> None:
    if not can_be_shared(op, parallel.dim):
        raise Decline(f"threads cannot share loop {parallel.dim}: some steps write the same elements")
    step = dict(plan.blocks).get(parallel.dim, points_of_step(plan, parallel.dim))
    if parallel.grain is not None and parallel.grain % step:
        raise Decline(f"a grain of {parallel.grain} points is no multiple of the step of {step}")


def can_be_shared(op: StructuredOp, dim: int) -> bool:
    """Return True if no two steps of a loop write the same element."""
    return all(any(index.is_all_of(dim) for index in access) for access in op.output_accesses)
