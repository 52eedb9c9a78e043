# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive tensorize: a loop nest as one instruction, or a micro-kernel."""

from __future__ import annotations

from dataclasses import replace

from ..loops.handles import LoopRV
from ..loops.intrins import INTRIN, TENSORIZED, Mismatch, find_intrin, operands_of
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import VECTORIZED
from .legality import check_serial


@register_primitive
def tensorize(edit: Edit, block_or_loop: LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True) -> None:
    """Has an intrinsic (register_tensor_intrin) compute a loop and all in it, which must be what it says it does."""
    del preserve_unit_iters
    found = edit.loop(block_or_loop)
    check_serial(edit, [found])
    lanes = next((each for each in edit.tree.around(found.name) if each.kind == VECTORIZED), None)
    if lanes is not None:
        edit.refuse(f"'{lanes.name}' around '{found.name}' is vectorized, and an intrinsic has no lanes")
    intrin = find_intrin(str(tensor_intrin))
    try:
        operands_of(edit.tree, found, intrin)
    except Mismatch as mismatch:
        edit.refuse(f"'{tensor_intrin}' is not what '{found.name}' does: {mismatch}")
    notes = {**found.annotations, INTRIN: tensor_intrin}
    edit.replace(found.name, [replace(found, kind=TENSORIZED, annotations=notes)])
