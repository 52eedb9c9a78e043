# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Circular buffers (rolling_buffer): check that steps of a schedule keep the loops that share a buffer."""

from __future__ import annotations

from .primitives import Edit
from .tree import SERIAL
from .tree_buffers import Buffer


def check_rolling(edit: Edit) -> None:
    """Refuse a step that changes which iteration wrote the elements that an iteration of a rolling loop uses again."""
    for buffer in edit.tree.buffers:
        if buffer.rolling:
            _check(edit, buffer)


def _check(edit: Edit, buffer: Buffer) -> None:
    users = [block for block in edit.tree.blocks() if buffer in block.buffers]
    count = len(buffer.rolling)
    for block in users:
        around = edit.tree.around(block.name)[:count]
        if tuple(loop.name for loop in around) != buffer.rolling or around[-1].kind != SERIAL:
            problem = f"steps of '{buffer.rolling[-1]}' use values of '{buffer.name}' from the previous step"
            edit.refuse(f"{problem}: schedule its loops, and '{block.name}', before rolling_buffer")
