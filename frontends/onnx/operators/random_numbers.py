# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of random numbers, which differ each time that a node runs."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

from ...core import random_numbers
from ...core.sizes import Size, count_up, product, reshaped, sizes_of
from ...core.values import Array
from ..prelude import OnnxNode, Outputs, Tensor, cast, const, register_onnx, relax, wide_float

_MOST_OF_REFERENCE = 4096


def uniform(node: OnnxNode, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Return floats (f32 or f64) from 0 up to but not including 1."""
    key = random_numbers.draw()
    drawn = random_numbers.uniform(key, _seed(node), sizes, dtype)
    if (first := _draw_like_reference(node, sizes)) is None:
        return drawn
    return relax.where(relax.equal(key, random_numbers.word(0)), const(first, dtype), drawn)


def _draw_like_reference(node: OnnxNode, sizes: Sequence[Size]) -> Array | None:
    """Return the numbers that ONNX's reference draws for Dropout's seed, or None.

    A program's first draw uses them, if there are few. ONNX defines the numbers only for Dropout.
    """
    import numpy

    few = all(isinstance(size, int) for size in sizes) and math.prod(sizes) <= _MOST_OF_REFERENCE
    if node.op != "Dropout" or not node.has_attribute("seed") or not few:
        return None
    return numpy.random.RandomState(_seed(node) % 2**32).uniform(0.0, 1.0, tuple(sizes))


def _seed(node: OnnxNode) -> int:
    """Return the seed. The default differs between nodes, but not between imports."""
    read = node.int if node.op == "Dropout" else node.float
    return int(_finite(node, "seed", read("seed", zlib.crc32(node.name.encode())))) % 2**64


def _finite(node: OnnxNode, name: str, value: float) -> float:
    if not math.isfinite(value):
        raise node.fail(f"attribute '{name}' must be a finite number, got {value}", name)
    return value


@register_onnx("", ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"])
def random(node: OnnxNode) -> Outputs:
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
        (random_numbers.normal(random_numbers.draw(), _seed(node), sizes, wide), second)
        if "Normal" in node.op
        else (uniform(node, sizes, wide), second - first)
    )
    return cast(relax.add(relax.multiply(numbers, const(factor, wide)), const(first, wide)), dtype)


@register_onnx("", "Bernoulli")
def bernoulli(node: OnnxNode) -> Outputs:
    """Convert Bernoulli: 1 with the probability in the input, else 0."""
    dtype = node.value(0).dtype
    wide = wide_float(dtype)
    is_one = relax.less(uniform(node, sizes_of(node.value(0)), wide), cast(node.tensor(0), wide))
    return cast(is_one, node.dtype("dtype", dtype))


@register_onnx("", "Multinomial")
def multinomial(node: OnnxNode) -> Outputs:
    """Convert Multinomial: draw classes by unnormalized logarithms of their probabilities."""
    count = node.int("sample_size", 1)
    if node.rank(0) != 2 or count < 0:
        raise node.fail(f"must draw 0 or more samples (not {count}) for each row of a matrix", "sample_size")
    batch = sizes_of(node.value(0))[0]
    total = product([batch, count])
    rows = relax.floor_divide(count_up(total), const(max(count, 1), "i64"))
    probabilities = relax.nn.softmax(relax.astype(node.tensor(0), dtype="f32"), axis=1)
    drawn = relax.multinomial_from_uniform(
        probabilities, uniform(node, [total, 1], "f32"), reshaped(rows, [total, 1]), dtype=node.dtype("dtype", "i32")
    )
    return reshaped(drawn, [batch, count])
