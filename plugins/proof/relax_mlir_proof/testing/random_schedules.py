# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules of a PrimFunc by the public steps. Most of them keep the order of sums, and a few change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.core.symbols_expr import variables_of
from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.schedule import Schedule
from relax_mlir.passes.kernels.loops.tree import REDUCE, Block, Tree, loops_of
from relax_mlir.support.errors import RelaxError

_Choice = TypeVar("_Choice")
#: Fewest and most steps that a schedule tries.
_STEPS = (2, 12)
#: Share of the steps that may change the order of a sum.
_SHARE_OTHER_ORDER = 0.04
_FACTORS = ([None, 2], [None, 3], [None, 4], [None, 8], [None, 16], [2, None], [3, None], [None, 2, 4], [None, 1])
#: Larger loops are not unrolled, and get no lanes: their code takes long to compile.
_MOST_UNROLLED, _MOST_LANES = 8, 32
_SCOPES = ("global", "local")


class Drawing:
    """A schedule of a PrimFunc, and the choices of the next step."""

    def __init__(self, function: Operation, random: Random) -> None:
        self.schedule, self.random = Schedule(function), random

    @property
    def tree(self) -> Tree:
        return self.schedule.trees()[0]

    def block(self, *, sums: bool = False) -> Block:
        found = [each for each in self.tree.blocks() if each.is_reduction or not sums]
        return self.random.choice(_not_empty(found, "block"))

    def handle(self, block: Block) -> BlockRV:
        handle: BlockRV = self.schedule.get_block(block.name)
        return handle

    def loops(self, block: Block) -> list[LoopRV]:
        loops: list[LoopRV] = self.schedule.get_loops(self.handle(block))
        return loops

    def loop(self, block: Block, *, spatial: bool = False, most: int | None = None) -> LoopRV:
        """Return a loop around a block: one without steps of a reduction, with at most `most` steps."""
        reduce, extents = self.reductions(block), {loop.name: loop.extent for loop in self.tree.around(block.name)}
        found = [each for each in self.loops(block) if not (spatial and each.name in reduce)]
        if most is not None:
            sizes = [(each, extents[each.name]) for each in found]
            found = [each for each, extent in sizes if isinstance(extent, int) and extent <= most]
        return self.random.choice(_not_empty(found, "loop"))

    def reductions(self, block: Block) -> set[str]:
        return set(loops_of(block, REDUCE))


def _not_empty(not_empty: Sequence[_Choice], what: str) -> Sequence[_Choice]:
    if not not_empty:
        raise RelaxError(f"there is no {what} for the step")
    return not_empty


Step = Callable[[Drawing], object]


def draw_schedule(function: Operation, seed: str) -> Schedule:
    """Return a random schedule of a PrimFunc, the same one for each seed. A refused step is left out."""
    random = Random(seed)
    drawing = Drawing(function, random)
    if random.random() > _SHARE_OTHER_ORDER:
        _follow_stated_orders(drawing)
    for _ in range(random.randint(*_STEPS)):
        steps = _OTHER_ORDER if random.random() < _SHARE_OTHER_ORDER else _STEPS_BY_NAME
        try:
            steps[random.choice(sorted(steps))](drawing)
        except RelaxError:
            continue
    return drawing.schedule


def _follow_stated_orders(drawing: Drawing) -> None:
    """Reorder the loops of sums that are stated in another order than that of their iters: taps before channels."""
    for block in drawing.tree.blocks():
        stated = block.sum_order.iters if block.sum_order is not None else ()
        if list(stated) == [iter_.name for iter_ in block.iters if iter_.kind == REDUCE]:
            continue
        names = [name for each in stated for name in variables_of(block.point()[each])]
        loops = {each.name: each for each in drawing.loops(block)}
        drawing.schedule.reorder(*(loops[name] for name in names if name in loops))


def changes(schedule: Schedule) -> bool:
    """Check whether a schedule has a step that changes something."""
    return any(".get_" not in line for line in schedule.trace.splitlines()[1:])


# ---- steps that keep the order of sums ----


def _split(drawing: Drawing) -> object:
    return drawing.schedule.split(drawing.loop(drawing.block()), drawing.random.choice(_FACTORS))


def _fuse(drawing: Drawing) -> object:
    loops = drawing.loops(drawing.block())
    start = drawing.random.randrange(max(len(loops) - 1, 1))
    return drawing.schedule.fuse(*loops[start : start + 2])


def _reorder(drawing: Drawing) -> None:
    """Permute loops. Loops of the reduction keep their order."""
    block = drawing.block()
    loops, reduce = drawing.loops(block), drawing.reductions(block)
    chosen = drawing.random.sample(loops, drawing.random.randint(0, len(loops)))
    kept = iter(sorted((each for each in chosen if each.name in reduce), key=loops.index))
    drawing.schedule.reorder(*(next(kept) if each.name in reduce else each for each in chosen))


