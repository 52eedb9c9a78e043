# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters with one number per position along axes of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from ..steps import require_same

if TYPE_CHECKING:
    from numpy import ndarray


def along_axes(parameter: ndarray, axes: Sequence[int], data: ndarray, name: str) -> ndarray:
    """Reshape a parameter with these axes of the data, in this order, so that it broadcasts."""
    places = [axis % data.ndim for axis in axes]
    for size, axis in zip(parameter.shape, places, strict=True):
        require_same(size, data.shape[axis], f"{name} and the data along axis {axis}")
    ordered = parameter.transpose(numpy.argsort(places))
    return numpy.expand_dims(ordered, [axis for axis in range(data.ndim) if axis not in places])


def along_axis(values: ndarray, axis: int, data: ndarray) -> ndarray:
    """Reshape one value for all, or one per position along an axis of the data, so that they broadcast."""
    if values.size == 1:
        return values.reshape([1] * data.ndim)
    (size,) = values.shape
    slices = data.shape[axis] if data.ndim else 1
    if size != slices:
        raise ValueError(f"operands do not broadcast: sizes {size} and {slices} differ")
    shape = [1] * data.ndim
    shape[axis] = size
    return values.reshape(shape)
