# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transforms of scores of ai.onnx.ml models, and labels of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from relax_mlir.frontends.core.values import Texts
from relax_mlir.frontends.onnx.prelude import OnnxNode, Tensor, Value, const, like, relax


def post_transform(node: OnnxNode) -> str:
    """Return the attribute that names the transform of scores."""
    return node.choice("post_transform", "NONE", _TRANSFORMS)


def transformed(scores: Tensor, name: str) -> Tensor:
    """Return scores [rows, classes] after a transform."""
    return _TRANSFORMS[name](scores)


def _softmax_zero(scores: Tensor) -> Tensor:
    """Return the softmax, except that scores of 0 stay 0."""
    largest = relax.max(scores, axis=[1], keepdims=True)
    is_zero = relax.less_equal(relax.abs(scores), like(scores, 1e-7))
    small = relax.multiply(scores, relax.exp(relax.negative(largest)))
    powers = relax.where(is_zero, small, relax.exp(relax.subtract(scores, largest)))
    total = relax.sum(powers, axis=[1], keepdims=True)
    is_nothing = relax.equal(total, like(scores, 0.0))
    return relax.where(is_nothing, like(scores, 0.5), relax.divide(powers, total))


def _probit(scores: Tensor) -> Tensor:
    """Return the inverse of the normal distribution, by the approximation of erf's inverse that runtimes use."""
    a = 0.147
    x = relax.subtract(relax.multiply(scores, like(scores, 2.0)), like(scores, 1.0))
    logarithm = relax.log(relax.subtract(like(scores, 1.0), relax.square(x)))
    half = relax.add(relax.multiply(logarithm, like(scores, 0.5)), like(scores, 2 / (math.pi * a)))
    rest = relax.multiply(logarithm, like(scores, 1 / a))
    size = relax.sqrt(relax.subtract(relax.sqrt(relax.subtract(relax.square(half), rest)), half))
    signed = relax.where(relax.less(x, like(scores, 0.0)), relax.negative(size), size)
    return relax.multiply(signed, like(scores, math.sqrt(2)))


_TRANSFORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "NONE": lambda scores: scores,
    "SOFTMAX": lambda scores: relax.nn.softmax(scores, axis=-1),
    "LOGISTIC": lambda scores: relax.sigmoid(scores),
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


#: Labels of the classes: numbers or strings.
Labels: TypeAlias = Sequence[int] | Sequence[str]


def class_labels(node: OnnxNode, ints: str) -> Labels:
    """Return the labels of the classes, strings if there are any."""
    labels: Labels = node.strings("classlabels_strings") or node.ints(ints) or []
    if not labels:
        raise node.fail(f"has no labels ('{ints}' or 'classlabels_strings')", ints)
    return labels


def largest(scores: Tensor, labels: Labels) -> Tensor | Texts:
    """Return the label of each row's largest score, the first in case of ties."""
    return _label(relax.argmax(scores, axis=1), labels)


def above(scores: Tensor, limit: float, labels: Labels) -> Tensor | Texts:
    """Return the second label for rows with a score above the limit, else the first label."""
    is_above = relax.greater(relax.squeeze(scores, axis=[1]), like(scores, limit))
    return _label(relax.astype(is_above, dtype="i64"), labels)


def _label(places: Tensor, labels: Labels) -> Tensor | Texts:
    """Return the labels at indices."""
    if isinstance(labels[0], str):
        return Texts(Value(ssa=places), map(str, labels))
    return relax.take(const(labels, "i64"), places, axis=0)


def two_classes(score: Tensor, name: str, is_share: bool) -> Tensor:
    """Return the transformed scores of both classes from the only score [rows, 1].

    With `is_share`, the other score is 1 minus the score.
    """
    if name == "PROBIT":
        return transformed(score, name)
    opposite = relax.negative(score)
    if name == "LOGISTIC":
        return transformed(relax.concat([opposite, score], axis=1), name)
    if is_share:
        opposite = relax.add(opposite, like(score, 1.0))
    return relax.concat([opposite, score], axis=1)
