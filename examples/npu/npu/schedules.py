# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules: tiles in the scratchpad, products on the array, all other loops on the vector unit."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import relax_mlir as rx
from relax_mlir import tir

from .isa import ARRAY, SCRATCHPAD
from .vector_unit import STAGING

SRAM = "npu.sram"


def copy(source: Any, target: Any) -> None:
    """Copy parts of buffers with any strides by DMA."""
    tir.call_extern("npu_copy", [source, target], ())


rx.schedules.register_memory(SRAM, bytes=SCRATCHPAD - STAGING, alignment=64, copy=copy)
#: Number of elements in a tile of the vector unit.
_TILE = 4096
#: Tile of a product: rows and columns of the result, and the length of a partial sum.
_ROWS, _COLUMNS, _DEPTH = 128, 64, 128
#: Number of pixels in a tile of a convolution.
_PIXELS = 512
#: Element types of the array's operands, and their names in scripts.
_NARROW = {"i8": "int8", "bf16": "bfloat16"}

# ---- the array as tensor intrinsics: rows, or rows of rows, by 16 x 16 ----

_PRODUCT = """
@T.prim_func
def f(A: T.Buffer(({sizes}16,), "{narrow}"), B: T.Buffer((16, 16), "{narrow}"), C: T.Buffer(({sizes}16,), "{wide}")):
    for {rows}j, k in T.grid({sizes}16, 16):
        with T.block("C"):
            {places}vj, vk = T.axis.remap("{kinds}SR", [{rows}j, k])
            C[{places}vj] = C[{places}vj] + T.cast(A[{places}vk], "{wide}") * T.cast(B[{weight}], "{wide}")
"""


@functools.cache
def product(rows: tuple[int, ...], narrow: str, *, transposed: bool = False) -> str:
    """Return the name of the intrinsic that multiplies N rows, or rows of rows."""
    name = f"npu.product_{'x'.join(map(str, rows))}_{narrow}{'_t' if transposed else ''}"
    names = "ih"[: len(rows)]
    text = _PRODUCT.format(
        sizes="".join(f"{size}, " for size in rows),
        narrow=narrow,
        wide="int32" if narrow == "int8" else "float32",
        rows="".join(f"{each}, " for each in names),
        places="".join(f"v{each}, " for each in names),
        kinds="S" * len(rows),
        weight="vj, vk" if transposed else "vk, vj",
    )

    cycles = ARRAY + 4 + math.prod(rows)
    there = dict.fromkeys("ABC", SRAM)

    @rx.schedules.register_tensor_intrin(name, rx.Module.from_script(text), cost=cycles, memories=there)
    def emit(a: Any, b: Any, c: Any) -> None:
        tir.call_extern("npu_weights_transposed" if transposed else "npu_weights", [b], ())
        tir.call_extern("npu_matmul", [a, c], ())

    return name


def _divisor(number: int, limit: int) -> int:
    """Return the largest divisor that does not exceed a limit."""
    return max(each for each in range(1, max(limit, 1) + 1) if number % each == 0)


def _blocks(sch: Any) -> list[Any]:
    """Return the blocks of a schedule. Their loops must have static sizes, like the machine's programs."""
    blocks = [block for tree in sch.trees() for block in tree.blocks()]
    for each in (each for block in blocks for each in block.iters):
        if not isinstance(each.extent, int):
            raise rx.RelaxError(f"target 'npu': programs have known sizes, and {each.extent} is none")
    return blocks


def _begin(function: Any, context: Any, iters: tuple[int, ...]) -> tuple[Any, Any, list[str], list[str], Any]:
    """Return the block of sums and the blocks before and after it, kept in the scratchpad, and the copy of the
    results."""
    sch = context.schedule(function)
    blocks = _blocks(sch)
    place = next((place for place, block in enumerate(blocks) if block.is_reduction), -1)
    if place < 0:
        raise rx.Decline("nothing is summed")
    sums, before, behind = blocks[place], blocks[:place], blocks[place + 1 :]
    if len(sums.iters) not in iters or str(sums.reads[0].buffer.element) not in _NARROW or len(behind) > 1:
        raise rx.Decline("the array multiplies i8 and bf16, and one thing is done with its sums")
    for block in (*before, sums, *behind)[: -1 if behind else place]:
        sch.set_scope(block.name, 0, SRAM)
    names = ([block.name for block in each] for each in (before, behind))
    return sch, sums, *names, sch.cache_write(blocks[-1].name, 0, SRAM)


def _multiply(
    sch: Any, sums: Any, rows: list[Any], column: Any, depths: list[Any], *, transposed: bool = False
) -> None:
    """Multiply rows by 16 x 16, for all blocks of columns and of the contracted dimension, which is the last loop."""
    *outer, depth = depths
    column, across = sch.split(column, [None, 16])
    depth, down = sch.split(depth, [None, 16])
    sch.reorder(column, *outer, depth, *rows, across, down)
    (tree,) = sch.trees()
    sizes = tuple(tree.loop(loop.name).extent for loop in rows)
    name = product(sizes, _NARROW[str(sums.reads[0].buffer.element)], transposed=transposed)
    sch.tensorize([*rows, across][0], name)


