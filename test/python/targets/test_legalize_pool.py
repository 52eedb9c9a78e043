# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling, legalized by the default rules and run, against onnxruntime and numpy's sliding windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from layout_arrays import in_layout
from onnx_oracle import run_onnx
from prim_jit import run_op
from relax_mlir.passes.legalize.rules import all_rules

LETTERS = {1: "W", 2: "HW", 3: "DHW"}
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TOLERANCES = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-14}


def ran(name: str, data: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", data, **options)


def close(actual: Any, expected: Any, dtype: str = "float32") -> None:
    assert actual.shape == expected.shape
    actual, expected = actual.astype("float64"), expected.astype("float64")
    numpy.testing.assert_allclose(actual, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


def random(shape: Sequence[int], dtype: str = "float32") -> Any:
    generator = numpy.random.default_rng(sum(shape) + 1)
    if dtype in INTS:
        limits = numpy.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.normal(size=shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def windows(data: Any, spatial: int, counts: Sequence[int], fill: Any, **attributes: Any) -> Any:
    """Return [..., positions, taps] of numpy's sliding windows over the last dimensions, padded so that all fit."""
    taps, strides, dilation = (attributes.get(key, (1,) * spatial) for key in ("pool_size", "strides", "dilation"))
    padding = attributes.get("padding", (0,) * spatial * 2)
    reach = [(tap - 1) * gap + 1 for tap, gap in zip(taps, dilation, strict=True)]
    sizes = data.shape[-spatial:]
    after = [
        max((count - 1) * stride + width - size - before, 0)
        for count, stride, width, size, before in zip(counts, strides, reach, sizes, padding, strict=False)
    ]
    outer = [(0, 0)] * (data.ndim - spatial)
    padded = numpy.pad(data, [*outer, *zip(padding, after, strict=False)], constant_values=fill)
    axes = tuple(range(-spatial, 0))
    view = numpy.lib.stride_tricks.sliding_window_view(padded, reach, axes)
    positions = tuple(slice(0, count * stride, stride) for count, stride in zip(counts, strides, strict=True))
    return view[(..., *positions, *(slice(None, None, gap) for gap in dilation))]


def mean_of_windows(data: Any, spatial: int, counts: Sequence[int], includes: bool, **attributes: Any) -> Any:
    """Divide sums by the number of taps in the data, or in the data and the requested padding."""
    axes = tuple(range(-spatial, 0))
    padding = attributes.get("padding", (0,) * spatial * 2)
    sizes = data.shape[-spatial:]
    if includes:
        room = [size + before + after for size, before, after in zip(sizes, padding, padding[spatial:], strict=False)]
        ones = windows(numpy.ones(room), spatial, counts, 0, **{**attributes, "padding": (0,) * spatial * 2})
    else:
        ones = windows(numpy.ones(sizes), spatial, counts, 0, **attributes)
    total = windows(data, spatial, counts, 0, **attributes).sum(axes)
    return total / numpy.maximum(ones.sum(axes), 1)


@st.composite
def pools(draw: Any, spatial: int) -> dict[str, Any]:
    def each(low: int, high: int) -> Any:
        return st.tuples(*[st.integers(low, high)] * spatial)

    taps = draw(each(1, 3))
    padding = [draw(st.integers(0, tap - 1)) for tap in taps * 2]
    return {
        "pool_size": taps,
        "strides": draw(each(1, 3)),
        "padding": tuple(padding),
        "dilation": draw(each(1, 2)),
        "ceil_mode": draw(st.booleans()),
    }


def as_onnx(attributes: dict[str, Any]) -> dict[str, Any]:
    names = {"pool_size": "kernel_shape", "padding": "pads", "dilation": "dilations"}
    return {names.get(key, key): int(value) if key == "ceil_mode" else value for key, value in attributes.items()}


@pytest.mark.parametrize("dtype", ("float32", "int8"))
@pytest.mark.parametrize("options", [
    {"pool_size": (5, 5), "padding": (2, 2, 2, 2)},
    {"pool_size": (7, 6), "strides": (1, 2), "padding": (3, 0, 1, 5), "ceil_mode": True},
    {"pool_size": (9, 5), "dilation": (1, 2), "strides": (2, 1)},
], ids=str)  # fmt: skip
def test_large_maxima(options: dict[str, Any], dtype: str) -> None:
    """Pool one dimension after the other, for known and dynamic sizes, also in blocks of channels."""
    x = random((2, 4, 15, 19), dtype)
    if dtype != "int8":
        x[0, 0, 4, 5], x[1, 1, 9, 9] = numpy.nan, numpy.inf
    onnx_result = run_onnx("MaxPool", numpy.where(numpy.isnan(x), numpy.array(99, dtype), x), **as_onnx(options))[0]
    actual = ran("max_pool2d", x, **options)
    # onnxruntime passes over NaN.
    numpy.testing.assert_array_equal(numpy.where(numpy.isnan(actual), numpy.array(99, dtype), actual), onnx_result)
    assert dtype == "int8" or numpy.isnan(actual).any()
    numpy.testing.assert_array_equal(ran("max_pool2d", x, **options, symbols=[("n", "c", "h", "w")]), actual)
    blocked = ran("max_pool2d", in_layout(x, "NCHW2c"), **options, layout="NCHW2c")
    numpy.testing.assert_array_equal(blocked, in_layout(actual, "NCHW2c"))


@draws(20)
@given(st.data())
def test_pools_equal_onnxruntime(data: Any) -> None:
    spatial = data.draw(st.integers(1, 3), label="spatial")
    attributes = data.draw(pools(spatial), label="attributes")
    reach = [(t - 1) * gap + 1 for t, gap in zip(attributes["pool_size"], attributes["dilation"], strict=True)]
    sizes = [width + data.draw(st.integers(0, 4)) for width in reach]
    x = random((2, 3, *sizes))
    if data.draw(st.booleans(), label="max"):
        close(ran(f"max_pool{spatial}d", x, **attributes), run_onnx("MaxPool", x, **as_onnx(attributes))[0])
        return
    includes = data.draw(st.booleans(), label="includes")
    expected = run_onnx("AveragePool", x, **as_onnx(attributes), count_include_pad=int(includes))[0]
    close(ran(f"avg_pool{spatial}d", x, **attributes, count_include_pad=includes), expected)


WIDE = {"pool_size": (2, 3), "strides": (2, 1), "padding": (3, 1, 2, 4), "dilation": (1, 2)}


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32", "float64", *INTS))
def test_maxima_of_every_type(dtype: str) -> None:
    x = random((2, 3, 5, 6), dtype)
    lowest = numpy.iinfo(dtype).min if dtype in INTS else -numpy.inf
    actual = ran("max_pool2d", x, **WIDE)
    numpy.testing.assert_array_equal(actual, windows(x, 2, actual.shape[2:], lowest, **WIDE).max((-1, -2)))
    assert actual.dtype == x.dtype


@pytest.mark.parametrize("includes", (False, True))
@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64"))
def test_means_of_floats(dtype: str, includes: bool) -> None:
    x = random((2, 3, 5, 6), dtype)
    actual = ran("avg_pool2d", x, **WIDE, count_include_pad=includes)
    close(actual, mean_of_windows(x.astype("float64"), 2, actual.shape[2:], includes, **WIDE), dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_means_of_integers_fit_and_round_towards_zero(dtype: str) -> None:
    x = random((2, 3, 5, 6), dtype)
    if dtype.endswith("64"):
        x = x // 64
    actual = ran("avg_pool2d", x, pool_size=(3, 3), padding=(1,))
    taps = windows(x.astype(object), 2, (5, 6), 0, pool_size=(3, 3), padding=(1, 1, 1, 1)).reshape(2, 3, 5, 6, 9)
    count = mean_of_windows(numpy.ones((5, 6)), 2, (5, 6), True, pool_size=(3, 3), padding=(1, 1, 1, 1)) * 9
    counts = itertools.cycle(count.round().astype(int).ravel().tolist())
    sums = [sum(each) for each in taps.reshape(-1, 9).tolist()]
    expected = [abs(total) // n * (-1 if total < 0 else 1) for total, n in zip(sums, counts, strict=False)]
    numpy.testing.assert_array_equal(actual, numpy.array(expected, dtype).reshape(actual.shape))


def test_nan_and_infinities() -> None:
    x = numpy.array([1, numpy.nan, 2, -numpy.inf, -numpy.inf, -numpy.inf, numpy.inf, 0], "float32").reshape(1, 1, 8)
    actual = ran("max_pool1d", x, pool_size=(2,))
    numpy.testing.assert_array_equal(
        actual[0, 0], [numpy.nan, numpy.nan, 2, -numpy.inf, -numpy.inf, numpy.inf, numpy.inf]
    )
    means = ran("avg_pool1d", x, pool_size=(2,))
    numpy.testing.assert_array_equal(
        means[0, 0], [numpy.nan, numpy.nan, -numpy.inf, -numpy.inf, -numpy.inf, numpy.nan, numpy.inf]
    )


def test_a_window_of_padding_only() -> None:
    x = random((1, 1, 3))
    options = {"pool_size": (2,), "padding": (2, 2)}
    assert ran("max_pool1d", x, **options)[0, 0].tolist()[0] == -numpy.inf
    assert ran("avg_pool1d", x, **options, count_include_pad=False)[0, 0].tolist()[0] == 0


@pytest.mark.parametrize("name", ("max_pool2d", "avg_pool2d"))
def test_sizes_known_at_run_time(name: str) -> None:
    options = {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": True}
    for shape in [(2, 3, 7, 9), (1, 1, 3, 2), (0, 4, 5, 5), (1, 2, 4, 4), (2, 0, 6, 8), (1, 1, 10, 11)]:
        x = random(shape)
        actual = ran(name, x, **options, symbols=[("n", "c", "h", "w")])
        if name == "max_pool2d":
            close(actual, windows(x, 2, actual.shape[2:], -numpy.inf, **options).max((-1, -2)))
        else:
            close(actual, mean_of_windows(x, 2, actual.shape[2:], False, **options))
        if 0 not in shape:
            kind = "MaxPool" if name == "max_pool2d" else "AveragePool"
            close(actual, run_onnx(kind, x, **as_onnx(options))[0])


LAYOUTS = [
    ("NHWC", None), ("NCHW", "NHWC"), ("NCHW4c", None), ("NCHW4c", "NCHW2c"), ("NHWC", "NCHW4c"), ("HWNC2n", None),
    ("NCHW2h", "NCHW"), ("NCHW", "NCHW3w2w"),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "out_layout"), LAYOUTS)
def test_layouts(layout: str, out_layout: str | None) -> None:
    x = random((2, 8, 6, 5))
    options = {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 0, 0, 1)}
    plain = mean_of_windows(x, 2, (3, 5), False, **options)
    actual = ran("avg_pool2d", in_layout(x, layout), **options, layout=layout, out_layout=out_layout)
    close(actual, in_layout(plain, out_layout or layout))


def test_sizes_that_types_leave_open() -> None:
    x = random((2, 3, 5, 6))
    actual = ran("max_pool2d", x, pool_size=(2, 3), symbols=[(None, 3, None, "w")])
    close(actual, windows(x, 2, (4, 4), -numpy.inf, pool_size=(2, 3)).max((-1, -2)))


@pytest.mark.parametrize("layout", ("NCHW4c", "NCHW4h"))
def test_blocks_of_another_size(layout: str) -> None:
    with pytest.raises(ValueError, match=r"sizes 3 and 4 differ|expected 4, got 3"):
        ran("max_pool2d", random((1, 1, 4, 4, 3)), layout=layout, symbols=[("n", "c", "h", "w", "b")])


def test_padded_channels_last_with_sizes_known_at_run_time() -> None:
    x = random((2, 5, 4, 3))
    options = {"pool_size": (2, 3), "padding": (1,), "layout": "NHWC"}
    for name in ("max_pool2d", "avg_pool2d"):
        close(ran(name, x, **options, symbols=[("n", "h", "w", "c")]), ran(name, x, **options))


def test_images_smaller_than_a_window_are_refused() -> None:
    x = random((1, 1, 2, 2))
    assert ran("max_pool2d", x, pool_size=(3, 1), symbols=[("n", "c", "h", "w")]).shape == (1, 1, 0, 2)
    with pytest.raises(ValueError, match="a size is negative"):
        ran("max_pool2d", x, pool_size=(5, 1), symbols=[("n", "c", "h", "w")])


def test_floats_of_eight_bits() -> None:
    x = numpy.arange(-8, 8).reshape(1, 1, 4, 4).astype(ml_dtypes.float8_e4m3fn)
    wide = x.astype("float32")
    for name in ("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"):
        options = {"output_size": (2, 3)} if name[1] == "d" else {"pool_size": (2, 2), "padding": (1,)}
        expected = ran(name, wide, **options).astype(ml_dtypes.float8_e4m3fn)
        numpy.testing.assert_array_equal(ran(name, x, **options).astype("float32"), expected.astype("float32"))


def means(x: Any, sizes: Sequence[int]) -> Any:
    """Compute PyTorch's adaptive pooling with numpy's mean."""
    result = numpy.empty((*x.shape[: -len(sizes)], *sizes), x.dtype)
    for at in numpy.ndindex(*sizes):
        bounds = zip(at, sizes, x.shape[-len(sizes) :], strict=True)
        part = tuple(slice(i * size // count, -(-(i + 1) * size // count)) for i, count, size in bounds)
        result[(..., *at)] = x[(..., *part)].mean(tuple(range(-len(sizes), 0)))
    return result


@draws(12)
@given(st.data())
def test_adaptive(data: Any) -> None:
    spatial = data.draw(st.integers(1, 3))
    sizes = data.draw(st.tuples(*[st.integers(1, 7)] * spatial), label="sizes")
    wanted = data.draw(st.tuples(*[st.integers(1, 5)] * spatial), label="wanted")
    x = random((2, 3, *sizes))
    close(ran(f"adaptive_avg_pool{spatial}d", x, output_size=wanted), means(x, wanted))


def test_adaptive_with_sizes_known_at_run_time() -> None:
    for shape in [(2, 3, 4, 4), (1, 2, 7, 9), (3, 1, 1, 2), (0, 2, 5, 5)]:
        x = random(shape)
        actual = ran("adaptive_avg_pool2d", x, output_size=(3, 4), symbols=[("n", "c", "h", "w")])
        close(actual, means(x, (3, 4)))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64"))
def test_adaptive_to_one_and_to_the_same(dtype: str) -> None:
    x = random((2, 3, 11, 13), dtype)
    exact = x.astype("float64")
    close(ran("adaptive_avg_pool2d", x, output_size=(1,)), exact.mean((2, 3), keepdims=True), dtype)
    close(ran("adaptive_avg_pool2d", x), exact, dtype)
    close(ran("adaptive_avg_pool2d", x, output_size=(5, 13)), means(exact, (5, 13)), dtype)


def test_adaptive_integers_and_layouts() -> None:
    x = random((1, 6, 7, 5), "int8")
    expected = numpy.trunc(means(x.astype("float64"), (2, 3)))
    numpy.testing.assert_array_equal(ran("adaptive_avg_pool2d", x, output_size=(2, 3)), expected)
    options = {"output_size": (2, 3), "layout": "NHWC", "out_layout": "NCHW2c"}
    y = random((1, 6, 7, 5))
    actual = ran("adaptive_avg_pool2d", in_layout(y, "NHWC"), **options)
    close(actual, in_layout(means(y, (2, 3)), "NCHW2c"))


def test_every_rule_is_run_here() -> None:
    rules = {rule.op for rule in all_rules("llvm") if rule.op.startswith("relax.nn.") and "pool" in rule.op}
    families = ("max_pool", "avg_pool", "adaptive_avg_pool")
    assert rules == {f"relax.nn.{family}{rank}d" for family in families for rank in LETTERS}
