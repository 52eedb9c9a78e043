# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms: products with tables of sines and cosines, constant for known lengths, or radix stages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

from ...dialects import relax
from ...dialects.core.symbols import equal
from . import sizes
from .complex_numbers import Pair as Complex
from .node import Node
from .sizes import Size
from .tensors import cast, const, info_of, part, wide_float
from .values import Array, Tensor, Value


class Transform(NamedTuple):
    """Kind of a transform. `length` is the length of the signal in time; `parts` is 1 for real, 2 for complex data."""

    length: Size
    parts: int
    inverse: bool
    onesided: bool

    @property
    def outputs(self) -> int:
        return 1 if self.inverse and self.onesided else 2

    @property
    def given(self) -> Size:
        """Return the number of input elements that are used."""
        return self._half if self.inverse and self.onesided else self.length

    @property
    def made(self) -> Size:
        """Return the number of output elements."""
        return self._half if self.onesided and not self.inverse else self.length

    @property
    def _half(self) -> Size:
        return sizes.plus(sizes.divided(self.length, 2), 1)


def transformed_along(node: Node, x: Complex, axis: int, transform: Transform) -> Complex:
    """Transform a tensor along a dimension. Inverse transforms are divided by the length.

    The number of parts decides whether the input and the output are real or complex.
    """
    given = x if transform.parts == 2 else Complex(x.real, None)
    last = len(info_of(given.real).shape or ()) - 1
    order = [*(position for position in range(last + 1) if position != axis), axis]
    parts = [each if axis == last else relax.permute_dims(each, axes=order) for each in given if each is not None]
    size = sizes.sizes_of(Value(ssa=parts[0]))[-1]
    made = transformed(node, relax.stack(parts, axis=last + 1), size, transform)
    halves = [part(made, last + 1, place, place + 1, drop=True) for place in range(transform.outputs)]
    back = [order.index(index) for index in range(last + 1)]
    halves = [half if axis == last else relax.permute_dims(half, axes=back) for half in halves]
    return Complex(halves[0], halves[1] if len(halves) == 2 else None)


def transformed(node: Node, data: Tensor, size: Size, transform: Transform) -> Tensor:
    """Transform along the last dimension but one, of size `size`.

    The last dimension is the real and imaginary part.
    """
    dtype, parts = info_of(data).dtype, transform.parts
    used = _limit(size, transform.given)
    *lead, _, _ = sizes.sizes_of(Value(ssa=data))
    if used is not size:
        data = sizes.sliced(Value(ssa=data), {len(lead): (0, used, 1)})
    if isinstance(used, int) and isinstance(transform.length, int):
        if transform.outputs == 2 and goes_in_stages(transform.length, transform.parts == 2):
            return _transform_in_stages(data, used, transform)
        # Intermediate tables need memory too, hence the factor 8.
        node.take_table("the table of a Fourier transform", 8, used * parts, transform.made * transform.outputs)
        table = const(_known_table(used, transform), dtype)
    else:
        table = _table(used, transform, dtype)
    flat = sizes.reshaped(data, [*lead, sizes.times(used, parts)])
    return sizes.reshaped(relax.matmul(flat, table), [*lead, transform.made, transform.outputs])


def _transform_in_stages(data: Tensor, used: int, transform: Transform) -> Tensor:
    dtype, length = info_of(data).dtype, transform.length
    *lead, _, _ = sizes.sizes_of(Value(ssa=data))
    flat = sizes.reshaped(data, [sizes.product(lead), used, transform.parts])
    flat = cast(flat, wide_float(dtype))
    if used < length:
        flat = relax.nn.pad(flat, pad_width=[0, 0, 0, length - used, 0, 0])
    real, *imaginary = (relax.take(flat, const(part, "i64"), axis=2) for part in range(transform.parts))
    made = in_stages((real, imaginary[0] if imaginary else relax.zeros_like(real)), length, transform.inverse)
    result = relax.stack([*made], axis=2)
    if transform.made != length:
        result = relax.strided_slice(result, axes=[1], begin=[0], end=[transform.made])
    return sizes.reshaped(cast(result, dtype), [*lead, transform.made, 2])


