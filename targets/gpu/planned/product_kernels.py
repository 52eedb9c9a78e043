# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of kernels for planned products: grid size, block size and the code of a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ....bindings.context import load_dialects
from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....emit.combiner import allow_fused_multiply_add
from ....emit.linalg import product
from ....emit.numbers import Size, as_index, maximum, minimum, number
from ....emit.structured import StructuredOp
from ....passes.kernels.schedule.plan import Plan
from ....support.blaming import place_of
from ....support.errors import RelaxError
from ....support.suggest import suggest
from ...core.registry import all_targets, load_schedules
from .group import PlannedGroup as PlannedGroup
from .group import Tile, check_group
from .index_arithmetic import Loops
from .kernel import Kernel, blocks_along
from .staging import check_made
from .strips import StripKernel


def blocks(op: StructuredOp, plan: Plan) -> Size:
    """Return the number of blocks that compute an operation. Dynamic counts are emitted from the operands' sizes."""
    tile, chains = Tile(plan), Loops(op, plan.joined)
    return product([blocks_along(tile, chains, chain) for chain in [*tile.batches, tile.rows, tile.columns]])


def parts(op: StructuredOp, plan: Plan) -> Size:
    """Return the number of parts that blocks divide the reduction's steps into."""
    if plan.parts is None or plan.parts.steps is None:
        return 1 if plan.parts is None else plan.parts.number
    steps, count = Loops(op, plan.joined).size(plan.parts.dim), blocks(op, plan)
    # An empty result has no blocks.
    wanted = as_index(plan.parts.number) // maximum(as_index(count), 1)
    return maximum(minimum(wanted, as_index(steps) // plan.parts.steps), 1)


def threads(plan: Plan) -> int:
    """Return the number of threads per block."""
    return Tile(plan).threads


def check(group: PlannedGroup) -> None:
    """Raise Decline for a plan that does not fit the operation."""
    check_group(group)
    check_made(group.op, group.plan)
    _kind_of(group.plan).check(group)


def write(group: PlannedGroup, block: Value, thread: Value) -> None:
    """Emit the code of a thread of a block. Raises Decline like `check`, before anything is emitted."""
    check(group)
    kind = _kind_of(group.plan)
    load_dialects(group.op.operation.context, kind.dialects)
    allow_fused_multiply_add(group.op)
    kind(group, number(block), number(thread)).write()


def _kind_of(plan: Plan) -> type[Kernel]:
    if plan.instruction is not None:
        return find_instruction(plan.instruction)
    if plan.order[-1] not in dict(plan.threads):
        return Kernel

    return StripKernel


# ---- tile instructions ----

_INSTRUCTIONS: dict[str, type[Kernel]] = {}
Kind = TypeVar("Kind", bound=type[Kernel])


def register_instruction(name: str) -> Callable[[Kind], Kind]:
    """Register a target's kernels for a tile instruction that plans name; use it as a decorator.

    The kernels interpret the suffix after the name, in words_of_numbers_and_letters.
    """

    def register(kind: Kind) -> Kind:
        first, second = place_of(_INSTRUCTIONS.get(name, kind)), place_of(kind)
        if first != second:
            raise RelaxError(f"instruction '{name}' has the kernels {first} already: rename {second}'s instruction")
        _INSTRUCTIONS[name] = kind
        return kind

    return register


def find_instruction(name: str) -> type[Kernel]:
    """Return the kernels of an instruction. Raises Decline if no target has the instruction."""
    if _find(name) is None:
        load_schedules(all_targets())
    if (instruction := _find(name)) is None:
        known = ", ".join(sorted(_INSTRUCTIONS)) or "none"
        raise Decline(f"no target has an instruction '{name}'{suggest(name, _INSTRUCTIONS)} (known: {known})")
    return instruction


def _find(name: str) -> type[Kernel] | None:
    return _INSTRUCTIONS.get(name) or _INSTRUCTIONS.get(name.partition("_")[0])
