# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision trees as arithmetic: for all rows and trees at once, a step from a node to its child, as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....dialects.relax import const, dialect
from ..graph_tensors import info_of

relax = dialect.ops

#: How a node compares the feature with its split, by number; a member is one of a set.
MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_COMPARISONS = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")
_MEMBER = MODES.index("MEMBER")


class Node(NamedTuple):
    """A node that decides; children are indices of nodes or, behind them, leaves."""

    feature: int
    split: float
    mode: int
    yes: int
    no: int
    missing_is_yes: bool = False
    members: tuple[float, ...] = ()


class Forest(NamedTuple):
    """Trees with nodes first, then leaves: `votes` are (leaf's index, target, weight)."""

    nodes: Sequence[Node]
    leaves: int
    roots: Sequence[int]
    targets: int
    votes: Sequence[tuple[int, int, float]]

    @property
    def size(self) -> int:
        return len(self.nodes) + self.leaves

    def problem(self) -> str:
        """What is wrong with it, or nothing."""
        children = [child for node in self.nodes for child in (node.yes, node.no)]
        if not self.roots or not all(0 <= place < self.size for place in (*children, *self.roots)):
            return "a tree has no root, or a node a child that is not there"
        if self.depth() is None:
            return "the nodes of a tree are in a circle"
        if not all(0 <= target < self.targets for _, target, _ in self.votes):
            return f"a leaf votes for none of the {self.targets} targets"
        return ""

    def depth(self) -> int | None:
        """The most steps from a root to a leaf; None where they never end."""
        level, steps = set(self.roots), 0
        while inner := [place for place in level if place < len(self.nodes)]:
            level = {child for place in inner for child in (self.nodes[place].yes, self.nodes[place].no)}
            steps += 1
            if steps > len(self.nodes):
                return None
        return steps


def leaves_reached(forest: Forest, x: Any) -> Any:
    """The leaf that each row [rows, features] of floats gets to in each tree: [rows, trees]."""
    import numpy

    dtype, table = info_of(x).dtype, _Table(forest)
    start = relax["expand_dims"](relax["zeros_like"](_first_feature(x), dtype="i64"), axis=[1])
    place = relax["add"](start, const(numpy.array([forest.roots], "int64")))
    for _ in range(forest.depth() or 0):
        value = relax["gather_elements"](x, table.of("feature", place), axis=1)
        is_yes = relax["astype"](_decided(forest, table, place, value, dtype), dtype="i64")
        child = relax["add"](relax["multiply"](place, const(2, "i64")), is_yes)
        place = relax["take"](table.children(), child, axis=0)
    return place


def _first_feature(x: Any) -> Any:
    first = relax["strided_slice"](x, axes=[1], begin=[0], end=[1])
    return relax["squeeze"](first, axis=[1])


class _Table:
    """What nodes hold, as constants that are made once. Leaves lead to themselves."""

    def __init__(self, forest: Forest):
        self._forest = forest
        self._made: dict[str, Any] = {}

    def of(self, field: str, place: Any, dtype: str = "i64") -> Any:
        """A field of the nodes at these places."""
        rest = [0] * self._forest.leaves
        values = [getattr(node, field) for node in self._forest.nodes]
        return relax["take"](self._once(field, lambda: const([*values, *rest], dtype)), place, axis=0)

    def members(self, place: Any, dtype: str) -> Any:
        """The sets of the nodes at these places, filled up with what is equal to nothing."""
        most = max(len(node.members) for node in self._forest.nodes)
        rows = [[*node.members, *[float("nan")] * (most - len(node.members))] for node in self._forest.nodes]
        rest = [[float("nan")] * most] * self._forest.leaves
        return relax["take"](self._once("members", lambda: const([*rows, *rest], dtype)), place, axis=0)

    def children(self) -> Any:
        """For each node the child where it says no, then the other."""
        inner = [child for node in self._forest.nodes for child in (node.no, node.yes)]
        leaves = [place for place in range(len(self._forest.nodes), self._forest.size) for _ in range(2)]
        return self._once("children", lambda: const([*inner, *leaves], "i64"))

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def _decided(forest: Forest, table: _Table, place: Any, value: Any, dtype: str) -> Any:
    """Whether each row goes the way of yes at a node."""
    modes = sorted({node.mode for node in forest.nodes})
    decided = None
    for mode in modes:
        if mode == _MEMBER:
            own = relax["expand_dims"](value, axis=[2])
            held = relax["max"](
                relax["astype"](relax["equal"](own, table.members(place, dtype)), dtype="i32"), axis=[2]
            )
            answer = relax["astype"](held, dtype="bool")
        else:
            answer = relax[_COMPARISONS[mode]](value, table.of("split", place, dtype))
        is_mode = None if decided is None else relax["equal"](table.of("mode", place), const(mode, "i64"))
        decided = answer if is_mode is None else relax["where"](is_mode, answer, decided)
    if any(node.missing_is_yes for node in forest.nodes):
        is_yes = relax["astype"](table.of("missing_is_yes", place), dtype="bool")
        decided = relax["logical_or"](decided, relax["logical_and"](is_yes, relax["isnan"](value)))
    return decided


def votes(forest: Forest, leaves: Any, aggregate: str, dtype: str) -> Any:
    """What the leaves vote, put together over the trees: [rows, targets]."""
    import numpy

    is_extreme = aggregate in ("MIN", "MAX")
    absent = 0.0 if not is_extreme else numpy.inf if aggregate == "MIN" else -numpy.inf
    weights = numpy.full((forest.size, forest.targets), absent)
    for place, target, weight in forest.votes:
        before = weights[place, target]
        combined = {"MIN": min, "MAX": max}.get(aggregate, lambda one, other: one + other)
        weights[place, target] = combined(before, weight)
    given = relax["take"](const(weights, dtype), leaves, axis=0)
    if not is_extreme:
        total = relax["sum"](given, axis=[1])
        return total if aggregate == "SUM" else relax["divide"](total, const(float(len(forest.roots)), dtype))
    extreme = relax["min" if aggregate == "MIN" else "max"](given, axis=[1])
    return relax["where"](relax["equal"](extreme, const(absent, dtype)), const(0.0, dtype), extreme)
