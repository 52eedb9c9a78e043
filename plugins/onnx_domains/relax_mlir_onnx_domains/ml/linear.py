# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of linear models and support vector machines (ai.onnx.ml)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.emit import loops
from relax_mlir.emit.numbers import Number, constant, select
from relax_mlir.frontends.core.control.scf_regions import truth
from relax_mlir.frontends.core.values import Array
from relax_mlir.frontends.onnx.operators.products import as_f32
from relax_mlir.frontends.onnx.prelude import OnnxNode, Outputs, Tensor, const, info_of, register_onnx, relax

from .scores import above, class_labels, largest, post_transform, transformed, two_classes

_ML = "ai.onnx.ml"


@register_onnx(_ML, "LinearRegressor")
def linear_regressor(node: OnnxNode) -> Outputs:
    return transformed(_products(node, node.int("targets", 1)), post_transform(node))


@register_onnx(_ML, "LinearClassifier")
def linear_classifier(node: OnnxNode) -> Outputs:
    """Convert LinearClassifier. A single row of coefficients for two classes belongs to the second class."""
    labels, name = class_labels(node, "classlabels_ints"), post_transform(node)
    rows = len(node.floats("intercepts") or labels)
    if rows not in (1, len(labels)) or (rows == 1 and len(labels) != 2):
        raise node.fail(f"there are coefficients for {rows} of {len(labels)} classes", "coefficients")
    scores = _products(node, rows)
    if rows > 1:
        return [largest(scores, labels), transformed(scores, name)]
    return [above(scores, 0.0, labels), two_classes(scores, name, is_share=True)]


def _products(node: OnnxNode, rows: int) -> Tensor:
    """Return the data times each row of coefficients, plus its intercept: [data, rows]."""
    import numpy

    coefficients, intercepts = node.floats("coefficients") or [], node.floats("intercepts")
    features = (node.value(0).shape or (None,))[-1]
    if rows < 1 or not coefficients or len(coefficients) % rows:
        raise node.fail(f"there are {len(coefficients)} coefficients for {rows} rows of them", "coefficients")
    table = numpy.array(coefficients, "float32").reshape(rows, -1).T
    if isinstance(features, int) and features != len(table):
        raise node.fail(f"there are {len(table)} coefficients for {features} features", "coefficients")
    x = as_f32(node)
    x = x if node.rank(0) == 2 else relax.expand_dims(x, axis=[0])
    product = relax.matmul(x, const(numpy.ascontiguousarray(table)))
    return relax.add(product, const(intercepts, "f32")) if intercepts else product


# ---- support vector machines ----


@register_onnx(_ML, "SVMRegressor")
def svm_regressor(node: OnnxNode) -> Outputs:
    """Convert SVMRegressor: a weighted sum of kernels with each support vector, or a linear model without vectors."""
    import numpy

    coefficients = numpy.array(node.floats("coefficients") or [], "float32")
    rho, count = node.floats("rho") or [0.0], node.int("n_supports", 0)
    x = as_f32(node)
    if count > 0:
        vectors = numpy.array(node.floats("support_vectors") or [], "float32")
        if len(coefficients) != count or len(vectors) % count:
            raise node.fail(f"there are {len(coefficients)} coefficients and {len(vectors)} numbers of vectors")
        x = _kernel(node, x, vectors.reshape(count, -1))
    score = relax.add(relax.matmul(x, const(coefficients.reshape(-1, 1))), const(rho[0], "f32"))
    if node.int("one_class", 0):
        is_within = relax.greater(score, const(0.0, "f32"))
        score = relax.where(is_within, const(1.0, "f32"), const(-1.0, "f32"))
    return transformed(score, post_transform(node))


def _kernel(node: OnnxNode, x: Tensor, vectors: Array) -> Tensor:
    """Return the kernel between each row and each vector: [rows, vectors]."""
    import numpy

    kind = node.choice("kernel_type", "LINEAR", ("LINEAR", "POLY", "RBF", "SIGMOID"))
    parameters = node.floats("kernel_params") or [0.0, 0.0, 0.0]
    if len(parameters) < 3:
        raise node.fail(f"must be gamma, coef0 and degree, got {parameters}", "kernel_params")
    gamma, shift, degree = parameters[:3]
    product = relax.matmul(x, const(numpy.ascontiguousarray(vectors.T)))
    if kind == "LINEAR":
        return product
    if kind == "RBF":
        # Subtract before squaring: expanded squares would lose digits.
        rows = relax.expand_dims(x, axis=[1])
        distance = relax.sum(relax.square(relax.subtract(rows, const(vectors))), axis=[2])
        return relax.exp(relax.multiply(distance, const(-gamma, "f32")))
    scaled = relax.add(relax.multiply(product, const(gamma, "f32")), const(shift, "f32"))
    return relax.power(scaled, const(degree, "f32")) if kind == "POLY" else relax.tanh(scaled)


