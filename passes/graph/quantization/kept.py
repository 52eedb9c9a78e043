# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dequantized constants that constant folding keeps, for codegens and for integer products."""

from __future__ import annotations

from ....bindings.ir import Operation
from ....bindings.navigation import defining_op, users_of
from ..scales.weights import CONVOLUTIONS

_DEQUANTIZE = "relax.dequantize"
_PRODUCTS = frozenset({"relax.matmul", "relax.einsum", *CONVOLUTIONS})


def multiplies_quantized(op: Operation) -> bool:
    """Check whether all operands of a product or convolution are dequantized. It can then become an integer product."""
    return op.name in _PRODUCTS and all(defining_op(operand, _DEQUANTIZE) is not None for operand in op.operands)


def is_of_quantized_model(op: Operation) -> bool:
    """Check for a dequantize that is more than decompression of weights for products of real numbers."""
    users = users_of(op.results[0]) if op.name == _DEQUANTIZE else []
    return any(user.name not in _PRODUCTS or multiplies_quantized(user) for user in users)
