# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""auto_tensorize: schedule steps that let an intrinsic compute a block.

An iter of the block matches an iter of the intrinsic if the same operands use both. For example, both move along A and
C. The cheapest match is taken. Its steps equal a hand-written schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import permutations, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ....dialects.core.symbols_expr import Size, make_variable, variables_of
from ....support.errors import RelaxError
from .body_scalars import Compute, Element
from .handles import BlockRV, IndexMap, LoopRV
from .intrins import TensorIntrin, all_intrins, computed_by, find_intrin, orders_of
from .scheduled_functions import ScheduledFunctions
from .tree import REDUCE, Access, Block, Iter, iter_variable

if TYPE_CHECKING:
    from .steps import Steps
else:
    Steps = object

#: Assumed number of steps of a loop with a dynamic extent, for the comparison of costs.
_USUAL_STEPS = 128


class _Fit(NamedTuple):
    """Match of an intrinsic with a block. `iters[n]` is the block's iter for iter n of the intrinsic.

    `order` lists the block's reads in the intrinsic's order.
    """

    name: str
    intrin: TensorIntrin
    order: tuple[int, ...]
    iters: tuple[Iter, ...]
    cost: float

    @property
    def target(self) -> Block:
        return self.intrin.tree.blocks()[0]

    def sizes(self) -> dict[str, int]:
        """Return the number of steps along each iter that one run of the intrinsic computes."""
        return {mine.name: int(iter_.extent) for mine, iter_ in zip(self.iters, self.target.iters, strict=True)}  # type: ignore[arg-type]

    def wanted(self, access: Access) -> list[str]:
        """Return the block's iters along the dimensions of one operand of the intrinsic."""
        names = {iter_.name: mine.name for mine, iter_ in zip(self.iters, self.target.iters, strict=True)}
        return [names[str(index)] for index in access.indices]

    def is_laid_out(self, mine: Access, other: Access) -> bool:
        """Return True if a buffer's dimensions along the matched iters have the intrinsic's order."""
        chosen = {iter_.name: iter_ for iter_ in self.iters}
        moving = [index for index in mine.indices if not variables_of(index).isdisjoint(chosen)]
        wanted = self.wanted(other)
        return len(moving) == len(wanted) and all(
            variables_of(index - iter_variable(chosen[name])).isdisjoint(chosen)
            for index, name in zip(moving, wanted, strict=True)
        )


