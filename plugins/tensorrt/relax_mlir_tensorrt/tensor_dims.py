# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes and sizes of tensors in TensorRT's notation."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.core.symbols import Dim


def mask(axes: Sequence[int]) -> int:
    """Return axes as a bit mask."""
    return sum(1 << axis for axis in axes)


def known(dims: Sequence[Dim]) -> tuple[int, ...]:
    """Return sizes with -1 for each dynamic size."""
    return tuple(dim if isinstance(dim, int) else -1 for dim in dims)
