# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows that slide over the spatial dimensions of a tensor: strides, dilation, padding, how many fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...core.opdef import Call
from ...core.symbols import Dim, ceildiv, dim_add, dim_floordiv, dim_max, dim_min, dim_mul, dim_sub


class Padding(NamedTuple):
    """Elements added at both ends of a dimension."""

    before: int
    after: int


def per_dimension(call: Call, name: str, count: int, minimum: int) -> tuple[int, ...]:
    """The entries of an attribute, one for each spatial dimension; a single one stands for all."""
    values = call.attributes[name]
    if len(values) not in (1, count):
        allowed = "1 entry" if count == 1 else f"1 or {count} entries"
        raise call.fail(f"{call.describe(name)} must have {allowed}, got {len(values)}")
    for value in values:
        call.require(value >= minimum, f"{call.describe(name)} must be {minimum} or more, got {value}")
    return each_dimension(values, count)


def each_dimension(values: Sequence[int], count: int) -> tuple[int, ...]:
    """One entry for each of so many dimensions; a single one stands for all."""
    return tuple(values) * (count if len(values) == 1 else 1)


def padding_of(values: Sequence[int], count: int) -> tuple[Padding, ...]:
    """The padding of each dimension, as attribute 'padding' gives it."""
    values = each_dimension(values, count)
    return tuple(map(Padding, values[:count], values[-count:]))


def paddings(call: Call, count: int) -> tuple[Padding, ...]:
    """Attribute 'padding': one entry for all sides, one per dimension, or all befores, then all afters."""
    values = call.padding
    lengths = sorted({1, count, 2 * count})
    if len(values) not in lengths:
        allowed = f"{', '.join(map(str, lengths[:-1]))} or {lengths[-1]} entries"
        raise call.fail(f"{call.describe('padding')} must have {allowed}, got {len(values)}")
    for value in values:
        call.require(value >= 0, f"{call.describe('padding')} must be 0 or more, got {value}")
    return padding_of(values, count)


def extent(size: Dim, dilation: int) -> Dim:
    """How many elements a window of `size` taps reaches over."""
    return dim_add(dim_mul(dim_sub(size, 1), dilation), 1)


def positions(call: Call, dimension: str, size: Dim, window: Dim, padding: Padding, stride: int) -> Dim:
    """How many windows fit into a padded dimension."""
    padded = dim_add(size, sum(padding))
    count = dim_floordiv(dim_add(dim_sub(padded, window), stride), stride)
    return _at_least_one(call, dimension, count, padded, window)


def covering_positions(call: Call, dimension: str, size: Dim, window: int, padding: Padding, stride: int) -> Dim:
    """How many windows cover a padded dimension: the last may reach over the end, but not start behind it.

    Where the padding behind is wider than the window, Relax leaves out one such window, not all.
    """
    padded = dim_add(size, sum(padding))
    count = dim_add(ceildiv(dim_sub(padded, window), stride), 1)
    if padding.after + stride > window:
        inside = dim_min(count, ceildiv(dim_add(size, padding.before), stride))
        count = inside if padding.after <= window else dim_max(inside, dim_sub(count, 1))
    return _at_least_one(call, dimension, count, padded, window)


def _at_least_one(call: Call, dimension: str, count: Dim, padded: Dim, window: Dim) -> Dim:
    if isinstance(count, int) and count < 1:
        raise call.fail(
            f"{call.describe('data')} is too small along {dimension}: a window is {window} wide, "
            f"the padded data {padded}"
        )
    return count
