# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of element types as the installed torch computes them."""

from __future__ import annotations

from functools import cache

from relax_mlir.dialects import relax
from relax_mlir.dialects.core.infos import bit_width, is_float
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.sizes import Size
from relax_mlir.frontends.core.tensors import cast as cast_plainly
from relax_mlir.frontends.core.tensors import info_of, like
from relax_mlir.frontends.core.values import Tensor, Value

#: The type to which conversions saturate since torch 2.13, also from infinities. Others overflow to infinity or NaN.
_SATURATING = "f8E4M3FN"
_LARGEST = 448.0


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """Convert the elements of a tensor to a type."""
    own = info_of(tensor).dtype
    if dtype != _SATURATING or own == dtype or not _saturates():
        return cast_plainly(tensor, dtype)
    x = tensor if is_float(own) and bit_width(own) > 8 else cast_plainly(tensor, "f32")
    largest, least = like(x, _LARGEST), like(x, -_LARGEST)
    # Comparisons pass NaN through.
    x = relax.where(relax.greater(x, largest), largest, relax.where(relax.less(x, least), least, x))
    return cast_plainly(x, dtype)


def as_scalar(value: bool | float | Size | Value, dtype: str) -> Tensor:
    """Return a number or a size as a 0-D tensor of a type."""
    if dtype == _SATURATING:
        return cast(sizes.as_scalar(value, "f32"), dtype)
    return sizes.as_scalar(value, dtype)


@cache
def _saturates() -> bool:
    import torch

    return bool(torch.tensor(2 * _LARGEST).to(torch.float8_e4m3fn).float() == _LARGEST)
