# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of ensembles of decision trees (ai.onnx.ml)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relax_mlir.frontends.core.values import Texts
from relax_mlir.frontends.onnx.prelude import (
    OnnxNode,
    Outputs,
    Tensor,
    cast,
    const,
    info_of,
    part,
    register_onnx,
    relax,
    wide_float,
)
from relax_mlir.support.suggest import counted

from .forest import MODES, Decision, Forest
from .scores import Labels, above, class_labels, largest, post_transform, transformed, two_classes
from .tree_walks import layout_of, walked

_ML = "ai.onnx.ml"
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _data(node: OnnxNode) -> tuple[Tensor, str]:
    """Return the data [rows, features] as floats, and the float type."""
    x, wide = node.tensor(0), wide_float(node.value(0).dtype)
    if node.rank(0) not in (1, 2):
        raise node.fail(f"the data has {counted(node.rank(0), 'dimension')}, not 1 or 2")
    return cast(x if node.rank(0) == 2 else relax.expand_dims(x, axis=[0]), wide), wide


def _check_forest(node: OnnxNode, forest: Forest) -> Forest:
    problem = forest.problem()
    features = (node.value(0).shape or (None,))[-1]
    most = max((each.feature for each in forest.nodes), default=0)
    if isinstance(features, int) and most >= features:
        problem = f"a node decides by feature {most}, but there are {features}"
    if min((each.feature for each in forest.nodes), default=0) < 0:
        problem = "a node decides by a feature before the first one"
    if problem:
        raise node.fail(problem)
    return forest


def _check_lengths(node: OnnxNode, **lists: Sequence[object]) -> None:
    """Check that attributes about the same nodes or votes are as long as the first of them."""
    first, *others = lists
    for name in others:
        if len(lists[name]) != len(lists[first]):
            problem = f"'{name}' has {counted(len(lists[name]), 'element')}, '{first}' {len(lists[first])}"
            raise node.fail(problem, name)


def _reals(node: OnnxNode, name: str) -> list[float]:
    """Return a list of floats from an attribute, or from a tensor attribute of doubles."""
    tensor = node.array(f"{name}_as_tensor")
    return list(node.floats(name) or []) if tensor is None else [float(each) for each in tensor.ravel()]


# ---- operators before version 5 ----


def _forest(node: OnnxNode, kind: str, targets: int) -> Forest:
    """Return the forest. `kind` is the prefix of the vote attributes: target or class."""
    trees, ids = node.ints("nodes_treeids", []), node.ints("nodes_nodeids", [])
    modes = node.strings("nodes_modes") or []
    known = {"BRANCH_" + mode: place for place, mode in enumerate(MODES[:-1])}
    strange = [mode for mode in modes if mode != "LEAF" and mode not in known]
    if strange or not len(trees) == len(ids) == len(modes) or not ids:
        raise node.fail(f"there are {len(ids)} nodes for {len(modes)} modes {sorted(set(strange))}", "nodes_modes")
    inner = [place for place, mode in enumerate(modes) if mode != "LEAF"]
    leaves = [place for place, mode in enumerate(modes) if mode == "LEAF"]
    index = {(trees[place], ids[place]): number for number, place in enumerate([*inner, *leaves])}
    features, splits = node.ints("nodes_featureids", []), _reals(node, "nodes_values")
    yes, no = node.ints("nodes_truenodeids", []), node.ints("nodes_falsenodeids", [])
    missing = node.ints("nodes_missing_value_tracks_true") or [0] * len(ids)
    _check_lengths(
        node, nodes_nodeids=ids, nodes_featureids=features, nodes_values=splits, nodes_truenodeids=yes,
        nodes_falsenodeids=no, nodes_missing_value_tracks_true=missing,
    )  # fmt: skip
    decisions = [
        Decision(
            features[place],
            splits[place],
            known[modes[place]],
            index.get((trees[place], yes[place]), -1),
            index.get((trees[place], no[place]), -1),
            bool(missing[place]),
        )
        for place in inner
    ]
    firsts = {tree: index[tree, number] for tree, number in reversed(list(zip(trees, ids, strict=True)))}
    columns = {f"{kind}_{name}": node.ints(f"{kind}_{name}", []) for name in ("treeids", "nodeids", "ids")}
    weights = _reals(node, f"{kind}_weights")
    _check_lengths(node, **columns, **{f"{kind}_weights": weights})
    *of_voters, targets_of = columns.values()
    given = zip(zip(*of_voters, strict=True), targets_of, weights, strict=True)
    cast = [(index[voter], target, weight) for voter, target, weight in given if voter in index]
    return _check_forest(node, Forest(decisions, len(leaves), list(firsts.values()), targets, cast))


