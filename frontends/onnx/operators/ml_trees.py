# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ensembles of decision trees (ai.onnx.ml)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ....dialects.relax import const, dialect
from ..graph_tensors import cast, wide_float
from ..node import Node
from ..registry import register_onnx
from ..values import Outputs, Tensor
from .ml_forest import MODES, Forest, leaves_reached, votes
from .ml_forest import Node as Decision
from .ml_scores import above, class_labels, largest, post_transform, transformed, two_classes

relax = dialect.ops

_ML = "ai.onnx.ml"
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _data(node: Node) -> tuple[Tensor, str]:
    """The data [rows, features], as floats."""
    x, wide = node.tensor(0), wide_float(node.value(0).dtype)
    return cast(x if node.rank(0) == 2 else relax["expand_dims"](x, axis=[0]), wide), wide


def _checked(node: Node, forest: Forest) -> Forest:
    problem = forest.problem()
    features = (node.value(0).shape or (None,))[-1]
    most = max((each.feature for each in forest.nodes), default=0)
    if isinstance(features, int) and most >= features:
        problem = f"a node decides by feature {most}, but there are {features}"
    if problem:
        raise node.fail(problem)
    return forest


def _reals(node: Node, name: str) -> list[float]:
    """A list of floats, which may be a tensor of doubles."""
    tensor = node.array(f"{name}_as_tensor")
    return list(node.floats(name) or []) if tensor is None else [float(each) for each in tensor.ravel()]


# ---- the operators before version 5 ----


def _forest(node: Node, kind: str, targets: int) -> Forest:
    """`kind` is the first word of the attributes of votes: target or class."""
    trees, ids = _column(node, "nodes_treeids"), _column(node, "nodes_nodeids")
    modes = node.strings("nodes_modes") or []
    known = {"BRANCH_" + mode: place for place, mode in enumerate(MODES[:-1])}
    strange = [mode for mode in modes if mode != "LEAF" and mode not in known]
    if strange or not len(trees) == len(ids) == len(modes) or not ids:
        raise node.fail(f"there are {len(ids)} nodes for {len(modes)} modes {sorted(set(strange))}", "nodes_modes")
    inner = [place for place, mode in enumerate(modes) if mode != "LEAF"]
    leaves = [place for place, mode in enumerate(modes) if mode == "LEAF"]
    index = {(trees[place], ids[place]): number for number, place in enumerate([*inner, *leaves])}
    features, splits = _column(node, "nodes_featureids"), _reals(node, "nodes_values")
    yes, no = _column(node, "nodes_truenodeids"), _column(node, "nodes_falsenodeids")
    missing = node.ints("nodes_missing_value_tracks_true") or [0] * len(ids)
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
    voters = zip(_column(node, f"{kind}_treeids"), _column(node, f"{kind}_nodeids"), strict=True)
    given = zip(voters, _column(node, f"{kind}_ids"), _reals(node, f"{kind}_weights"), strict=True)
    cast = [(index[voter], target, weight) for voter, target, weight in given if voter in index]
    return _checked(node, Forest(decisions, len(leaves), list(firsts.values()), targets, cast))


def _column(node: Node, name: str) -> list[int]:
    return list(node.ints(name) or [])


def _with_base(node: Node, scores: Any, dtype: str) -> Any:
    base = _reals(node, "base_values")
    return relax["add"](scores, const(base, dtype)) if base else scores


@register_onnx(_ML, "TreeEnsembleRegressor")
def tree_ensemble_regressor(node: Node) -> Outputs:
    aggregate = node.choice("aggregate_function", "SUM", _AGGREGATES)
    x, dtype = _data(node)
    forest = _forest(node, "target", node.int("n_targets", 1))
    scores = _with_base(node, votes(forest, leaves_reached(forest, x), aggregate, dtype), dtype)
    return cast(transformed(scores, post_transform(node)), "f32")


@register_onnx(_ML, "TreeEnsembleClassifier")
def tree_ensemble_classifier(node: Node) -> Outputs:
    labels, name = class_labels(node, "classlabels_int64s", "classlabels_strings"), post_transform(node)
    x, dtype = _data(node)
    forest = _forest(node, "class", len(labels))
    voted = {target for _, target, _ in forest.votes}
    scores = votes(forest, leaves_reached(forest, x), "SUM", dtype)
    if len(labels) == 2 and len(voted) == 1:
        label, scores = _of_one_class(node, scores, dtype, forest, labels, voted.pop())
    else:
        scores = _with_base(node, scores, dtype)
        label, scores = largest(scores, labels), transformed(scores, name)
    return [label, cast(scores, "f32")]


