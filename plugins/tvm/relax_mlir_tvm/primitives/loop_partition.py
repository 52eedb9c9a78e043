# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive loop_partition: splits a loop into consecutive loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from relax_mlir.dialects.core.symbols_expr import Size
from relax_mlir.passes.kernels.loops.handles import LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import SERIAL, Loop, blocks_in, map_nodes, names_in, rebind, variable
from relax_mlir.passes.kernels.primitives.body_copies import drop_unreached_init, rename_nodes
from relax_mlir.schedules import register_primitive


@register_primitive
def loop_partition(
    edit: Edit, loop: LoopRV, factors: Sequence[int | None], preserve_unit_iters: bool = True
) -> list[LoopRV]:
    """Split a loop into consecutive loops with these numbers of steps.

    One factor may be None: the rest of the steps. Without None, one more loop does the rest. Each loop has a copy of
    the body, with blocks of its own.
    """
    found = edit.loop(loop)
    if found.kind != SERIAL:
        edit.refuse(f"'{found.name}' is already {found.kind}: partition it first")
    counts = _counts(edit, found, factors)
    firsts = [0, *accumulate(counts)][:-1]
    taken = set(names_in([found]))
    loops: list[Loop] = []
    for number, (first, count) in enumerate(zip(firsts, counts, strict=True)):
        names = {} if number == 0 else _new_names(edit, found, taken, number)
        taken |= set(names.values())
        name = edit.new_name(f"{found.name}_{number}", taken)
        taken.add(name)
        index: Size = first if count == 1 and not preserve_unit_iters else first + variable(name, count)
        nodes = rename_nodes(rebind(found.body, {found.name: index}), names)
        part = Loop(name, count, nodes, annotations=found.annotations)
        nodes = map_nodes(nodes, lambda block: replace(block, is_part=block.is_part or len(counts) > 1))
        loops.append(replace(part, body=map_nodes(nodes, partial(drop_unreached_init, edit, part))))
    edit.replace(found.name, loops)
    return [edit.handle(each) for each in loops]


def _counts(edit: Edit, loop: Loop, factors: Sequence[int | None]) -> list[int]:
    if not isinstance(loop.extent, int):
        edit.refuse(f"'{loop.name}' has {loop.extent} steps, which is known at run time only")
    wrong = [factor for factor in factors if factor is not None and (type(factor) is not int or factor < 1)]
    if wrong or not factors:
        edit.refuse(f"expected numbers of steps of at least 1, and at most one None, got {list(factors)}")
    if list(factors).count(None) > 1:
        edit.refuse("only one factor may be None")
    rest = loop.extent - sum(factor for factor in factors if factor is not None)
    if rest < 0 or (rest == 0 and None in factors):
        edit.refuse(f"'{loop.name}' has {loop.extent} steps, but the factors sum to {loop.extent - rest}")
    if None not in factors and rest:
        factors = [*factors, rest]
    return [rest if factor is None else factor for factor in factors]


def _new_names(edit: Edit, loop: Loop, taken: set[str], number: int) -> dict[str, str]:
    """Return names for a copy of the loops and blocks in a loop. Blocks are named as in TVM."""
    names: dict[str, str] = {}
    blocks = {block.name for block in blocks_in(loop.body)}
    for name in names_in(loop.body):
        wanted = f"{name}_{loop.name}{number}" if name in blocks else name
        names[name] = edit.new_name(wanted, {*taken, *names.values()})
    return names