def _tile(drawing: Drawing) -> object:
    block = drawing.block()
    x, y = drawing.loop(block, spatial=True), drawing.loop(block, spatial=True)
    return drawing.schedule.tile(x, y, drawing.random.randint(1, 5), drawing.random.randint(1, 8))


def _vectorize(drawing: Drawing) -> None:
    drawing.schedule.vectorize(drawing.loop(drawing.block(), spatial=True, most=_MOST_LANES))


def _parallel(drawing: Drawing) -> None:
    drawing.schedule.parallel(drawing.loop(drawing.block(), spatial=True))


def _unroll(drawing: Drawing) -> None:
    drawing.schedule.unroll(drawing.loop(drawing.block(), most=_MOST_UNROLLED))


def _cache_read(drawing: Drawing) -> object:
    block = drawing.block()
    place, scope = drawing.random.randrange(2), drawing.random.choice(_SCOPES)
    return drawing.schedule.cache_read(drawing.handle(block), place, scope)


def _cache_write(drawing: Drawing) -> object:
    return drawing.schedule.cache_write(drawing.handle(drawing.block()), 0, drawing.random.choice(_SCOPES))


def _compute_at(drawing: Drawing) -> None:
    block, other = drawing.block(), drawing.block()
    drawing.schedule.compute_at(drawing.handle(block), drawing.loop(other))


def _reverse_compute_at(drawing: Drawing) -> None:
    block, other = drawing.block(), drawing.block()
    drawing.schedule.reverse_compute_at(drawing.handle(block), drawing.loop(other, spatial=True))


def _decompose(drawing: Drawing) -> object:
    block = drawing.block(sums=True)
    return drawing.schedule.decompose_reduction(drawing.handle(block), drawing.loop(block))


def _pad_einsum(drawing: Drawing) -> None:
    block = drawing.block(sums=True)
    padding = [drawing.random.choice((1, 4, 16)) for _ in block.iters]
    drawing.schedule.pad_einsum(drawing.handle(block), padding)


def _transform_layout(drawing: Drawing) -> None:
    maps = (lambda i: (i // 4, i % 4), lambda i, j: (j, i), lambda i, j: (i, j // 8, j % 8))
    padding = drawing.random.choice((None, 0))
    handle = drawing.handle(drawing.block())
    drawing.schedule.transform_layout(handle, ("write", 0), drawing.random.choice(maps), pad_value=padding)


def _reorder_iters(drawing: Drawing) -> None:
    block = drawing.block()
    numbers = drawing.random.sample(range(len(block.iters)), len(block.iters))
    drawing.schedule.reorder_block_iter_var(drawing.handle(block), numbers)


_STEPS_BY_NAME: dict[str, Step] = {
    "split": _split,
    "split again": _split,
    "fuse": _fuse,
    "reorder": _reorder,
    "reorder again": _reorder,
    "tile": _tile,
    "vectorize": _vectorize,
    "parallel": _parallel,
    "unroll": _unroll,
    "cache_read": _cache_read,
    "cache_write": _cache_write,
    "compute_at": _compute_at,
    "compute_inline": lambda drawing: drawing.schedule.compute_inline(drawing.handle(drawing.block())),
    "reverse_compute_at": _reverse_compute_at,
    "decompose_reduction": _decompose,
    "pad_einsum": _pad_einsum,
    "transform_layout": _transform_layout,
    "reorder_block_iter_var": _reorder_iters,
}


# ---- steps that may change it ----


def _reorder_any(drawing: Drawing) -> None:
    loops = drawing.loops(drawing.block(sums=True))
    drawing.schedule.reorder(*drawing.random.sample(loops, len(loops)))


def _split_and_swap(drawing: Drawing) -> None:
    """Run the steps of a loop of the reduction with a stride."""
    block = drawing.block(sums=True)
    loops = [each for each in drawing.loops(block) if each.name in drawing.reductions(block)]
    outer, inner = drawing.schedule.split(drawing.random.choice(_not_empty(loops, "loop")), [None, 4])
    drawing.schedule.reorder(inner, outer)


def _rfactor(drawing: Drawing) -> object:
    return drawing.schedule.rfactor(drawing.loop(drawing.block(sums=True)), 0)


def _vectorize_any(drawing: Drawing) -> None:
    drawing.schedule.vectorize(drawing.loop(drawing.block(sums=True), most=_MOST_LANES))


_OTHER_ORDER: dict[str, Step] = {
    "reorder": _reorder_any,
    "split and swap": _split_and_swap,
    "rfactor": _rfactor,
    "vectorize": _vectorize_any,
}
