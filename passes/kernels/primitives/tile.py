# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive tile: tiles two loops."""

from __future__ import annotations

from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from .reorder import reorder
from .split import split


@register_primitive
def tile(edit: Edit, x_parent: LoopRV, y_parent: LoopRV, x_factor: int, y_factor: int) -> list[LoopRV]:
    """Split two loops by a tile's sizes, and move the loops over tiles outside: (xo, yo, xi, yi)."""
    if x_parent == y_parent:
        edit.refuse(f"'{edit.loop(x_parent).name}' is named twice")
    x_outer, x_inner = split(edit, x_parent, [None, x_factor])
    y_outer, y_inner = split(edit, y_parent, [None, y_factor])
    reorder(edit, x_outer, y_outer, x_inner, y_inner)
    return [x_outer, y_outer, x_inner, y_inner]
