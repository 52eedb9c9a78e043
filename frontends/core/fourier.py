# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, most of them as products with tables of sines and cosines, constants where lengths are known."""

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
    """What is done. `length` is that of the signal in time; `parts` is 1 for real data, 2 for complex data."""

    length: Size
    parts: int
    inverse: bool
    onesided: bool

    @property
    def outputs(self) -> int:
        return 1 if self.inverse and self.onesided else 2

    @property
    def given(self) -> Size:
        """How many elements of the data count."""
        return self._half if self.inverse and self.onesided else self.length

    @property
    def made(self) -> Size:
        """How many elements the result has."""
        return self._half if self.onesided and not self.inverse else self.length

    @property
    def _half(self) -> Size:
        return sizes.plus(sizes.divided(self.length, 2), 1)


def transformed_along(node: Node, x: Complex, axis: int, transform: Transform) -> Complex:
    """A transform along a dimension, of a real tensor or to one as its parts say; inverse ones are divided by the
    length.
    """
    given = x if transform.parts == 2 else Complex(x.real, None)
    last = len(info_of(given.real).shape or ()) - 1
    order = [*(each for each in range(last + 1) if each != axis), axis]
    parts = [each if axis == last else relax.permute_dims(each, axes=order) for each in given if each is not None]
    size = sizes.sizes_of(Value(ssa=parts[0]))[-1]
    made = transformed(node, relax.stack(parts, axis=last + 1), size, transform)
    halves = [part(made, last + 1, place, place + 1, drop=True) for place in range(transform.outputs)]
    back = [order.index(each) for each in range(last + 1)]
    halves = [each if axis == last else relax.permute_dims(each, axes=back) for each in halves]
    return Complex(halves[0], halves[1] if len(halves) == 2 else None)


def transformed(node: Node, data: Tensor, size: Size, transform: Transform) -> Tensor:
    """The transform along the last dimension but one, of a size; the last holds real and imaginary part."""
    dtype, parts = info_of(data).dtype, transform.parts
    used = _used(size, transform.given)
    *lead, _, _ = sizes.sizes_of(Value(ssa=data))
    if used is not size:
        data = sizes.sliced(Value(ssa=data), {len(lead): (0, used, 1)})
    if isinstance(used, int) and isinstance(transform.length, int):
        if transform.outputs == 2 and goes_in_stages(transform.length, transform.parts == 2):
            return _transformed_in_stages(data, used, transform)
        # Some tables are on the way.
        node.take_table("the table of a Fourier transform", 8, used * parts, transform.made * transform.outputs)
        table = const(_known_table(used, transform), dtype)
    else:
        table = _table(used, transform, dtype)
    flat = sizes.reshaped(data, [*lead, sizes.times(used, parts)])
    return sizes.reshaped(relax.matmul(flat, table), [*lead, transform.made, transform.outputs])


def _transformed_in_stages(data: Tensor, used: int, transform: Transform) -> Tensor:
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


def _used(size: Size, given: Size) -> Size:
    """How many of the elements count; the size itself where all of them do."""
    if given is size or (sizes.is_known(size, given) and equal(size, given)):
        return size
    return sizes.smaller(size, given)


def _known_table(used: int, transform: Transform) -> Array:
    """From real and imaginary parts of each element to those of each frequency, one after the other."""
    import numpy

    length, inverse = transform.length, transform.inverse
    places = numpy.outer(numpy.arange(used), numpy.arange(transform.made)) % length
    turns = numpy.exp((2j if inverse else -2j) * math.pi * places / length)
    if inverse:
        turns = turns / length
    if inverse and transform.onesided:
        # Each but the first stands for its mirror image, too, where that is another.
        twice = [1.0 if place == 0 or 2 * place == length else 2.0 for place in range(used)]
        turns = turns * numpy.array(twice)[:, None]
    rows = numpy.stack([turns, 1j * turns], axis=1)[:, : transform.parts]
    columns = numpy.stack([rows.real, rows.imag], axis=-1)[..., : transform.outputs]
    return columns.reshape(used * transform.parts, transform.made * transform.outputs)


