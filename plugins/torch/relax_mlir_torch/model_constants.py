# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a model as constants of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.frontends.core.values import ComplexValue, Value
from relax_mlir.support.errors import ModelError

from .dtypes import array_of

if TYPE_CHECKING:
    import torch


def constant(tensor: torch.Tensor, name: str) -> Value | ComplexValue:
    """Return a tensor of the model as a constant. Its memory is shared; complex tensors are copied."""
    if tensor.is_complex():
        return ComplexValue(_constant(tensor.real, f"{name}.real"), _constant(tensor.imag, f"{name}.imag"))
    return _constant(tensor, name)


def _constant(tensor: torch.Tensor, name: str) -> Value:
    if hasattr(tensor, "placements"):
        raise ModelError(f"tensor '{name}' is divided among ranks, so it is an argument: from_torch(keep_params=True)")
    try:
        value = Value(array=array_of(tensor))
    except ModelError as error:
        raise ModelError(f"tensor '{name}': {error.message}") from None
    value.name = name
    return value
