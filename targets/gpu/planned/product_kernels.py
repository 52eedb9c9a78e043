# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the kernels of planned products: how many blocks of how many threads, and what a thread does."""

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
from ....passes.schedule.plan import Plan
from ....support.suggest import suggest
from ...core.registry import all_targets, load_schedules
from .group import PlannedGroup as PlannedGroup
from .group import Tile, check_group
from .kernel import Kernel, blocks_along
from .places import Loops
from .staging import check_made
from .strips import StripKernel


def blocks(op: StructuredOp, plan: Plan) -> Size:
    """How many blocks of threads compute an operation: what is not known is computed here of its operands' sizes."""
    tile, chains = Tile(plan), Loops(op, plan.joined)
    return product([blocks_along(tile, chains, chain) for chain in [*tile.batches, tile.rows, tile.columns]])


def parts(op: StructuredOp, plan: Plan) -> Size:
    """Into how many parts blocks of threads divide the steps of the reduction."""
    if plan.parts is None or plan.parts.steps is None:
        return 1 if plan.parts is None else plan.parts.number
    steps, count = Loops(op, plan.joined).size(plan.parts.dim), blocks(op, plan)
    # Where there is nothing to do there are no blocks.
    wanted = as_index(plan.parts.number) // maximum(as_index(count), 1)
    return maximum(minimum(wanted, as_index(steps) // plan.parts.steps), 1)


def threads(plan: Plan) -> int:
    """How many threads a block has."""
    return Tile(plan).threads


def check(group: PlannedGroup) -> None:
    """Raises Decline for a plan that does not fit the operation."""
    check_group(group)
    check_made(group.op, group.plan)
    _kind_of(group.plan).check(group)


def write(group: PlannedGroup, block: Value, thread: Value) -> None:
    """The code of a thread of a block, written here. Raises Decline, before anything is written, as `check` does."""
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


# ---- instructions for tiles ----

_INSTRUCTIONS: dict[str, type[Kernel]] = {}
Kind = TypeVar("Kind", bound=type[Kernel])


def register_instruction(name: str) -> Callable[[Kind], Kind]:
    """A target's kernels that multiply tiles by an instruction, which plans name; use it as a decorator.

    What plans say behind the name, in words_of_numbers_and_letters, the kernels read.
    """

    def register(kind: Kind) -> Kind:
        taken = _INSTRUCTIONS.setdefault(name, kind)
        assert taken is kind, f"instruction '{name}' has kernels already"
        return kind

    return register


def find_instruction(name: str) -> type[Kernel]:
    """Raises Decline where no target has it."""
    if _registered(name) is None:
        load_schedules(all_targets())
    found = _registered(name)
    if found is None:
        known = ", ".join(sorted(_INSTRUCTIONS)) or "none"
        raise Decline(f"no target has an instruction '{name}'{suggest(name, _INSTRUCTIONS)} (known: {known})")
    return found


def _registered(name: str) -> type[Kernel] | None:
    return _INSTRUCTIONS.get(name) or _INSTRUCTIONS.get(name.partition("_")[0])
