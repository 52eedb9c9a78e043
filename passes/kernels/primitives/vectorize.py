# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive vectorize: turns a loop's steps into lanes of vectors."""

from __future__ import annotations

from ....support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.intrins import TENSORIZED
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import VECTORIZED, Loop, loops_in
from .legality import check_apart, check_lanes, check_serial

#: Maximum number of lanes. Each operation has code for all lanes.
_MOST_LANES = 256


@register_primitive
def vectorize(edit: Edit, loop: LoopRV) -> None:
    """Run all steps of a loop at once, on vectors."""
    found = edit.loop(loop)
    check_serial(edit, [found])
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' has {found.extent} steps: split it by a number first, [None, 16]")
    if found.extent > _MOST_LANES:
        edit.refuse(f"'{found.name}' has {found.extent} steps, at most {_MOST_LANES} can be lanes: split it first")
    if (both := _other(edit, found)) is not None:
        edit.refuse(f"'{both.name}' is vectorized and nested with '{found.name}': fuse them")
    inner = next((each for each in loops_in(found.body) if each.kind == TENSORIZED), None)
    if inner is not None:
        edit.refuse(f"'{inner.name}' in '{found.name}' is computed by an intrinsic, which has no lanes")
    check_apart(edit, found, "lanes of vectors")
    edit.replace(found.name, [replace(found, kind=VECTORIZED)])
    check_lanes(edit)


def _other(edit: Edit, loop: Loop) -> Loop | None:
    nested = [*edit.tree.around(loop.name), *loops_in(loop.body)]
    return next((each for each in nested if each.kind == VECTORIZED), None)
