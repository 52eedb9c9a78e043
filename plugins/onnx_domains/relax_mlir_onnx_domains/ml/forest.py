# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ensembles of decision trees (ai.onnx.ml) as data: nodes, leaves, votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: Comparisons of a feature with a split, by number. MEMBER tests whether the feature is in a set.
MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")


class Decision(NamedTuple):
    """Node with a decision. Children are indices of nodes or, behind them, of leaves."""

    feature: int
    split: float
    mode: int
    yes: int
    no: int
    missing_is_yes: bool = False
    members: tuple[float, ...] = ()


class Forest(NamedTuple):
    """Trees: nodes first, then leaves. `votes` are (leaf's index, target, weight)."""

    nodes: Sequence[Decision]
    leaves: int
    roots: Sequence[int]
    targets: int
    votes: Sequence[tuple[int, int, float]]

    @property
    def size(self) -> int:
        return len(self.nodes) + self.leaves

    def problem(self) -> str:
        """Return a problem with the forest, or an empty string."""
        children = [child for node in self.nodes for child in (node.yes, node.no)]
        if not self.roots or not all(0 <= place < self.size for place in (*children, *self.roots)):
            return "a tree has no root, or a node has a child that does not exist"
        if self.depth() is None:
            return "the nodes of a tree form a cycle"
        if not all(0 <= target < self.targets for _, target, _ in self.votes):
            return f"a leaf votes for a target that is not one of the {self.targets}"
        return ""

    def depth(self) -> int | None:
        """Return the largest number of steps from a root to a leaf, or None for cyclic trees."""
        level, steps = set(self.roots), 0
        while inner := [place for place in level if place < len(self.nodes)]:
            level = {child for place in inner for child in (self.nodes[place].yes, self.nodes[place].no)}
            steps += 1
            if steps > len(self.nodes):
                return None
        return steps
