# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which calls of PrimFuncs are to become one, by a number on each: relax.group. tir-fuse makes them one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..support.errors import OptionError
from .core.base import Pass
from .core.journal import Journal
from .core.registry import register_pass
from .fuse.block import BlockGroups
from .fuse.block_reading import readings_in
from .fuse.fused_functions import note_not_fused
from .fuse.heads import with_heads
from .fuse.kinds import GroupLimits, Kinds
from .fuse.marks import mark_apart, mark_group
from .fuse.prim_infos import PrimInfos


@register_pass
@dataclass(frozen=True)
class FuseOps(Pass):
    """Groups calls of PrimFuncs: what is computed element by element with what reads it, or a reduction of it."""

    name: ClassVar[str] = "relax-fuse-ops"
    anchor: ClassVar[str] = "any"

    #: Calls in a group, and parameters of its function, at most.
    max_ops: int = 64
    #: A kernel gets no more parameters than this.
    max_parameters: int = 32
    #: Whether elementwise operations go into the function of the matmul, convolution or reduction before them.
    epilogues: bool = False
    #: Whether calls that read one tensor at the same points of the same loops go into one function.
    beside: bool = True
    #: Whether what several functions read is computed in each, if it is cheap, large, and not stored for others.
    again: bool = True
    #: Whether calls are launched for more threads than run at a time: functions wait for each other at no cost, and a
    #: launch takes more time than to read a tensor wherever else.
    launched: bool = False
    #: Whether a call that stays apart from one that it reads says why, as relax.apart.
    reasons: bool = False

    def __post_init__(self) -> None:
        for option, value in (("max-ops", self.max_ops), ("max-parameters", self.max_parameters)):
            if value < 1:
                raise OptionError(f"{option}={value}: expected at least 1")

    def run(self, op: Operation) -> None:
        journal = Journal.active()
        limits = GroupLimits(self.max_ops, self.max_parameters, self.epilogues, self.beside, self.launched)
        kinds = Kinds(PrimInfos(op), limits)
        for reading in readings_in(op):
            blocks = BlockGroups(reading, kinds)
            groups = blocks.find()
            if self.again:
                blocks, groups = with_heads(blocks, groups, reading, kinds)
            # What is grouped already stays as it is.
            first = max(reading.stated.values(), default=-1) + 1
            for number, found in enumerate(groups, first):
                mark_group(found.calls, number)
            if self.reasons:
                mark_apart(blocks.reasons_apart())
            if journal is not None:
                note_not_fused(journal, blocks.reasons_apart())
