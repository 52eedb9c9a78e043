# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that reshape tensors, move their elements, or join tensors.

Missing operators are defined by passes/evaluate. Moved elements keep all bits, even if they are NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
from relax_mlir.bindings.affine import by_operators, value_of
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import HeldValue
from ..steps import require_same

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.reshape", stored=True)
def reshape(call: EvaluationCall, x: ndarray, shape: tuple[int, ...]) -> ndarray:
    require_same(x.size, math.prod(shape), "numbers of elements")
    return x.reshape(shape)


@register_reference("relax.flatten", stored=True)
def flatten(call: EvaluationCall, x: ndarray) -> ndarray:
    return x.reshape(-1)


@register_reference("relax.expand_dims", stored=True)
def expand_dims(call: EvaluationCall, x: ndarray) -> ndarray:
    return numpy.expand_dims(x, call.axis)


@register_reference("relax.squeeze", stored=True)
def squeeze(call: EvaluationCall, x: ndarray) -> ndarray:
    return numpy.squeeze(x, call.axis)


@register_reference("relax.broadcast_to", stored=True)
def broadcast_to(call: EvaluationCall, x: ndarray, shape: tuple[int, ...]) -> ndarray:
    return numpy.broadcast_to(x, shape)


@register_reference(["relax.collapse_sum_like", "relax.collapse_sum_to"])
def collapse_sum(call: EvaluationCall, data: ndarray, target: HeldValue) -> ndarray:
    shape = target if isinstance(target, tuple) else target.shape
    added = data.ndim - len(shape)
    if added < 0 or any(size not in (1, whole) for size, whole in zip(shape, data.shape[added:], strict=True)):
        raise ValueError(f"shape {shape} cannot be broadcast to {data.shape}")
    axes = [*range(added), *(axis for axis, size in enumerate(shape, added) if size == 1)]
    return data.sum(axis=tuple(axes)).astype(data.dtype).reshape(shape)


# ---- copies ----


@register_reference("relax.repeat", stored=True)
def repeat(call: EvaluationCall, data: ndarray) -> ndarray:
    return numpy.repeat(data, call.repeats, call.axis)


@register_reference("relax.layout_transform", stored=True)
def layout_transform(call: EvaluationCall, x: ndarray) -> ndarray:
    """Move elements by an affine map. Other positions receive the pad value, or 0 if it is unspecified."""
    expressions = list(call.index_map.value.results)
    found = numpy.full(call.result.shape, call.pad_value or 0, x.dtype)
    for point in numpy.ndindex(x.shape):
        found[tuple(value_of(expression, point.__getitem__, by_operators) for expression in expressions)] = x[point]
    return found


# ---- several tensors ----


@register_reference("relax.concat", stored=True)
def concat(call: EvaluationCall, tensors: Sequence[ndarray]) -> ndarray:
    return numpy.concatenate(tensors, call.axis)


@register_reference("relax.stack", stored=True)
def stack(call: EvaluationCall, tensors: Sequence[ndarray]) -> ndarray:
    return numpy.stack(tensors, call.axis)


@register_reference("relax.split", stored=True)
def split(call: EvaluationCall, x: ndarray) -> list[ndarray]:
    """Split a tensor. Equal sections are rounded up while there are elements: 5 in 4 sections is 2, 2, 1, 0."""
    size, sections = x.shape[call.axis], call.indices_or_sections
    if isinstance(sections, int):
        length = -(-size // sections)
        sections = [length * section for section in range(1, sections)]
    bounds = [0, *(min(index, size) for index in sections), size]
    return [x.take(range(begin, end), call.axis) for begin, end in itertools.pairwise(bounds)]


@register_reference("relax.meshgrid", stored=True)
def meshgrid(call: EvaluationCall, tensors: Sequence[ndarray]) -> list[ndarray]:
    return list(numpy.meshgrid(*tensors, indexing=call.indexing))
