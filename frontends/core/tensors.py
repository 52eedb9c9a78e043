# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common tensor operations of converters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects import relax
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo
from ...dialects.core.known import folding
from ...dialects.relax import const as const_in_graph
from ...dialects.relax.constants import as_array
from ...dialects.relax.known_constants import NUMPY_NAME
from .values import Tensor, Value


def info_of(tensor: Tensor) -> TensorInfo:
    """Return the type of a tensor in the graph."""
    info = decode(tensor.type)
    assert isinstance(info, TensorInfo)
    return info


def const(value: object, dtype: str | None = None) -> Any:
    """Return a constant tensor, as relax.const does. During folding, return a known tensor."""
    if folding.get() is None:
        return const_in_graph(value, dtype)
    array, name = as_array(value, dtype)
    return Value(array=array) if name in NUMPY_NAME else const_in_graph(array, name)


def like(tensor: Tensor, number: float) -> Tensor:
    """Return a number in the element type of a tensor."""
    return const(number, info_of(tensor).dtype)


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """Cast a tensor to an element type, unless it has that type already."""
    return tensor if info_of(tensor).dtype == dtype else relax.astype(tensor, dtype=dtype)


def wide_float(dtype: str) -> str:
    """Return the float type to compute in, for element types that are too narrow or are not floats."""
    return "f64" if dtype == "f64" else "f32"


def any_of(tensor: Tensor, axis: Sequence[int], keepdims: bool = False) -> Tensor:
    """Return True where any boolean along the axes is True: relax.sum of booleans. False for empty axes."""
    return relax.sum(tensor, axis=list(axis), keepdims=keepdims)


def all_of(tensor: Tensor, axis: Sequence[int], keepdims: bool = False) -> Tensor:
    """Return True where all booleans along the axes are True: relax.prod of booleans. True for empty axes."""
    return relax.prod(tensor, axis=list(axis), keepdims=keepdims)


def from_front(places: Tensor, length: Tensor) -> Tensor:
    """Return positions counted from the front. Negative positions count from the end."""
    return relax.where(relax.less(places, like(places, 0)), relax.add(places, length), places)


def part(tensor: Tensor, axis: int, begin: int, end: int, drop: bool = False) -> Tensor:
    """Return a slice of a tensor along an axis. An axis of one element can be dropped."""
    taken = relax.strided_slice(tensor, axes=[axis], begin=[begin], end=[end], assume_inbound=True)
    return relax.squeeze(taken, axis=[axis]) if drop else taken


def joined(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    return tensors[0] if len(tensors) == 1 else relax.concat([*tensors], axis=axis)


def along_axis(tensor: Tensor, axis: int, rank: int) -> Tensor:
    """Append dimensions to a tensor, so that its last dimension becomes `axis` of `rank` dimensions."""
    behind = list(range(tensor.type.rank, tensor.type.rank + rank - 1 - axis))
    return relax.expand_dims(tensor, axis=behind) if behind else tensor


def with_first_at(tensor: Tensor, axis: int) -> Tensor:
    """Move the first dimension to another position."""
    rank = tensor.type.rank
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return tensor if axis % rank == 0 else relax.permute_dims(tensor, axes=order)
