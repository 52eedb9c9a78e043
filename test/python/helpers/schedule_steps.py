# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One random step of a schedule for each primitive. A refused step must have no effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV

import relax_mlir as rx

Step = Callable[[random.Random, rx.Schedule], object]
#: Refusals when code is generated: strides that no allocated size gives, and code that the target's vectors make too
#: large.
SEEN_LATE = ("the stride of its axis", "operations, at most 65536")


def blocks(sch: rx.Schedule) -> list[BlockRV]:
    """Return all current blocks."""
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


def of_block(name: str) -> Step:
    return lambda rng, sch: getattr(sch, name)(a_block(rng, sch))


def cache(name: str) -> Step:
    scopes = ("global", "local", "shared")
    return lambda rng, sch: getattr(sch, name)(a_block(rng, sch), rng.randrange(2), rng.choice(scopes))


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


def reindex_cache(name: str) -> Step:
    return lambda rng, sch: getattr(sch, name)(
        a_block(rng, sch), rng.randrange(2), rng.choice(("global", "local")), rng.choice(_ITER_MAPS)
    )


def copied_ahead(rng: random.Random, sch: rx.Schedule, scopes: Sequence[str] = ("global", "local")) -> object:
    """Copy the buffers that a step of a loop reads, some steps ahead. If a step is refused, the earlier steps stay."""
    block = a_block(rng, sch)
    try:
        loop = rng.choice(sch.get_loops(block) or [a_loop(rng, sch)])
        for buffer in rng.sample((0, 1), rng.randint(1, 2)):
            sch.compute_at(sch.cache_read(block, buffer, rng.choice(scopes)), loop)
        return sch.pipeline(loop, rng.choice((2, 2, 3, 4)))
    except rx.RelaxError:
        return None


STEPS: dict[str, Step] = {
    "add_unit_loop": lambda rng, sch: sch.add_unit_loop(rng.choice((a_loop, a_block))(rng, sch)),
    "storage_align": _align,
    "transform_block_layout": _block_layout,
    "merge": _merge,
    "reorder_block_iter_var": _reorder_iters,
    "reindex": _reindex,
    "reindex_cache_read": reindex_cache("reindex_cache_read"),
    "annotate": lambda rng, sch: sch.annotate(a_loop(rng, sch), "grain", rng.randint(1, 3)),
    "cache_read": cache("cache_read"),
    "cache_write": cache("cache_write"),
    "compute_at": _at("compute_at"),
    "pipeline": lambda rng, sch: sch.pipeline(a_loop(rng, sch), rng.randint(2, 4)),
    "copies ahead": copied_ahead,
    "compute_inline": of_block("compute_inline"),
    "decompose_reduction": lambda rng, sch: sch.decompose_reduction(a_block(rng, sch), a_loop(rng, sch)),
    "reverse_compute_at": _at("reverse_compute_at"),
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


def random_steps(rng: random.Random, sch: rx.Schedule, count: int, steps: Mapping[str, Step] = STEPS) -> None:
    """Try this number of steps."""
    for _ in range(count):
        before = sch.show()
        try:
            steps[rng.choice(sorted(steps))](rng, sch)
        except rx.RelaxError:
            assert sch.show() == before, "a step that is refused changes nothing"


def random_schedule(module: rx.Module, seed: int, count: int, steps: Mapping[str, Step] = STEPS) -> rx.Schedule:
    """Return a schedule after this number of tried steps."""
    sch = rx.Schedule(module, seed=seed)
    random_steps(random.Random(seed), sch, count, steps)
    return sch