def _with_base(node: OnnxNode, scores: Tensor, dtype: str) -> Tensor:
    base = _reals(node, "base_values")
    return relax.add(scores, const(base, dtype)) if base else scores


@register_onnx(_ML, "TreeEnsembleRegressor")
def tree_ensemble_regressor(node: OnnxNode) -> Outputs:
    aggregate = node.choice("aggregate_function", "SUM", _AGGREGATES)
    x, dtype = _data(node)
    forest = _forest(node, "target", node.int("n_targets", 1))
    scores = _with_base(node, votes(node, forest, x, aggregate, dtype), dtype)
    return cast(transformed(scores, post_transform(node)), "f32")


@register_onnx(_ML, "TreeEnsembleClassifier")
def tree_ensemble_classifier(node: OnnxNode) -> Outputs:
    labels, name = class_labels(node, "classlabels_int64s"), post_transform(node)
    x, dtype = _data(node)
    forest = _forest(node, "class", len(labels))
    voted = {target for _, target, _ in forest.votes}
    scores = votes(node, forest, x, "SUM", dtype)
    if len(labels) == 2 and len(voted) == 1:
        label, scores = _decide_one_class(node, scores, dtype, forest, labels, voted.pop())
    else:
        scores = _with_base(node, scores, dtype)
        label, scores = largest(scores, labels), transformed(scores, name)
    return [label, cast(scores, "f32")]


def _decide_one_class(
    node: OnnxNode, scores: Tensor, dtype: str, forest: Forest, labels: Labels, voted: int
) -> tuple[Tensor | Texts, Tensor]:
    """Return the label and scores if all votes are for one of two classes.

    Votes are probabilities if none is negative, else margins of the second class. As in onnxruntime, votes for the
    first class count as votes for the second, except where the result has a second score.
    """
    base = _reals(node, "base_values")
    score = relax.strided_slice(scores, axes=[1], begin=[voted], end=[voted + 1])
    score = relax.add(score, const([base[-1]], dtype)) if base else score
    is_share = all(weight >= 0 for _, _, weight in forest.votes)
    label, name = above(score, 0.5 if is_share else 0.0, labels), post_transform(node)
    if voted == 1 and not base:
        return label, transformed(scores, name)
    return label, two_classes(score, name, is_share)


# ---- since version 5 ----


@register_onnx(_ML, "TreeEnsemble", since=5)
def tree_ensemble(node: OnnxNode) -> Outputs:
    aggregate, name = node.int("aggregate_function", 1), node.int("post_transform", 0)
    if not 0 <= aggregate < len(_AGGREGATES) or not 0 <= name < len(_TRANSFORMS):
        raise node.fail(f"there is no aggregate function {aggregate} or no transform {name}")
    x, dtype = _data(node)
    scores = votes(node, _read_numbered_forest(node), x, _AGGREGATES[aggregate], dtype)
    return cast(transformed(scores, _TRANSFORMS[name]), node.value(0).dtype)


