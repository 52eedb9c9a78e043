# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion patterns of PrimFuncs that do not state one, as `tir.op_pattern`."""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...dialects.tir.prim_func import op_pattern, prim_funcs_in, set_op_pattern
from ..core.base import Pass
from ..core.registry import register_pass
from .fuse.pattern import pattern_of


@register_pass
class AnnotateOpPattern(Pass):
    """Classify PrimFuncs without `tir.op_pattern`, and set the attribute."""

    name: ClassVar[str] = "relax-annotate-op-pattern"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if op_pattern(function) is None:
                set_op_pattern(function, pattern_of(function))
