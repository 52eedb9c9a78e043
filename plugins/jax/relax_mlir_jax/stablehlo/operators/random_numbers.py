# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counter-based random bits: Threefry and Philox on 32-bit words, bit for bit as in XLA; and stateless random
numbers."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

from relax_mlir.dialects.core.infos import bit_width, is_float
from relax_mlir.frontends.core import random_numbers

from ..prelude import (
    HloNode,
    Outputs,
    Tensor,
    cast,
    const,
    info_of,
    joined,
    part,
    register_stablehlo,
    relax,
    wide_float,
)

Words = tuple[Tensor, Tensor]
#: Rotation distances in the rounds of Threefry.
_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
#: Philox's multipliers, and the increments of its key.
_FACTORS, _GROWTH = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


@register_stablehlo("stablehlo.rng_bit_generator")
def rng_bit_generator(node: HloNode) -> Outputs:
    """Draw bits. The state is the key, then the counter. The default algorithm is Philox, as on XLA's CPUs."""
    state, shape = node.tensor(0), node.static_shape(1)
    dtype = str(node.operation.results[1].type.element_type)
    if info_of(state).dtype != "ui64":
        raise node.fail("its state must be of ui64")
    draw = _threefry if node.attr("rng_algorithm") == "THREE_FRY" else _philox
    return draw(node, state, shape, dtype)


@register_stablehlo("stablehlo.rng")
def rng(node: HloNode) -> Outputs:
    """Draw uniform numbers between two bounds, or normal ones with a mean and a deviation.

    No generator is prescribed.
    """
    wide = wide_float(node.dtype) if is_float(node.dtype) else "f64"
    first, second = (cast(node.tensor(index), wide) for index in (0, 1))
    is_normal = node.attr("rng_distribution") == "NORMAL"
    draw = random_numbers.normal if is_normal else random_numbers.uniform
    drawn = draw(random_numbers.draw(), zlib.crc32(node.name.encode()), node.known_sizes(2), wide)
    if is_normal:
        return cast(relax.add(relax.multiply(drawn, second), first), node.dtype)
    made = relax.add(relax.multiply(drawn, relax.subtract(second, first)), first)
    if not is_float(node.dtype):
        return cast(relax.floor(made), node.dtype)
    return cast(relax.where(relax.less(made, second), made, first), node.dtype)  # rounding may reach the upper bound


def _word(number: int) -> Tensor:
    return const(number, "ui32")


def _halves(wide: Tensor) -> Words:
    """Return the low and the high word of 64-bit numbers."""
    high = relax.right_shift(wide, const(32, "ui64"))
    return cast(relax.bitwise_and(wide, const(0xFFFFFFFF, "ui64")), "ui32"), cast(high, "ui32")


def _whole(low: Tensor, high: Tensor) -> Tensor:
    return relax.bitwise_or(cast(low, "ui64"), relax.left_shift(cast(high, "ui64"), const(32, "ui64")))


def _narrow(words: Tensor, dtype: str) -> Tensor:
    bits = bit_width(dtype)
    return relax.bitcast(cast(words, f"ui{bits}"), dtype=dtype)


# ---- Threefry-2x32 ----


def _threefry(node: HloNode, state: Tensor, shape: Sequence[int], dtype: str) -> list[Tensor]:
    """Draw with Threefry: both words per count for 64 bits, otherwise the words of half as many counts in sequence."""
    key, counter = (part(state, 0, place, place + 1) for place in (0, 1))
    halved, axis = (list(shape), None) if bit_width(dtype) == 64 else _half_of(shape)
    count = math.prod(halved)
    counts = relax.add(counter, relax.arange(0, count, 1, dtype="ui64"))
    low, high = _threefry_words(_halves(counts), _halves(key))
    after = joined([key, relax.add(counter, const(count, "ui64"))])
    if axis is None:
        return [after, relax.bitcast(relax.reshape(_whole(low, high), tuple(shape)), dtype=dtype)]
    both = relax.stack([relax.reshape(each, tuple(halved)) for each in (low, high)], axis=axis + 1)
    both = relax.reshape(both, tuple(2 * size if place == axis else size for place, size in enumerate(halved)))
    made = relax.strided_slice(both, axes=[axis], begin=[0], end=[shape[axis] if shape else 1])
    return [after, relax.reshape(_narrow(made, dtype), tuple(shape))]