class AutoTensorize(Steps):
    """Schedule step that is composed of other steps."""

    #: Member of the schedule class.
    _undone_if_refused: Callable[[], AbstractContextManager[None]]
    _functions: ScheduledFunctions

    def auto_tensorize(
        self, block: BlockRV | str, *intrinsics: str, stages: int = 0, runs: Sequence[int] = ()
    ) -> LoopRV:
        """Compute a block by an intrinsic, and return the tensorized loop.

        The block's loops must be unsplit and unmoved.
        The cheapest matching intrinsic is taken. Without names, all intrinsics are candidates. Extents that it does
        not divide are padded. Operands are copied to the intrinsic's memories and layouts. If an intrinsic computes the
        reduction's init, it is used too. `stages` pipelines the copies.
        `runs` limits, for each iter of the intrinsic, the number of runs that one copy of the operands serves. (4, 4,
        2) gives tiles of 4 by 4 results and 2 steps of a sum. The trace contains all steps. Raises RelaxError with one
        reason per intrinsic if none matches, and leaves the schedule unchanged.
        """
        names = list(intrinsics) or [intrin.name for intrin in all_intrins() if not intrin.thing.is_targets]
        fits, reasons = list[_Fit](), list[str]()
        with self._undone_if_refused():
            handle = block if isinstance(block, BlockRV) else self.get_block(block)
            found = self._block_of(handle)
            for name in names:
                mine = _fits(found, name, find_intrin(name))
                fits += mine if not isinstance(mine, str) else []
                reasons += [f"'{name}': {mine}"] if isinstance(mine, str) else []
            if not fits:
                raise RelaxError(f"auto_tensorize({handle.name}): no intrinsic fits the block", notes=reasons)
            best = min(fits, key=lambda fit: fit.cost)
            if runs and (len(runs) != len(best.iters) or any(type(run) is not int or run < 1 for run in runs)):
                counts = f"{len(best.iters)} numbers of at least 1, one for each iter of '{best.name}'"
                raise RelaxError(f"auto_tensorize({handle.name}): expected runs of {counts}, got {runs!r}")
            return self._made_of(handle, best, names, stages, runs or [1] * len(best.iters))

    def _block_of(self, handle: BlockRV) -> Block:
        return self._functions.tree(handle.function).block(handle.name)

    def _made_of(self, block: BlockRV, fit: _Fit, names: Sequence[str], stages: int, runs: Sequence[int]) -> LoopRV:
        sizes = fit.sizes()
        counts = {each.name: _at_once(each, sizes[each.name], most) for each, most in zip(fit.iters, runs, strict=True)}
        self._pad(block, {name: size * counts[name] for name, size in sizes.items()})
        copies, result = self._bring(block, fit)
        iters = self._block_of(block).iters
        outer, middle, inner = dict[str, LoopRV](), dict[str, LoopRV](), dict[str, LoopRV]()
        for iter_, loop in zip(iters, self._plain_loops(block), strict=True):
            outer[iter_.name] = loop
            if iter_.name in sizes:
                several = [counts[iter_.name]] if counts[iter_.name] > 1 else []
                outer[iter_.name], *between, inner[iter_.name] = self.split(loop, [None, *several, sizes[iter_.name]])
                middle.update(zip([iter_.name], between, strict=False))
        reduced = [outer[each.name] for each in iters if each.kind == REDUCE]
        spatial = [outer[each.name] for each in iters if each.kind != REDUCE]
        tile = [inner[each.name] for each in fit.iters]
        self.reorder(*spatial, *reduced, *(middle[each.name] for each in fit.iters if each.name in middle), *tile)
        chosen = [iters.index(next(each for each in iters if each.name == mine.name)) for mine in fit.iters]
        if chosen != sorted(chosen):
            self.reorder_block_iter_var(block, [*(n for n in range(len(iters)) if n not in chosen), *chosen])
        for copy in copies:
            self.compute_at(copy, [*spatial, *reduced][-1])
        if result is not None and spatial:
            self.reverse_compute_at(result, spatial[-1])
        if reduced:
            self._tensorize_any(self.decompose_reduction(block, reduced[0]), names)
        self.tensorize(tile[0], fit.name)
        if stages:
            self.pipeline([*spatial, *reduced][-1], stages)
        return tile[0]

    def _pad(self, block: BlockRV, sizes: Mapping[str, int]) -> None:
        """Pad a block to whole runs of the intrinsic. Padding needs indices that are iters."""
        found = self._block_of(block)
        factors = [sizes.get(iter_.name, 1) for iter_ in found.iters]
        if all(iter_.extent % by == 0 for iter_, by in zip(found.iters, factors, strict=True)):
            return
        for kind, accesses in (("read", found.reads), ("write", found.writes)):
            for number, access in enumerate(accesses):
                if any(str(index) not in {iter_.name for iter_ in found.iters} for index in access.indices):
                    self.reindex(block, (kind, number))
        self.pad_einsum(block, factors)

    def _bring(self, block: BlockRV, fit: _Fit) -> tuple[list[BlockRV], BlockRV | None]:
        """Copy operands to the intrinsic's memories and layouts.

        Return the copies that one run reads, and that of the result.
        """
        found, copies = self._block_of(block), list[BlockRV]()
        memories = fit.intrin.engine.memories
        for number, other in zip(fit.order, fit.target.reads, strict=True):
            mine = found.reads[number]
            memory = memories.get(other.buffer.name, mine.buffer.scope)
            if (is_laid_out := fit.is_laid_out(mine, other)) and mine.buffer.scope == memory:
                continue
            if is_laid_out:
                copies.append(self.cache_read(block, mine.buffer.name, memory, [block]))
                continue
            copy = self.reindex_cache_read(block, number, memory, _map(found, mine, fit.wanted(other)))
            copies += [copy] if other.buffer.name in memories else []
        (mine, *_), (other, *_) = found.writes, fit.target.writes
        memory = memories.get(other.buffer.name, mine.buffer.scope)
        if (is_laid_out := fit.is_laid_out(mine, other)) and mine.buffer.scope == memory:
            return copies, None
        result = self.cache_write(block, mine.buffer.name, memory)
        if not is_laid_out:
            self.transform_layout(block, ("write", 0), _order(mine, fit.wanted(other)))
        return copies, result

    def _plain_loops(self, block: BlockRV) -> list[LoopRV]:
        loops, found = self.get_loops(block), self._block_of(block)
        if [loop.name for loop in loops] != [str(binding) for binding in found.bindings]:
            raise RelaxError(
                f"auto_tensorize({block.name}): its loops have been split or moved; auto_tensorize splits them itself"
            )
        return loops

    def _tensorize_any(self, block: BlockRV, names: Sequence[str]) -> None:
        """Tensorize the first of a block's loops that one of the intrinsics computes."""
        for loop in self.get_loops(block):
            for name in names:
                try:
                    self.tensorize(loop, name)
                except RelaxError:
                    continue
                return


