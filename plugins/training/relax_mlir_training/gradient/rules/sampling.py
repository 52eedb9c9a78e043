# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of sampling between elements of images: formulas of positions and weights of the neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim, product
from relax_mlir.dialects.relax.values import dtype_of, shape_of
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, apply, cast, limited, relax, size_of
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..canonical_layouts import plain_layouts, turned
from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape
from ..reverse import gradients_at

#: The coefficient of cubic interpolation, as in PyTorch.
_ALPHA = -0.75


class _Tap(NamedTuple):
    """Element along a dimension: its index, which may be out of bounds, and its weight, if that is not 1."""

    at: Tensor
    share: Tensor | None


# ---- grid_sample ----


class _Sampling:
    """Positions that grid_sample reads along a dimension. Sizes are tensors without axes."""

    def __init__(self, call: GradientCall):
        self._call = call

    def taps(self, position: Tensor, size: Tensor) -> list[_Tap]:
        x, method = self._coordinate(position, size), self._call.method
        if method == "nearest":
            return [_Tap(apply("round", self._move_inside(x, size)), None)]
        if method == "bilinear":
            x = self._move_inside(x, size)
            base = apply("floor", x)
            return [_Tap(base, 1 - (x - base)), _Tap(base + 1.0, x - base)]
        x = x if self._call.padding_mode == "reflection" else limited(x, -4.0, size + 3.0)
        base = apply("floor", x)
        shares = _cubic(x - base)
        return [_Tap(self._move_inside(base + float(step), size), share) for step, share in enumerate(shares, -1)]

    def _coordinate(self, position: Tensor, size: Tensor) -> Tensor:
        if self._call.align_corners:
            return (position + 1.0) * ((size - 1.0) * 0.5)
        return (position + 1.0) * (size * 0.5) - 0.5

    def _move_inside(self, x: Tensor, size: Tensor) -> Tensor:
        last = size - 1.0
        if self._call.padding_mode == "zeros":
            return limited(x, -4.0, last + 4.0)
        return limited(self._reflected(x, size) if self._call.padding_mode == "reflection" else x, 0.0, last)

    def _reflected(self, x: Tensor, size: Tensor) -> Tensor:
        start, span = (0.0, size - 1.0) if self._call.align_corners else (-0.5, size)
        distance = apply("abs", x - start)
        # With one element the span may be 0, which must not be a divisor.
        times = apply("floor", distance / span.equals(0.0).where(1.0, span))
        rest = distance - times * span
        is_odd = (times - apply("floor", times * 0.5) * 2.0).equals(1.0)
        return is_odd.where(span - rest, rest) + start


def _cubic(part: Tensor) -> list[Tensor]:
    """Return the weights of the four neighbours."""

    def near(x: Tensor) -> Tensor:
        return ((_ALPHA + 2) * x - (_ALPHA + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((_ALPHA * x - 5 * _ALPHA) * x + 8 * _ALPHA) * x - 4 * _ALPHA

    return [far(part + 1.0), near(part), near(1 - part), far(2 - part)]


@register_gradient("relax.image.grid_sample", by_types=True)
def grid_sample(call: GradientCall) -> Sequence[Gradient]:
    layout = plain_layouts(call)["data"]
    order = layout.dimensions
    named = dict(zip(layout.text, known_shape(call, call.data, "its data"), strict=True))
    batch, channels = named["N"], named["C"]
    sizes = [named[letter] for letter in order[2:]]
    count, sampling = len(sizes), _Sampling(call)

    def forward(data: Value, grid: Value) -> Value:
        flat = relax.reshape(turned(data, layout.text, order), _shape(batch, channels, product(sizes)))
        parts = [relax.squeeze(part, axis=[1]) for part in relax.split(grid, count, axis=1)]
        # The grid's first coordinate belongs to the last dimension.
        pairs = zip(reversed(parts), sizes, strict=True)
        taps = [sampling.taps(Tensor(part), Tensor(size_of(size, dtype_of(part)))) for part, size in pairs]
        read = reduce(relax.add, [_read(flat, chosen, sizes) for chosen in itertools.product(*taps)])
        shape = known_shape(call, grid, "its grid")
        return turned(relax.reshape(read, _shape(batch, channels, *shape[2:])), order, layout.text)

    return gradients_at(call.operands, forward, call.gradient)


def _shape(*sizes: object) -> Value:
    return relax.shape_expr(dims=sizes)


def _read(data: Value, taps: Sequence[_Tap], sizes: Sequence[Dim]) -> Value:
    """Read images [batch, channels, positions] at indices, times the weights, with 0 out of bounds."""
    batch, channels, _ = shape_of(data) or ()
    lasts = [Tensor(size_of(size, dtype_of(tap.at.value))) - 1.0 for tap, size in zip(taps, sizes, strict=True)]
    limits = [limited(tap.at, 0.0, last) for tap, last in zip(taps, lasts, strict=True)]
    places = [relax.astype(limit.value, dtype="i64") for limit in limits]
    place = reduce(lambda total, each: relax.add(relax.multiply(total, each[0]), each[1]),
                   zip(map(size_of, sizes[1:]), places[1:], strict=True), places[0])  # fmt: skip
    are_inside = [tap.at.equals(limit).value for tap, limit in zip(taps, limits, strict=True)]
    share = relax.astype(reduce(relax.logical_and, are_inside), dtype=dtype_of(taps[0].at.value))
    share = reduce(relax.multiply, [tap.share.value for tap in taps if tap.share is not None], share)
    row = _shape(batch, 1, product((shape_of(place) or ())[1:]))
    index, share = relax.reshape(place, row), relax.reshape(share, row)
    everywhere = relax.broadcast_to(index, _shape(batch, channels, *(shape_of(index) or ())[2:]))
    read = relax.gather_elements(data, everywhere, axis=2)
    return relax.multiply(read, cast(share, dtype_of(data)))