def _half_of(shape: Sequence[int]) -> tuple[list[int], int]:
    """Return the shape with the first even dimension halved, or the largest one, and that dimension."""
    if not shape:
        return [1], 0
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else max(range(len(shape)), key=lambda index: (shape[index], -index))
    return [-(-size // 2) if place == axis else size for place, size in enumerate(shape)], axis


def _threefry_words(inputs: Words, key: Words) -> Words:
    keys = [*key, relax.bitwise_xor(relax.bitwise_xor(key[0], key[1]), _word(_PARITY))]
    x, y = relax.add(inputs[0], keys[0]), relax.add(inputs[1], keys[1])
    for group in range(5):
        for turn in _TURNS[group % 2]:
            x = relax.add(x, y)
            y = relax.bitwise_xor(x, _rotate_bits(y, turn))
        x = relax.add(x, keys[(group + 1) % 3])
        y = relax.add(relax.add(y, keys[(group + 2) % 3]), _word(group + 1))
    return x, y


def _rotate_bits(x: Tensor, count: int) -> Tensor:
    return relax.bitwise_or(relax.left_shift(x, _word(count)), relax.right_shift(x, _word(32 - count)))


# ---- Philox-4x32 ----


def _philox(node: HloNode, state: Tensor, shape: Sequence[int], dtype: str) -> list[Tensor]:
    """Draw with Philox: four words per 128-bit count. One word of the state is the key."""
    length = info_of(state).shape
    size, wide = math.prod(shape), bit_width(dtype) == 64
    count = -(-(size * (2 if wide else 1)) // 4)
    key = part(state, 0, 0, 1)
    counter = part(state, 0, 1, 2)
    # XLA on CPUs draws with the key above a counter of 64 bits.
    upper = part(state, 0, 2, 3) if length == (3,) else key
    low = relax.add(counter, relax.arange(0, count, 1, dtype="ui64"))
    is_over = relax.less(low, counter)
    high = relax.add(cast(is_over, "ui64"), upper)
    drawn = _philox_words([*_halves(low), *_halves(high)], _halves(key))
    flat = relax.flatten(relax.stack(list(drawn), axis=1))
    after = _advance(state, count)
    if wide:
        pairs = relax.reshape(flat, (count * 2, 2))
        made = _whole(*(part(pairs, 1, place, place + 1, drop=True) for place in (0, 1)))
        bits = relax.bitcast(relax.strided_slice(made, axes=[0], begin=[0], end=[size]), dtype=dtype)
    else:
        bits = _narrow(relax.strided_slice(flat, axes=[0], begin=[0], end=[size]), dtype)
    return [after, relax.reshape(bits, tuple(shape))]


def _advance(state: Tensor, count: int) -> Tensor:
    """Return the state with an advanced counter, with a carry into its upper half if there is one."""
    counter = part(state, 0, 1, 2)
    moved = relax.add(counter, const(count, "ui64"))
    rest = []
    if (info_of(state).shape or ())[0] == 3:
        rest = [relax.add(part(state, 0, 2, 3), cast(relax.less(moved, counter), "ui64"))]
    return joined([part(state, 0, 0, 1), moved, *rest])


def _philox_words(words: Sequence[Tensor], key: Words) -> Sequence[Tensor]:
    a, b, c, d = words
    for _ in range(10):
        low_a, high_a = _halves(relax.multiply(cast(a, "ui64"), const(_FACTORS[0], "ui64")))
        low_c, high_c = _halves(relax.multiply(cast(c, "ui64"), const(_FACTORS[1], "ui64")))
        a, b, c, d = (
            relax.bitwise_xor(relax.bitwise_xor(high_c, b), key[0]),
            low_c,
            relax.bitwise_xor(relax.bitwise_xor(high_a, d), key[1]),
            low_a,
        )
        key = (relax.add(key[0], _word(_GROWTH[0])), relax.add(key[1], _word(_GROWTH[1])))
    return a, b, c, d