# ---- matching ----


def _fits(block: Block, name: str, intrin: TensorIntrin) -> list[_Fit] | str:
    """Return all matches of an intrinsic with a block, or the reason why there is none."""
    (target,) = intrin.tree.blocks()
    if len(block.reads) != len(target.reads) or len(block.writes) != 1 or len(target.writes) != 1:
        return f"the intrinsic has {len(target.reads)} inputs, '{block.name}' has {len(block.reads)}"
    if block.within or block.where or block.loaded:
        return f"'{block.name}' excludes points, or reads at computed indices"
    found: list[_Fit] = []
    for order in orders_of(block, target):
        mine = [*(block.reads[number] for number in order), *block.writes]
        if [str(each.buffer.element) for each in mine] != [str(access.buffer.element) for access in target.accesses]:
            continue
        for iters in _choices(_classes(block.iters, mine), _classes(target.iters, target.accesses), target.iters):
            runs = _runs(block, iters, target)
            relaid = sum(not _Fit(name, intrin, order, iters, 0).is_laid_out(a, b)
                         for a, b in zip(mine, target.accesses, strict=True))  # fmt: skip
            # A change of layout costs less than one percent more runs.
            found.append(_Fit(name, intrin, order, iters, intrin.engine.cost_of(runs) * (1 + relaid / 100)))
    return found or _difference(block, target)


def _difference(block: Block, target: Block) -> str:
    """Return how a block differs from the block of an intrinsic with as many inputs."""
    mine, wanted = _elements(block), _elements(target)
    if sorted(mine) != sorted(wanted):
        return f"the intrinsic's elements are {', '.join(wanted)}, but '{block.name}' has {', '.join(mine)}"
    if next(orders_of(block, target), None) is None:
        return f"the intrinsic computes {computed_by(target)}, but '{block.name}' computes {computed_by(block)}"
    return f"no iters of '{block.name}' index the operands as the intrinsic's {_kinds(target)} do"


#: Operations that read their integer operands as unsigned, which tells the signedness of buffers.
_UNSIGNED = ("arith.extui", "arith.uitofp")


