# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers, drawn anew each time that a node runs.

The n-th number of a draw is a hash of the node's seed, of a key that each draw of a loaded program has to itself, and
of n: so sizes may be any, and what computes it is like all other arithmetic, on every target.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

from ...core.sizes import Size, count_up, product, reshaped, sizes_of
from ...core.values import Array
from ..prelude import Node, Outputs, Tensor, cast, const, register_onnx, relax, wide_float

# SplitMix64: what it goes on by, and how it mixes bits: shifts to the right and factors by turns.
_STEP = 0x9E3779B97F4A7C15
_MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
# Of the 64 bits those that a float takes exactly.
_BITS = {"f32": 24, "f64": 53}
_MOST_OF_REFERENCE = 4096


def uniform(node: Node, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Floats (f32 or f64) from 0 to before 1."""
    key = _key()
    drawn = _fractions(_hashes(node, key, sizes), dtype)
    first = _of_reference(node, sizes)
    return drawn if first is None else relax.where(relax.equal(key, _word(0)), const(first, dtype), drawn)


def _of_reference(node: Node, sizes: Sequence[Size]) -> Array | None:
    """What ONNX's reference draws for a seed, which a program begins with, too, where few numbers are enough for that.

    Only of Dropout it is determined.
    """
    import numpy

    few = all(isinstance(size, int) for size in sizes) and math.prod(sizes) <= _MOST_OF_REFERENCE
    if node.op != "Dropout" or not node.has_attribute("seed") or not few:
        return None
    return numpy.random.RandomState(_seed(node) % 2**32).uniform(0.0, 1.0, tuple(sizes))


def normal(node: Node, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Floats (f32 or f64) around 0 with a deviation of 1, by Box and Muller."""
    hashes = _hashes(node, _key(), sizes)
    radius = _fractions(hashes, dtype)
    angle = _fractions(_mixed(relax.add(hashes, _word(_STEP))), dtype)
    # 1 - radius is never 0.
    squared = relax.multiply(relax.log(relax.subtract(const(1, dtype), radius)), const(-2, dtype))
    turned = relax.cos(relax.multiply(angle, const(2 * math.pi, dtype)))
    return relax.multiply(relax.sqrt(squared), turned)


def _key() -> Tensor:
    return cast(relax.scalar_to_tensor(relax.random_key()), "ui64")


def _hashes(node: Node, key: Tensor, sizes: Sequence[Size]) -> Tensor:
    """64 random bits for each element."""
    start = _mixed(relax.add(relax.multiply(key, _word(_STEP)), _word(_mixed_number(_seed(node)))))
    places = relax.multiply(cast(reshaped(count_up(product(sizes)), sizes), "ui64"), _word(_STEP))
    return _mixed(relax.add(places, start))


def _fractions(hashes: Tensor, dtype: str) -> Tensor:
    bits = _BITS[dtype]
    # The bits fit into a signed number, which targets convert fastest.
    taken = relax.astype(relax.right_shift(hashes, _word(64 - bits)), dtype="i64" if bits > 31 else "i32")
    return relax.multiply(relax.astype(taken, dtype=dtype), const(2.0**-bits, dtype))


def _mixed(bits: Tensor) -> Tensor:
    for shift, factor in _MIXING:
        bits = relax.bitwise_xor(bits, relax.right_shift(bits, _word(shift)))
        bits = bits if factor == 1 else relax.multiply(bits, _word(factor))
    return bits


def _mixed_number(bits: int) -> int:
    for shift, factor in _MIXING:
        bits = ((bits ^ (bits >> shift)) * factor) % 2**64
    return bits


def _word(number: int) -> Tensor:
    import numpy

    return const(numpy.uint64(number), "ui64")


def _seed(node: Node) -> int:
    """Without a seed one that differs from node to node, but not from import to import."""
    read = node.int if node.op == "Dropout" else node.float
    return int(_finite(node, "seed", read("seed", zlib.crc32(node.name.encode())))) % 2**64


def _finite(node: Node, name: str, value: float) -> float:
    if not math.isfinite(value):
        raise node.fail(f"attribute '{name}' must be a finite number, got {value}", name)
    return value


@register_onnx("", ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"])
def random(node: Node) -> Outputs:
    like = node.value(0) if node.op.endswith("Like") else None
    sizes = node.ints("shape", []) if like is None else sizes_of(like)
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise node.fail(f"attribute 'shape' ({sizes}) has a negative size", "shape")
    dtype = node.dtype("dtype", like.dtype if like else "f32")
    names = {"mean": 0.0, "scale": 1.0} if "Normal" in node.op else {"low": 0.0, "high": 1.0}
    first, second = (_finite(node, name, node.float(name, default)) for name, default in names.items())
    if "Normal" in node.op and second < 0:
        raise node.fail(f"attribute 'scale' must be 0 or more, got {second}", "scale")
    wide = wide_float(dtype)
    numbers, factor = (
        (normal(node, sizes, wide), second) if "Normal" in node.op else (uniform(node, sizes, wide), second - first)
    )
    return cast(relax.add(relax.multiply(numbers, const(factor, wide)), const(first, wide)), dtype)


@register_onnx("", "Bernoulli")
def bernoulli(node: Node) -> Outputs:
    """1 with the probability that the input gives, else 0."""
    dtype = node.value(0).dtype
    wide = wide_float(dtype)
    is_one = relax.less(uniform(node, sizes_of(node.value(0)), wide), cast(node.tensor(0), wide))
    return cast(is_one, node.dtype("dtype", dtype))


@register_onnx("", "Multinomial")
def multinomial(node: Node) -> Outputs:
    """Classes by the logarithms of their probabilities, which need not add up to 1."""
    count = node.int("sample_size", 1)
    if node.rank(0) != 2 or count < 0:
        raise node.fail(f"must draw 0 or more samples (not {count}) for each row of a matrix", "sample_size")
    batch = sizes_of(node.value(0))[0]
    total = product([batch, count])
    rows = relax.floor_divide(count_up(total), const(max(count, 1), "i64"))
    probabilities = relax.nn.softmax(relax.astype(node.tensor(0), dtype="f32"), axis=1)
    drawn = relax.multinomial_from_uniform(
        probabilities,
        uniform(node, [total, 1], "f32"),
        reshaped(rows, [total, 1]),
        dtype=node.dtype("dtype", "i32"),
    )
    return reshaped(drawn, [batch, count])
