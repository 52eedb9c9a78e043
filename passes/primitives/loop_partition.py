# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive loop_partition: one loop as several, one behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate

from ...dialects.core.symbols_expr import Size
from ...support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.ranges import range_of
from ..loops.tree import REDUCE, SERIAL, Block, Loop, Node, blocks_in, loops_in, mapped, names_in, rebound, variable


@register_primitive
def loop_partition(
    edit: Edit, loop: LoopRV, factors: Sequence[int | None], preserve_unit_iters: bool = True
) -> list[LoopRV]:
    """Makes several loops of one, each of which does that many of its steps; one factor may be None: the rest, which
    otherwise one loop more does.

    What is in the loop is there once for each of them, in blocks of their own.
    """
    found = edit.loop(loop)
    if found.kind != SERIAL:
        edit.refuse(f"'{found.name}' is {found.kind}: part it before it is made so")
    counts = _counts(edit, found, factors)
    firsts = [0, *accumulate(counts)][:-1]
    taken = set(names_in([found]))
    made: list[Loop] = []
    for number, (first, count) in enumerate(zip(firsts, counts, strict=True)):
        names = {} if number == 0 else _new_names(edit, found, taken, number)
        taken |= set(names.values())
        name = edit.new_name(f"{found.name}_{number}", taken)
        taken.add(name)
        index: Size = first if count == 1 and not preserve_unit_iters else first + variable(name, count)
        nodes = renamed(rebound(found.body, {found.name: index}), names)
        part = Loop(name, count, nodes, annotations=found.annotations)
        nodes = mapped(nodes, lambda block: replace(block, is_part=block.is_part or len(counts) > 1))
        made.append(replace(part, body=mapped(nodes, partial(starting, edit, part))))
    edit.replace(found.name, made)
    return [edit.handle(each) for each in made]


def starting(edit: Edit, part: Loop, block: Block) -> Block:
    """Without an init where no step of the part is the first one of a reduction."""
    if block.inits is None:
        return block
    inner = {each.name: each.extent for each in (*edit.tree.loops(), part, *loops_in(part.body))}
    bindings = [binding for each, binding in zip(block.iters, block.bindings, strict=True) if each.kind == REDUCE]
    starts = [reached.start for each in bindings if (reached := range_of(each, inner)) is not None]
    return replace(block, inits=None) if any(isinstance(each, int) and each > 0 for each in starts) else block


def _counts(edit: Edit, loop: Loop, factors: Sequence[int | None]) -> list[int]:
    if not isinstance(loop.extent, int):
        edit.refuse(f"'{loop.name}' goes {loop.extent} times, which is known at run time only")
    wrong = [each for each in factors if each is not None and (type(each) is not int or each < 1)]
    if wrong or not factors:
        edit.refuse(f"expected numbers of steps of at least 1, and None once at most, got {list(factors)}")
    if list(factors).count(None) > 1:
        edit.refuse("only one factor may be None")
    rest = loop.extent - sum(each for each in factors if each is not None)
    if rest < 0 or (rest == 0 and None in factors):
        edit.refuse(f"'{loop.name}' has {loop.extent} steps, the factors {loop.extent - rest}")
    if None not in factors and rest:
        factors = [*factors, rest]
    return [rest if each is None else each for each in factors]


def _new_names(edit: Edit, loop: Loop, taken: set[str], number: int) -> dict[str, str]:
    """Of the loops and blocks in a loop, for one more copy of them: blocks are called as TVM does."""
    names: dict[str, str] = {}
    blocks = {block.name for block in blocks_in(loop.body)}
    for name in names_in(loop.body):
        wanted = f"{name}_{loop.name}{number}" if name in blocks else name
        names[name] = edit.new_name(wanted, {*taken, *names.values()})
    return names


def renamed(nodes: tuple[Node, ...], names: Mapping[str, str]) -> tuple[Node, ...]:
    if not names:
        return nodes
    inner = loops_in(nodes)
    values: dict[str, Size] = {each.name: variable(names[each.name], each.extent) for each in inner}

    def renamed(node: Node) -> Node:
        if isinstance(node, Block):
            return replace(node, name=names[node.name])
        return replace(node, name=names[node.name], body=tuple(map(renamed, node.body)))

    return tuple(map(renamed, rebound(nodes, values)))
