# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators between convolutions work on blocks of channels, with onnxruntime's results."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401  # numpy knows "bfloat16" by it
import numpy
import pytest
from compiling import array, built, floats, module_with
from onnx_oracle import run_onnx

import relax_mlir as rx
from relax_mlir import relax

_CHANNELS = 32
_FIRST, _LAST = floats(_CHANNELS, _CHANNELS, 1, 1, seed=1), floats(_CHANNELS, _CHANNELS, 1, 1, seed=2)
_SCALE, _SHIFT = floats(_CHANNELS, seed=3), floats(_CHANNELS, seed=4)
_WINDOWS: dict[str, Any] = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 0, 1, 1)}
_ONNX_WINDOWS: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 1, 1]}
_SCALES = numpy.array([1, 1, 2, 2], "float32")


def _resized(x: Any) -> Any:
    return relax.image.resize2d(x, (18, 14), method="linear")


def _norm(x: Any) -> Any:
    return relax.nn.instance_norm(x, relax.const(_SCALE), relax.const(_SHIFT), channel_axis=1, axes=[2, 3])


#: Operators between two convolutions, by name: this project's and onnxruntime's.
_BETWEEN: dict[str, tuple[Any, Any]] = {
    "max pool": (lambda x: relax.nn.max_pool2d(x, **_WINDOWS), lambda x: run_onnx("MaxPool", x, **_ONNX_WINDOWS)),
    "mean pool": (lambda x: relax.nn.avg_pool2d(x, **_WINDOWS), lambda x: run_onnx("AveragePool", x, **_ONNX_WINDOWS)),
    "resize": (
        lambda x: relax.image.resize2d(x, (18, 14)),
        lambda x: run_onnx("Resize", x, None, _SCALES, mode="linear"),
    ),
    "norm": (_norm, lambda x: run_onnx("InstanceNormalization", x, _SCALE, _SHIFT)),
    "mean": (lambda x: relax.mean(x, axis=(2, 3), keepdims=True), lambda x: run_onnx("GlobalAveragePool", x)),
}


@pytest.mark.parametrize("sizes", [(2, 9, 7), ("n", "h", "w")], ids=["known", "open"])
@pytest.mark.parametrize("name", _BETWEEN)
def test_between_convolutions(name: str, sizes: tuple[int | str, ...]) -> None:
    compute, expected = _BETWEEN[name]
    batch, *places = sizes
    module = module_with(
        [rx.tensor((batch, _CHANNELS, *places))],
        lambda x: relax.nn.conv2d(compute(relax.nn.conv2d(x, relax.const(_FIRST))), relax.const(_LAST)),
    )
    target = "llvm{vector-bytes=64}"
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("layouts")))
    assert text.count('"relax.layout_transform"') <= 2, "more than the graph's ends is converted"
    data = floats(2, _CHANNELS, 9, 7)
    (between,) = expected(run_onnx("Conv", data, _FIRST)[0])
    (wanted,) = run_onnx("Conv", between, _LAST)
    got = array(rx.compile(module)["main"](data))
    numpy.testing.assert_allclose(got, wanted, atol=2e-6 * numpy.abs(wanted).max())


@pytest.mark.parametrize(("channels", "outputs"), [(12, 20), (10, 30), (16, 28), (13, 14)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_blocks_that_are_no_power_of_two(dtype: str, channels: int, outputs: int) -> None:
    random = numpy.random.default_rng(channels)
    data, weight = (
        (random.normal(size=shape) * (40 if dtype == "int8" else 1)).round(2).astype(dtype)
        for shape in ((2, channels, 9, 7), (outputs, channels, 3, 3))
    )
    out_dtype = {"out_dtype": "i32" if dtype == "int8" else "f32"}
    main = built(
        [rx.tensor(("n", channels, "h", 7), data.dtype)],
        lambda x: relax.nn.conv2d(x, relax.const(weight), padding=(1, 1), **out_dtype),
    )["main"]
    padded = numpy.pad(data.astype("float64"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = numpy.einsum("nchwij,ocij->nohw", windows, weight.astype("float64"))
    numpy.testing.assert_allclose(array(main(data)), expected, atol=2e-6 * numpy.abs(expected).max())
