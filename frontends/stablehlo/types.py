# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of StableHLO: tensors, of complex numbers too, which are pairs here; tokens, tuples and quantized elements."""

from __future__ import annotations

from ...bindings.ir import Type
from ...bindings.mlir import DYNAMIC, ir
from ...dialects.core.infos import TensorInfo, is_dtype
from ..core.node import Unsupported

_PARTS = {"complex<f32>": "f32", "complex<f64>": "f64"}


def is_tensor(type_: Type) -> bool:
    return isinstance(type_, ir.RankedTensorType)


def is_token(type_: Type) -> bool:
    return str(type_) == "!stablehlo.token"


def is_complex(type_: Type) -> bool:
    return is_tensor(type_) and str(type_.element_type) in _PARTS


def info_of(type_: Type) -> TensorInfo:
    """What is known of a tensor; of complex numbers, of either part."""
    if not is_tensor(type_):
        raise Unsupported(f"{type_} is no tensor")
    name = str(type_.element_type)
    dtype = _PARTS.get(name, name)
    if not is_dtype(dtype):
        raise Unsupported(f"elements of type {name} are not supported")
    return TensorInfo(tuple(None if size == DYNAMIC else size for size in type_.shape), dtype)