def _of_one_class(
    node: Node, scores: Any, dtype: str, forest: Forest, labels: list[int], voted: int
) -> tuple[Any, Any]:
    """All votes are for one of two classes: shares where none is negative, else margins of the second class.

    As onnxruntime has it: votes for the first class are such votes too, but not where a second score is there.
    """
    base = _reals(node, "base_values")
    score = relax["strided_slice"](scores, axes=[1], begin=[voted], end=[voted + 1])
    score = relax["add"](score, const([base[-1]], dtype)) if base else score
    is_share = all(weight >= 0 for _, _, weight in forest.votes)
    label, name = above(score, 0.5 if is_share else 0.0, labels), post_transform(node)
    if voted == 1 and not base:
        return label, transformed(scores, name)
    return label, two_classes(score, name, is_share)


# ---- since version 5 ----


@register_onnx(_ML, "TreeEnsemble", since=5)
def tree_ensemble(node: Node) -> Outputs:
    aggregate, name = node.int("aggregate_function", 1), node.int("post_transform", 0)
    if not 0 <= aggregate < len(_AGGREGATES) or not 0 <= name < len(_TRANSFORMS):
        raise node.fail(f"there is no aggregate function {aggregate} or no transform {name}")
    x, dtype = _data(node)
    forest = _numbered_forest(node)
    scores = votes(forest, leaves_reached(forest, x), _AGGREGATES[aggregate], dtype)
    return cast(transformed(scores, _TRANSFORMS[name]), node.value(0).dtype)


def _numbered_forest(node: Node) -> Forest:
    """Nodes and leaves are numbered apart; here leaves come behind the nodes."""
    features, modes = _column(node, "nodes_featureids"), [int(each) for each in _elements(node, "nodes_modes")]
    splits = _elements(node, "nodes_splits")
    count = len(features)
    if not count or len(modes) != count or not all(0 <= mode < len(MODES) for mode in modes):
        raise node.fail(
            f"there are {count} nodes for {len(modes)} modes, which are 0 to {len(MODES) - 1}", "nodes_modes"
        )
    yes, no = (_children(node, way, count) for way in ("true", "false"))
    missing = node.ints("nodes_missing_value_tracks_true") or [0] * count
    sets = _sets(node, modes)
    decisions = [
        Decision(features[place], float(splits[place]), modes[place], yes[place], no[place], bool(missing[place]),
                 next(sets) if MODES[modes[place]] == "MEMBER" else ())
        for place in range(count)
    ]  # fmt: skip
    targets, weights = _column(node, "leaf_targetids"), _elements(node, "leaf_weights")
    cast = [
        (count + leaf, target, float(weight))
        for leaf, (target, weight) in enumerate(zip(targets, weights, strict=True))
    ]
    forest = Forest(decisions, len(targets), _column(node, "tree_roots"), node.int("n_targets", 1), cast)
    return _checked(node, forest)


def _elements(node: Node, name: str) -> Sequence[Any]:
    tensor = node.array(name)
    if tensor is None:
        raise node.fail(f"has no attribute '{name}'", name)
    elements: Sequence[Any] = tensor.ravel().tolist()
    return elements


def _children(node: Node, way: str, count: int) -> list[int]:
    are_leaves, places = _column(node, f"nodes_{way}leafs"), _column(node, f"nodes_{way}nodeids")
    return [count + place if is_leaf else place for is_leaf, place in zip(are_leaves, places, strict=True)]


def _sets(node: Node, modes: Sequence[int]) -> Iterator[tuple[float, ...]]:
    """The sets of the nodes that ask for members, one after the other; each ends with NaN."""
    tensor = node.array("membership_values")
    values = [] if tensor is None else tensor.ravel().tolist()
    ends = [place for place, value in enumerate(values) if value != value]
    sets = [tuple(values[start + 1 : end]) for start, end in itertools.pairwise([-1, *ends])]
    wanted = sum(MODES[mode] == "MEMBER" for mode in modes)
    if len(sets) != wanted:
        raise node.fail(f"there are {len(sets)} sets for {wanted} nodes that ask for members", "membership_values")
    return iter(sets)