@register_onnx(_ML, "SVMClassifier")
def svm_classifier(node: OnnxNode) -> Outputs:
    """Convert SVMClassifier. Each pair of classes has a score, positive for its first class.

    The label is the class with the most votes.
    """
    import numpy

    labels, name = class_labels(node, "classlabels_ints"), post_transform(node)
    coefficients, rho = numpy.array(node.floats("coefficients") or [], "float32"), node.floats("rho") or []
    counts = node.ints("vectors_per_class") or []
    if sum(counts) == 0:
        if not rho or not coefficients.size or coefficients.size % len(labels):
            raise node.fail(f"there are {coefficients.size} coefficients and {len(rho)} values of 'rho'")
        table = coefficients.reshape(len(labels), -1).T
        product = relax.matmul(as_f32(node), const(numpy.ascontiguousarray(table)))
        scores = relax.add(product, const(rho[0], "f32"))
        return [largest(scores, labels), transformed(scores, name)]
    if len(labels) < 2 or len(counts) != len(labels) or len(rho) != math.comb(len(labels), 2):
        raise node.fail(f"there are vectors for {len(counts)} of {len(labels)} classes and {len(rho)} values of 'rho'")
    vectors, count = numpy.array(node.floats("support_vectors") or [], "float32"), sum(counts)
    if min(counts) < 0 or vectors.size % count or coefficients.size != count * (len(labels) - 1):
        raise node.fail(f"there are {coefficients.size} coefficients and {vectors.size} numbers for {count} vectors")
    pairs = list(itertools.combinations(range(len(labels)), 2))
    node.take_table("the weights and votes of its pairs of classes", len(pairs), count + 2 * len(labels))
    vectors = vectors.reshape(count, -1)
    weights = _weights_of_pairs(coefficients.reshape(-1, count), counts, pairs)
    scores = relax.add(relax.matmul(_kernel(node, as_f32(node), vectors), const(weights)), const(rho, "f32"))
    label = largest(_votes(scores, pairs, len(labels)), labels)
    if node.floats("prob_a") or node.floats("prob_b"):
        scores = class_shares(node, scores, pairs, len(labels))
    elif len(pairs) == 1 and name != "PROBIT":
        scores = relax.concat([relax.negative(scores), scores], axis=1)
    return [label, transformed(scores, name)]