def _limit(size: Size, given: Size) -> Size:
    """Return the number of elements that are used, or `size` itself if all are used."""
    if given is size or (sizes.is_known(size, given) and equal(size, given)):
        return size
    return sizes.smaller(size, given)


def _known_table(used: int, transform: Transform) -> Array:
    """Return the table from both parts of each element to both parts of each frequency."""
    import numpy

    length, inverse = transform.length, transform.inverse
    places = numpy.outer(numpy.arange(used), numpy.arange(transform.made)) % length
    turns = numpy.exp((2j if inverse else -2j) * math.pi * places / length)
    if inverse:
        turns = turns / length
    if inverse and transform.onesided:
        # In a one-sided spectrum, an element also represents its mirror image, unless it is its own mirror image.
        twice = [1.0 if place == 0 or 2 * place == length else 2.0 for place in range(used)]
        turns = turns * numpy.array(twice)[:, None]
    rows = numpy.stack([turns, 1j * turns], axis=1)[:, : transform.parts]
    columns = numpy.stack([rows.real, rows.imag], axis=-1)[..., : transform.outputs]
    return columns.reshape(used * transform.parts, transform.made * transform.outputs)


def _table(used: Size, transform: Transform, dtype: str) -> Tensor:
    """Return the same table as `_known_table` for dynamic lengths, computed in f64."""
    length = as_factor(transform.length)
    rows = relax.expand_dims(sizes.count_up(used), axis=[1])
    columns = relax.expand_dims(sizes.count_up(transform.made), axis=[0])
    whole = relax.astype(length, dtype="f64")
    # Reduce the integers modulo the length first: large products would lose digits as floats.
    places = relax.floor_mod(relax.multiply(rows, columns), length)
    turn = relax.divide(const(2 * math.pi if transform.inverse else -2 * math.pi, "f64"), whole)
    angle = relax.multiply(relax.astype(places, dtype="f64"), turn)
    real, imaginary = relax.cos(angle), relax.sin(angle)
    if transform.inverse:
        weight = relax.divide(_repeats(rows, length) if transform.onesided else const(1.0, "f64"), whole)
        real, imaginary = relax.multiply(real, weight), relax.multiply(imaginary, weight)
    pairs = [(real, imaginary), (relax.negative(imaginary), real)][: transform.parts]
    # One pair for the real part of the data, and one for the imaginary part.
    rows_of_parts = [relax.stack([*pair[: transform.outputs]], axis=2) for pair in pairs]
    table = relax.astype(relax.stack([*rows_of_parts], axis=1), dtype=dtype)
    return sizes.reshaped(table, [sizes.times(used, transform.parts), sizes.times(transform.made, transform.outputs)])


def _repeats(rows: Tensor, length: Size) -> Tensor:
    """Return how many spectrum elements each row represents: 2, or 1 if the row is its own mirror image."""
    is_own = relax.equal(relax.floor_mod(relax.multiply(rows, const(2, "i64")), length), const(0, "i64"))
    return relax.where(is_own, const(1.0, "f64"), const(2.0, "f64"))


def as_factor(size: Size) -> Tensor:
    """Return a size as an i64 tensor that broadcasts with any other."""
    return const(size, "i64") if isinstance(size, int) else sizes.as_tensor([size])


# ---- stages, one for each factor of the length; sums are in NumPy's order, so that signed zeros agree ----


# Between these lengths, a product with a table is faster.
_SHORT, _LONG = 32, 2048
_LARGEST_FACTOR = 13

#: Real and imaginary part of a tensor.
Pair = Sequence[Tensor]


def goes_in_stages(length: int, is_complex: bool) -> bool:
    """Return True if a transform uses stages. Short real transforms do not, because NumPy computes them differently."""
    return (1 < length < _SHORT and is_complex or length > _LONG) and max(_factors(length)) <= _LARGEST_FACTOR


