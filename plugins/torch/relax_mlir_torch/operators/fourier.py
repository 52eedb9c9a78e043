# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of torch's three operators for Fourier transforms along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.frontends.core.complex_numbers import Pair, each_part
from relax_mlir.frontends.core.fourier import Transform, transformed_along

from ..prelude import Outputs, TorchNode, Value, const, info_of, register_torch, relax, sizes
from ..registry import register_complex
from .complex import pair

# Normalization: none (0), by the root of the number of elements, by the number of elements.
_BY_ROOT, _BY_NUMBER = 1, 2


def _transform_along(node: TorchNode, x: Pair, axis: int, transform: Transform) -> Pair:
    """Transform along a dimension, without normalization."""
    along = transformed_along(node, x, axis, transform)
    if not transform.inverse:
        return along
    return each_part(along, lambda part: relax.multiply(part, sizes.as_scalar(transform.length, info_of(part).dtype)))


def _normalize(node: TorchNode, x: Pair, lengths: Sequence[sizes.Size]) -> Pair:
    mode, count, dtype = node.int("normalization", 0), sizes.product(lengths), info_of(x.real).dtype
    if mode not in (_BY_ROOT, _BY_NUMBER):
        return x
    if isinstance(count, int):
        factor = const(1 / (math.sqrt(count) if mode == _BY_ROOT else count), dtype) if count else const(1, dtype)
    else:
        number = sizes.as_scalar(count, dtype)
        factor = relax.divide(const(1, dtype), relax.sqrt(number) if mode == _BY_ROOT else number)
    return Pair(*(None if each is None else relax.multiply(each, factor) for each in x))  # type: ignore[arg-type]


def _dims(node: TorchNode, x: Pair) -> tuple[list[int], list[sizes.Size]]:
    """Return the transformed dimensions, and the sizes of all dimensions."""
    own = sizes.sizes_of(Value(ssa=x.real))
    return [node.axis_of(number, len(own)) for number in node.ints("dim", ())], own


def _transform_complex(node: TorchNode, x: Pair, axes: Sequence[int], own: Sequence[sizes.Size], inverse: bool) -> Pair:
    for axis in axes:
        x = _transform_along(node, Pair(x.real, x.whole_imag), axis, Transform(own[axis], 2, inverse, False))
    return x


@register_torch("aten::_fft_c2c")
@register_complex("aten::_fft_c2c")
def complex_to_complex(node: TorchNode) -> Outputs:
    x = pair(node, 0)
    axes, own = _dims(node, x)
    made = _transform_complex(node, x, axes, own, inverse=not node.bool("forward", True))
    return _normalize(node, made, [own[axis] for axis in axes]).value()


@register_torch("aten::_fft_r2c")
@register_complex("aten::_fft_r2c")
def real_to_complex(node: TorchNode) -> Outputs:
    """Convert a transform of real numbers. The last listed dimension is the real one."""
    x = Pair(node.tensor(0, node.dtype), None)
    axes, own = _dims(node, x)
    made = _transform_along(node, x, axes[-1], Transform(own[axes[-1]], 1, False, node.bool("onesided")))
    made = _transform_complex(node, made, axes[:-1], own, inverse=False)
    return _normalize(node, made, [own[axis] for axis in axes]).value()


@register_torch("aten::_fft_c2r")
@register_complex("aten::_fft_c2r")
def complex_to_real(node: TorchNode) -> Outputs:
    """Convert a transform to real numbers. The last listed dimension has half of its elements and a stated size."""
    x = pair(node, 0)
    axes, own = _dims(node, x)
    length = node.size("last_dim_size")
    made = _transform_complex(node, x, axes[:-1], own, inverse=True)
    made = _transform_along(node, Pair(made.real, made.whole_imag), axes[-1], Transform(length, 2, True, True))
    return _normalize(node, made, [*(own[axis] for axis in axes[:-1]), length]).real