def _weights_of_pairs(coefficients: Array, counts: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Array:
    """Return the weight of each vector for each pair of classes.

    A class has a row of coefficients for each other class.
    """
    import numpy

    owners = numpy.repeat(numpy.arange(len(counts)), counts)
    columns = [
        numpy.where(owners == one, coefficients[other - 1], 0) + numpy.where(owners == other, coefficients[one], 0)
        for one, other in pairs
    ]
    return numpy.ascontiguousarray(numpy.stack(columns, axis=1), dtype="float32")


def _sides(pairs: Sequence[tuple[int, int]], classes: int) -> list[Tensor]:
    """Return one-hot rows [pairs, classes] of the first and the second class of each pair."""
    import numpy

    places = numpy.eye(classes, dtype="float32")
    return [const(numpy.stack([places[pair[side]] for pair in pairs])) for side in (0, 1)]


def _votes(scores: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """Return the number of pairs that each class wins."""
    first, second = _sides(pairs, classes)
    wins = relax.greater(scores, const(0.0, "f32"))
    losses = relax.astype(relax.logical_not(wins), dtype="f32")
    return relax.add(relax.matmul(relax.astype(wins, dtype="f32"), first), relax.matmul(losses, second))


# ---- probabilities of classes from probabilities of pairs: pairwise coupling by LIBSVM's iteration ----


# The iteration ends up to 0.005 away from its limit, so its steps must equal those in the reference implementation.
_LEAST_TURNS = 100
_PRECISION = 0.005
_LEAST_SHARE = 1e-7


def class_shares(node: OnnxNode, scores: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """Return the probabilities [rows, classes] of scores [rows, pairs], by a sigmoid for each pair."""
    slopes, offsets = (node.floats(name) or [] for name in ("prob_a", "prob_b"))
    if len(slopes) != len(pairs) or len(offsets) != len(pairs):
        counts = f"'prob_a' has {len(slopes)} numbers and 'prob_b' {len(offsets)}"
        raise node.fail(f"{counts}: {classes} classes need {len(pairs)} each, one for each pair", "prob_a")
    moved = relax.add(relax.multiply(scores, const(slopes, "f32")), const(offsets, "f32"))
    first = relax.clip(relax.sigmoid(relax.negative(moved)), min=_LEAST_SHARE, max=1 - _LEAST_SHARE)
    info = info_of(scores)
    assert info.shape is not None
    result = TensorInfo((info.shape[0], classes), "f32")
    shares, _ = node.call_tir(_couple_probabilities, [_quadratic(first, pairs, classes)], [result, result])
    return shares


def _quadratic(first: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """Return the quadratic form [rows, classes, classes] that the probabilities minimize.

    `first` are the probabilities of the first class of each pair.
    """
    import numpy

    sides = _sides(pairs, classes)
    second = relax.subtract(const(1.0, "f32"), first)
    diagonal = relax.add(relax.matmul(relax.square(second), sides[0]), relax.matmul(relax.square(first), sides[1]))
    others = relax.negative(relax.multiply(first, second))
    table = numpy.diag(numpy.arange(classes))
    for index, (one, other) in enumerate(pairs):
        table[one, other] = table[other, one] = classes + index
    return relax.take(relax.concat([diagonal, others], axis=1), const(table, "i64"), axis=1)


def _couple_probabilities(form: Tensor, shares: Tensor, slopes: Tensor) -> None:
    """Kernel that computes the probabilities of each row.

    `slopes` is scratch memory for the derivatives of the form.
    """
    rows, classes, _ = loops.sizes(form)
    assert isinstance(classes, int)
    loops.for_range(0, rows, lambda row: _Row(form, shares, slopes, row, classes).fill())


class _Row(NamedTuple):
    """One row of the memrefs, and the number of classes."""

    form: Tensor
    shares: Tensor
    slopes: Tensor
    row: Number
    classes: int

    def fill(self) -> None:
        loops.for_range(
            0, self.classes, lambda one: loops.store(self._real(1 / self.classes), self.shares, self.row, one)
        )

        def turn(_: object, is_open: Number) -> list[Number]:
            return loops.when(is_open, self._improve, lambda: is_open, [is_open.type])

        loops.for_range(0, max(_LEAST_TURNS, self.classes), turn, truth(True))

    def _improve(self) -> Number:
        """Do one iteration unless the probabilities are precise enough. Return True if they were not."""

        def derive(one: Number, value: Number) -> Number:
            slope = self._fold(
                lambda other, sum_: sum_ + self._load(self.form, one, other) * self._load(self.shares, other)
            )
            loops.store(slope, self.slopes, self.row, one)
            return value + self._load(self.shares, one) * slope

        value = self._fold(derive)
        error = self._fold(lambda one, most: _larger(most, _absolute(self._load(self.slopes, one) - value)))
        is_open = error >= _PRECISION / self.classes

        def sweep() -> None:
            self._fold(self._move, value)

        loops.when(is_open, sweep)
        return is_open

    def _move(self, one: Number, value: Number) -> Number:
        """Move one probability to the minimum of the form, and normalize all to sum 1. Return the form's new value."""
        curve, slope = self._load(self.form, one, one), self._load(self.slopes, one)
        step = (value - slope) / curve
        whole = step + 1.0
        loops.store(self._load(self.shares, one) + step, self.shares, self.row, one)

        def scale(other: Number) -> None:
            moved = self._load(self.slopes, other) + step * self._load(self.form, one, other)
            loops.store(moved / whole, self.slopes, self.row, other)
            loops.store(self._load(self.shares, other) / whole, self.shares, self.row, other)

        loops.for_range(0, self.classes, scale)
        return (value + step * (step * curve + slope * 2.0)) / whole / whole

    def _load(self, buffer: Tensor, *places: Number) -> Number:
        return loops.load(buffer, self.row, *places)

    def _fold(self, body: Callable[[Number, Number], Number], start: Number | None = None) -> Number:
        """Fold `result = body(class, result)` over the classes."""
        return loops.for_range(0, self.classes, body, self._real(0.0) if start is None else start)[0]

    def _real(self, value: float) -> Number:
        return constant(value, self.form.type.element_type)


def _absolute(x: Number) -> Number:
    return select(x < 0.0, -x, x)


def _larger(x: Number, y: Number) -> Number:
    return select(x < y, y, x)