def _read_numbered_forest(node: OnnxNode) -> Forest:
    """Return the forest. The model numbers nodes and leaves separately; here, leaves come after the nodes."""
    features, modes = node.ints("nodes_featureids", []), [int(element) for element in _elements(node, "nodes_modes")]
    splits = _elements(node, "nodes_splits")
    count = len(features)
    if not count or len(modes) != count or not all(0 <= mode < len(MODES) for mode in modes):
        raise node.fail(
            f"there are {count} nodes for {len(modes)} modes, which are 0 to {len(MODES) - 1}", "nodes_modes"
        )
    yes, no = (_children(node, way, count) for way in ("true", "false"))
    missing = node.ints("nodes_missing_value_tracks_true") or [0] * count
    _check_lengths(node, nodes_featureids=features, nodes_splits=splits, nodes_missing_value_tracks_true=missing)
    sets = _sets(node, modes)
    decisions = [
        Decision(features[place], float(splits[place]), modes[place], yes[place], no[place], bool(missing[place]),
                 next(sets) if MODES[modes[place]] == "MEMBER" else ())
        for place in range(count)
    ]  # fmt: skip
    targets, weights = node.ints("leaf_targetids", []), _elements(node, "leaf_weights")
    _check_lengths(node, leaf_weights=weights, leaf_targetids=targets)
    cast = [
        (count + leaf, target, float(weight))
        for leaf, (target, weight) in enumerate(zip(targets, weights, strict=True))
    ]
    forest = Forest(decisions, len(targets), node.ints("tree_roots", []), node.int("n_targets", 1), cast)
    return _check_forest(node, forest)


def _elements(node: OnnxNode, name: str) -> Sequence[float]:
    if (tensor := node.array(name)) is None:
        raise node.fail(f"has no attribute '{name}'", name)
    elements: Sequence[float] = tensor.ravel().tolist()
    return elements


def _children(node: OnnxNode, way: str, count: int) -> list[int]:
    columns = {f"nodes_{way}{name}": node.ints(f"nodes_{way}{name}", []) for name in ("leafs", "nodeids")}
    _check_lengths(node, nodes_featureids=range(count), **columns)
    are_leaves, places = columns.values()
    return [count + place if is_leaf else place for is_leaf, place in zip(are_leaves, places, strict=True)]


def _sets(node: OnnxNode, modes: Sequence[int]) -> Iterator[tuple[float, ...]]:
    """Return the sets of the membership nodes in order. Each set ends with NaN."""
    tensor = node.array("membership_values")
    values = [] if tensor is None else tensor.ravel().tolist()
    ends = [place for place, value in enumerate(values) if value != value]
    sets = [tuple(values[start + 1 : end]) for start, end in itertools.pairwise([-1, *ends])]
    wanted = sum(MODES[mode] == "MEMBER" for mode in modes)
    if len(sets) != wanted:
        raise node.fail(f"there are {len(sets)} sets for {wanted} membership nodes", "membership_values")
    return iter(sets)


# ---- trees as arithmetic: each step moves all rows in all trees from a node to a child ----


_COMPARISONS = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")
_MEMBER = MODES.index("MEMBER")
# Maximum size of a table of votes. Larger tables are refused by the limits of the import.
_MOST_VOTES = 1 << 27


def leaves_reached(forest: Forest, x: Tensor) -> Tensor:
    """Return the leaf that each row [rows, features] of floats reaches in each tree: [rows, trees]."""
    import numpy

    dtype, table = info_of(x).dtype, _Table(forest)
    start = relax.zeros_like(part(x, 1, 0, 1), dtype="i64")
    place = relax.add(start, const(numpy.array([forest.roots], "int64")))
    for _ in range(forest.depth() or 0):
        value = relax.gather_elements(x, table.of("feature", place), axis=1)
        is_yes = relax.astype(_decide(forest, table, place, value, dtype), dtype="i64")
        child = relax.add(relax.multiply(place, const(2, "i64")), is_yes)
        place = relax.take(table.children(), child, axis=0)
    return place


