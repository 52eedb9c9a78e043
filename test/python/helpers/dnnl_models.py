# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typical models for oneDNN: blocks of convolutions, layers of a transformer."""

from __future__ import annotations

from typing import Any

import numpy

from relax_mlir import relax


def floats(*shape: int, seed: int = 3, scale: float = 1.0) -> Any:
    return (numpy.random.default_rng(seed).normal(size=shape) * scale).astype("float32")


def convolved(x: Any, channels: int, inner: int, kernel: int, stride: int = 1, seed: int = 1) -> Any:
    weight = floats(channels, inner, kernel, kernel, seed=seed, scale=(inner * kernel * kernel) ** -0.5)
    y = relax.nn.conv2d(x, relax.const(weight), strides=stride, padding=kernel // 2)
    return relax.add(y, relax.const(floats(channels, 1, 1, seed=seed)))


def residual_block(x: Any, channels: int, inner: int = 0, stride: int = 1, seed: int = 1) -> Any:
    """Build a block of two convolutions, with a third one in the shortcut if channels or sizes change."""
    inner = inner or channels
    y = relax.nn.relu(convolved(x, channels, inner, 3, stride, seed))
    y = convolved(y, channels, channels, 3, seed=seed + 1)
    shortcut = x if inner == channels and stride == 1 else convolved(x, channels, inner, 1, stride, seed + 2)
    return relax.nn.relu(relax.add(y, shortcut))


def resnet18(x: Any) -> Any:
    y = relax.nn.max_pool2d(relax.nn.relu(convolved(x, 64, 3, 7, 2)), pool_size=3, strides=2, padding=1)
    inner = 64
    for number, channels in enumerate((64, 64, 128, 128, 256, 256, 512, 512)):
        y = residual_block(y, channels, inner, 1 if channels == inner else 2, seed=10 * number)
        inner = channels
    y = relax.reshape(relax.nn.adaptive_avg_pool2d(y, output_size=1), (-1, 512))
    return relax.add(relax.matmul(y, relax.const(floats(512, 1000, scale=0.05))), relax.const(floats(1000)))


def transformer_layer(
    x: Any, mask: Any, batch: Any, length: int = 6, width: int = 32, heads: int = 4, inner: int = 64
) -> Any:
    size = width // heads

    def dense(y: Any, rows: int, columns: int, seed: int) -> Any:
        weight = relax.const(floats(rows, columns, seed=seed, scale=rows**-0.5))
        return relax.add(relax.matmul(y, weight), relax.const(floats(columns, seed=seed)))

    def norm(y: Any, seed: int) -> Any:
        gamma, beta = (relax.const(floats(width, seed=each)) for each in (seed, seed + 1))
        return relax.nn.layer_norm(y, gamma, beta, axes=[-1])

    def split(y: Any) -> Any:
        return relax.permute_dims(relax.reshape(y, (batch, length, heads, size)), [0, 2, 1, 3])

    q, k, v = (split(dense(x, width, width, seed)) for seed in (1, 2, 3))
    scores = relax.multiply(relax.matmul(q, relax.permute_dims(k, [0, 1, 3, 2])), relax.const(size**-0.5))
    mixed = relax.matmul(relax.nn.softmax(relax.add(scores, mask)), v)
    joined = relax.reshape(relax.permute_dims(mixed, [0, 2, 1, 3]), (batch, length, width))
    y = norm(relax.add(dense(joined, width, width, 4), x), 5)
    return norm(relax.add(dense(relax.nn.gelu(dense(y, width, inner, 6)), inner, width, 7), y), 8)
