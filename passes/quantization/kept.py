# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which dequantized constants stay as they are, for codegens and for products of whole numbers."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.navigation import defining_op, users_of
from ..scales.weights import CONVOLUTIONS

_DEQUANTIZE = "relax.dequantize"
_PRODUCTS = frozenset({"relax.matmul", "relax.einsum", *CONVOLUTIONS})


def multiplies_quantized(op: Operation) -> bool:
    """Whether a product or convolution is of dequantized numbers alone, so that it can be one of whole numbers."""
    return op.name in _PRODUCTS and all(defining_op(each, _DEQUANTIZE) is not None for each in op.operands)


def is_of_quantized_model(op: Operation) -> bool:
    """Whether it dequantizes something else than weights of products of real numbers, which are real ones, too."""
    users = users_of(op.results[0]) if op.name == _DEQUANTIZE else []
    return any(each.name not in _PRODUCTS or multiplies_quantized(each) for each in users)
