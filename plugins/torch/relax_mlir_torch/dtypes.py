# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of torch's element types and tensors to the dialects' and NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.support.errors import ModelError

if TYPE_CHECKING:
    import numpy

    import torch

# Types that torch and NumPy share.
_SHARED = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def dtype_of(dtype: torch.dtype) -> str:
    """Return the dialects' name of an element type. Raise ModelError for types that they do not have."""
    if (name := str(dtype).rpartition(".")[2]) not in DTYPE_BY_NAME:
        raise ModelError(f"tensors of {name} are not supported")
    return DTYPE_BY_NAME[name]


def dtype_of_parts(dtype: torch.dtype) -> str:
    """Return the dialects' name of an element type, or of the parts of a complex type."""
    return dtype_of(dtype.to_real() if dtype.is_complex else dtype)


def torch_dtype(name: str) -> torch.dtype:
    """Return torch's element type for a name of the dialects."""
    import torch

    numpys = next(key for key, mlir in DTYPE_BY_NAME.items() if mlir == name and hasattr(torch, key))
    dtype: torch.dtype = getattr(torch, numpys)
    return dtype


def array_of(tensor: torch.Tensor) -> numpy.ndarray:
    """Return a tensor's elements. Contiguous memory is not copied, so it must not change while the array is used."""
    import torch

    if tensor.device.type != "cpu":
        raise ModelError(f"it is on device '{tensor.device}': move the model to the CPU, model.cpu(), to import it")
    if tensor.layout is not torch.strided:
        raise ModelError(f"it has the layout {tensor.layout}: only strided tensors are supported")
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    storage = storage_dtype(dtype_of(plain.dtype))
    if plain.dtype in (torch.bool, torch.float16) or storage.name in _SHARED:
        array = plain.numpy()
    else:  # NumPy has no such type: use the bits.
        array = plain.view(getattr(torch, f"int{8 * plain.element_size()}")).numpy().view(storage)
    array = array.view()
    array.flags.writeable = False
    return array
