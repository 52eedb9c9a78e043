# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values, which are tuples of sizes, and scalars as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..sites import Site, Step
from ..steps import register_step

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_step("relax.match_cast")
def match_cast(site: Site) -> Step:
    """Return the value. The machine checks it against the result type and binds symbols, as for all results."""
    return lambda frame, value: [value]


@register_reference("relax.shape_of")
def shape_of(call: EvaluationCall, x: ndarray) -> list[tuple[int, ...]]:
    return [x.shape]


@register_reference("relax.tensor_to_shape")
def tensor_to_shape(call: EvaluationCall, x: ndarray) -> list[tuple[int, ...]]:
    if (x < 0).any():
        raise ValueError(f"a size cannot be negative: {x.tolist()}")
    return [tuple(x.tolist())]


@register_reference("relax.shape_to_tensor")
def shape_to_tensor(call: EvaluationCall, shape: ndarray) -> ndarray:
    return numpy.array(shape, numpy.int64)


@register_reference("relax.scalar_to_tensor")
def scalar_to_tensor(call: EvaluationCall, value: ndarray) -> ndarray:
    return numpy.asarray(value)


@register_reference("relax.size")
def size(call: EvaluationCall, x: ndarray) -> ndarray:
    return numpy.int64(x.size)
