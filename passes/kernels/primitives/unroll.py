# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive unroll: loop unrolling."""

from __future__ import annotations

from ....support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import UNROLLED
from .legality import check_serial


@register_primitive
def unroll(edit: Edit, loop: LoopRV) -> None:
    """Emit a loop's body once for each of its steps."""
    found = edit.loop(loop)
    check_serial(edit, [found])
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' has {found.extent} steps: split it by a number first, [None, 4]")
    edit.replace(found.name, [replace(found, kind=UNROLLED)])
