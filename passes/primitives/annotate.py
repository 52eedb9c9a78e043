# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes on loops and blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..loops.handles import BlockRV, LoopRV
from ..loops.tree import GRAIN
from .registry import Edit, register_primitive

_MOST_STEPS = 1 << 31


@register_primitive
def annotate(edit: Edit, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
    """Puts a note on a loop or block. "grain" on a parallel loop: how many of its steps a thread takes at a time."""
    node = edit.block(block_or_loop) if isinstance(block_or_loop, BlockRV) else edit.loop(block_or_loop)
    if ann_key == GRAIN and (type(ann_val) is not int or not 0 < ann_val < _MOST_STEPS):
        edit.refuse(f"'{GRAIN}' of '{node.name}' is a number of steps from 1 on, not {ann_val!r}")
    _change(edit, block_or_loop, lambda notes: {**notes, ann_key: ann_val})


@register_primitive
def unannotate(edit: Edit, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
    """Takes a note off a loop or block."""
    node = edit.block(block_or_loop) if isinstance(block_or_loop, BlockRV) else edit.loop(block_or_loop)
    if ann_key not in node.annotations:
        known = ", ".join(node.annotations) or "none"
        edit.refuse(f"'{node.name}' has no annotation '{ann_key}' (it has {known})")
    _change(edit, block_or_loop, lambda notes: {key: value for key, value in notes.items() if key != ann_key})


def _change(edit: Edit, handle: BlockRV | LoopRV, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    node = edit.block(handle) if isinstance(handle, BlockRV) else edit.loop(handle)
    edit.replace(node.name, [replace(node, annotations=change(dict(node.annotations)))])
