# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive fuse: collapses nested loops."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import SPATIAL, Loop, blocks_in, loops_of, rebind, variable
from .code_motion import is_reduced_by
from .legality import check_nested, check_serial


@register_primitive
def fuse(edit: Edit, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
    """Fuse nested loops, listed from the outermost on, into one loop."""
    found = [edit.loop(loop) for loop in loops]
    check_serial(edit, found)
    check_nested(edit, found)
    _check_starts(edit, found)
    (name,) = edit.new_names(["_".join(loop.name for loop in found) + "_fused"])
    extent: Size = 1
    for loop in found:
        extent = extent * loop.extent
    rest: Size = variable(name, extent)
    values: dict[str, Size] = {}
    for loop in reversed(found[1:]):
        values[loop.name], rest = rest % loop.extent, rest // loop.extent
    values[found[0].name] = rest
    edit.replace(found[0].name, [Loop(name, extent, rebind(found[-1].body, values))])
    return edit.handle(name)


def _check_starts(edit: Edit, loops: Sequence[Loop]) -> None:
    """Refuse a spatial loop together with a reduction that may have no step.

    The fused loop would skip the inits of its elements.
    """
    for block in blocks_in(loops[-1:]):
        reduced = is_reduced_by(block, [loop for loop in loops if not isinstance(loop.extent, int)])
        along = next((loop for loop in loops if loop.name in loops_of(block, SPATIAL)), None)
        if block.inits is not None and reduced is not None and along is not None:
            problem = f"'{block.name}' reduces along '{reduced.name}', which may have no step, but not along"
            edit.refuse(f"{problem} '{along.name}': decompose its reduction before the loops are fused")
