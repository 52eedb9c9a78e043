# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.astype between all element types, compiled and run, against numpy and ml_dtypes.

Types of up to 16 bits are tested with all of their elements, and wider types with values near roundings and overflows.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.runtime import tensor, to_numpy

import relax_mlir as rx

INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TINY_INTS = ["int2", "uint2", "int4", "uint4"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SMALL_FLOATS = [name for name in DTYPE_BY_NAME if name.startswith(("float8_", "float6_", "float4_"))]
ALL = ["bool", *TINY_INTS, *INTS, *FLOATS, *SMALL_FLOATS]


def numpy_type(name: str) -> Any:
    return numpy.dtype(getattr(ml_dtypes, name, name))


def is_float(name: str) -> bool:
    return name in FLOATS or name in SMALL_FLOATS


def bits(name: str) -> int:
    return ml_dtypes.finfo(numpy_type(name)).bits if is_float(name) else ml_dtypes.iinfo(numpy_type(name)).bits


# ---- inputs ----


def every_element(name: str) -> Any:
    dtype = numpy_type(name)
    codes = numpy.arange(2 ** min(bits(name), 8 * dtype.itemsize), dtype=f"uint{8 * dtype.itemsize}")
    return codes.view(dtype)


@functools.cache
def roundings() -> Any:
    """Return all numbers of the types of up to 16 bits, and the ties between them, in f64."""
    values = [numpy.array([], "float64")]
    for name in ["float16", "bfloat16", *SMALL_FLOATS]:
        found = every_element(name).astype("float64")
        found = numpy.unique(found[numpy.isfinite(found)])
        largest = found[-1] + (found[-1] - found[-2])  # the next number after the largest
        found = numpy.append(found, largest)
        values += [found, (found[1:] + found[:-1]) / 2]
    return numpy.unique(numpy.concatenate(values))


def floats(name: str) -> Any:
    """Return numbers at roundings and overflows, their neighbours, and random bits."""
    powers = 2.0 ** numpy.arange(65)
    limits = numpy.concatenate([powers + delta for delta in (-1, -0.5, 0, 0.5, 1)])
    centre = numpy.concatenate([roundings(), limits, -limits]).astype(name)
    random = numpy.random.default_rng(3).integers(0, 256, (20000, centre.itemsize), "uint8").view(name).ravel()
    scaled = numpy.random.default_rng(4).normal(scale=100, size=2000).astype(name)
    special = numpy.array([0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -numpy.nan], name)
    near = [centre, numpy.nextafter(centre, numpy.array(numpy.inf, name))]
    return numpy.concatenate([*near, numpy.nextafter(centre, numpy.array(-numpy.inf, name)), random, scaled, special])


def integers(name: str) -> Any:
    limits = numpy.iinfo(name)
    random = numpy.random.default_rng(3).integers(limits.min, limits.max, 5000, name, endpoint=True)
    # Half-way cases of every number of digits, and their neighbours.
    small = random[:2000] >> numpy.arange(2000).astype(name) % numpy.array(limits.bits, name)
    centre = numpy.array([limits.min, limits.max, 0, *(1 << power for power in range(limits.bits - 1))], name)
    halves = numpy.array([odd << power for odd in range(257, 600) for power in range(limits.bits - 10)], name)
    values = numpy.concatenate([random, small, centre, halves])
    one = numpy.array(1, name)
    return numpy.concatenate([values, values + one, values - one])


@functools.cache
def inputs(name: str) -> Any:
    if name == "bool":
        return numpy.array([True, False])
    if bits(name) <= 16:
        return every_element(name)
    return floats(name) if is_float(name) else integers(name)


# ---- expected results ----


def as_odd_f32(exact: Any) -> Any:
    """Round exact numbers (in longdouble) to odd f32, so that a second rounding is right."""
    nearest = exact.astype("float32")
    cut = numpy.where(numpy.abs(nearest.astype("longdouble")) > numpy.abs(exact), numpy.nextafter(nearest, 0), nearest)
    cut = cut.astype("float32")
    lost = (cut.astype("longdouble") != exact) & ~numpy.isnan(exact)
    return (cut.view("uint32") | lost).view("float32")


def expected_float(values: Any, source: str, target: str) -> Any:
    exact = values.astype("float32" if source in SMALL_FLOATS else values.dtype)
    if source == "bfloat16" or source in TINY_INTS:
        exact = values.astype("float32")
    if target in ("float32", "float64"):
        return exact.astype(target)
    if source != "bool" and bits(source) > 16:
        exact = exact if source == "float32" else as_odd_f32(exact.astype("longdouble"))
    narrow = exact.astype("float32")
    rounded = narrow.astype(numpy_type(target))
    if target == "float8_e8m0fnu":
        # ml_dtypes rounds everything above 2**-127 up to 2**-126, however near it is.
        is_lowest = (narrow > 0) & (narrow < 1.5 * 2.0**-127)
        rounded = numpy.where(is_lowest, numpy.uint8(0), rounded.view("uint8")).view(rounded.dtype)
    return rounded


def expected_integer(values: Any, target: str) -> Any:
    """Truncate and saturate. NaN is 0."""
    limits = ml_dtypes.iinfo(numpy_type(target))
    exact = numpy.trunc(numpy.nan_to_num(values.astype("float64").astype("longdouble"), nan=0))
    limited = numpy.clip(exact, numpy.longdouble(int(limits.min)), numpy.longdouble(int(limits.max)))
    wide = limited.astype("uint64" if limits.min == 0 else "int64")
    return wide.astype(numpy_type(target))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with numpy.errstate(all="ignore"):
        yield


def expected(values: Any, source: str, target: str) -> Any:
    if target == "bool":
        return (values.astype("float32") if source in (*SMALL_FLOATS, "bfloat16", *TINY_INTS) else values) != 0
    if is_float(target):
        return expected_float(values, source, target)
    if is_float(source):
        return expected_integer(values, target)
    wide = values.astype("int8") if source in TINY_INTS else values
    return wide.astype(numpy_type(target))


def check(actual: Any, wanted: Any, values: Any) -> None:
    """Equal bits, but any NaN for a NaN."""
    assert actual.dtype == wanted.dtype and actual.shape == wanted.shape
    width = f"uint{8 * wanted.itemsize}"
    differ = actual.view(width) != wanted.view(width)
    if wanted.dtype.kind != "b" and is_float(wanted.dtype.name):
        differ &= ~(numpy.isnan(actual) & numpy.isnan(wanted))
    where = numpy.flatnonzero(differ)[:5]
    assert not len(where), f"of {values[where]}: {actual[where]} instead of {wanted[where]}"


# Some types are compiled with vectors and optimization, which would exploit undefined behaviour.
OPTIMIZED = ("bool", "int4", "int64", "bfloat16", "float32", "float64", "float8_e4m3fn")


def converted(values: Any, source: str, targets: list[str]) -> list[Any]:
    """Return the values converted to each of the types."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), source)]) as f:
        (x,) = f
        f.returns(*(rx.relax.astype(x, dtype=target) for target in targets))
    if source in OPTIMIZED:
        main = rx.compile(module)["main"]
    else:
        main = rx.compile(module, opt_level=0, pipeline=rx.stages("llvm").drop("plan"))["main"]
    return [to_numpy(result, target) for target, result in zip(targets, main(tensor(values.copy())), strict=True)]


@pytest.mark.parametrize("source", ALL)
def test_every_type(source: str) -> None:
    values = inputs(source)
    targets = [target for target in ALL if target != source]
    for target, actual in zip(targets, converted(values, source, targets), strict=True):
        check(actual, expected(values, source, target), values)


def test_one_rounding_from_f64_and_integers() -> None:
    """Convert values that would be rounded otherwise by way of f32."""
    values = numpy.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40, 1 + 2.0**-4 + 2.0**-40])
    bf16, f8 = converted(values, "float64", ["bfloat16", "float8_e4m3fn"])
    numpy.testing.assert_array_equal(bf16.astype(float), [1 + 2.0**-7, 1, 1 + 2.0**-4])
    assert f8[2] == 1.125 and values[2].astype("float32").astype(f8.dtype) == 1
    numbers = numpy.array([(1 << 62) + (1 << 54) + 1, -(1 << 62) - (1 << 54) - 1, (1 << 62) + (1 << 54)])
    bf16, _ = converted(numbers, "int64", ["bfloat16", "float32"])
    up = float((1 << 62) + (1 << 55))
    numpy.testing.assert_array_equal(bf16.astype(float), [up, -up, 1 << 62])


def test_out_of_range() -> None:
    values = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, 300.7, -0.9], "float32")
    signed, unsigned, wide = converted(values, "float32", ["int8", "uint8", "uint64"])
    assert signed.tolist() == [0, 127, -128, 127, -128, 127, 0]
    assert unsigned.tolist() == [0, 255, 0, 255, 0, 255, 0]
    assert wide.tolist() == [0, 2**64 - 1, 0, 2**64 - 1, 0, 300, 0]


@draws(12)
@given(st.lists(st.integers(0, 3), max_size=4))
def test_shapes(shape: list[int]) -> None:
    values = numpy.random.default_rng(1).normal(scale=50, size=shape).astype("float32")
    actual = run_op("relax.astype", values, dtype="int16")
    numpy.testing.assert_array_equal(actual, values.astype("int16"))


@pytest.mark.parametrize("sizes", [("n", 3), (None, 3), (None, None)], ids=str)
def test_sizes_that_only_the_run_tells(sizes: Any) -> None:
    values = numpy.arange(6, dtype="int32").reshape(2, 3)
    module = rx.Module()
    with module.function("main", [rx.tensor(("a", "b"), "int32")]) as f:
        (x,) = f
        f.returns(
            rx.relax.match_cast(
                rx.relax.astype(rx.relax.match_cast(x, rx.tensor(sizes, "int32")), dtype="float64"),
                rx.tensor(("a", "b"), "float64"),
            )
        )
    numpy.testing.assert_array_equal(to_numpy(rx.compile(module)["main"](values)), values.astype("float64"))


def test_types_without_a_conversion() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2,), "f32")]) as f:
        f.returns(rx.relax.astype(*f, dtype="tf32"))
    with pytest.raises(rx.RelaxError, match="tf32 is not converted; possible are f16, bf16, f32, f64 and the f8"):
        rx.LegalizeOps(target="llvm")(module)


# ---- the same bits ----


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_bits_as_those_of_every_type_of_the_size(size: int) -> None:
    names = [name for name in [*INTS, *FLOATS, *SMALL_FLOATS] if numpy_type(name).itemsize == size and bits(name) > 6]
    codes = numpy.random.default_rng(size).integers(0, 256, 37 * size, "uint8")
    for source, target in zip(names, [*names[1:], names[0]], strict=True):
        actual = run_op("relax.bitcast", codes.view(numpy_type(source)), symbols=[["n"]], dtype=target)
        assert actual.dtype == numpy_type(target) and actual.tobytes() == codes.tobytes()


def test_bits_join_what_is_around_them() -> None:
    """Return the sign of a float by its bits, in one loop with arithmetic before and after."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), "f32")]) as f:
        negated = rx.relax.bitcast(rx.relax.negative(*f), dtype="uint32")
        sign = rx.relax.right_shift(negated, rx.relax.const(31, "ui32"))
        f.returns(rx.relax.astype(sign, dtype="bool"))
    assert str(rx.lower(module, pipeline=rx.stages().until("fuse"))).count('"relax.call_tir"') == 1
    x = numpy.array([1.0, -0.0, 0.0, -numpy.inf], "float32")
    result = to_numpy(rx.compile(module)["main"](tensor(x)))
    numpy.testing.assert_array_equal(result, ~numpy.signbit(x))