def _factors(length: int) -> list[int]:
    """Return the factors of a length: at most one two in front, then fours, then odd primes."""
    factors = []
    while length % 4 == 0:
        factors.append(4)
        length //= 4
    if length % 2 == 0:
        factors.insert(0, 2)
        length //= 2
    factor = 3
    while length > 1:
        if factor * factor > length:
            factor = length
        while length % factor == 0:
            factors.append(factor)
            length //= factor
        factor += 2
    return factors


def in_stages(parts: Pair, length: int, inverse: bool) -> Pair:
    """Transform rows [rows, length] of f32 or f64."""
    dtype, sign, before = info_of(parts[0]).dtype, 1 if inverse else -1, 1
    for factor in _factors(length):
        behind = length // (before * factor)
        split = [relax.reshape(half, (-1, before, factor, behind)) for half in parts]
        taken = [tuple(part(half, 2, place, place + 1, drop=True) for half in split) for place in range(factor)]
        rotated = _apply_twiddles(_butterfly(taken, sign, dtype), before, behind, length, sign, dtype)
        before *= factor
        parts = _join(rotated, 0, length), _join(rotated, 1, length)
    return _scale(parts, 1 / length, dtype) if inverse else parts


def _join(pairs: Sequence[Pair], side: int, length: int) -> Tensor:
    return relax.reshape(relax.stack([*(pair[side] for pair in pairs)], axis=1), (-1, length))


def _apply_twiddles(pairs: Sequence[Pair], before: int, behind: int, length: int, sign: int, dtype: str) -> list[Pair]:
    """Multiply each part by its twiddle factors."""
    import numpy

    if behind == 1:
        return list(pairs)
    result = [pairs[0]]
    for number, (real, imaginary) in enumerate(pairs[1:], 1):
        angles = 2 * math.pi * number * before * numpy.arange(behind) / length
        cos, sin = const(numpy.cos(angles), dtype), const(sign * numpy.sin(angles), dtype)
        turned = (
            relax.subtract(relax.multiply(real, cos), relax.multiply(imaginary, sin)),
            relax.add(relax.multiply(real, sin), relax.multiply(imaginary, cos)),
        )
        result.append(turned)
    return result


def _butterfly(x: Sequence[Pair], sign: int, dtype: str) -> list[Pair]:
    """Return the discrete Fourier transform of the elements of `x`."""
    if len(x) == 2:
        return [_both("add", x[0], x[1]), _both("subtract", x[0], x[1])]
    if len(x) == 4:
        even, odd = _butterfly(x[::2], sign, dtype), _butterfly(x[1::2], sign, dtype)
        real, imaginary = odd[1]
        quarter = (relax.negative(imaginary), real) if sign > 0 else (imaginary, relax.negative(real))
        return [
            _both(operation, even[side], (odd[0], quarter)[side])
            for operation in ("add", "subtract")
            for side in (0, 1)
        ]
    half = range(1, (len(x) + 1) // 2)
    sums, differences = ([_both(operation, x[at], x[-at]) for at in half] for operation in ("add", "subtract"))
    result = [_sum([x[0], *sums])] * len(x)
    for number in half:
        angles = [2 * math.pi * number * at / len(x) for at in half]
        weighted = [_scale(each, math.cos(angle), dtype) for angle, each in zip(angles, sums, strict=True)]
        along = _sum([x[0], *weighted])
        across = [
            _scale(difference, sign * math.sin(angle), dtype)
            for angle, difference in zip(angles, differences, strict=True)
        ]
        total = _sum(across)
        side = relax.negative(total[1]), total[0]
        result[number], result[-number] = _both("add", along, side), _both("subtract", along, side)
    return result


def _sum(pairs: Sequence[Pair]) -> Pair:
    return reduce(partial(_both, "add"), pairs)


def _both(name: str, one: Pair, other: Pair) -> Pair:
    return relax.dialect.ops[name](one[0], other[0]), relax.dialect.ops[name](one[1], other[1])


def _scale(pair: Pair, factor: float, dtype: str) -> Pair:
    number = const(factor, dtype)
    return relax.multiply(pair[0], number), relax.multiply(pair[1], number)
