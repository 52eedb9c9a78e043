# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir-cut-padding: windows over padded parts equal windows over the padded whole, for any number of threads."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from onnx_oracle import run_onnx

import relax_mlir as rx
from relax_mlir import relax

#: Small caches, so that small tensors are worth it.
TARGET = "llvm{caches=1K,2K cores=2}"
#: Caches that hold all: nothing is cut.
LARGE = "llvm{caches=1M,64M cores=2}"


def is_cut(module: rx.Module, target: str = TARGET) -> bool:
    return "scf.for" in str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))


def results(module: rx.Module, *arrays: Any) -> list[Any]:
    """Run with one thread and with three."""
    program = rx.compile(module, TARGET)
    found = []
    for program.threads in (1, 3):
        found.append(numpy.from_dlpack(program["main"](*arrays)))
    return found


def normal(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("f4")


def depthwise(shape: Any, channels: int, **attributes: Any) -> rx.Module:
    """Return a depthwise convolution with a bias and a ReLU."""
    module = rx.Module()
    taps = attributes.pop("taps", 3)
    rank = len(shape) - 2
    weight = (channels, 1, *[taps] * rank)
    types = [rx.tensor(each) for each in (shape, weight, (channels, *[1] * rank))]
    with module.function("main", types) as f:
        x, w, bias = f
        y = relax.nn.conv2d(x, w, groups=channels, **attributes)
        f.returns(relax.nn.relu(relax.add(y, bias)))
    return module


def expected(x: Any, w: Any, bias: Any, pads: Any, strides: int = 1, dilation: int = 1) -> Any:
    attributes = {"strides": [strides] * 2, "dilations": [dilation] * 2, "pads": pads, "group": w.shape[0]}
    return numpy.maximum(run_onnx("Conv", x, w, **attributes)[0] + bias, 0)


@pytest.mark.parametrize(
    ("size", "pads", "strides", "dilation"),
    [
        ((12, 10), [1, 1, 1, 1], 1, 1),
        ((12, 10), [0, 0, 1, 1], 2, 1),
        ((13, 9), [2, 1, 0, 3], 1, 1),
        ((12, 12), [2, 2, 2, 2], 1, 2),
        ((7, 5), [0, 1, 0, 1], 1, 1),
        ((12, 10), [6, 0, 0, 0], 1, 1),
        ((12, 10), [0, 0, 7, 0], 2, 1),
    ],
    ids=["one", "two", "uneven", "dilated", "sides", "wide before", "wide behind"],
)
@pytest.mark.parametrize("batch", [3, "n"])
def test_convolution(size: Any, pads: Any, strides: int, dilation: int, batch: Any) -> None:
    module = depthwise(
        (batch, 32, *size), 32, padding=tuple(pads), strides=(strides, strides), dilation=(dilation, dilation)
    )
    assert is_cut(module)
    x, w, bias = normal(3, 32, *size), normal(32, 1, 3, 3), normal(32, 1, 1)
    one, other = results(module, x, w, bias)
    numpy.testing.assert_array_equal(one, other)
    if batch == 3:
        assert not is_cut(module, LARGE)
        numpy.testing.assert_array_equal(one, numpy.from_dlpack(rx.compile(module, LARGE)["main"](x, w, bias)))
    numpy.testing.assert_allclose(one, expected(x, w, bias, pads, strides, dilation), rtol=1e-5, atol=1e-5)


def test_blocks() -> None:
    """Cut blocks of channels. Users of the result go through the same parts, and the result may also be returned."""
    module = rx.Module()
    layouts = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16o", "out_layout": "NCHW16c"}
    types = [rx.tensor(("n", 4, 14, 14, 16)), rx.tensor((4, 1, 3, 3, 16)), rx.tensor(("n", 4, 14, 14, 16))]
    with module.function("main", types) as f:
        x, w, other = f
        y = relax.nn.conv2d(x, w, groups=64, padding=(1, 1, 1, 1), **layouts)
        f.returns(y, relax.nn.relu(relax.add(y, other)))
    assert is_cut(module)
    x, w, other = normal(5, 4, 14, 14, 16), normal(4, 1, 3, 3, 16), normal(5, 4, 14, 14, 16, seed=4)
    plain = lambda array: array.transpose(0, 1, 4, 2, 3).reshape(array.shape[0], -1, *array.shape[2:4])  # noqa: E731
    wanted = run_onnx("Conv", plain(x), plain(w).reshape(64, 1, 3, 3), pads=[1] * 4, group=64)[0]
    program = rx.compile(module, TARGET)
    for program.threads in (1, 3):
        y, sum_ = (plain(numpy.from_dlpack(each)) for each in program["main"](x, w, other))
        numpy.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(sum_, numpy.maximum(wanted + plain(other), 0), rtol=1e-5, atol=1e-5)


def blocks(rows: int, columns: int, taps: int, strides: int) -> rx.Module:
    """Return a depthwise convolution of four blocks of 16 channels."""
    module = rx.Module()
    layouts = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16o", "out_layout": "NCHW16c"}
    types = [rx.tensor((2, 4, rows, columns, 16)), rx.tensor((4, 1, taps, taps, 16))]
    with module.function("main", types) as f:
        how = {"groups": 64, "padding": (taps // 2,) * 4, "strides": (strides, strides)}
        f.returns(relax.nn.conv2d(*f, **how, **layouts))
    return module


@pytest.mark.parametrize(("taps", "strides"), [(3, 1), (3, 2), (5, 1), (5, 2), (7, 1)])
@pytest.mark.parametrize("caches", ["1K,2K", "4K,16K", "16K,256K", "32K,256K"], ids=["row", "rows", "first", "whole"])
def test_bits(caches: str, taps: int, strides: int) -> None:
    """Parts of one row, some rows and all rows have the bits of the uncut convolution, for vectors of any length."""
    module, x, w = blocks(14, 9, taps, strides), normal(2, 4, 14, 9, 16), normal(4, 1, taps, taps, 16)
    wanted = numpy.from_dlpack(rx.compile(module, LARGE)["main"](x, w))
    for machine in ("cpu=x86-64-v3", "cpu=x86-64-v3 cores=2", "cores=2", "cores=64"):
        program = rx.compile(module, f"llvm{{{machine} caches={caches}}}")
        for program.threads in (1, 3):
            numpy.testing.assert_array_equal(numpy.from_dlpack(program["main"](x, w)), wanted)


def test_first_cache() -> None:
    """Cut data that exceeds the first cache, for any number of cores, even if the second one holds the data."""
    module = blocks(14, 14, 3, 1)
    for cores in (1, 2, 64):
        target = f"llvm{{caches=32K,4M cores={cores}}}"
        text = str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))
        assert "tensor<1x1x16x16x16xf32>" in text
    assert not is_cut(module, "llvm{caches=256K,4M cores=2}")


@pytest.mark.parametrize(("taps", "rows"), [(3, 4), (7, 62)], ids=["two copies", "seven copies"])
def test_copies_of_rows(taps: int, rows: int) -> None:
    """Rows that parts of the first cache would copy too often stay together in a core's own cache."""
    target = "llvm{caches=32K,2M cores=1}"
    text = str(rx.lower(blocks(56, 56, taps, 1), target, pipeline=rx.stages(target).until("plan")))
    assert f"tensor<1x1x{rows}x{56 + taps - 1}x16xf32>" in text


@pytest.mark.parametrize("batch", [3, "n"])
@pytest.mark.parametrize(
    ("op", "onnx", "pads", "strides"),
    [
        (relax.nn.max_pool2d, "MaxPool", [1, 1, 1, 1], 2),
        (relax.nn.max_pool2d, "MaxPool", [0, 1, 1, 0], 1),
        (relax.nn.avg_pool2d, "AveragePool", [1, 1, 1, 1], 2),
    ],
    ids=["max", "uneven", "mean"],
)
def test_pool(op: Any, onnx: str, pads: Any, strides: int, batch: Any) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((batch, 8, 16, 14))]) as f:
        f.returns(op(*f, pool_size=(3, 3), strides=(strides, strides), padding=tuple(pads)))
    assert is_cut(module)
    x = normal(3, 8, 16, 14) - 3
    one, other = results(module, x)
    numpy.testing.assert_array_equal(one, other)
    wanted = run_onnx(onnx, x, kernel_shape=[3, 3], pads=pads, strides=[strides] * 2)[0]
    numpy.testing.assert_allclose(one, wanted, rtol=1e-6, atol=1e-6)


