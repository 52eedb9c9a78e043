# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sliding windows over the spatial dimensions of a tensor: strides, dilation, padding, number of positions."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.facts import Window
from ...core.opdef import Call
from ...core.symbols import Dim, ceildiv, dim_add, dim_floordiv, dim_max, dim_min, dim_sub
from .layouts import layouts_of, sizes_in_layout

# Attributes with an entry per dimension, and the smallest valid entry.
_MINIMA = {"strides": 1, "dilation": 1, "output_padding": 0}


def windows_of(call: Call) -> dict[str, Window]:
    """Return the windows over the dimensions that the operator's row names, by letter."""
    letters, source = call.definition.windows
    count = len(letters)
    if source in call.attributes:
        taps: Sequence[Dim] = each_dimension(call.attributes[source], count)
    else:
        layout = layouts_of(call)[source]
        sizes = dict(zip(layout.dimensions, sizes_in_layout(call, source, layout), strict=True))
        taps = [sizes[letter] for letter in letters]
    strides, gaps = (each_dimension(call.attributes.get(name, (1,)), count) for name in ("strides", "dilation"))
    padding = each_dimension(call.attributes.get("padding", (0,)), count)
    columns = zip(letters, taps, strides, gaps, padding[:count], padding[-count:], strict=True)
    return {letter: Window(*each) for letter, *each in columns}


def check_windows(call: Call) -> None:
    """Raise OpProblem for attributes that do not describe windows over this number of dimensions."""
    letters, source = call.definition.windows
    for name, minimum in {source: 1, **_MINIMA}.items():
        if name in call.attributes:
            per_dimension(call, name, len(letters), minimum)
    _check_padding(call, len(letters))


def per_dimension(call: Call, name: str, count: int, minimum: int) -> tuple[int, ...]:
    """Return the entries of an attribute, one per spatial dimension. A single entry applies to all."""
    values = call.attributes[name]
    if len(values) not in (1, count):
        allowed = "1 entry" if count == 1 else f"1 or {count} entries"
        raise call.fail(f"{call.describe(name)} must have {allowed}, got {len(values)}")
    for value in values:
        call.require(value >= minimum, f"{call.describe(name)} must be {minimum} or more, got {value}")
    return each_dimension(values, count)


def each_dimension(values: Sequence[int], count: int) -> tuple[int, ...]:
    """Return one entry per dimension. A single entry applies to all."""
    return tuple(values) * (count if len(values) == 1 else 1)


def _check_padding(call: Call, count: int) -> None:
    """Check attribute 'padding': one entry for all sides, one per dimension, or all befores, then all afters."""
    values = call.attributes.get("padding", (0,))
    lengths = sorted({1, count, 2 * count})
    if len(values) not in lengths:
        allowed = f"{', '.join(map(str, lengths[:-1]))} or {lengths[-1]} entries"
        raise call.fail(f"{call.describe('padding')} must have {allowed}, got {len(values)}")
    for value in values:
        call.require(value >= 0, f"{call.describe('padding')} must be 0 or more, got {value}")


def positions(call: Call, dimension: str, size: Dim, window: Window) -> Dim:
    """Return the number of windows that fit into a padded dimension."""
    padded = dim_add(size, window.before + window.after)
    count = dim_floordiv(dim_add(dim_sub(padded, window.reach), window.stride), window.stride)
    return _check_window_count(call, dimension, count, padded, window)


def covering_positions(call: Call, dimension: str, size: Dim, window: Window) -> Dim:
    """Return the number of windows that cover a padded dimension.

    The last may exceed the end, but not start behind it.

    If the padding behind is wider than the window, Relax omits one such window, not all.
    """
    padded, reach = dim_add(size, window.before + window.after), window.reach
    count = dim_add(ceildiv(dim_sub(padded, reach), window.stride), 1)
    if window.after + window.stride > reach:
        inside = dim_min(count, ceildiv(dim_add(size, window.before), window.stride))
        count = inside if window.after <= reach else dim_max(inside, dim_sub(count, 1))
    return _check_window_count(call, dimension, count, padded, window)


def _check_window_count(call: Call, dimension: str, count: Dim, padded: Dim, window: Window) -> Dim:
    if isinstance(count, int) and count < 1:
        raise call.fail(
            f"{call.describe('data')} is too small along {dimension}: a window is {window.reach} wide, "
            f"the padded data {padded}"
        )
    return count
