# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive set_axis_separator: which of a buffer's dimensions are one of memory that has several."""

from __future__ import annotations

from collections.abc import Sequence

from ...support.replacing import replace
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from .caching import buffer_at, check_own


@register_primitive
def set_axis_separator(
    edit: Edit, block: BlockRV, buffer: tuple[str, int] | int | str, axis_separators: Sequence[int]
) -> None:
    """Notes before which of a buffer's dimensions those of a physical memory begin. Memory has one dimension here, so
    nothing else comes of it: what reads the schedule's text may ask for it."""
    found = buffer_at(edit, edit.block(block), buffer)
    check_own(edit, found)
    given, rank = list(axis_separators), len(found.shape)
    if any(type(each) is not int or not 0 <= each <= rank for each in given) or given != sorted(given):
        edit.refuse(f"expected numbers from 0 to {rank} in ascending order, got {axis_separators!r}")
    edit.tree = edit.tree.exchanged(found, replace(found, axis_separators=tuple(given)))
