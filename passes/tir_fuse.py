# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the PrimFuncs of calls with the same number (relax.group) one, and the calls one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Block, Operation
from ..bindings.navigation import operations_of
from ..bindings.rewriting import located_error
from .core.base import Pass
from .core.journal import Journal
from .core.registry import register_pass
from .fuse.block import BlockGroups, Found
from .fuse.functions import FusedFunctions, note_kernels
from .fuse.marks import graph_blocks, groups_in, unmark
from .fuse.prim_info import PrimInfos


@register_pass
@dataclass(frozen=True)
class FusePrimFuncs(Pass):
    """Makes one call of one PrimFunc out of each group of calls, as relax-fuse-ops or others have grouped them."""

    name: ClassVar[str] = "tir-fuse"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "linalg", "tensor", "math", "scf")

    def run(self, op: Operation) -> None:
        infos, functions = PrimInfos(op), FusedFunctions(op)
        # All groups before the first change: one that is refused leaves the module as it was.
        found = [each for block in graph_blocks(op) for each in _groups_of(block, infos)]
        for block in graph_blocks(op):
            for call in operations_of(block):
                unmark(call)
        for group, outputs, before in found:
            functions.replace(group, outputs, before)
        functions.remove_unused()
        note_kernels(Journal.active(), op)


def _groups_of(block: Block, infos: PrimInfos) -> list[Found]:
    stated = groups_in(block)
    if not stated:
        return []
    blocks = BlockGroups(block, infos, stated=stated, keeps_reasons=True)
    found = blocks.find()
    _check_whole(stated, blocks, found)
    return found


def _check_whole(stated: Mapping[Operation, int], blocks: BlockGroups, found: list[Found]) -> None:
    """Raises RelaxError where calls that are said to be one group have not become one."""
    made = {member.call: index for index, (group, _, _) in enumerate(found) for member in group.all_members}
    wholes: dict[int, tuple[Operation, int | None]] = {}
    for call, number in stated.items():
        first, index = wholes.setdefault(number, (call, made.get(call)))
        if first != call and (index is None or made.get(call) != index):
            raise located_error(f"group {number} cannot become one kernel: {blocks.why_apart(number)}", first.location)
