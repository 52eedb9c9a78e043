# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One random step of a schedule for each primitive. What is refused is part of the game: nothing may come of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from relax_mlir.passes.loops.handles import BlockRV, IndexMap, LoopRV

import relax_mlir as rx

Step = Callable[[random.Random, rx.Schedule], object]


def blocks(sch: rx.Schedule) -> list[BlockRV]:
    """All that there are now."""
    return [sch.get_block(name) for name in block_names(sch)]


def block_names(sch: rx.Schedule) -> list[str]:
    return [block.name for tree in sch.trees() for block in tree.blocks()]


def a_block(rng: random.Random, sch: rx.Schedule) -> BlockRV:
    return sch.get_block(rng.choice(block_names(sch)))


def a_loop(rng: random.Random, sch: rx.Schedule) -> LoopRV:
    return a_loop_around(rng, sch, a_block(rng, sch))


def a_loop_around(rng: random.Random, sch: rx.Schedule, block: BlockRV) -> LoopRV:
    loops = sch.get_loops(block)
    if not loops:
        raise rx.RelaxError("a block of one point has no loops")
    return rng.choice(loops)


def _split(rng: random.Random, sch: rx.Schedule) -> object:
    factors = rng.choice([[None, 2], [None, 4], [None, 7], [3, None], [None, 16], [2, None, 4], [None, 1],
                          [40, 2], [None, 3, 50]])  # fmt: skip
    return sch.split(a_loop(rng, sch), factors)


def _fuse(rng: random.Random, sch: rx.Schedule) -> object:
    loops = sch.get_loops(a_block(rng, sch))
    start = rng.randrange(len(loops) + 1)
    return sch.fuse(*loops[start : start + 2])


def _reorder(rng: random.Random, sch: rx.Schedule) -> object:
    loops = sch.get_loops(a_block(rng, sch))
    return sch.reorder(*rng.sample(loops, rng.randint(0, len(loops))))


def _pad_einsum(rng: random.Random, sch: rx.Schedule) -> object:
    block = a_block(rng, sch)
    return sch.pad_einsum(block, [rng.choice((1, 4, 16)) for _ in sch.get_loops(block)])


