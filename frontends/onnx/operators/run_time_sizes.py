# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of tensors that may be unknown: numbers and expressions where the graph tells them, else tensors of one."""

from __future__ import annotations

from typing import Any

from ....bindings.mlir import ir
from ....dialects.core.infos import TensorInfo
from ....dialects.relax import dialect
from ..control.scf_regions import as_info
from ..values import Value, known

relax = dialect.ops


def size_along(tensor: Any, axis: int) -> Any:
    """A size as a tensor of one 64-bit integer."""
    sizes = relax["shape_to_tensor"](relax["shape_of"](tensor))
    place = axis % tensor.type.rank
    return relax["strided_slice"](sizes, axes=[0], begin=[place], end=[place + 1], assume_inbound=True)


def size_of(tensor: Any, axis: int) -> Any:
    """A size as a number or an expression; where only the run tells it, a tensor of one integer."""
    size = (Value(ssa=tensor).shape or ())[axis]
    return size_along(tensor, axis) if size is None else size


def is_run_time(size: Any) -> bool:
    return isinstance(size, ir.Value)


def as_tensor(size: Any) -> Any:
    return size if is_run_time(size) else known([size]).ssa


def times(size: Any, factor: int) -> Any:
    return relax["multiply"](size, known([factor]).ssa) if is_run_time(size) else size * factor


def reshaped(tensor: Any, *sizes: Any) -> Any:
    """A tensor under a new shape of such sizes."""
    if not any(is_run_time(size) for size in sizes):
        return relax["reshape"](tensor, sizes)
    shape = relax["concat"](*(as_tensor(size) for size in sizes), axis=0)
    made = relax["reshape"](tensor, relax["tensor_to_shape"](shape))
    known_sizes = tuple(None if is_run_time(size) else size for size in sizes)
    return as_info(made, TensorInfo(known_sizes, Value(ssa=tensor).dtype))


def zeros(dtype: str, *sizes: Any) -> Any:
    """A tensor of zeros of such sizes."""
    if not any(is_run_time(size) for size in sizes):
        return relax["zeros"](sizes, dtype=dtype)
    shape = relax["concat"](*(as_tensor(size) for size in sizes), axis=0)
    return relax["zeros"](relax["tensor_to_shape"](shape), dtype=dtype)
