# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One random step of a schedule for each primitive of this package."""

from __future__ import annotations

import random

import relax_mlir as rx
from relax_mlir.passes.kernels.loops.handles import IndexMap
from schedule_steps import STEPS, Step, a_block, a_loop, a_loop_around, cache, of_block, reindex_cache


def _pad(rng: random.Random, sch: rx.Schedule) -> object:
    block = a_block(rng, sch)
    return sch.decompose_padding(block, rng.choice(sch.get_loops(block) or [a_loop(rng, sch)]))


def _region(rng: random.Random, sch: rx.Schedule) -> object:
    """Annotate an access as all of a buffer: a smaller region may be wrong where indices are computed."""
    block, kind = a_block(rng, sch), rng.choice(("read", "write"))
    found = next(each for tree in sch.trees() for each in tree.blocks() if each.name == block.name)
    buffers = [each.buffer for each in (found.writes if kind == "write" else found.reads)] + found.loaded
    ends = [end for size in buffers[0].shape for end in (0, size)] if buffers else []
    return sch.annotate_buffer_access(block, 0, kind, IndexMap(tuple(each.name for each in found.iters), tuple(ends)))


def _roll(rng: random.Random, sch: rx.Schedule) -> object:
    """Roll the buffer of a block that is computed where its consumer needs it."""
    block = a_block(rng, sch)
    for consumer in sch.get_consumers(block)[:1]:
        sch.compute_at(block, a_loop_around(rng, sch, consumer))
    before = sch.show()
    try:
        return sch.rolling_buffer(block, 0)
    except rx.RelaxError:
        assert sch.show() == before, "a step that is refused changes nothing"
        return None


def _loop_partition(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.loop_partition(a_loop(rng, sch), rng.choice([[None, 2], [1, None], [3, None, 2], [None]]))


def _stage_at(name: str) -> Step:
    def step(rng: random.Random, sch: rx.Schedule) -> object:
        block = a_block(rng, sch)
        return getattr(sch, name)(a_loop_around(rng, sch, block), block, rng.randrange(2), "global")

    return step


def _sampled_split(rng: random.Random, sch: rx.Schedule) -> object:
    loop, count = a_loop(rng, sch), rng.randint(1, 3)
    sample = rng.choice((sch.sample_perfect_tile, sch.sample_partitioned_tile))
    return sch.split(loop, sample(loop, count))


def _sampled_move(rng: random.Random, sch: rx.Schedule) -> object:
    block = a_block(rng, sch)
    return sch.compute_at(block, sch.sample_compute_location(block))


def _sampled_factor(rng: random.Random, sch: rx.Schedule) -> object:
    loop = a_loop(rng, sch)
    return sch.split(loop, [None, sch.sample_categorical([2, 3, 8], [0.5, 0.25, 0.25])])


def _blockize(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.blockize(rng.choice([a_loop(rng, sch), [a_block(rng, sch)], [a_block(rng, sch), a_block(rng, sch)]]))


TVM_STEPS: dict[str, Step] = {
    "blockize": _blockize,
    "annotate_buffer_access": _region,
    "cache_index": lambda rng, sch: sch.cache_index(a_block(rng, sch), "global", rng.choice((0, 0, 1))),
    "cache_inplace": cache("cache_inplace"),
    "decompose_padding": _pad,
    "rolling_buffer": _roll,
    "set_axis_separator": lambda rng, sch: sch.set_axis_separator(a_block(rng, sch), 0, [1]),
    "unsafe_set_dtype": lambda rng, sch: sch.unsafe_set_dtype(a_block(rng, sch), 0, "float64"),
    "loop_partition": _loop_partition,
    "fuse_reduction_epilogue": lambda rng, sch: sch.fuse_reduction_epilogue(a_block(rng, sch), a_block(rng, sch)),
    "reindex_cache_write": reindex_cache("reindex_cache_write"),
    "read_at": _stage_at("read_at"),
    "write_at": _stage_at("write_at"),
    "sample_perfect_tile": _sampled_split,
    "sample_compute_location": _sampled_move,
    "sample_categorical": _sampled_factor,
    "reverse_compute_inline": of_block("reverse_compute_inline"),
}
#: Steps of the core and of this package.
ALL_STEPS = {**STEPS, **TVM_STEPS}
