# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values, which are tuples of sizes, and scalars as tensors."""

from __future__ import annotations

from typing import Any

import numpy

from ..registry import register_reference, register_step
from ..sites import Site, Step


@register_step("relax.match_cast")
def match_cast(site: Site) -> Step:
    """The machine compares it with its type, as it does all results, and learns the symbols."""
    return lambda frame, value: [value]


@register_reference("relax.shape_of")
def shape_of(call: Any, x: Any) -> Any:
    return [x.shape]


@register_reference("relax.tensor_to_shape")
def tensor_to_shape(call: Any, x: Any) -> Any:
    if (x < 0).any():
        raise ValueError(f"a size cannot be negative: {x.tolist()}")
    return [tuple(x.tolist())]


@register_reference("relax.shape_to_tensor")
def shape_to_tensor(call: Any, shape: Any) -> Any:
    return numpy.array(shape, numpy.int64)


@register_reference("relax.scalar_to_tensor")
def scalar_to_tensor(call: Any, value: Any) -> Any:
    return numpy.asarray(value)


@register_reference("relax.size")
def size(call: Any, x: Any) -> Any:
    return numpy.int64(x.size)
