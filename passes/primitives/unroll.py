# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that are code for each step."""

from __future__ import annotations

from dataclasses import replace

from ..loops.handles import LoopRV
from ..loops.tree import UNROLLED, Loop, loops_in
from .legality import check_serial
from .registry import Edit, register_primitive

#: Of all unrolled loops that are nested.
_MOST_STEPS = 4096


@register_primitive
def unroll(edit: Edit, loop: LoopRV) -> None:
    """Emits what is in a loop once for each of its steps."""
    found = edit.loop(loop)
    check_serial(edit, [found])
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' goes {found.extent} times: split it by a number first, [None, 4]")
    steps = found.extent * _unrolled([*edit.tree.around(found.name), *loops_in(found.body)])
    if steps > _MOST_STEPS:
        edit.refuse(f"with the unrolled loops around and inside these are {steps} steps of code, {_MOST_STEPS} at most")
    edit.replace(found.name, [replace(found, kind=UNROLLED)])


def _unrolled(loops: list[Loop]) -> int:
    steps = 1
    for each in loops:
        if each.kind == UNROLLED and isinstance(each.extent, int):
            steps *= each.extent
    return steps
