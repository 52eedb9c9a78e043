# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of tensors, as TensorRT takes them."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols import Dim


def mask(axes: Sequence[int]) -> int:
    """Axes as TensorRT takes them: a bit for each."""
    return sum(1 << axis for axis in axes)


def known(dims: Sequence[Dim]) -> tuple[int, ...]:
    """-1 for what is dynamic."""
    return tuple(dim if isinstance(dim, int) else -1 for dim in dims)
