# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of quantized numbers, which libraries of real numbers leave to the target."""

from __future__ import annotations

from ....bindings.ir import Operation
from ....passes.quantization.kept import multiplies_quantized


def refuse_quantized(product: Operation) -> str:
    """Why a product or convolution is left; empty for those of real numbers."""
    return "of quantized numbers the target makes a product of whole numbers" if multiplies_quantized(product) else ""
