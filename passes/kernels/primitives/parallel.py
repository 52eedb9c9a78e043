# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive parallel: shares a loop's steps among threads."""

from __future__ import annotations

from ....support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import PARALLEL, loops_in
from .legality import check_apart, check_serial


@register_primitive
def parallel(edit: Edit, loop: LoopRV) -> None:
    """Share the steps of a loop among threads."""
    found = edit.loop(loop)
    check_serial(edit, [found])
    check_apart(edit, found, "shared by threads")
    for where, loops in (("around", edit.tree.around(found.name)), ("in", loops_in(found.body))):
        if (other := next((each for each in loops if each.kind == PARALLEL), None)) is not None:
            problem = f"'{other.name}' {where} '{found.name}' is already parallel"
            edit.refuse(f"{problem}: threads share one of them (fuse both)")
    edit.replace(found.name, [replace(found, kind=PARALLEL)])
