# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations and dropout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from .parameters import along_axis

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

_erfc = numpy.vectorize(math.erfc, otypes=[float])
_ROOT_2 = numpy.sqrt(numpy.longdouble(2))


@register_reference("relax.nn.relu")
def relu(call: object, x: ndarray) -> ndarray:
    return numpy.maximum(x, 0)


@register_reference("relax.nn.gelu")
def gelu(call: object, x: ndarray) -> ndarray:
    """Compute x * (1 + erf(x / sqrt(2))) / 2. With y = -x / sqrt(2), 1 + erf(-y) is erfc(y), which keeps its digits.

    For large y, erfc(y) amplifies the rounding of y beyond the precision of f64. A correction by the slope removes the
    error.
    """
    x = numpy.maximum(x, -1000)  # the result is 0 long before that, for -inf, too
    exact = -x / _ROOT_2
    y = exact.astype(float)
    rest = numpy.where(numpy.isfinite(y), exact - y, 0).astype(float)
    return x * (_erfc(y) - rest * 2 / math.sqrt(math.pi) * numpy.exp(-y * y)) / 2


@register_reference("relax.nn.gelu_tanh")
def gelu_tanh(call: object, x: ndarray) -> ndarray:
    """Compute x * (1 + tanh(y)) / 2. The factor (1 + tanh(y)) / 2 is sigmoid(2 y), which keeps its digits."""
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


@register_reference("relax.nn.selu")
def selu(call: object, x: ndarray) -> ndarray:
    return 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x))


@register_reference("relax.nn.silu")
def silu(call: object, x: ndarray) -> ndarray:
    return x * _sigmoid(x)


def _sigmoid(x: ndarray) -> ndarray:
    return 1 / (1 + numpy.exp(-x))


@register_reference("relax.nn.leakyrelu")
def leakyrelu(call: EvaluationCall, data: ndarray) -> ndarray:
    return numpy.where(data > 0, data, data * call.alpha)


@register_reference("relax.nn.prelu")
def prelu(call: EvaluationCall, data: ndarray, alpha: ndarray) -> ndarray:
    return numpy.where(data > 0, data, data * along_axis(alpha, call.axis, data))


@register_reference("relax.nn.softplus")
def softplus(call: EvaluationCall, data: ndarray) -> ndarray:
    scaled = data * call.beta
    return numpy.where(scaled > call.threshold, data, numpy.logaddexp(0, scaled) / call.beta)


@register_reference("relax.nn.softmax")
def softmax(call: EvaluationCall, data: ndarray) -> ndarray:
    """Compute exp(data) divided by its sum. Subtracting the maximum avoids overflow."""
    powers = numpy.exp(data - data.max(axis=call.axis, keepdims=True, initial=-numpy.inf))
    return powers / powers.sum(axis=call.axis, keepdims=True)


@register_reference("relax.nn.log_softmax")
def log_softmax(call: EvaluationCall, data: ndarray) -> ndarray:
    distances = data - data.max(axis=call.axis, keepdims=True, initial=-numpy.inf)
    return distances - numpy.log(numpy.exp(distances).sum(axis=call.axis, keepdims=True))


@register_reference("relax.nn.dropout")
def dropout(call: object, data: ndarray) -> list[ndarray]:
    """Return the data unchanged, as in inference, with a mask of ones."""
    return [data, numpy.ones_like(data)]
