# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that threads share."""

from __future__ import annotations

from dataclasses import replace

from ..loops.handles import LoopRV
from ..loops.tree import PARALLEL
from .legality import check_apart, check_serial
from .registry import Edit, register_primitive


@register_primitive
def parallel(edit: Edit, loop: LoopRV) -> None:
    """Has threads share the steps of a loop."""
    found = edit.loop(loop)
    check_serial(edit, [found])
    check_apart(edit, found, "shared by threads")
    around = next((each for each in edit.tree.around(found.name) if each.kind == PARALLEL), None)
    if around is not None:
        edit.refuse(f"'{around.name}' around '{found.name}' is parallel already: threads share one of them (fuse both)")
    edit.replace(found.name, [replace(found, kind=PARALLEL)])
