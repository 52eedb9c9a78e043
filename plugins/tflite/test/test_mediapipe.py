# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MediaPipe's custom operators, beside the default delegate of TFLite's interpreter."""

from __future__ import annotations

import struct
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from tflite_cases import f32, random_floats
from tflite_model import Operator, Subgraph, Tensor, interpreted, of_one, written

_SAME, _VALID = 1, 2
_CONV, _POOL, _UNPOOL = "Convolution2DTransposeBias", "MaxPoolingWithArgmax2D", "MaxUnpooling2D"


def _options(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def _pool_options(padding: int, width: int, height: int, activation: int = 0) -> bytes:
    """Return options of adjacent windows, which only the delegate supports."""
    return _options(padding, width, height, width, height, activation, 0, 0, 0, 0)


def _random(*shape: int) -> Any:
    return numpy.random.default_rng(5).standard_normal(shape).astype("float32")


def _transposed(padding: int, size: tuple[int, int], taps: int, stride: int) -> Subgraph:
    cut = [max(0, taps - (each - 1) % stride - 1) if padding == _SAME else 0 for each in size]
    sizes = [stride * (each - 1) + taps - less for each, less in zip(size, cut, strict=True)]
    operands = [f32(1, *size, 3), random_floats(4, taps, taps, 3), random_floats(4)]
    return of_one(_CONV, operands, [f32(1, *sizes, 4)], custom_options=_options(padding, stride, stride))


@pytest.mark.parametrize("padding", [_SAME, _VALID])
@pytest.mark.parametrize(("size", "taps", "stride"), [((4, 5), 2, 2), ((3, 4), 4, 3), ((4, 3), 3, 1)])
def test_transposed_convolutions(padding: int, size: tuple[int, int], taps: int, stride: int) -> None:
    """Check transposed convolutions. selfie_segmentation.tflite has two taps in steps of two."""
    model, x = written(_transposed(padding, size, taps, stride)), _random(1, *size, 3)
    (expected,) = interpreted(model, [x], by_delegate=True)
    found = numpy.asarray(rx.compile(rx.from_tflite(model))["main"](x))
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("padding", "size"), [(_SAME, (5, 7)), (_VALID, (5, 7)), (_VALID, (4, 6))])
def test_pools_with_places(padding: int, size: tuple[int, int]) -> None:
    """Compare positions: the delegate counts by columns and stores bits of integers, MediaPipe counts by rows, in
    floats."""
    pooled = [-(-each // taps) if padding == _SAME else each // taps for each, taps in zip(size, (2, 3), strict=True)]
    results = [f32(1, *pooled, 2), f32(1, *pooled, 2)]
    options = _pool_options(padding, 3, 2)
    model, x = written(of_one(_POOL, [f32(1, *size, 2)], results, custom_options=options)), _random(1, *size, 2)
    values, places = (numpy.asarray(each) for each in rx.compile(rx.from_tflite(model))["main"](x))
    expected, bits = interpreted(model, [x], by_delegate=True)
    numpy.testing.assert_array_equal(values, expected)
    if padding == _VALID:  # At a border, the delegate tells the place of a copy in the padding.
        columns, rows = divmod(bits.view("int32"), 2)
        numpy.testing.assert_array_equal(places, (3 * rows + columns).astype("float32") + numpy.float32(0.1))


def test_pool_with_an_activation() -> None:
    """Apply an activation, which the delegate lacks. A position is that of the maximum before the activation."""
    results, x = [f32(1, 2, 2, 2), f32(1, 2, 2, 2)], _random(1, 4, 6, 2) - 2
    models = [
        written(of_one(_POOL, [f32(1, 4, 6, 2)], results, custom_options=_pool_options(_VALID, 3, 2, activation)))
        for activation in (0, 1)
    ]
    (plain, places), (clamped, same) = (rx.compile(rx.from_tflite(each))["main"](x) for each in models)
    numpy.testing.assert_array_equal(numpy.asarray(clamped), numpy.maximum(numpy.asarray(plain), 0))
    numpy.testing.assert_array_equal(numpy.asarray(places), numpy.asarray(same))


def test_elements_go_back_to_their_places() -> None:
    tensors = [f32(1, 4, 6, 2), f32(1, 2, 2, 2), f32(1, 2, 2, 2), f32(1, 4, 6, 2)]
    operators = [
        Operator(op, inputs, outputs, custom_options=_pool_options(_VALID, 3, 2))
        for op, inputs, outputs in ((_POOL, [0], [1, 2]), (_UNPOOL, [1, 2], [3]))
    ]
    model, x = written(Subgraph(tensors, operators, [0], [3])), _random(1, 4, 6, 2)
    (expected,) = interpreted(model, [x], by_delegate=True)
    numpy.testing.assert_array_equal(numpy.asarray(rx.compile(rx.from_tflite(model))["main"](x)), expected)


@pytest.mark.parametrize(("options", "reason"), [
    (_options(_SAME, 2), "its options have 8 bytes, expected at least 12: padding, stride_width, stride_height"),
    (_options(0, 2, 2), r"the padding 0 is neither 1 \(SAME\) nor 2 \(VALID\)"),
    (_options(_VALID, 0, 2), "must be 1 or more, got 0"),
])  # fmt: skip
def test_options_that_are_wrong(options: bytes, reason: str) -> None:
    operands: list[Tensor] = [f32(1, 4, 4, 3), random_floats(4, 2, 2, 3), random_floats(4)]
    model = written(of_one(_CONV, operands, [f32(1, 8, 8, 4)], custom_options=options))
    with pytest.raises(rx.RelaxError, match=reason):
        rx.from_tflite(model)


def test_windows_that_overlap() -> None:
    options = _options(_VALID, 1, 1, 2, 2, 0)
    model = written(of_one(_UNPOOL, [f32(1, 2, 2, 1), f32(1, 2, 2, 1)], [f32(1, 4, 4, 1)], custom_options=options))
    with pytest.raises(rx.RelaxError, match="overlap, or leave gaps"):
        rx.from_tflite(model)
