# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules for GPUs: any steps, loops bound to any axes, and common idioms such as tiles and cooperative copies
of all threads of a block."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import prod

from relax_mlir.passes.kernels.loops.handles import LoopRV
from schedule_steps import STEPS, Step, a_block, a_loop, block_names

import relax_mlir as rx

AXES = tuple(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz")
_THREADS = AXES[3:]


def _bind(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.bind(a_loop(rng, sch), rng.choice(AXES + _THREADS))


def _bind_outermost(rng: random.Random, sch: rx.Schedule) -> object:
    """Bind the outermost unbound loops of a block to blocks of threads or to threads."""
    loops = sch.get_loops(a_block(rng, sch))
    first, *_ = [loop for loop in loops if _kind(sch, loop) == "serial"] or [None]
    return sch.bind(first, rng.choice(AXES)) if first is not None else None


def _kind(sch: rx.Schedule, loop: LoopRV) -> str:
    return next(each.kind for tree in sch.trees() for each in tree.loops() if each.name == loop.name)


def _tile(rng: random.Random, sch: rx.Schedule) -> object:
    """Two loops as blocks and threads of them."""
    i, j, *_ = sch.get_loops(a_block(rng, sch))
    i, rows = sch.split(i, [None, rng.choice((2, 3, 4))])
    j, columns = sch.split(j, [None, rng.choice((2, 5, 8))])
    sch.reorder(i, j, rows, columns)
    for loop, axis in ((i, "blockIdx.y"), (j, "blockIdx.x"), (rows, "threadIdx.y"), (columns, "threadIdx.x")):
        if rng.random() < 0.8:
            sch.bind(loop, axis)
    return None


def _fetch(rng: random.Random, sch: rx.Schedule) -> object:
    """Copy in a loop that threads share: one part for each bound axis."""
    block = a_block(rng, sch)
    copy = sch.cache_read(block, rng.randrange(2), rng.choice(("shared", "shared", "local")))
    sch.compute_at(copy, rng.choice(sch.get_loops(block)))
    return _share(rng, sch, copy.name)


def _share(rng: random.Random, sch: rx.Schedule, name: str) -> object:
    loops = [loop for loop in sch.get_loops(sch.get_block(name)) if loop.name.startswith("ax")]
    fused = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    _, y, x, lanes = sch.split(fused, [None, rng.choice((1, 2, 4)), rng.choice((2, 5, 8)), rng.choice((1, 2, 4))])
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")
    return sch.vectorize(lanes)


def _write_back(rng: random.Random, sch: rx.Schedule) -> object:
    block = a_block(rng, sch)
    copy = sch.cache_write(block, 0, rng.choice(("shared", "local")))
    return sch.reverse_compute_at(copy, rng.choice(sch.get_loops(block)))


def _panels(rng: random.Random, sch: rx.Schedule) -> object:
    """Tile a product, with sums in registers and with operand copies that all threads fetch at steps of the
    reduction."""
    block = a_block(rng, sch)
    i, j, *inner = sch.get_loops(block)
    i, rows, row = sch.split(i, [None, rng.choice((2, 3, 4)), rng.choice((1, 2, 3))])
    j, columns, column = sch.split(j, [None, rng.choice((2, 4, 5)), rng.choice((1, 2, 4))])
    k, step = sch.split(inner[0], [None, rng.choice((2, 4, 7, 8))])
    sch.reorder(i, j, rows, columns, k, step, row, column)
    for loop, axis in ((i, "blockIdx.y"), (j, "blockIdx.x"), (rows, "threadIdx.y"), (columns, "threadIdx.x")):
        sch.bind(loop, axis)
    if rng.random() < 0.7:
        sch.reverse_compute_at(sch.cache_write(block, 0, rng.choice(("local", "shared"))), columns)
    for buffer in range(2):
        if rng.random() < 0.7:
            copy = sch.cache_read(block, buffer, rng.choice(("shared", "shared", "local")))
            sch.compute_at(copy, rng.choice((k, k, step, columns)))
            _share(rng, sch, copy.name)
    if rng.random() < 0.5:
        sch.decompose_reduction(block, rng.choice((k, rows, i)))
    sch.unroll(row)
    return sch.pipeline(k, rng.choice((2, 3))) if rng.random() < 0.5 else None


def _share_any(rng: random.Random, sch: rx.Schedule) -> object:
    return _share(rng, sch, rng.choice(block_names(sch)))


def _set_scope(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.set_scope(a_block(rng, sch), 0, rng.choice(("global", "local", "shared")))


def _unroll(rng: random.Random, sch: rx.Schedule) -> object:
    """Unroll a few steps: LLVM takes long for repeated code with loops."""
    loop = a_loop(rng, sch)
    extent = next(each.extent for tree in sch.trees() for each in tree.loops() if each.name == loop.name)
    return sch.unroll(loop) if isinstance(extent, int) and extent <= 4 else None


GPU_STEPS: dict[str, Step] = {
    **STEPS,
    "bind": _bind,
    "bind outermost": _bind_outermost,
    "set_scope": _set_scope,
    "tile for threads": _tile,
    "fetch": _fetch,
    "panels": _panels,
    "share": _share_any,
    "unroll": _unroll,
    "write back": _write_back,
}
#: How often a step is drawn; others once.
_WEIGHTS = {"bind": 4, "bind outermost": 6, "tile for threads": 4, "fetch": 3, "split": 2, "compute_at": 3,
            "reverse_compute_at": 3, "write back": 2, "decompose_reduction": 2}  # fmt: skip


def random_gpu_schedule(module: rx.Module, seed: int, count: int, steps: Mapping[str, Step] = GPU_STEPS) -> rx.Schedule:
    """Return a schedule after this number of tried steps."""
    rng, sch = random.Random(seed), rx.Schedule(module)
    names = sorted(steps)
    first = ["panels"] if rng.random() < 0.4 else []
    for name in first + rng.choices(names, [_WEIGHTS.get(each, 1) for each in names], k=count):
        try:
            steps[name](rng, sch)
        except (rx.RelaxError, ValueError, IndexError):
            continue  # a refused step is skipped, and a step may find too few loops
    return sch


def steps_of(sch: rx.Schedule) -> int:
    """Return the maximal number of steps that one thread executes one after the other."""
    paths = [tree.around(block.name) for tree in sch.trees() for block in tree.blocks()]
    serial = [[loop.extent for loop in path if loop.kind not in AXES] for path in paths]
    return max(prod(extent for extent in extents if isinstance(extent, int)) for extents in serial)