def test_open_pictures() -> None:
    """Cut images and channels, but not a dynamic number of rows. No images are allowed."""
    module = depthwise(("n", 32, "h", "w"), 32, padding=(1, 1, 1, 1))
    assert is_cut(module)
    w, bias = normal(32, 1, 3, 3), normal(32, 1, 1)
    program = rx.compile(module, TARGET)
    for shape in ((2, 32, 6, 9), (1, 32, 1, 1), (0, 32, 4, 4)):
        x = normal(*shape)
        found = numpy.from_dlpack(program["main"](x, w, bias))
        wanted = expected(x, w, bias, [1] * 4) if shape[0] else x
        numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_narrow(dtype: str) -> None:
    """Cut convolutions with sums that are wider than the operands."""
    module = rx.Module()
    dtypes = {"bfloat16": "bf16", "int8": "i8"}
    types = [rx.tensor(shape, dtypes[dtype]) for shape in ((3, 32, 12, 12), (32, 1, 3, 3))]
    out = "f32" if dtype == "bfloat16" else "i32"
    with module.function("main", types) as f:
        f.returns(relax.nn.conv2d(*f, groups=32, padding=(1, 1, 1, 1), out_dtype=out))
    assert is_cut(module)
    rng = numpy.random.default_rng(5)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else "int8"
    x, w = (rng.integers(-8, 8, size=shape).astype(kind) for shape in ((3, 32, 12, 12), (32, 1, 3, 3)))
    one, other = results(module, x, w)
    numpy.testing.assert_array_equal(one, other)
    wanted = run_onnx("Conv", x.astype("f4"), w.astype("f4"), pads=[1] * 4, group=32)[0]
    numpy.testing.assert_array_equal(one.astype("f4"), wanted)


def test_channels_that_are_summed_stay() -> None:
    """Keep summed channels: each part of the data would be copied for every channel of the result."""
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 16, 12, 12)), rx.tensor((16, 16, 3, 3))]) as f:
        f.returns(relax.nn.conv2d(*f, padding=(1, 1, 1, 1)))
    assert "tensor<1x" not in str(rx.lower(module, TARGET, pipeline=rx.stages(TARGET).until("plan")))
