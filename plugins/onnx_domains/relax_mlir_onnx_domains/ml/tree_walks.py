# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ensembles of trees with one kind of decision and added votes, as loops.

Blocks of rows go through one tree after the other, so that the tree stays in the processor's cache. Several rows
descend at once without branches: the children of a node are adjacent, and the result of a comparison is added to the
index of the first child. A leaf leads to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.emit import loops
from relax_mlir.emit.numbers import Number, as_index, constant, minimum
from relax_mlir.frontends.onnx.prelude import OnnxNode, Tensor, const, info_of

from .forest import Forest

#: Number of concurrent descents: several rows through one tree, or a remaining row through several trees.
_LANES = 8
#: Approximate number of features in a block of rows, which stay in the cache with a tree.
_FEATURES_OF_BLOCK = 4096
_MOST_ROWS = 256
# Fields of a node in `links`: feature and missing-value flag; index of the children, "no" first.
_FEATURE, _CHILDREN = 0, 1
# Fields of a tree in `trees`: root; first target of its votes; number of steps to the nearest leaf.
_ROOT, _TARGET, _LEAST = 0, 1, 2


@dataclass(frozen=True)
class ForestLayout:
    """Nodes of a forest in the order of descent. The number of trees is padded to a multiple of the lanes."""

    mode: str
    has_missing: bool
    #: Shapes [nodes], [nodes, 2], [nodes]. The nodes of a tree are contiguous.
    splits: object
    links: object
    leaves: object
    #: Shape [trees, 3].
    trees: object
    #: Shape [leaves, width]: votes for the tree's first target and the targets behind it.
    votes: object


def layout_of(forest: Forest, modes: Sequence[str], most_votes: int) -> ForestLayout | None:
    """Return a forest's layout in memory, or None for forests that need the general method.

    These have several modes, nodes with more than one parent, or too many votes.
    """
    import numpy

    used = {modes[node.mode] for node in forest.nodes} or {modes[0]}
    parents = [child for node in forest.nodes for child in (node.yes, node.no)] + list(forest.roots)
    if len(used) > 1 or "MEMBER" in used or len(set(parents)) < len(parents):
        return None
    order, starts, least = _order(forest)
    owners = _owners(forest, order, starts)
    width = 1 if owners is not None else forest.targets
    if len(order) * width > most_votes:
        return None
    place_of = {node: place for place, node in enumerate(order) if node >= 0}
    mode, inner = used.pop(), len(forest.nodes)
    own = -1 if mode == "NEQ" else 0  # Result of the comparison with NaN.
    splits, links = numpy.full(len(order), numpy.nan), numpy.zeros((len(order), 2), "int32")
    links[:, _CHILDREN] = numpy.arange(len(order)) + own
    leaves, count = numpy.zeros(len(order), "int32"), 0
    votes = numpy.zeros((forest.leaves + 1, width))  # The last row has no votes, for trees that pad the forest.
    for place, index in enumerate(order):
        if 0 <= index < inner:
            node = forest.nodes[index]
            splits[place] = node.split
            links[place] = 2 * node.feature + node.missing_is_yes, place_of[node.no]
        else:
            leaves[place] = forest.leaves if index < 0 else index - inner
            count += 1
    for index, target, weight in forest.votes:
        if index >= inner:
            votes[index - inner, 0 if owners is not None else target] += weight
    trees = numpy.zeros((len(starts), 3), "int32")
    trees[:, _ROOT], trees[:, _LEAST] = starts, least
    trees[:, _TARGET] = 0 if owners is None else owners
    return ForestLayout(mode, any(node.missing_is_yes for node in forest.nodes), splits, links, leaves, trees, votes)


def _order(forest: Forest) -> tuple[list[int], list[int], list[int]]:
    """Return the nodes tree by tree and level by level, the start of each tree, and the steps to its nearest leaf."""
    order: list[int] = []
    starts: list[int] = []
    least: list[int] = []
    for root in forest.roots:
        starts.append(len(order))
        level, steps, nearest = [root], 0, -1
        while level:
            order += level
            if nearest < 0 and any(index >= len(forest.nodes) for index in level):
                nearest = steps
            inner = [forest.nodes[index] for index in level if index < len(forest.nodes)]
            level, steps = [child for node in inner for child in (node.no, node.yes)], steps + 1
        least.append(nearest)
    while len(starts) % _LANES:
        starts.append(len(order))
        least.append(least[-1])
        order.append(-1)
    return order, starts, least


def _owners(forest: Forest, order: Sequence[int], starts: Sequence[int]) -> list[int] | None:
    """Return the target of each tree, or None if a tree votes for several targets."""
    import bisect

    place_of = {node: place for place, node in enumerate(order) if node >= 0}
    owners: dict[int, int] = {}
    for index, target, _ in forest.votes:
        if index not in place_of:
            continue
        tree = bisect.bisect_right(starts, place_of[index]) - 1
        if owners.setdefault(tree, target) != target:
            return None
    return [owners.get(tree, 0) for tree in range(len(starts))]


