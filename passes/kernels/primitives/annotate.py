# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive annotate: annotations of loops and blocks."""

from __future__ import annotations

from ....support.replacing import replace
from ..loops.handles import BlockRV, LoopRV
from ..loops.intrins import INTRIN
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import GRAIN, Block, Loop

_MOST_STEPS = 1 << 31


@register_primitive
def annotate(edit: Edit, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: object) -> None:
    """Annotate a loop or block. "grain" on a parallel loop is the number of steps that a thread takes at a time."""
    node = annotatable_node(edit, block_or_loop, ann_key)
    if ann_key == GRAIN and (type(ann_val) is not int or not 0 < ann_val < _MOST_STEPS):
        edit.refuse(f"'{GRAIN}' must be the number of steps that a thread takes at a time, at least 1, not {ann_val!r}")
    edit.replace(node.name, [replace(node, annotations={**node.annotations, ann_key: ann_val})])


def annotatable_node(edit: Edit, handle: BlockRV | LoopRV, key: str) -> Block | Loop:
    """Return the annotated node. Refuses the annotation of tensorized loops, which schedules cannot change."""
    node = edit.node(handle)
    if key == INTRIN:
        edit.refuse(f"'{INTRIN}' is set by tensorize and cannot be changed")
    return node
