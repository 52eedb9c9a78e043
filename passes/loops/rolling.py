# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Circular buffers (rolling_buffer): what must not change of the loops whose steps go on with one another's."""

from __future__ import annotations

from .primitives import Edit
from .tree import SERIAL, Buffer


def check_rolling(edit: Edit) -> None:
    """Refuses a step after which another one than that before a loop's would have made what it goes on with."""
    for buffer in edit.tree.buffers:
        if buffer.rolling:
            _check(edit, buffer)


def _check(edit: Edit, buffer: Buffer) -> None:
    users = [block for block in edit.tree.blocks() if buffer in block.buffers]
    count = len(buffer.rolling)
    for block in users:
        around = edit.tree.around(block.name)[:count]
        if tuple(loop.name for loop in around) != buffer.rolling or around[-1].kind != SERIAL:
            problem = f"steps of '{buffer.rolling[-1]}' go on with what the one before has left in '{buffer.name}'"
            edit.refuse(f"{problem}: schedule its loops, and '{block.name}', before rolling_buffer")
