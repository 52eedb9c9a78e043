# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel fusion: PrimFuncs of calls with the same number (relax.group) become one, and the calls one call."""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ..core.base import Pass
from ..core.journal import Journal
from ..core.registry import register_pass
from ..graph.fuse.block_reading import readings_in
from ..graph.fuse.fused_functions import FusedFunctions, note_kernels
from ..graph.fuse.kinds import Kinds
from ..graph.fuse.marks import unmark
from ..graph.fuse.prim_infos import PrimInfos
from ..graph.fuse.stated import StatedGroups


@register_pass
class FusePrimFuncs(Pass):
    """Fuse each group of calls, from relax-fuse-ops or other tools, into one call of one PrimFunc."""

    name: ClassVar[str] = "tir-fuse"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "linalg", "tensor", "math", "scf")

    def run(self, op: Operation) -> None:
        kinds, functions = Kinds(PrimInfos(op)), FusedFunctions(op)
        readings = list(readings_in(op))
        # All groups are checked before the first change. So an error leaves the module as it was.
        stated = [StatedGroups(reading, kinds) for reading in readings if reading.stated]
        found = [each for groups in stated for each in groups.find()]
        for each in found:
            functions.replace(each)
        for reading in readings:
            for position in reading.marked:
                if position not in reading.replaced:
                    unmark(reading.operations[position])
        functions.remove_unused(readings)
        note_kernels(Journal.active(), op)
