# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one call of one PrimFunc out of calls whose work one loop nest can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.navigation import blocks_of, functions_in, operations_in
from ..support.errors import RelaxError
from .core.base import Pass
from .core.journal import Journal
from .core.registry import register_pass
from .fuse.block import BlockGroups, Limits
from .fuse.functions import FusedFunctions, note_kernels, note_not_fused
from .inline.call_graph import UNITS


@register_pass
@dataclass(frozen=True)
class FuseTir(Pass):
    """Fuses calls of PrimFuncs: what is computed element by element with what reads it, or a reduction of it."""

    name: ClassVar[str] = "relax-fuse-tir"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "linalg", "tensor", "math", "scf")

    #: Calls in a group, and parameters of its function, at most.
    max_ops: int = 64
    max_parameters: int = 32
    #: Whether elementwise operations go into the function of the matmul, convolution or reduction before them.
    epilogues: bool = False

    def __post_init__(self) -> None:
        for option, value in (("max-ops", self.max_ops), ("max-parameters", self.max_parameters)):
            if value < 1:
                raise RelaxError(f"{option}={value}: expected at least 1")

    def run(self, op: Operation) -> None:
        journal = Journal.active()
        functions = FusedFunctions(op)
        limits = Limits(self.max_ops, self.max_parameters, self.epilogues)
        graphs = [each for each in functions_in(op) if not any(unit in each.attributes for unit in UNITS)]
        owners = [each for function in graphs for each in (function, *operations_in(function))]
        for block in [block for owner in owners for block in blocks_of(owner)]:
            groups = BlockGroups(block, functions.info, limits, keeps_reasons=journal is not None)
            found = groups.find()
            if journal is not None:
                note_not_fused(journal, groups.reasons_apart())
            for group, outputs, before in found:
                functions.replace(group, outputs, before)
        functions.remove_unused()
        note_kernels(journal, op)
