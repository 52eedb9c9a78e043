# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms as products with tables of sines and cosines, for lengths known before the model runs."""

from __future__ import annotations

import math
from typing import Any

from ....dialects.core.infos import is_float
from ....dialects.relax import const, dialect
from ..dtypes import dtype_of
from ..node import Node
from ..registry import register_onnx
from ..values import Value
from ..windows import info_of

relax = dialect.ops


@register_onnx("", "DFT")
def dft(node: Node) -> Any:
    rank = node.rank(0)
    axis = (node.int("axis", 1) if node.version < 20 else _number(node, 2, "axis", -2)) % rank
    size, parts = (node.value(0).shape or ())[axis], (node.value(0).shape or ())[-1]
    if not isinstance(size, int) or parts not in (1, 2):
        raise node.fail("the signal's length must be known before the model runs, and the last dimension be 1 or 2")
    inverse, onesided = bool(node.int("inverse", 0)), bool(node.int("onesided", 0))
    length = _number(node, 1, "dft_length", 2 * (size - 1) if inverse and onesided else size)
    last = rank - 2
    order = [*(each for each in range(rank - 1) if each != axis), axis, rank - 1]
    moved = node.tensor(0) if axis == last else relax["permute_dims"](node.tensor(0), axes=order)
    result = _transformed(moved, size, parts, length, node.value(0).dtype, inverse, onesided)
    return result if axis == last else relax["permute_dims"](result, axes=[order.index(each) for each in range(rank)])


def _number(node: Node, index: int, name: str, default: int) -> int:
    if not node.has(index):
        return default
    known = node.numbers(index)
    if known is None:
        raise node.fail(f"input '{name}' must be known before the model runs")
    return known[0]


def _transformed(data: Any, size: int, parts: int, length: int, dtype: str, inverse: bool, onesided: bool) -> Any:
    """The transform along the last dimension but one; the last holds real and imaginary part."""
    rank = _rank(data)
    given = length // 2 + 1 if inverse and onesided else length
    used = min(size, given)
    if used < size:
        data = relax["strided_slice"](data, axes=[rank - 2], begin=[0], end=[used])
    table = _table(used, parts, length, inverse, onesided)
    shape = _shape(data)
    flat = relax["reshape"](data, (*shape[:-2], used * parts))
    outputs = 1 if inverse and onesided else 2
    product = relax["matmul"](flat, const(table, dtype))
    return relax["reshape"](product, (*shape[:-2], table.shape[1] // outputs, outputs))


def _table(used: int, parts: int, length: int, inverse: bool, onesided: bool) -> Any:
    """From real and imaginary parts of each element to those of each frequency, one after the other."""
    import numpy

    frequencies = length // 2 + 1 if onesided and not inverse else length
    places = numpy.outer(numpy.arange(used), numpy.arange(frequencies)) % length
    turns = numpy.exp((2j if inverse else -2j) * math.pi * places / length)
    if inverse:
        turns = turns / length
    if inverse and onesided:
        # Each but the first stands for its mirror image, too, where that is another.
        twice = [1.0 if place == 0 or 2 * place == length else 2.0 for place in range(used)]
        turns = turns * numpy.array(twice)[:, None]
    rows = numpy.stack([turns, 1j * turns], axis=1)[:, :parts]
    columns = numpy.stack([rows.real, rows.imag], axis=-1)
    if inverse and onesided:
        columns = columns[..., :1]
    return columns.reshape(used * parts, -1)


def _rank(tensor: Any) -> int:
    return len(_shape(tensor))


def _shape(tensor: Any) -> tuple[Any, ...]:
    return info_of(tensor).shape or ()


@register_onnx("", "STFT")
def stft(node: Node) -> Any:
    """The transforms of frames that start step by step: [batch, frames, frequencies, 2]."""
    import numpy

    shape, dtype = node.value(0).shape, node.value(0).dtype
    if shape is None or len(shape) not in (2, 3) or not isinstance(shape[1], int):
        raise node.fail("the signal's length must be known before the model runs")
    parts = shape[2] if len(shape) == 3 else 1
    window = node.value(2).shape if node.has(2) else None
    length = _number(node, 3, "frame_length", window[0] if window else shape[1])
    step = _number(node, 1, "frame_step", 1)
    if step < 1 or not isinstance(length, int) or not 1 <= length <= shape[1] or parts not in (1, 2):
        raise node.fail("step and length of frames must be positive and within the signal")
    frames = (shape[1] - length) // step + 1
    places = numpy.arange(frames)[:, None] * step + numpy.arange(length)
    signal = relax["reshape"](node.tensor(0), (shape[0], shape[1], parts))
    data = relax["take"](signal, const(places.astype("int64")), axis=1)
    if node.has(2):
        data = relax["multiply"](data, relax["expand_dims"](node.tensor(2), axis=[1]))
    onesided = bool(node.int("onesided", 1)) and parts == 1
    return _transformed(data, length, parts, length, dtype, False, onesided)


@register_onnx("", "MelWeightMatrix")
def mel_weight_matrix(node: Node) -> Any:
    """Triangles over the spectrum's bins, whose corners are evenly spaced in mel."""
    import numpy

    held = [node.constant(index) for index in range(5)]
    dtype = dtype_of(node.int("output_datatype", 1))
    if any(each is None for each in held) or not is_float(dtype):
        raise node.fail("all inputs must be known before the model runs, and the result be of floats")
    bands, length, rate, low, high = (each.ravel()[0] for each in held)
    mel_low, mel_high = (2595 * math.log10(1 + float(hertz) / 700) for hertz in (low, high))
    corners = numpy.arange(int(bands) + 2) * ((mel_high - mel_low) / (int(bands) + 2)) + mel_low
    hertz = 700 * (10 ** (corners / 2595) - 1)
    bins = ((int(length) + 1) * hertz // int(rate)).astype(int)
    table = numpy.zeros((int(length) // 2 + 1, int(bands)))
    for band in range(int(bands)):
        _add_triangle(table[:, band], *bins[band : band + 3])
    return const(table, dtype) if dtype != "f32" else Value(array=table.astype("float32"))


def _add_triangle(column: Any, low: int, center: int, high: int) -> None:
    """From 0 at low to 1 at center, and back to 0 at high."""
    for place in range(low, min(center + 1, len(column))):
        column[place] = (place - low) / (center - low) if center > low else 1
    for place in range(center, min(high, len(column))):
        column[place] = (high - place) / (high - center)
