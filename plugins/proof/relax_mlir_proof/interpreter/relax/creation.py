# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation of tensors from shapes and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import HeldValue
from .element_types import converted

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

# The shape is the result's: from an operand, numbers, or another tensor.


@register_reference(["relax.full", "relax.full_like"])
def full(call: EvaluationCall, like: HeldValue, fill_value: ndarray) -> ndarray:
    return numpy.broadcast_to(converted(fill_value, call.result.dtype), _shape(like))


@register_reference(["relax.zeros", "relax.zeros_like"])
def zeros(call: EvaluationCall, like: HeldValue) -> ndarray:
    return converted(numpy.zeros(_shape(like)), call.result.dtype)


@register_reference(["relax.ones", "relax.ones_like"])
def ones(call: EvaluationCall, like: HeldValue) -> ndarray:
    return converted(numpy.ones(_shape(like)), call.result.dtype)


def _shape(like: HeldValue) -> tuple[int, ...]:
    return like if isinstance(like, tuple) else like.shape


@register_reference("relax.arange")
def arange(call: EvaluationCall, start: ndarray, end: ndarray, step: ndarray) -> ndarray:
    """Return a range, exact for integers. Otherwise element i is start + i * step."""
    _require(step != 0, "the step must not be zero")
    if all(array.dtype.kind != "f" for array in (start, end, step)):
        return converted(numpy.array(list(range(int(start), int(end), int(step))), numpy.int64), call.result.dtype)
    steps = numpy.ceil((end - start) / step)
    _require(steps < 2.0**63, "the steps lead nowhere, or there are more of them than a tensor can have")
    return converted(start + numpy.arange(max(0, int(steps))) * step, call.result.dtype)


@register_reference("relax.eye")
def eye(call: EvaluationCall, n: ndarray, m: ndarray, k: ndarray) -> ndarray:
    return converted(numpy.eye(_size(n, "n"), _size(m, "m"), int(k)), call.result.dtype)


@register_reference("relax.eye_like")
def eye_like(call: EvaluationCall, x: ndarray, k: ndarray) -> ndarray:
    rows, columns = x.shape
    return converted(numpy.eye(rows, columns, int(k)), call.result.dtype)


def _size(number: ndarray, name: str) -> int:
    _require(number >= 0, f"{name} must not be negative, got {number}")
    return int(number)


@register_reference("relax.tril", stored=True)
def tril(call: EvaluationCall, x: ndarray, k: ndarray) -> ndarray:
    return numpy.where(_distance(x) <= k, x, x.dtype.type(0))


@register_reference("relax.triu", stored=True)
def triu(call: EvaluationCall, x: ndarray, k: ndarray) -> ndarray:
    return numpy.where(_distance(x) >= k, x, x.dtype.type(0))


def _distance(x: ndarray) -> ndarray:
    """Return the distance of each matrix element from the main diagonal, positive to the right."""
    rows, columns = x.shape[-2:]
    return numpy.arange(columns) - numpy.arange(rows)[:, None]


@register_reference("relax.one_hot")
def one_hot(call: EvaluationCall, indices: ndarray, on_value: ndarray, off_value: ndarray) -> ndarray:
    """Return a one-hot tensor. An index out of bounds, also a negative one, yields off_value everywhere."""
    axis = call.axis % (indices.ndim + 1)
    places = numpy.arange(call.depth).reshape(-1, *[1] * (indices.ndim - axis))
    return numpy.where(numpy.expand_dims(indices, axis) == places, on_value, off_value)


@register_reference("relax.hamming_window")
def hamming_window(
    call: EvaluationCall, window_size: ndarray, periodic: ndarray, alpha: ndarray, beta: ndarray
) -> ndarray:
    """Return a Hamming window. A window of one element is 1."""
    if (count := _size(window_size, "window_size")) == 1:
        return numpy.ones(1)
    return alpha - beta * numpy.cos(2 * numpy.pi * numpy.arange(count) / (count if periodic else count - 1))


def _require(holds: ndarray, message: str) -> None:
    if not holds:
        raise ValueError(message)