@rx.schedules.register_schedule(operator="relax.matmul", target="npu")
def rows_of_a_product(function: Any, context: Any) -> Any:
    sch, sums, before, behind, copy = _begin(function, context, (3, 4, 5))
    if before:
        return context.decline("nothing is done before products")
    *_, rows, columns, depth = (each.extent for each in sums.iters)
    *_, i, j = sch.get_loops(copy)
    i, inner_i = sch.split(i, sch.sample_perfect_tile(i, 2, rows, default=[None, _divisor(rows, _ROWS)]))
    j, inner_j = sch.split(j, [None, _sixteens(sch, columns, _COLUMNS)])
    sch.reorder(i, j, inner_i, inner_j)
    for block in (*behind, sums.name):
        sch.compute_at(block, j)
    _stage(sch, behind, j)
    *row, column, k = sch.get_loops(sums.name)[len(sch.get_loops(copy)) - 2 :]
    steps = j
    if depth > _DEPTH:
        steps, k = sch.split(k, [None, _sixteens(sch, depth, _DEPTH)])
        sch.reorder(steps, *row, column, k)
    sch.decompose_reduction(sums.name, [steps, *row, column, k][steps is j])
    for number in (0, 1):
        sch.compute_at(sch.cache_read(sums.name, number, SRAM), steps)
    _multiply(sch, sums, row, column, [k], transposed=_is_transposed(sums))
    sch.pipeline(steps)
    return sch


def _sixteens(sch: Any, number: int, limit: int) -> Any:
    """Decide for a divisor that is a multiple of 16. The default is the largest one that does not exceed a limit."""
    fitting = [each for each in range(16, number + 1, 16) if number % each == 0]
    return sch.sample_categorical(fitting, default=16 * _divisor(number // 16, limit // 16))


def _is_transposed(sums: Any) -> bool:
    return str(sums.reads[1].indices[-1]) == sums.iters[-1].name


def _stage(sch: Any, blocks: list[str], loop: Any, before: Sequence[str] = ()) -> None:
    """Copy the operands of blocks from outer memory into the scratchpad first, at each step of a loop.

    Single numbers, such as scales, and operands that blocks before the loop read, too, are copied once.
    """
    for name in blocks:
        (tree,) = sch.trees()
        of_others = {each.buffer.name for other in before for each in tree.block(other).reads}
        for number, access in enumerate(tree.block(name).reads):
            if access.buffer.is_given:
                staged = sch.cache_read(name, number, SRAM)
                if loop is not None and access.indices and access.buffer.name not in of_others:
                    sch.compute_at(staged, loop)


@rx.schedules.register_schedule(operator="relax.nn.conv2d", target="npu")
def pixels_of_a_convolution(function: Any, context: Any) -> Any:
    """Compute all pixels for 16 channels at a time.

    The picture stays in the scratchpad, or its rows are loaded on demand.
    """
    sch, sums, before, behind, copy = _begin(function, context, (7,))
    _, _, height, width, *_ = (each.extent for each in sums.iters)
    sch.reorder_block_iter_var(sums.name, [0, 2, 3, 1, 4, 5, 6])  # in the intrinsic's order
    _, h, w, o = sch.get_loops(copy)
    rows_at_once = _divisor(height, _PIXELS // width)
    h, inner_h = sch.split(h, [None, rows_at_once])
    o, inner_o = sch.split(o, [None, 16])
    sch.reorder(h, o, inner_h, w, inner_o)
    for block in (*behind, sums.name):
        sch.compute_at(block, o)
    _stage(sch, behind, o, before)
    if not before:
        sch.cache_read(sums.name, 0, SRAM)
    sch.compute_at(sch.cache_read(sums.name, 1, SRAM), o)
    # A dimension of size 1 has no loop.
    loops = iter(sch.get_loops(sums.name)[len(sch.get_loops(copy)) - 3 :])
    extents = (rows_at_once, width, 16, *(each.extent for each in sums.iters[4:]))
    y, x, across, c, r, s = ([next(loops)] if extent > 1 else [] for extent in extents)
    sch.reorder(*r, *s, *c, *y, *x, *across)
    sch.decompose_reduction(sums.name, [*r, *s, *c][0])
    _multiply(sch, sums, [*y, *x], *across, [*r, *s, *c])
    sch.pipeline(o)
    return sch


# ---- the vector unit: all other loops ----

_PATTERNS = "elemwise broadcast injective comm_reduce out_ewise_fusable opaque".split()


@rx.schedules.register_schedule(_PATTERNS, target="npu")
def rows_of_the_vector_unit(function: Any, context: Any) -> Any:
    """Run all blocks at each step of one loop if possible. Otherwise run them in sequence, through memory."""
    sch = context.schedule(function)
    blocks = _blocks(sch)
    if not blocks:
        return context.decline("it has no blocks")
    try:
        _tile(sch, blocks)
    except rx.RelaxError:
        sch = context.schedule(function)
        for block in blocks:
            _tile(sch, [block])
    return sch


def _tile(sch: Any, blocks: list[Any]) -> None:
    *before, last = blocks
    for block in before:
        sch.set_scope(block.name, 0, SRAM)
    try:
        copy = sch.cache_write(last.name, 0, SRAM).name
    except rx.RelaxError:  # other blocks write parts of it, too, so the copy of the staging buffer copies all at once
        copy = last.name
    loop = _loop_of_tiles(sch, copy, _TILE // 4 if any(block.is_reduction for block in blocks) else _TILE)
    for block in reversed(blocks):
        if loop is not None and block.name != copy:
            sch.compute_at(block.name, loop)
    _stage(sch, [block.name for block in blocks], loop)
    outer = sch.get_loops(copy).index(loop) + 1 if loop is not None else 0
    for block in blocks:
        if block.is_reduction and block.inits is not None:
            sch.decompose_reduction(block.name, sch.get_loops(block.name)[outer])


def _loop_of_tiles(sch: Any, copy: Any, limit: int) -> Any:
    """Return the innermost loop with steps of at most `limit` copied elements, or None if the whole copy is smaller."""
    (tree,) = sch.trees()
    size = 1
    for loop in reversed(sch.get_loops(copy)):
        steps = tree.loop(loop.name).extent
        if size * steps > limit:
            return sch.split(loop, [None, _divisor(steps, limit // size)])[0]
        size *= steps
    return None
