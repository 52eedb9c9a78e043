# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, vectors and tensors. For booleans, a product is the disjunction of conjunctions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import is_bool, is_float
from relax_mlir.passes.evaluate.references import register_reference

from .element_types import converted, wide_integer

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _factors(call: EvaluationCall, *operands: ndarray) -> list[ndarray]:
    """Convert operands to the accumulator type. 64-bit integers have the right low bits."""
    dtype = call.result.dtype
    if is_bool(dtype):
        return [converted(operand, dtype) for operand in operands]
    wide = float if is_float(dtype) else wide_integer(dtype)
    return [converted(operand, dtype).astype(wide) for operand in operands]


@register_reference("relax.matmul")
def matmul(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
    return numpy.matmul(*_factors(call, x1, x2))


@register_reference("relax.einsum")
def einsum(call: EvaluationCall, operands: Sequence[ndarray]) -> ndarray:
    return numpy.einsum(call.subscripts, *_factors(call, *operands))


@register_reference("relax.outer")
def outer(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
    return numpy.multiply.outer(*_factors(call, x1, x2))
