# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs on elements of less than a byte and on small floats, compiled and run, against ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.emit.small_floats import SMALL_FLOATS, constant_code
from relax_mlir.runtime import tensor, to_numpy

import relax_mlir as rx
from relax_mlir import relax

FLOAT8 = [name for name in DTYPE_BY_NAME if name.startswith("float8_")]
PADDED = ["int2", "uint2", "int4", "uint4", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
# Others are no arithmetic: powers of two only.
ARITHMETIC = [name for name in FLOAT8 if name != "float8_e8m0fnu"]


def elements(name: str) -> Any:
    """Return every element of the type."""
    dtype = numpy.dtype(getattr(ml_dtypes, name))
    bits = 8 if name in FLOAT8 else int(name[3 if name.startswith("int") else 4 if name[0] == "u" else 5])
    return numpy.arange(2**bits, dtype="uint8").view(dtype)


def ran(build: Any, *arrays: Any, result: str) -> Any:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", *array.shape[1:]), array.dtype.name) for array in arrays]) as f:
        f.returns(build(*f))
    return to_numpy(rx.compile(module)["main"](*map(tensor, arrays)), result)


@pytest.mark.parametrize("name", [*PADDED, *FLOAT8])
def test_elements_move(name: str) -> None:
    x = elements(name).reshape(2, -1)
    constant = x[:, ::-1].copy()

    def build(a: Any) -> Any:
        both = relax.concat([a, relax.const(constant)], axis=0)
        return relax.reshape(relax.permute_dims(both, [1, 0]), (x.shape[1], -1))

    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, name)]) as f:
        f.returns(build(*f))
    actual = to_numpy(rx.compile(module)["main"](tensor(x)), name)
    expected = numpy.concatenate([x, constant]).T
    assert actual.dtype == expected.dtype
    numpy.testing.assert_array_equal(actual.view("uint8"), expected.view("uint8"))


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn", "float8_e5m2"])
def test_large_constants(name: str) -> None:
    """Store large constants as resources in the artifact."""
    constant = numpy.random.default_rng(1).integers(0, 16, 300_000, "uint8").view(getattr(ml_dtypes, name))
    x = constant[:5].copy()
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, name)]) as f:
        (a,) = f
        f.returns(relax.concat([a, relax.const(constant)], axis=0))
    actual = to_numpy(rx.compile(module)["main"](tensor(x)), name)
    numpy.testing.assert_array_equal(actual.view("uint8"), numpy.concatenate([x, constant]).view("uint8"))


def test_bits_above_an_element_do_not_matter() -> None:
    bytes_ = numpy.arange(256, dtype="uint8")
    actual = ran(lambda x: relax.astype(x, dtype="int32"), bytes_.view(ml_dtypes.int4), result="int32")
    numpy.testing.assert_array_equal(actual, ((bytes_ & 15) ^ 8).astype("int32") - 8)
    negative = ran(lambda x: relax.astype(x, dtype="int4"), numpy.array([-1, -8], "int32"), result="uint8")
    numpy.testing.assert_array_equal(negative, [15, 8])


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_small_floats(name: str) -> None:
    """Compute like ml_dtypes: in f32, with one rounding."""
    values = elements(name)
    x, y = (grid.ravel().copy() for grid in numpy.meshgrid(values, values[::5]))
    with numpy.errstate(all="ignore"):
        sums, products, largest = x + y, x * y, numpy.maximum(x, y)
        less = x < y
    for build, expected in ((relax.add, sums), (relax.multiply, products), (relax.maximum, largest)):
        actual = ran(build, x, y, result=name)
        numpy.testing.assert_array_equal(actual.astype("float32"), expected.astype("float32"), err_msg=str(build))
    numpy.testing.assert_array_equal(ran(relax.less, x, y, result="bool"), less)


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "float4_e2m1fn"])
def test_functions_of_small_floats(name: str) -> None:
    x = elements(name)
    wide = x.astype("float32")
    with numpy.errstate(all="ignore"):
        expected = {relax.exp: numpy.exp(wide), relax.nn.silu: wide / (1 + numpy.exp(-wide))}
        expected[relax.nn.relu] = numpy.maximum(wide, 0)
        rounded = {build: values.astype(x.dtype).astype("float32") for build, values in expected.items()}
    for build, values in rounded.items():
        numpy.testing.assert_array_equal(ran(build, x, result=name).astype("float32"), values, err_msg=str(build))


def test_integers_of_four_bits_wrap_around() -> None:
    x, y = (grid.ravel().copy() for grid in numpy.meshgrid(elements("int4"), elements("int4")))
    for build, expected in ((relax.add, numpy.add), (relax.multiply, numpy.multiply), (relax.maximum, numpy.maximum)):
        wide = expected(x.astype("int8"), y.astype("int8"))
        numpy.testing.assert_array_equal(ran(build, x, y, result="int4"), wide.astype(ml_dtypes.int4))


@pytest.mark.parametrize("dtype", sorted(SMALL_FLOATS))
def test_constants(dtype: str) -> None:
    name = next(name for name, known in DTYPE_BY_NAME.items() if known == dtype)
    values = elements(name)
    for code, value in enumerate(values.astype("float64").tolist()):
        found = numpy.array(constant_code(value, dtype), "uint8").view(values.dtype)
        assert numpy.isnan(found) if numpy.isnan(value) else found.view("uint8") == code
        # As MLIR writes it: seven digits.
        assert constant_code(float(f"{value:.6e}"), dtype) == constant_code(value, dtype)
