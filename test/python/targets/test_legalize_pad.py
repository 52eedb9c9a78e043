# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding and pixel shuffle, legalized by the default rules and run, against numpy and onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op

import relax_mlir as rx

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
    "uint64", "bool",
)  # fmt: skip


def ran(name: str, data: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", data, **options)


def numbered(shape: Sequence[int], dtype: str = "float32") -> Any:
    return numpy.arange(numpy.prod(shape)).reshape(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def padded(x: Any, widths: Sequence[int], mode: str, value: Any = 0) -> Any:
    options = {"constant_values": value} if mode == "constant" else {}
    pairs = numpy.array(widths, int).reshape(-1, 2)
    return numpy.pad(x, pairs, MODES[mode], **options) if x.ndim else x


@draws(20)
@given(st.data())
def test_as_numpy(data: Any) -> None:
    mode = data.draw(st.sampled_from(sorted(MODES)), label="mode")
    shape = data.draw(st.lists(st.integers(0 if mode == "constant" else 1, 4), max_size=3), label="shape")
    widths = data.draw(st.tuples(*[st.integers(0, 6)] * 2 * len(shape)), label="widths")
    x = numbered(shape)
    numpy.testing.assert_array_equal(ran("pad", x, pad_width=widths, pad_mode=mode), padded(x, widths, mode))


@draws(15)
@given(st.data())
def test_negative_widths_remove(data: Any) -> None:
    mode = data.draw(st.sampled_from(sorted(MODES)), label="mode")
    shape = data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=3), label="shape")
    widths = data.draw(st.tuples(*[st.integers(-1, 1)] * 2 * len(shape)), label="widths")
    x = numbered(shape)
    wide = padded(x, [max(width, 0) for width in widths], mode, 7)
    kept = [slice(max(-low, 0), -max(-high, 0) or None) for low, high in zip(widths[::2], widths[1::2], strict=True)]
    actual = ran("pad", x, pad_width=widths, pad_mode=mode, pad_value=7)
    numpy.testing.assert_array_equal(actual, wide[tuple(kept)])


@pytest.mark.parametrize("is_dynamic", (False, True))
@pytest.mark.parametrize(
    ("widths", "expected"), [((-3, 5), [9, 9, 9, 9]), ((5, -3), [9, 9, 9, 9]), ((-1, 2), [1, 9, 9])]
)
def test_all_of_the_data_removed(widths: Any, expected: Any, is_dynamic: bool) -> None:
    symbols = [("n",)] if is_dynamic else ()
    actual = ran("pad", numbered((2,)), pad_width=widths, pad_value=9, symbols=symbols)
    numpy.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types(dtype: str) -> None:
    x = numbered((2, 3), dtype)
    for mode in ("constant", "reflect"):
        actual = ran("pad", x, pad_width=(1, 0, 2, 1), pad_mode=mode, pad_value=1)
        assert actual.dtype == x.dtype
        numpy.testing.assert_array_equal(actual, padded(x, (1, 0, 2, 1), mode, 1))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", float("-inf"), -numpy.inf), ("float64", float("nan"), numpy.nan), ("float16", 1e6, numpy.inf),
        ("int32", 2.75, 2), ("uint8", 255, 255), ("uint8", -1, 255), ("bool", 2, True), ("int64", 2**62 + 1, 2**62 + 1),
    ],
)  # fmt: skip
def test_values(dtype: str, value: Any, expected: Any) -> None:
    actual = ran("pad", numbered((1,), dtype), pad_width=(0, 1), pad_value=value)
    numpy.testing.assert_array_equal(actual, numpy.array([0, expected], dtype))


def test_an_integer_cannot_be_infinite() -> None:
    with pytest.raises(rx.RelaxError, match="elements of type i32 cannot be inf"):
        ran("pad", numbered((1,), "int32"), pad_width=(0, 1), pad_value=float("inf"))


@pytest.mark.parametrize("mode", sorted(MODES))
def test_sizes_known_at_run_time(mode: str) -> None:
    widths = (0, 0, 2, 1, 0, 5)
    for shape in [(1, 1, 1), (2, 3, 4), (3, 2, 2), (0, 1, 7), (1, 5, 1)]:
        x = numbered(shape)
        actual = ran("pad", x, pad_width=widths, pad_mode=mode, symbols=[("a", "b", "c")])
        numpy.testing.assert_array_equal(actual, padded(x, widths, mode))


@pytest.mark.parametrize("mode", ("reflect", "replicate", "circular"))
def test_nothing_to_pad_with(mode: str) -> None:
    with pytest.raises(ValueError, match="axis 1 is empty: there is nothing to pad it with"):
        ran("pad", numbered((1, 0, 3)), pad_width=(0, 0, 2, 1, 0, 5), pad_mode=mode, symbols=[("a", "b", "c")])


@draws(10)
@given(st.integers(1, 3), st.tuples(*[st.integers(0, 3)] * 4))
def test_pixel_shuffle(factor: int, shape: Any) -> None:
    batch, channels, height, width = shape
    x = numbered((batch, channels * factor**2, height, width))
    split = x.reshape(batch, channels, factor, factor, height, width).transpose(0, 1, 4, 2, 5, 3)
    expected = split.reshape(batch, channels, height * factor, width * factor)
    numpy.testing.assert_array_equal(ran("pixel_shuffle", x, upscale_factor=factor), expected)
    if x.size:
        numpy.testing.assert_array_equal(expected, run_onnx("DepthToSpace", x, blocksize=factor, mode="CRD")[0])


@pytest.mark.parametrize("dtype", ("bfloat16", "uint8", "bool", "int64"))
def test_pixel_shuffle_of_every_rank(dtype: str) -> None:
    for shape in [(8, 2, 3), (2, 3, 4, 2, 3)]:
        x = numbered(shape, dtype)
        flat = x.reshape(-1, *shape[-3:]).astype("float32")
        expected = run_onnx("DepthToSpace", flat, blocksize=2, mode="CRD")[0]
        actual = ran("pixel_shuffle", x, upscale_factor=2)
        numpy.testing.assert_array_equal(actual.astype("float32").reshape(expected.shape), expected)


def test_pixel_shuffle_with_sizes_known_at_run_time() -> None:
    for shape in [(1, 4, 2, 3), (2, 8, 1, 1), (0, 4, 5, 5), (3, 12, 4, 2)]:
        x = numbered(shape)
        actual = ran("pixel_shuffle", x, upscale_factor=2, symbols=[("n", "c", "h", "w")])
        channels = shape[1] // 4
        assert actual.shape == (shape[0], channels, shape[2] * 2, shape[3] * 2)
        if x.size:
            numpy.testing.assert_array_equal(actual, run_onnx("DepthToSpace", x, blocksize=2, mode="CRD")[0])
    with pytest.raises(ValueError, match="channels to shuffle: sizes 5 and 4 differ"):
        ran("pixel_shuffle", numbered((1, 5, 2, 2)), upscale_factor=2, symbols=[("n", "c", "h", "w")])
