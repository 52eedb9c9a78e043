# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reorder: loop interchange."""

from __future__ import annotations

from collections.abc import Sequence

from ....support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Loop, Node
from .legality import chain_of, check_independent


@register_primitive
def reorder(edit: Edit, *loops: LoopRV) -> None:
    """Reorder loops, the first one outermost. Loops between them that are not listed keep their positions."""
    found = [edit.loop(loop) for loop in loops]
    names = [loop.name for loop in found]
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        edit.refuse(f"'{twice}' is named twice")
    if len(found) < 2:
        return
    chain = chain_of(edit, found)
    check_independent(edit, chain)
    ordered = iter(found)
    new = [next(ordered) if loop.name in names else loop for loop in chain]
    edit.replace(chain[0].name, _nested(new, chain[-1].body))


def _nested(loops: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body
