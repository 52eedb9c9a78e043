# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What models of ai.onnx.ml make of scores: transformed scores, and the labels of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...core.values import Texts
from ..prelude import Node, Tensor, Value, const, like, relax


def post_transform(node: Node) -> str:
    """The attribute that says what is done to scores."""
    return node.choice("post_transform", "NONE", _TRANSFORMS)


def transformed(scores: Tensor, name: str) -> Tensor:
    """Scores [rows, classes] after a transform."""
    return _TRANSFORMS[name](scores)


def _softmax_zero(scores: Tensor) -> Tensor:
    """As softmax, but scores of 0 stay 0."""
    largest = relax.max(scores, axis=[1], keepdims=True)
    is_zero = relax.less_equal(relax.abs(scores), like(scores, 1e-7))
    small = relax.multiply(scores, relax.exp(relax.negative(largest)))
    powers = relax.where(is_zero, small, relax.exp(relax.subtract(scores, largest)))
    total = relax.sum(powers, axis=[1], keepdims=True)
    is_nothing = relax.equal(total, like(scores, 0.0))
    return relax.where(is_nothing, like(scores, 0.5), relax.divide(powers, total))


def _probit(scores: Tensor) -> Tensor:
    """The inverse of the normal distribution, by the formula that runtimes have for the inverse of erf."""
    a = 0.147
    x = relax.subtract(relax.multiply(scores, like(scores, 2.0)), like(scores, 1.0))
    logarithm = relax.log(relax.subtract(like(scores, 1.0), relax.square(x)))
    half = relax.add(relax.multiply(logarithm, like(scores, 0.5)), like(scores, 2 / (math.pi * a)))
    rest = relax.multiply(logarithm, like(scores, 1 / a))
    root = relax.sqrt(relax.subtract(relax.square(half), rest))
    size = relax.sqrt(relax.subtract(root, half))
    signed = relax.where(relax.less(x, like(scores, 0.0)), relax.negative(size), size)
    return relax.multiply(signed, like(scores, math.sqrt(2)))


_TRANSFORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "NONE": lambda scores: scores,
    "SOFTMAX": lambda scores: relax.nn.softmax(scores, axis=-1),
    "LOGISTIC": lambda scores: relax.sigmoid(scores),
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


#: Of the classes: numbers or strings.
Labels: TypeAlias = Sequence[int] | Sequence[str]


def class_labels(node: Node, ints: str) -> Labels:
    """The labels of the classes, strings where there are some."""
    labels: Labels = node.strings("classlabels_strings") or node.ints(ints) or []
    if not labels:
        raise node.fail(f"has no labels ('{ints}' or 'classlabels_strings')", ints)
    return labels


def largest(scores: Tensor, labels: Labels) -> Tensor | Texts:
    """The label of the first of the largest scores of each row."""
    return _labelled(relax.argmax(scores, axis=1), labels)


def above(scores: Tensor, limit: float, labels: Labels) -> Tensor | Texts:
    """The second label where the only score of a row is above a limit, else the first."""
    flat = relax.squeeze(scores, axis=[1])
    is_above = relax.greater(flat, like(scores, limit))
    return _labelled(relax.astype(is_above, dtype="i64"), labels)


def _labelled(places: Tensor, labels: Labels) -> Tensor | Texts:
    """The labels at some places."""
    if isinstance(labels[0], str):
        return Texts(Value(ssa=places), map(str, labels))
    return relax.take(const(labels, "i64"), places, axis=0)


def two_classes(score: Tensor, name: str, is_share: bool) -> Tensor:
    """The scores of both classes, transformed, from the only one [rows, 1] there is; the other share is the rest."""
    if name == "PROBIT":
        return transformed(score, name)
    opposite = relax.negative(score)
    if name == "LOGISTIC":
        return transformed(relax.concat([opposite, score], axis=1), name)
    if is_share:
        opposite = relax.add(opposite, like(score, 1.0))
    return relax.concat([opposite, score], axis=1)
