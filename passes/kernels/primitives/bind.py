# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive bind: maps loops to a GPU's threads."""

from __future__ import annotations

from math import prod

from ....dialects.core.symbols_expr import variables_of
from ....support.replacing import replace
from ....support.suggest import suggest
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import MOST_THREADS, THREAD_AXES, Loop, blocks_in, loops_in, loops_of
from .legality import check_apart, check_serial


@register_primitive
def bind(edit: Edit, loop: LoopRV, thread_axis: str) -> None:
    """Map a loop's steps to a GPU's thread blocks, or to the threads of a block. Elsewhere the steps run in order."""
    found = edit.loop(loop)
    if thread_axis not in THREAD_AXES:
        hint = "; leave virtual threads to a serial or unrolled loop" if "vthread" in str(thread_axis) else ""
        known = f"{suggest(str(thread_axis), THREAD_AXES)} (there are {', '.join(THREAD_AXES)})"
        edit.refuse(f"'{thread_axis}' is no axis of threads{hint}{known}")
    check_serial(edit, [found])
    around, inside = edit.tree.around(found.name), loops_in(found.body)
    for other in around:
        _check_together(edit, thread_axis, other, found, other)
    for other in inside:
        _check_together(edit, thread_axis, found, other, other)
    if found.extent != 1:
        check_apart(edit, found, "threads")
    if thread_axis.startswith("threadIdx"):
        _check_threads(edit, found, thread_axis, [*around, *inside])
    edit.replace(found.name, [replace(found, kind=thread_axis)])


def _check_together(edit: Edit, axis: str, outer: Loop, inner: Loop, bound: Loop) -> None:
    """Check nested loops for a common axis.

    A common axis is legal if the inner loop computes, with all threads, what each step of the outer one needs.
    """
    if bound.kind != axis:
        return
    what = f"'{outer.name}'" if bound is outer else f"'{inner.name}'"
    other = inner if bound is outer else outer
    problem = f"{what}, which '{other.name}' is nested with, is already {axis}"
    if axis.startswith("blockIdx"):
        edit.refuse(problem)
    for block in blocks_in([inner]):
        used = loops_of(block).union(*(variables_of(index) for index, _ in block.where))
        if outer.name in used:
            hint = "bind it before compute_at moves blocks that all threads share into it"
            edit.refuse(f"{problem}, and '{block.name}' depends on '{outer.name}': {hint}")


def _check_threads(edit: Edit, loop: Loop, axis: str, nested: list[Loop]) -> None:
    if not isinstance(loop.extent, int):
        edit.refuse(f"'{loop.name}' has {loop.extent} steps: split it by a number of threads first, [None, 128]")
    sizes = {axis: loop.extent}
    for each in nested:
        if each.kind.startswith("threadIdx") and isinstance(each.extent, int):
            sizes[each.kind] = max(each.extent, sizes.get(each.kind, 1))
    if (threads := prod(sizes.values())) > MOST_THREADS:
        edit.refuse(f"these are {threads} threads in a block, {MOST_THREADS} at most: split '{loop.name}' first")
