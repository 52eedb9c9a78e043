# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose steps are a GPU's threads."""

from __future__ import annotations

from dataclasses import replace

from ...support.suggest import suggest
from ..loops.handles import LoopRV
from ..loops.tree import THREAD_AXES, Loop, loops_in
from .legality import check_apart, check_serial
from .registry import Edit, register_primitive

#: Threads of a block.
_MOST_THREADS = 1024


@register_primitive
def bind(edit: Edit, loop: LoopRV, thread_axis: str) -> None:
    """Has blocks of a GPU's threads, or the threads of a block, take a loop's steps; elsewhere they run in order."""
    found = edit.loop(loop)
    if thread_axis not in THREAD_AXES:
        hint = "; leave virtual threads to a serial or unrolled loop" if "vthread" in str(thread_axis) else ""
        known = f"{suggest(str(thread_axis), THREAD_AXES)} (there are {', '.join(THREAD_AXES)})"
        edit.refuse(f"'{thread_axis}' is no axis of threads{hint}{known}")
    check_serial(edit, [found])
    nested = [*edit.tree.around(found.name), *loops_in(found.body)]
    same = next((each for each in nested if each.kind == thread_axis), None)
    if same is not None:
        edit.refuse(f"'{same.name}', which '{found.name}' is nested with, is {thread_axis} already")
    check_apart(edit, found, "threads")
    if thread_axis.startswith("threadIdx"):
        _check_threads(edit, found, nested)
    edit.replace(found.name, [replace(found, kind=thread_axis)])


def _check_threads(edit: Edit, loop: Loop, nested: list[Loop]) -> None:
    if not isinstance(loop.extent, int):
        edit.refuse(f"'{loop.name}' goes {loop.extent} times: split it by a number of threads first, [None, 128]")
    threads = loop.extent
    for each in nested:
        if each.kind.startswith("threadIdx") and isinstance(each.extent, int):
            threads *= each.extent
    if threads > _MOST_THREADS:
        edit.refuse(f"these are {threads} threads in a block, {_MOST_THREADS} at most: split '{loop.name}' first")
