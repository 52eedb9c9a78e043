# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of pairs of bytes on CPUs with 16-bit sums that saturate: results are exact for all weights."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from relax_mlir.passes.kernels.schedule.byte_pairs import with_masks
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

AVX2 = "llvm{cpu=x86-64-v3 cores=1}"
TYPES = [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]
_random = numpy.random.default_rng(0)


def extremes(shape: tuple[int, ...], dtype: str, *, lowest: int | None = None) -> Any:
    """Return bytes, half of which are the largest or smallest ones."""
    limits = numpy.iinfo(dtype)
    least = limits.min if lowest is None else lowest
    anything = _random.integers(least, limits.max + 1, shape)
    ends = _random.choice([least, least + 1, 0, 1, limits.max], shape)
    return numpy.where(_random.random(shape) < 0.5, anything, ends).astype(dtype)


def product(x: Any, w: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, str(x.dtype))]) as f:
        f.returns(relax.matmul(*f, relax.const(w), out_dtype="int32"))
    return module


def convolution(x: Any, w: Any, padding: int, stride: int = 1) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, str(x.dtype))]) as f:
        how = {"padding": [padding] * 4, "strides": [stride] * 2, "out_dtype": "int32"}
        f.returns(relax.nn.conv2d(*f, relax.const(w), **how))
    return module


def sums_of(x: Any, w: Any, padding: int, stride: int) -> Any:
    padded = numpy.pad(x.astype("i4"), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return numpy.einsum("nchwrs,kcrs->nkhw", windows, w.astype("i4"))


def run(module: rx.Module, x: Any, target: str = AVX2) -> Any:
    return to_numpy(rx.compile(module, target)["main"](x))


def planned(module: rx.Module, target: str = AVX2) -> list[str]:
    """Return the clauses of dot products in the module's plans."""
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))
    return re.findall(r"; (dot [^;\"]*)", text)


@pytest.mark.parametrize(("rows", "columns"), TYPES)
@pytest.mark.parametrize("lowest", [-128, -127, -64], ids=str)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 33, 40), (9, 64, 48), (33, 131, 70), (8, 4, 8), (40, 259, 16)])
def test_products_are_exact(rows: str, columns: str, lowest: int, m: int, k: int, n: int) -> None:
    x = extremes((m, k), rows)
    w = extremes((k, n), columns, lowest=lowest if columns == "int8" else None)
    w = w.clip(max=-lowest) if lowest == -64 else w
    numpy.testing.assert_array_equal(run(product(x, w), x), x.astype("i4") @ w.astype("i4"))


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)], ids=str)
@pytest.mark.parametrize("rows", ["uint8", "int8"])
def test_largest_sums_of_each_sign(signs: tuple[int, int], rows: str) -> None:
    """All pairs have the largest possible sum: 255 or -128 times 127, twice."""
    w = numpy.full((64, 32), 127, "int8") * numpy.tile(numpy.array(signs, "int8"), 32)[:, None]
    limits = numpy.iinfo(rows)
    for value in (limits.min, limits.max):
        x = numpy.full((16, 64), value, rows)
        numpy.testing.assert_array_equal(run(product(x, w), x), x.astype("i4") @ w.astype("i4"))


@pytest.mark.parametrize(("rows", "columns"), TYPES)
@pytest.mark.parametrize("lowest", [-128, -127, -64], ids=str)
@pytest.mark.parametrize(
    ("channels", "outputs", "taps", "stride", "padding"),
    [(32, 48, 3, 1, 1), (16, 16, 1, 2, 0), (20, 8, 3, 2, 1), (3, 16, 3, 1, 0), (3, 20, 7, 2, 3)],
)
def test_convolutions_are_exact(
    rows: str, columns: str, lowest: int, channels: int, outputs: int, taps: int, stride: int, padding: int
) -> None:
    x = extremes((2, channels, 9, 11), rows)
    w = extremes((outputs, channels, taps, taps), columns, lowest=lowest if columns == "int8" else None)
    w = w.clip(max=-lowest) if lowest == -64 else w
    got = run(convolution(x, w, padding, stride), x)
    numpy.testing.assert_array_equal(got, sums_of(x, w, padding, stride))