_MAPS = (
    lambda i: (i // 4, i % 4),
    lambda i, j: (j, i),
    lambda i, j: (j // 8, i, j % 8),
    lambda i, j: (i * 40 + j,),
    lambda i, j: (i // 3, j // 5, i % 3, j % 5),
    lambda i, j: (i, j // 2),
)


def _transform_layout(rng: random.Random, sch: rx.Schedule) -> object:
    padding = rng.choice((None, 0, 1))
    return sch.transform_layout(a_block(rng, sch), ("write", 0), rng.choice(_MAPS), pad_value=padding)


def _pad(rng: random.Random, sch: rx.Schedule) -> object:
    block = a_block(rng, sch)
    return sch.decompose_padding(block, rng.choice(sch.get_loops(block) or [a_loop(rng, sch)]))


def _region(rng: random.Random, sch: rx.Schedule) -> object:
    """All of a buffer: what else is said of places that are computed may be wrong."""
    block, kind = a_block(rng, sch), rng.choice(("read", "write"))
    found = next(each for tree in sch.trees() for each in tree.blocks() if each.name == block.name)
    buffers = [each.buffer for each in (found.writes if kind == "write" else found.reads)] + found.loaded
    ends = [end for size in buffers[0].shape for end in (0, size)] if buffers else []
    return sch.annotate_buffer_access(block, 0, kind, IndexMap(tuple(each.name for each in found.iters), tuple(ends)))


def _roll(rng: random.Random, sch: rx.Schedule) -> object:
    """Of a block that is computed where another one needs it."""
    block = a_block(rng, sch)
    for consumer in sch.get_consumers(block)[:1]:
        sch.compute_at(block, a_loop_around(rng, sch, consumer))
    before = sch.show()
    try:
        return sch.rolling_buffer(block, 0)
    except rx.RelaxError:
        assert sch.show() == before, "a step that is refused changes nothing"
        return None


def _align(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.storage_align(a_block(rng, sch), 0, rng.choice((0, 1, -2)), rng.choice((8, 12, 32)), rng.randrange(8))


_BLOCK_MAPS = (
    lambda i: (i // 4, i % 4),
    lambda i, j: (j, i),
    lambda i, j: (i * 24 + j,),
    lambda i, j: (i // 3, j // 4, i % 3, j % 4),
    lambda i, j, k: (k, i, j),
    lambda i, j, k: (i, j // 8, k, j % 8),
)


def _block_layout(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.transform_block_layout(a_block(rng, sch), rng.choice(_BLOCK_MAPS))


def _at(name: str) -> Step:
    def step(rng: random.Random, sch: rx.Schedule) -> object:
        options = {"preserve_unit_loops": rng.random() < 0.3, "index": rng.choice((-1, -1, -2, 0, 1, 2))}
        return getattr(sch, name)(a_block(rng, sch), a_loop(rng, sch), **options)

    return step


def _of_block(name: str) -> Step:
    return lambda rng, sch: getattr(sch, name)(a_block(rng, sch))


def _cache(name: str) -> Step:
    scopes = ("global", "local", "shared")
    return lambda rng, sch: getattr(sch, name)(a_block(rng, sch), rng.randrange(2), rng.choice(scopes))


def _loop_partition(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.loop_partition(a_loop(rng, sch), rng.choice([[None, 2], [1, None], [3, None, 2], [None]]))


def _merge(rng: random.Random, sch: rx.Schedule) -> object:
    depth = rng.choice((0, 0, 1))
    loops = [sch.get_loops(block)[depth] for block in blocks(sch) if len(sch.get_loops(block)) > depth]
    if not loops:
        raise rx.RelaxError("no block is in as many loops")
    start = rng.randrange(len(loops))
    return sch.merge(*dict.fromkeys(loops[start : start + 2]))


def _reorder_iters(rng: random.Random, sch: rx.Schedule) -> object:
    block = a_block(rng, sch)
    count = next(len(each.iters) for tree in sch.trees() for each in tree.blocks() if each.name == block.name)
    return sch.reorder_block_iter_var(block, rng.sample(range(count), count))


def _reindex(rng: random.Random, sch: rx.Schedule) -> object:
    return sch.reindex(a_block(rng, sch), (rng.choice(("read", "write")), rng.randrange(2)))


_ITER_MAPS = (
    lambda i: (i // 4, i % 4),
    lambda i, j: (j, i),
    lambda i, j: (i, j // 4, j % 4),
    lambda i, j, k: (j, k),
    lambda i, j, k: (i, k),
    lambda i, j, k: (k // 8, j, i),
)


def _reindex_cache(name: str) -> Step:
    return lambda rng, sch: getattr(sch, name)(
        a_block(rng, sch), rng.randrange(2), rng.choice(("global", "local")), rng.choice(_ITER_MAPS)
    )


def copied_ahead(rng: random.Random, sch: rx.Schedule, scopes: Sequence[str] = ("global", "local")) -> object:
    """A copy of what a step of a loop uses, some steps ahead; if that is refused, as far as it goes."""
    block = a_block(rng, sch)
    try:
        loop = rng.choice(sch.get_loops(block) or [a_loop(rng, sch)])
        for buffer in rng.sample((0, 1), rng.randint(1, 2)):
            sch.compute_at(sch.cache_read(block, buffer, rng.choice(scopes)), loop)
        return sch.pipeline(loop, rng.choice((2, 2, 3, 4)))
    except rx.RelaxError:
        return None


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


STEPS: dict[str, Step] = {
    "blockize": _blockize,
    "add_unit_loop": lambda rng, sch: sch.add_unit_loop(rng.choice((a_loop, a_block))(rng, sch)),
    "annotate_buffer_access": _region,
    "cache_index": lambda rng, sch: sch.cache_index(a_block(rng, sch), "global", rng.choice((0, 0, 1))),
    "cache_inplace": _cache("cache_inplace"),
    "decompose_padding": _pad,
    "rolling_buffer": _roll,
    "set_axis_separator": lambda rng, sch: sch.set_axis_separator(a_block(rng, sch), 0, [1]),
    "storage_align": _align,
    "transform_block_layout": _block_layout,
    "unsafe_set_dtype": lambda rng, sch: sch.unsafe_set_dtype(a_block(rng, sch), 0, "float64"),
    "loop_partition": _loop_partition,
    "merge": _merge,
    "fuse_reduction_epilogue": lambda rng, sch: sch.fuse_reduction_epilogue(a_block(rng, sch), a_block(rng, sch)),
    "reorder_block_iter_var": _reorder_iters,
    "reindex": _reindex,
    "reindex_cache_read": _reindex_cache("reindex_cache_read"),
    "reindex_cache_write": _reindex_cache("reindex_cache_write"),
    "read_at": _stage_at("read_at"),
    "write_at": _stage_at("write_at"),
    "sample_perfect_tile": _sampled_split,
    "sample_compute_location": _sampled_move,
    "sample_categorical": _sampled_factor,
    "annotate": lambda rng, sch: sch.annotate(a_loop(rng, sch), "grain", rng.randint(1, 3)),
    "cache_read": _cache("cache_read"),
    "cache_write": _cache("cache_write"),
    "compute_at": _at("compute_at"),
    "pipeline": lambda rng, sch: sch.pipeline(a_loop(rng, sch), rng.randint(2, 4)),
    "copies ahead": copied_ahead,
    "compute_inline": _of_block("compute_inline"),
    "decompose_reduction": lambda rng, sch: sch.decompose_reduction(a_block(rng, sch), a_loop(rng, sch)),
    "reverse_compute_at": _at("reverse_compute_at"),
    "reverse_compute_inline": _of_block("reverse_compute_inline"),
    "bind": lambda rng, sch: sch.bind(a_loop(rng, sch), rng.choice(("blockIdx.x", "threadIdx.x", "threadIdx.y"))),
    "pad_einsum": _pad_einsum,
    "rfactor": lambda rng, sch: sch.rfactor(a_loop(rng, sch), rng.randint(-2, 1)),
    "tile": lambda rng, sch: sch.tile(a_loop(rng, sch), a_loop(rng, sch), rng.randint(1, 5), rng.randint(1, 5)),
    "transform_layout": _transform_layout,
    "set_scope": lambda rng, sch: sch.set_scope(a_block(rng, sch), 0, rng.choice(("global", "local"))),
    "split": _split,
    "fuse": _fuse,
    "reorder": _reorder,
    "vectorize": lambda rng, sch: sch.vectorize(a_loop(rng, sch)),
    "unroll": lambda rng, sch: sch.unroll(a_loop(rng, sch)),
    "parallel": lambda rng, sch: sch.parallel(a_loop(rng, sch)),
}


def random_steps(rng: random.Random, sch: rx.Schedule, count: int) -> None:
    """Tries that many steps."""
    for _ in range(count):
        before = sch.show()
        try:
            STEPS[rng.choice(sorted(STEPS))](rng, sch)
        except rx.RelaxError:
            assert sch.show() == before, "a step that is refused changes nothing"


def random_schedule(module: rx.Module, seed: int, count: int) -> rx.Schedule:
    """A schedule of that many steps that were tried."""
    sch = rx.Schedule(module, seed=seed)
    random_steps(random.Random(seed), sch, count)
    return sch
