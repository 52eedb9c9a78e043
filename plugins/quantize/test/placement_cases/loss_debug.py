# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of onnxruntime's test_qdq_loss_debug that compare tensors. The others test helpers of its own."""

from __future__ import annotations

from .case import Case
from .qdq import relus
from .recipes import ort

_SUITE = "onnxruntime test_qdq_loss_debug"
_PRODUCTS = """g (float[5,5] input) => (float[5,5] M, float[5,5] N, float[5,5] O)
    <float[5,5] P, float[5,5] Q, float[5,5] R, float[5,5] S> {
    T = Add(input, P) M = MatMul(T, Q) N = MatMul(T, R) O = MatMul(T, S) }"""

CASES = [
    relus(_SUITE, "activations"),
    relus(_SUITE, "weights"),
    Case(
        _SUITE, "weights per channel", _PRODUCTS, lambda: ort(x="i8", w="i8@channel symmetric"),
        {
            "input": "i8", "P": "i8", "T": "i8", "Q": "i8@channel", "R": "i8@channel", "S": "i8@channel",
            "M": "i8", "N": "i8", "O": "i8",
        },
    ),
]  # fmt: skip
