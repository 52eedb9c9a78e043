# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-fuse-ops writes on calls and tir-fuse reads; a pass between the two may change it.

`relax.group = 3`: the calls of a block with this number become one. `relax.apart = ["operand #0: reason"]`: why a call
is in no group with one that it reads, for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...bindings.ir import Block, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, functions_in, operations_in, operations_of
from ...bindings.rewriting import located_error
from ..inline.call_graph import UNITS

GROUP = "relax.group"
APART = "relax.apart"


def graph_blocks(module: Operation) -> Iterator[Block]:
    """The blocks in which graph functions call PrimFuncs."""
    for function in functions_in(module):
        if not any(unit in function.attributes for unit in UNITS):
            for owner in (function, *operations_in(function)):
                yield from blocks_of(owner)


def group_of(call: Operation) -> int | None:
    """The number of the group that a call is said to be in."""
    if GROUP not in call.attributes:
        return None
    stated = call.attributes[GROUP]
    if not isinstance(stated, ir.IntegerAttr):
        raise located_error(f"attribute '{GROUP}' must be the number of a group, got {stated}", call.location)
    return int(stated.value)


def groups_in(block: Block) -> dict[Operation, int]:
    """The calls of a block that are said to be in groups."""
    stated = {op: group_of(op) for op in operations_of(block) if op.name == "relax.call_tir"}
    return {op: number for op, number in stated.items() if number is not None}


def mark_groups(groups: Mapping[Operation, int]) -> None:
    for call, number in groups.items():
        call.attributes[GROUP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def mark_apart(reasons: Mapping[tuple[Operation, Operation], str]) -> None:
    """Writes on each consumer why it is in no group with a producer."""
    by_consumer: dict[Operation, list[str]] = {}
    for (producer, consumer), reason in reasons.items():
        own = list(producer.results)
        which = next(index for index, operand in enumerate(consumer.operands) if operand in own)
        by_consumer.setdefault(consumer, []).append(f"operand #{which}: {reason}")
    for consumer, texts in by_consumer.items():
        consumer.attributes[APART] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])


def unmark(call: Operation) -> None:
    if call.name == "relax.call_tir":
        for name in {GROUP, APART}.intersection(call.attributes):
            del call.attributes[name]
