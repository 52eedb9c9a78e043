# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says of PrimFuncs that do not say it themselves how they can be fused, as tir.op_pattern."""

from __future__ import annotations

from typing import ClassVar

from ..bindings.ir import Operation
from ..dialects.tir.prim_func import op_pattern, prim_funcs_in, set_op_pattern
from .core.base import Pass
from .core.registry import register_pass
from .fuse.pattern import pattern_of


@register_pass
class AnnotateOpPattern(Pass):
    """Says of PrimFuncs how they can be fused, by what they compute, where tir.op_pattern is absent."""

    name: ClassVar[str] = "relax-annotate-op-pattern"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if op_pattern(function) is None:
                set_op_pattern(function, pattern_of(function))
