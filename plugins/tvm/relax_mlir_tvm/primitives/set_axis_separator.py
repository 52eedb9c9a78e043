# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive set_axis_separator: grouping of a buffer's dimensions for memory with several dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.primitives.caching import buffer_at, check_own
from relax_mlir.schedules import register_primitive


@register_primitive
def set_axis_separator(
    edit: Edit, block: BlockRV, buffer: tuple[str, int] | int | str, axis_separators: Sequence[int]
) -> None:
    """Record at which of a buffer's dimensions the dimensions of a physical memory begin.

    Memory has one dimension here, so only readers of the schedule's text use the record.
    """
    found = buffer_at(edit, edit.block(block), buffer)
    check_own(edit, found)
    given, rank = list(axis_separators), len(found.shape)
    if any(type(each) is not int or not 0 <= each <= rank for each in given) or given != sorted(given):
        edit.refuse(f"expected numbers from 0 to {rank} in ascending order, got {axis_separators!r}")
    edit.tree = edit.tree.exchanged(found, replace(found, axis_separators=tuple(given)))
