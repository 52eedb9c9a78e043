# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How loops run: tiles in the scratchpad, products by the array, all else by the vector unit."""

from __future__ import annotations

import functools
import math
from typing import Any

import relax_mlir as rx
from relax_mlir import tir

_SRAM = "npu.sram"
#: Elements of a tile that the vector unit works on.
_TILE = 4096
#: Of a product: rows and columns of a tile of results, and how much of the sum at a time.
_ROWS, _COLUMNS, _DEPTH = 128, 64, 128

# ---- the array, as tensor intrinsics: rows, or rows of rows, by 16 x 16 ----

_PRODUCT = """
@T.prim_func
def product(A: T.Buffer(({rows}, 16), "{narrow}"), B: T.Buffer(({weights}), "{narrow}"), C: T.Buffer(({rows}, 16), "{wide}")):
    for {loops}, j, k in T.grid({rows}, 16, 16):
        with T.block("C"):
            {iters}, vj, vk = T.axis.remap("{kinds}SR", [{loops}, j, k])
            C[{iters}, vj] = C[{iters}, vj] + T.cast(A[{iters}, vk], "{wide}") * T.cast(B[{at}], "{wide}")
"""


@functools.cache
def product(rows: tuple[int, ...], narrow: str, *, transposed: bool = False) -> str:
    """The name of the intrinsic that multiplies so many rows."""
    name = f"npu.product_{'x'.join(map(str, rows))}_{narrow}{'_t' if transposed else ''}"
    loops = ["i", "h"][: len(rows)]
    text = _PRODUCT.format(
        rows=", ".join(map(str, rows)),
        weights="16, 16",
        narrow=narrow,
        wide="int32" if narrow == "int8" else "float32",
        loops=", ".join(loops),
        iters=", ".join(f"v{each}" for each in loops),
        kinds="S" * len(rows),
        at="vj, vk" if transposed else "vk, vj",
    )

    @rx.schedules.register_tensor_intrin(name, rx.Module.from_script(text))
    def emit(a: Any, b: Any, c: Any) -> None:
        tir.call_extern("npu_weights_transposed" if transposed else "npu_weights", [b], ())
        tir.call_extern("npu_matmul", [a, c], ())

    return name


def _begin(function: Any, context: Any) -> tuple[Any, Any, list[str], Any]:
    """The sums, which stay in the scratchpad, what is done with them there, and the copy of the results out of it."""
    sch = context.schedule(function)
    (tree,) = sch.trees()
    blocks = tree.blocks()
    (sums,) = [block for block in blocks if block.is_reduction]
    behind = [block.name for block in blocks[blocks.index(sums) + 1 :]]
    if blocks[0] is not sums or len(behind) > 1:
        raise rx.Decline("a product, and at most one thing done with its results")
    if behind:
        sch.set_scope(sums.name, 0, _SRAM)
    copy = sch.cache_write(behind[-1] if behind else sums.name, 0, _SRAM)
    return sch, sums, behind, copy


def _multiply(sch: Any, sums: Any, rows: list[Any], column: Any, depths: list[Any], *, transposed: bool = False) -> None:
    """Rows by 16 x 16, for all blocks of columns and of the sum's length, which is its last loop."""
    *outer, depth = depths
    column, across = sch.split(column, [None, 16])
    depth, down = sch.split(depth, [None, 16])
    sch.reorder(column, *outer, depth, *rows, across, down)
    (tree,) = sch.trees()
    sizes = tuple(tree.loop(loop.name).extent for loop in rows)
    name = product(sizes, {"i8": "int8"}.get(str(sums.reads[0].buffer.element), "bfloat16"), transposed=transposed)
    sch.tensorize(rows[0], name)


@rx.schedules.register_schedule(operator="relax.matmul", target="npu")
def rows_of_a_product(function: Any, context: Any) -> Any:
    sch, sums, behind, copy = _begin(function, context)
    *_, rows, columns, depth = (each.extent for each in sums.iters)
    *_, i, j = sch.get_loops(copy)
    i, inner_i = sch.split(i, [None, math.gcd(rows, _ROWS)])
    j, inner_j = sch.split(j, [None, math.gcd(columns, _COLUMNS)])
    sch.reorder(i, j, inner_i, inner_j)
    for block in (*behind, sums.name):
        sch.compute_at(block, j)
    _stage(sch, behind, j)
    *_, row, column, k = sch.get_loops(sums.name)
    k, inner_k = sch.split(k, [None, math.gcd(depth, _DEPTH)])
    sch.reorder(k, row, column, inner_k)
    sch.decompose_reduction(sums.name, k)
    for number in (0, 1):
        sch.compute_at(sch.cache_read(sums.name, number, _SRAM), k)
    _multiply(sch, sums, [row], column, [inner_k], transposed=_is_transposed(sums))
    return sch


def _is_transposed(sums: Any) -> bool:
    return str(sums.reads[1].indices[-1]) == sums.iters[-1].name


def _stage(sch: Any, blocks: list[str], loop: Any) -> None:
    """What blocks read of the memory outside is copied into the scratchpad first, at each step of a loop."""
    for name in blocks:
        (tree,) = sch.trees()
        for number, access in enumerate(tree.block(name).reads):
            if access.buffer.is_given:
                staged = sch.cache_read(name, number, _SRAM)
                if loop is not None:
                    sch.compute_at(staged, loop)
