# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive annotate: annotations of loops and blocks."""

from __future__ import annotations

from ...support.replacing import replace
from ..loops.handles import BlockRV, LoopRV
from ..loops.intrins import INTRIN
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import GRAIN, Block, Loop

_MOST_STEPS = 1 << 31


@register_primitive
def annotate(edit: Edit, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: object) -> None:
    """Puts a note on a loop or block. "grain" on a parallel loop: how many of its steps a thread takes at a time."""
    node = noted(edit, block_or_loop, ann_key)
    if ann_key == GRAIN and (type(ann_val) is not int or not 0 < ann_val < _MOST_STEPS):
        edit.refuse(f"'{GRAIN}' is how many steps a thread takes at a time, a number of at least 1, not {ann_val!r}")
    edit.replace(node.name, [replace(node, annotations={**node.annotations, ann_key: ann_val})])


def noted(edit: Edit, handle: BlockRV | LoopRV, key: str) -> Block | Loop:
    """What a note is on, which is the schedule's to change."""
    node = edit.node(handle)
    if key == INTRIN:
        edit.refuse(f"'{INTRIN}' says what tensorize has chosen for a loop, and stays")
    return node
