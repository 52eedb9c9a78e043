# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers as functions have them: tensors of pairs, whose last dimension is the real and the imaginary part."""

from __future__ import annotations

from ...dialects import relax
from ..core.tensors import part
from ..core.values import ComplexValue, Tensor, Value


def of_pairs(pairs: Tensor) -> ComplexValue:
    """The complex numbers that a tensor of pairs stands for."""
    last = pairs.type.rank - 1
    real, imag = (Value(ssa=part(pairs, last, place, place + 1, drop=True)) for place in (0, 1))
    return ComplexValue(real, imag)


def in_pairs(held: ComplexValue) -> Tensor:
    """A tensor of pairs that stands for complex numbers."""
    real = held.real.ssa
    return relax.stack([real, held.imag.ssa], axis=real.type.rank)
