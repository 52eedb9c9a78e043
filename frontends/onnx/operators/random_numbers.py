# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers. They are drawn while a model is imported, so that a compiled program is a function of its inputs."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

from ..prelude import Node, Outputs, Tensor, cast, const, register_onnx, relax

# More are no constants of a model any more.
_MOST_NUMBERS = 1 << 26


def random_state(node: Node, shape: Sequence[Any] | None) -> tuple[Any, tuple[int, ...]]:
    """A generator for a node's seed, and the shape, whose sizes must be known."""
    import numpy

    if shape is None or not all(isinstance(size, int) for size in shape):
        raise node.fail("random numbers are drawn at import, where their shape must be known: give shapes=")
    if math.prod(shape) > _MOST_NUMBERS:
        raise node.fail(f"draws more than {_MOST_NUMBERS} random numbers at import: pass them as an input")
    # Without a seed one that differs from node to node, but not from import to import.
    read = node.int if node.op == "Dropout" else node.float
    seed = int(_finite(node, "seed", read("seed", zlib.crc32(node.name.encode()))))
    return numpy.random.RandomState(seed % 2**32), tuple(shape)


def _finite(node: Node, name: str, value: float) -> float:
    if not math.isfinite(value):
        raise node.fail(f"attribute '{name}' must be a finite number, got {value}", name)
    return value


@register_onnx("", ["RandomNormal", "RandomUniform"])
def random(node: Node) -> Outputs:
    return _drawn(node, node.ints("shape"), "f32")


@register_onnx("", ["RandomNormalLike", "RandomUniformLike"])
def random_like(node: Node) -> Outputs:
    return _drawn(node, node.value(0).shape, node.value(0).dtype)


def _drawn(node: Node, shape: Sequence[Any] | None, default: str) -> Tensor:
    state, sizes = random_state(node, shape)
    names = {"mean": 0.0, "scale": 1.0} if "Normal" in node.op else {"low": 0.0, "high": 1.0}
    first, second = (_finite(node, name, node.float(name, default)) for name, default in names.items())
    if "Normal" in node.op and second < 0:
        raise node.fail(f"attribute 'scale' must be 0 or more, got {second}", "scale")
    numbers = (state.normal if "Normal" in node.op else state.uniform)(first, second, sizes)
    return const(numbers, node.dtype("dtype", default))


@register_onnx("", "Bernoulli")
def bernoulli(node: Node) -> Outputs:
    """1 with the probability that the input gives, else 0."""
    dtype = node.value(0).dtype
    state, shape = random_state(node, node.value(0).shape)
    is_one = relax["less"](const(state.uniform(0.0, 1.0, shape), dtype), node.tensor(0))
    return cast(is_one, node.dtype("dtype", dtype))


@register_onnx("", "Multinomial")
def multinomial(node: Node) -> Outputs:
    """Classes by the logarithms of their probabilities, which need not add up to 1."""
    import numpy

    shape, count = node.value(0).shape, node.int("sample_size", 1)
    if node.rank(0) != 2 or count < 0:
        raise node.fail(f"must draw 0 or more samples (not {count}) for each row of a matrix", "sample_size")
    state, (batch, _) = random_state(node, shape)
    uniform = const(state.uniform(0.0, 1.0, (batch * count, 1)), "f32")
    rows = const(numpy.repeat(numpy.arange(batch), count).reshape(-1, 1), "i64")
    probabilities = relax["nn.softmax"](relax["astype"](node.tensor(0), dtype="f32"), axis=1)
    drawn = relax["multinomial_from_uniform"](probabilities, uniform, rows, dtype=node.dtype("dtype", "i32"))
    return relax["reshape"](drawn, (batch, count))