@pytest.mark.parametrize(("rows", "zero"), [("uint8", 131), ("int8", -7)])
@pytest.mark.parametrize("threads", [1, 3])
def test_zero_points(rows: str, zero: int, threads: int) -> None:
    """Products of bytes less a zero point, on several threads, with a constant added to the sums."""
    x, w, bias = extremes((64, 96), rows), extremes((96, 80), "int8", lowest=-127), _random.integers(-99, 99, 80)
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, rows)]) as f:
        wide = relax.subtract(relax.astype(*f, "int32"), relax.const(numpy.int32(zero)))
        sums = relax.matmul(wide, relax.astype(relax.const(w), "int32"), out_dtype="int32")
        f.returns(relax.add(sums, relax.const(bias.astype("i4"))))
    program = rx.compile(module, f"llvm{{cpu=x86-64-v3 cores={threads}}}")
    program.threads = threads
    expected = (x.astype("i4") - zero) @ w.astype("i4") + bias
    numpy.testing.assert_array_equal(to_numpy(program["main"](x)), expected)


def weights(shape: tuple[int, ...], largest: int) -> Any:
    return _random.integers(-largest, largest + 1, shape).astype("int8")


def test_plans_state_the_form_of_the_weights() -> None:
    x, picture = extremes((32, 64), "uint8"), extremes((1, 32, 14, 14), "uint8")
    assert planned(product(x, weights((64, 32), 64))) == ["dot 2: 4 safe"]
    assert planned(product(x, weights((64, 32), 127))) == ["dot 2: 4 masked"]
    assert planned(convolution(picture, weights((32, 32, 3, 3), 64), 1)) == ["dot 8: 4 packed safe"]
    assert planned(convolution(picture, weights((32, 32, 3, 3), 127), 1)) == ["dot 8: 4 packed masked"]


def test_plans_without_pairs_of_bytes() -> None:
    """Few rows do not pay for masks, -128 has no negative, and other CPUs sum bytes in 32 bits or lack the pairs."""
    x, large = extremes((32, 64), "uint8"), weights((64, 32), 127)
    lowest = large.copy()
    lowest[:4] = -128
    assert planned(product(x[:1], large)) == ["dot 2: 4"]
    assert planned(product(x, lowest)) == ["dot 2: 4"]
    assert planned(product(x, large.view("uint8"))) == ["dot 2: 4"]
    assert planned(product(x, large), "llvm{cpu=alderlake}") == ["dot 2: 4"]
    assert planned(product(x, large), "llvm{cpu=x86-64}") == ["dot 2: 4"]


@pytest.mark.parametrize("largest", [64, 127])
def test_another_plan_takes_masks_apart(largest: int) -> None:
    """Compile a module with packed weights after a change of its plan."""
    x, w = extremes((40, 67), "uint8"), weights((67, 72), largest)
    text = str(rx.lower(product(x, w), AVX2, pipeline=rx.stages(AVX2).until("plan")))
    plan = re.search(r'tir.plan = "(order 1[^"]*packed; dot[^"]*)"', text)
    assert plan is not None
    changed = rx.Module.parse(text.replace(plan[1], "order 0 1 2; carried 1; vector 1 x 8; rule mine"))
    program = rx.compile(changed, AVX2, pipeline=rx.stages(AVX2).between(start="apply"))
    numpy.testing.assert_array_equal(to_numpy(program["main"](x)), x.astype("i4") @ w.astype("i4"))


@pytest.mark.parametrize("kind", ["u8", "s8"])
def test_masks_of_all_pairs(kind: str) -> None:
    """Factors and masks give the same products, less the product of a zero, and no pair saturates."""
    every = numpy.arange(-128, 128).astype("int8")
    pairs = numpy.stack(numpy.meshgrid(every, every, indexing="ij"), -1).reshape(-1, 2)[1:]  # without -128, -128
    found = with_masks(pairs.copy(), kind)
    assert found is not None
    factors, masks = found[: len(pairs)].astype("i4"), found[len(pairs) :]

    def sums(x: int) -> Any:
        flipped = (numpy.full(pairs.shape, x).astype("uint8") ^ masks.view("uint8")).astype("i4")
        both = (flipped * factors).sum(axis=1)
        assert both.min() >= -(1 << 15)
        assert both.max() < 1 << 15
        return both

    for x in (0, 1, 127, 128, 255) if kind == "u8" else (-128, -1, 0, 1, 127):
        numpy.testing.assert_array_equal(sums(x) - sums(0), x * pairs.astype("i4").sum(axis=1))
    assert with_masks(numpy.full((4, 2), -128, "int8"), kind) is None
