# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the kernels of planned products: how many blocks of how many threads, and what a thread does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ....bindings.context import load_dialects
from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....emit.numbers import Number, as_index, number
from ....emit.structured import StructuredOp
from ....passes.schedule.combiner import allow_fused_multiply_add
from ....passes.schedule.plan import Plan
from ....support.suggest import suggest
from ...core.registry import all_targets, load_schedules
from .group import Group as Group
from .group import Tile, check_group
from .kernel import Kernel, blocks_along
from .places import Loops
from .strips import StripKernel


def blocks(op: StructuredOp, plan: Plan) -> Number:
    """How many blocks of threads compute an operation, an index that is computed here of its operands' sizes."""
    tile, chains = Tile(plan), Loops(op, plan.joined)
    total = as_index(1)
    for chain in [*tile.batches, tile.rows, tile.columns]:
        total = total * blocks_along(tile, chains, chain)
    return total


def threads(plan: Plan) -> int:
    """How many threads a block has."""
    return Tile(plan).threads


def check(group: Group) -> None:
    """Raises Decline for a plan that does not fit the operation."""
    check_group(group)
    _kind_of(group.plan).check(group)


def write(group: Group, block: Value, thread: Value) -> None:
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
    """A target's kernels that multiply tiles by an instruction, which plans name; use it as a decorator."""

    def register(kind: Kind) -> Kind:
        taken = _INSTRUCTIONS.setdefault(name, kind)
        assert taken is kind, f"instruction '{name}' has kernels already"
        return kind

    return register


def find_instruction(name: str) -> type[Kernel]:
    """Raises Decline where no target has it."""
    if name not in _INSTRUCTIONS:
        load_schedules(all_targets())
    if name not in _INSTRUCTIONS:
        known = ", ".join(sorted(_INSTRUCTIONS)) or "none"
        raise Decline(f"no target has an instruction '{name}'{suggest(name, _INSTRUCTIONS)} (known: {known})")
    return _INSTRUCTIONS[name]