class _Table:
    """Fields of nodes, as constants that are created once. Leaves lead to themselves."""

    def __init__(self, forest: Forest):
        self._forest = forest
        self._made: dict[str, Tensor] = {}

    def of(self, field: str, place: Tensor, dtype: str = "i64") -> Tensor:
        """Return a field of the nodes at these indices."""
        rest = [0] * self._forest.leaves
        values = [getattr(node, field) for node in self._forest.nodes]
        return relax.take(self._once(field, lambda: const([*values, *rest], dtype)), place, axis=0)

    def members(self, place: Tensor, dtype: str) -> Tensor:
        """Return the sets of the nodes at these indices, padded with NaN, which equals nothing."""
        most = max(len(node.members) for node in self._forest.nodes)
        rows = [[*node.members, *[float("nan")] * (most - len(node.members))] for node in self._forest.nodes]
        rest = [[float("nan")] * most] * self._forest.leaves
        return relax.take(self._once("members", lambda: const([*rows, *rest], dtype)), place, axis=0)

    def children(self) -> Tensor:
        """Return the children of each node, "no" first."""
        inner = [child for node in self._forest.nodes for child in (node.no, node.yes)]
        leaves = [place for place in range(len(self._forest.nodes), self._forest.size) for _ in range(2)]
        return self._once("children", lambda: const([*inner, *leaves], "i64"))

    def _once(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def _decide(forest: Forest, table: _Table, place: Tensor, value: Tensor, dtype: str) -> Tensor:
    """Check whether each row takes the "yes" branch at a node."""
    modes = sorted({node.mode for node in forest.nodes})
    decided: Any = None
    for mode in modes:
        if mode == _MEMBER:
            own = relax.expand_dims(value, axis=[2])
            held = relax.max(relax.astype(relax.equal(own, table.members(place, dtype)), dtype="i32"), axis=[2])
            answer = relax.astype(held, dtype="bool")
        else:
            answer = relax.dialect.ops[_COMPARISONS[mode]](value, table.of("split", place, dtype))
        is_mode = None if decided is None else relax.equal(table.of("mode", place), const(mode, "i64"))
        decided = answer if is_mode is None else relax.where(is_mode, answer, decided)
    if any(node.missing_is_yes for node in forest.nodes):
        is_yes = relax.astype(table.of("missing_is_yes", place), dtype="bool")
        decided = relax.logical_or(decided, relax.logical_and(is_yes, relax.isnan(value)))
    return decided


def votes(node: OnnxNode, forest: Forest, x: Tensor, aggregate: str, dtype: str) -> Tensor:
    """Return the votes of the leaves that rows [rows, features] reach, aggregated over the trees: [rows, targets]."""
    import numpy

    is_extreme = aggregate in ("MIN", "MAX")
    if not is_extreme and isinstance((info_of(x).shape or (None,))[-1], int):
        layout = layout_of(forest, MODES, _MOST_VOTES)
        if layout is not None:
            total = walked(node, layout, x, forest.targets, dtype)
            return total if aggregate == "SUM" else _mean(forest, total, dtype)
    leaves = leaves_reached(forest, x)
    absent = 0.0 if not is_extreme else numpy.inf if aggregate == "MIN" else -numpy.inf
    node.take_table("the votes of its leaves", forest.size, forest.targets)
    weights = numpy.full((forest.size, forest.targets), absent)
    for place, target, weight in forest.votes:
        before = weights[place, target]
        combined = {"MIN": min, "MAX": max}.get(aggregate, lambda one, other: one + other)
        weights[place, target] = combined(before, weight)
    given = relax.take(const(weights, dtype), leaves, axis=0)
    if not is_extreme:
        total = relax.sum(given, axis=[1])
        return total if aggregate == "SUM" else _mean(forest, total, dtype)
    extreme = relax.dialect.ops["min" if aggregate == "MIN" else "max"](given, axis=[1])
    return relax.where(relax.equal(extreme, const(absent, dtype)), const(0.0, dtype), extreme)


def _mean(forest: Forest, total: Tensor, dtype: str) -> Tensor:
    return relax.divide(total, const(float(len(forest.roots)), dtype))
