# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of StableHLO: tensors (with complex numbers as pairs), tokens, tuples and quantized elements."""

from __future__ import annotations

import re
from typing import NamedTuple

from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.mlir import DYNAMIC, ir
from relax_mlir.dialects.core.infos import TensorInfo, is_dtype
from relax_mlir.frontends.core.node import Unsupported

_PARTS = {"complex<f32>": "f32", "complex<f64>": "f64"}


_QUANTIZED = re.compile(r"!quant\.uniform<([iu])(\d+)(?:<(-?\d+):(-?\d+)>)?:(\w+)(?::(\d+))?, *(.*)>$")


class StoredElements(NamedTuple):
    """Quantization parameters, for the whole tensor or for each index along an axis."""

    #: Type of the stored integers, and their range if it is not the range of the type.
    storage: str
    range: tuple[int, int] | None
    expressed: str
    axis: int
    scales: float | list[float]
    zero_points: int | list[int]


def quantized(type_: Type) -> StoredElements | None:
    """Return the quantization parameters of a tensor type, or None if its elements are not quantized."""
    match = _QUANTIZED.match(str(type_.element_type)) if is_tensor(type_) else None
    if match is None:
        return None
    sign, bits, low, high, expressed, axis, values = match.groups()
    pairs = [word.strip().partition(":") for word in values.strip("{}").split(",")]
    scales, zero_points = [float(pair[0]) for pair in pairs], [int(pair[2] or 0) for pair in pairs]
    return StoredElements(
        f"{'ui' if sign == 'u' else 'i'}{bits}",
        None if low is None else (int(low), int(high)),
        expressed,
        -1 if axis is None else int(axis),
        scales[0] if axis is None else scales,
        zero_points[0] if axis is None else zero_points,
    )


def is_tensor(type_: Type) -> bool:
    return isinstance(type_, ir.RankedTensorType)


def is_token(type_: Type) -> bool:
    return str(type_) == "!stablehlo.token"


def is_complex(type_: Type) -> bool:
    return is_tensor(type_) and str(type_.element_type) in _PARTS


def info_of(type_: Type) -> TensorInfo:
    """Return the type of a tensor; for complex numbers, the type of either part.

    A token is a tensor without elements.
    """
    if is_token(type_):
        return TensorInfo((0,), "i1")
    if not is_tensor(type_):
        raise Unsupported(f"{type_} is not a tensor")
    name = str(type_.element_type)
    stored = quantized(type_)
    dtype = _PARTS.get(name, name) if stored is None else stored.storage
    if not is_dtype(dtype):
        raise Unsupported(f"elements of type {name} are not supported")
    return TensorInfo(tuple(None if size == DYNAMIC else size for size in type_.shape), dtype)
