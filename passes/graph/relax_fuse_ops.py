# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouping of PrimFunc calls that become one kernel: a number on each call, `relax.group`. tir-fuse merges them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.journal import Journal
from ..core.registry import register_pass
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
    """Group calls of PrimFuncs: elementwise computations with their consumers, or with a reduction before them."""

    name: ClassVar[str] = "relax-fuse-ops"
    anchor: ClassVar[str] = "any"

    #: Maximum number of calls in a group.
    max_ops: int = 64
    #: Maximum number of parameters of a kernel.
    max_parameters: int = 32
    #: Fuse elementwise operations into the matmul, convolution or reduction before them.
    epilogues: bool = False
    #: Fuse calls that read one tensor at the same points of the same loops.
    beside: bool = True
    #: Recompute an operand in each of its consumers, if it is cheap, large, and has no other readers.
    again: bool = True
    #: Fuse for targets with launches, where waiting threads cost nothing, and a launch costs more than to read a tensor
    #: in a different order.
    launched: bool = False
    #: Calls that join no group: names of PrimFuncs, and nodes of the model, by their names.
    keep: tuple[str, ...] = ()
    #: Annotate calls with the reasons why they are not fused with their producers (relax.apart).
    reasons: bool = False

    def __post_init__(self) -> None:
        for option, value in (("max-ops", self.max_ops), ("max-parameters", self.max_parameters)):
            if value < 1:
                raise OptionError(f"{option}={value}: expected at least 1")

    def run(self, op: Operation) -> None:
        journal = Journal.active()
        sizes, keep = (self.max_ops, self.max_parameters), frozenset(self.keep)
        limits = GroupLimits(*sizes, self.epilogues, self.beside, self.launched, keep)
        kinds = Kinds(PrimInfos(op), limits)
        for reading in readings_in(op):
            blocks = BlockGroups(reading, kinds)
            groups = blocks.find()
            if self.again:
                blocks, groups = with_heads(blocks, groups, reading, kinds)
            # Calls that are in a group already stay as they are.
            first = max(reading.stated.values(), default=-1) + 1
            for number, group in enumerate(groups, first):
                mark_group(group.calls, number)
            if self.reasons:
                mark_apart(blocks.reasons_apart())
            if journal is not None:
                note_not_fused(journal, blocks.reasons_apart())