def _table(used: Size, transform: Transform, dtype: str) -> Tensor:
    """As `_known_table`, from dynamic lengths; made in f64."""
    length = as_factor(transform.length)
    rows = relax.expand_dims(sizes.count_up(used), axis=[1])
    columns = relax.expand_dims(sizes.count_up(transform.made), axis=[0])
    whole = relax.astype(length, dtype="f64")
    # Whole turns are left out while these are integers, or large products would cost digits.
    places = relax.floor_mod(relax.multiply(rows, columns), length)
    turn = relax.divide(const(2 * math.pi if transform.inverse else -2 * math.pi, "f64"), whole)
    angle = relax.multiply(relax.astype(places, dtype="f64"), turn)
    real, imaginary = relax.cos(angle), relax.sin(angle)
    if transform.inverse:
        weight = relax.divide(_repeats(rows, length) if transform.onesided else const(1.0, "f64"), whole)
        real, imaginary = relax.multiply(real, weight), relax.multiply(imaginary, weight)
    pairs = [(real, imaginary), (relax.negative(imaginary), real)][: transform.parts]
    # A pair each for the data's real and imaginary part.
    rows_of_parts = [relax.stack([*pair[: transform.outputs]], axis=2) for pair in pairs]
    table = relax.astype(relax.stack([*rows_of_parts], axis=1), dtype=dtype)
    return sizes.reshaped(table, [sizes.times(used, transform.parts), sizes.times(transform.made, transform.outputs)])


def _repeats(rows: Tensor, length: Size) -> Tensor:
    """How many elements each stands for: its mirror image, too, where that is another."""
    is_own = relax.equal(relax.floor_mod(relax.multiply(rows, const(2, "i64")), length), const(0, "i64"))
    return relax.where(is_own, const(1.0, "f64"), const(2.0, "f64"))


def as_factor(size: Size) -> Tensor:
    """A size as a tensor that goes with any other."""
    return const(size, "i64") if isinstance(size, int) else sizes.as_tensor([size])


# ---- in stages, one for each factor of the length; sums in numpy's order, so zeros keep its signs ----


# Between these a product with a table is faster.
_SHORT, _LONG = 32, 2048
_LARGEST_FACTOR = 13

#: The real and the imaginary part of a tensor.
Pair = Sequence[Tensor]


def goes_in_stages(length: int, is_complex: bool) -> bool:
    """Of short transforms those of complex data: for real ones numpy has another way."""
    return (1 < length < _SHORT and is_complex or length > _LONG) and max(_factors(length)) <= _LARGEST_FACTOR


def _factors(length: int) -> list[int]:
    """Fours, with a two in front where one is left, then odd primes."""
    found = []
    while length % 4 == 0:
        found.append(4)
        length //= 4
    if length % 2 == 0:
        found.insert(0, 2)
        length //= 2
    factor = 3
    while length > 1:
        if factor * factor > length:
            factor = length
        while length % factor == 0:
            found.append(factor)
            length //= factor
        factor += 2
    return found


def in_stages(parts: Pair, length: int, inverse: bool) -> Pair:
    """The transforms of rows [rows, length] of f32 or f64."""
    dtype, sign, before = info_of(parts[0]).dtype, 1 if inverse else -1, 1
    for factor in _factors(length):
        behind = length // (before * factor)
        split = [relax.reshape(half, (-1, before, factor, behind)) for half in parts]
        taken = [tuple(part(half, 2, place, place + 1, drop=True) for half in split) for place in range(factor)]
        made = _turned(_butterfly(taken, sign, dtype), before, behind, length, sign, dtype)
        before *= factor
        parts = _joined(made, 0, length), _joined(made, 1, length)
    return _scaled(parts, 1 / length, dtype) if inverse else parts


def _joined(pairs: Sequence[Pair], side: int, length: int) -> Tensor:
    return relax.reshape(relax.stack([*(pair[side] for pair in pairs)], axis=1), (-1, length))


def _turned(pairs: Sequence[Pair], before: int, behind: int, length: int, sign: int, dtype: str) -> list[Pair]:
    """Each part turned as far as its place in the whole asks for."""
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
    """The transform of as many elements as there are."""
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
        weighted = [_scaled(each, math.cos(angle), dtype) for angle, each in zip(angles, sums, strict=True)]
        along = _sum([x[0], *weighted])
        across = [_scaled(each, sign * math.sin(angle), dtype) for angle, each in zip(angles, differences, strict=True)]
        total = _sum(across)
        side = relax.negative(total[1]), total[0]
        result[number], result[-number] = _both("add", along, side), _both("subtract", along, side)
    return result


def _sum(pairs: Sequence[Pair]) -> Pair:
    return reduce(partial(_both, "add"), pairs)


def _both(name: str, one: Pair, other: Pair) -> Pair:
    return relax.dialect.ops[name](one[0], other[0]), relax.dialect.ops[name](one[1], other[1])


def _scaled(pair: Pair, factor: float, dtype: str) -> Pair:
    number = const(factor, dtype)
    return relax.multiply(pair[0], number), relax.multiply(pair[1], number)