def walked(node: OnnxNode, layout: ForestLayout, x: Tensor, targets: int, dtype: str) -> Tensor:
    """Return the sums of the votes [rows, targets] for rows of features."""
    shape = info_of(x).shape
    assert shape is not None
    tables = [const(layout.splits, dtype), const(layout.links), const(layout.leaves), const(layout.trees)]
    kernel = _Walk(layout.mode, layout.has_missing)
    return node.call_tir(kernel, [x, *tables, const(layout.votes, dtype)], TensorInfo((shape[0], targets), dtype))


@dataclass(frozen=True)
class _Walk:
    """Kernel that descends the trees."""

    mode: str
    has_missing: bool
    __name__ = "trees"

    def __call__(self, *buffers: Tensor) -> None:
        rows, features = loops.sizes(buffers[0])
        assert isinstance(features, int)
        count = max(_LANES, min(_MOST_ROWS, _FEATURES_OF_BLOCK // max(features, 1) // _LANES * _LANES))
        walk = _Walker(self, *buffers)

        def block(start: Number) -> None:
            walk.block(start, minimum(start + count, as_index(rows)))

        loops.for_range(0, rows, block, step=count, grain=1)


class _Walker:
    """Body of the kernel, with its buffers."""

    def __init__(self, kind: _Walk, x: Tensor, splits: Tensor, links: Tensor, leaves: Tensor, trees: Tensor,
                 votes: Tensor, out: Tensor):  # fmt: skip
        self._kind, self._x, self._splits, self._links = kind, x, splits, links
        self._leaves, self._trees, self._votes, self._out = leaves, trees, votes, out

    def block(self, start: Number, stop: Number) -> None:
        loops.nest(
            [(start, stop), loops.size(self._out, 1)], lambda row, target: loops.store(0.0, self._out, row, target)
        )
        whole = stop - (stop - start) % _LANES
        count = loops.size(self._trees, 0)

        def tree(place: Number) -> None:
            least = self._load_field(place, _LEAST)
            lanes = lambda row: [(row + lane, place) for lane in range(_LANES)]  # noqa: E731
            loops.for_range(start, whole, lambda row: self._lanes(lanes(row), least), step=_LANES)

        loops.for_range(0, count, tree)

        def row(row: Number) -> None:
            def some(place: Number) -> None:
                lanes = [(row, place + lane) for lane in range(_LANES)]
                least = self._load_field(place, _LEAST)
                for _, each in lanes[1:]:
                    least = minimum(least, self._load_field(each, _LEAST))
                self._lanes(lanes, least)

            loops.for_range(0, count, some, step=_LANES)

        loops.for_range(whole, stop, row)

    def _lanes(self, lanes: Sequence[tuple[Number, Number]], least: Number) -> None:
        """Descend with several rows, each in its tree."""
        rows = [row for row, _ in lanes]
        roots = [self._load_field(tree, _ROOT) for _, tree in lanes]
        step = lambda *places: [self._child(*each) for each in zip(rows, places, strict=True)]  # noqa: E731
        places = loops.for_range(0, least, lambda _, *places: step(*places), *roots)

        def further(_: Number, *places: Number) -> list[Number]:
            after = step(*places)
            moved = constant(False, "i1")
            for one, other in zip(places, after, strict=True):
                moved = moved | (one != other)
            return [moved, *after]

        _, *places = loops.repeat_while([constant(True, "i1"), *places], lambda moved, *_: moved, further)
        for (row, tree), place in zip(lanes, places, strict=True):
            self._vote(row, tree, place)

    def _child(self, row: Number, place: Number) -> Number:
        held = loops.load(self._links, place, _FEATURE)
        value = loops.load(self._x, row, as_index(held >> 1))
        is_yes = _COMPARISONS[self._kind.mode](value, loops.load(self._splits, place))
        if self._kind.has_missing:
            is_yes = is_yes | ((value != value) & ((held & 1) != 0))
        return as_index(loops.load(self._links, place, _CHILDREN) + is_yes.to("i32"))

    def _vote(self, row: Number, tree: Number, place: Number) -> None:
        leaf, first = as_index(loops.load(self._leaves, place)), self._load_field(tree, _TARGET)

        def add(target: Number) -> None:
            vote = loops.load(self._votes, leaf, target)
            loops.store(loops.load(self._out, row, first + target) + vote, self._out, row, first + target)

        loops.for_range(0, loops.size(self._votes, 1), add)

    def _load_field(self, tree: Number, field: int) -> Number:
        return as_index(loops.load(self._trees, tree, field))


_COMPARISONS: dict[str, Callable[[Number, Number], Number]] = {
    "LEQ": lambda x, split: x <= split,
    "LT": lambda x, split: x < split,
    "GTE": lambda x, split: x >= split,
    "GT": lambda x, split: x > split,
    "EQ": lambda x, split: x == split,
    "NEQ": lambda x, split: x != split,
}