def _elements(block: Block) -> list[str]:
    """Return the element types of the operands; integers that a block reads as unsigned are ui8 and the like."""
    computed = [each for result in block.results for each in result.walk() if isinstance(each, Compute)]
    used = [each.operands for each in computed if each.name in _UNSIGNED]
    unsigned = {operand.number for operands in used for operand in operands if isinstance(operand, Element)}
    names = [str(access.buffer.element) for access in block.accesses]
    return [f"u{name}" if number in unsigned else name for number, name in enumerate(names)]


def _kinds(block: Block) -> str:
    return ", ".join(f"{iter_.name} ({'a reduction' if iter_.kind == REDUCE else 'spatial'})" for iter_ in block.iters)


def why_not(blocks: Sequence[Block], name: str, intrin: TensorIntrin) -> str:
    """Return why no block is computed by an intrinsic: the reason of the block with as many inputs, or of the last."""
    (target,) = intrin.tree.blocks()
    if not blocks:
        return "there are no blocks to compute"
    for block in sorted(blocks, key=lambda each: len(each.reads) != len(target.reads)):
        if not isinstance(_fits(block, name, intrin), str):
            return f"the intrinsic fits '{block.name}', but no rule has chosen it"
    alike = [block for block in blocks if len(block.reads) == len(target.reads)]
    return str(_fits([*alike, blocks[-1]][0], name, intrin))


_Classes = dict[tuple[str, frozenset[int]], list[Iter]]


def _classes(iters: Sequence[Iter], accesses: Sequence[Access]) -> _Classes:
    """Group iters by their kind and by the operands that they index."""
    classes: _Classes = {}
    for iter_ in iters:
        used = [n for n, access in enumerate(accesses) if any(iter_.name in variables_of(i) for i in access.indices)]
        classes.setdefault((iter_.kind, frozenset(used)), []).append(iter_)
    return classes


def _choices(mine: _Classes, classes: _Classes, order: Sequence[Iter]) -> Iterator[tuple[Iter, ...]]:
    """Yield assignments of the block's iters to the intrinsic's iters, in the order of the latter."""
    ways = [list(permutations(mine.get(key, ()), len(value))) for key, value in classes.items()]
    for way in product(*ways):
        chosen = {other.name: own for each, others in zip(way, classes.values(), strict=True)
                  for own, other in zip(each, others, strict=True)}  # fmt: skip
        yield tuple(chosen[iter_.name] for iter_ in order)


def _runs(block: Block, iters: Sequence[Iter], target: Block) -> int:
    sizes = {mine.name: int(other.extent) for mine, other in zip(iters, target.iters, strict=True)}  # type: ignore[arg-type]
    return prod(-(-_steps(iter_.extent) // sizes.get(iter_.name, 1)) for iter_ in block.iters)


def _at_once(iter_: Iter, size: int, most: int) -> int:
    """Return the number of runs along an iter that one copy serves. A known number of runs is a multiple of it."""
    if not isinstance(iter_.extent, int):
        return most
    runs = -(-iter_.extent // size)
    return max(count for count in range(1, most + 1) if runs % count == 0)


def _steps(extent: Size) -> int:
    return extent if isinstance(extent, int) else _USUAL_STEPS


def _map(block: Block, access: Access, last: Sequence[str]) -> IndexMap:
    """Return the index map of a copy with the iters in `last` as its last dimensions."""
    used = {name for index in access.indices for name in variables_of(index)}
    names = [iter_.name for iter_ in block.iters]
    first = [name for name in names if name in used and name not in last]
    return IndexMap(tuple(names), tuple(map(make_variable, [*first, *last])))


def _order(access: Access, last: Sequence[str]) -> IndexMap:
    """Return the permutation that makes a buffer's dimensions along the iters in `last` the last dimensions."""
    names = [f"d{number}" for number in range(len(access.indices))]
    along = {name: number for number, index in enumerate(access.indices) for name in variables_of(index)}
    behind = [along[name] for name in last]
    first = [number for number in range(len(names)) if number not in behind]
    return IndexMap(tuple(names), tuple(make_variable(names[number]) for number in [*first, *behind]))
