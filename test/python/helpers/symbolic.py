# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes with a symbol for each size, and their values for given symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import SymExpr, sym


def named(shape: Sequence[int], dtype: str = "f32", prefix: str = "d") -> tuple[TensorInfo, dict[str, int]]:
    """Return a tensor with the sizes d0, d1, ..., and the values for which it has the shape."""
    sizes = {f"{prefix}{axis}": size for axis, size in enumerate(shape)}
    return TensorInfo(tuple(map(sym, sizes)), dtype), sizes


def evaluated(info: TensorInfo, sizes: Mapping[str, int]) -> TensorInfo:
    """Return the tensor with values for its symbols. Unknown sizes stay unknown."""
    assert info.shape is not None
    return info.with_shape(dim.evaluate(sizes) if isinstance(dim, SymExpr) else dim for dim in info.shape)
