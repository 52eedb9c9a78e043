# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators, legalized by the default rules, compiled for llvm and run, against numpy and scipy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import scipy.special
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from prim_jit import run_op
from relax_mlir.runtime.arrays import numpy_type

import relax_mlir as rx
from relax_mlir import relax

FLOATS = ("float16", "float32", "float64")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SIGNED = tuple(name for name in INTS if name.startswith("int"))
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 3.5, 1e-3, 100.0, numpy.inf, -numpy.inf, numpy.nan]


def floats(dtype: str) -> Any:
    random = numpy.random.default_rng(7).normal(scale=3, size=51)
    return numpy.array([*SPECIAL, *random], dtype)


def integers(dtype: str) -> Any:
    limits = numpy.iinfo(dtype)
    random = numpy.random.default_rng(7).integers(limits.min, limits.max, 53, dtype, endpoint=True)
    small = numpy.array([0, 1, 2, 3, 7, limits.min, limits.max, limits.max - 1], dtype)
    return numpy.concatenate([small, small[::-1], random])


def pairs(values: Any) -> tuple[Any, Any]:
    """Return all pairs of the first 16 values, and random pairs of the rest."""
    left, right = numpy.meshgrid(values[:16], values[:16])
    rest = values[16:]
    return numpy.concatenate([left.ravel(), rest]), numpy.concatenate([right.ravel(), rest[::-1]])


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arrays, **options)


def check(name: str, actual: Any, expected: Any, dtype: str) -> None:
    expected = numpy.asarray(expected)
    assert actual.shape == expected.shape
    if actual.dtype.kind == "f":
        # The intrinsics promise 4 ulp; f16 goes through f32.
        tolerance = {"float16": 1e-3, "float32": 1e-6, "float64": 2e-15}[dtype]
        numpy.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * 1e-2, err_msg=name)
    else:
        numpy.testing.assert_array_equal(actual, expected, err_msg=name)


FLOAT_UNARY = {
    **{name: getattr(numpy, name) for name in "cos cosh sin sinh tan tanh exp log sqrt ceil floor trunc".split()},
    "acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin, "asinh": numpy.arcsinh,
    "atan": numpy.arctan, "atanh": numpy.arctanh, "erf": scipy.special.erf, "sigmoid": scipy.special.expit,
    "rsqrt": lambda x: 1 / numpy.sqrt(x), "round": numpy.round, "abs": numpy.abs, "negative": numpy.negative,
    "square": numpy.square, "isfinite": numpy.isfinite, "isinf": numpy.isinf, "isnan": numpy.isnan,
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(FLOAT_UNARY))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_float(name: str, dtype: str) -> None:
    values = floats(dtype)
    wide = values.astype("float64") if dtype == "float16" else values
    expected = numpy.asarray(FLOAT_UNARY[name](wide))
    check(name, ran(name, values), expected.astype(dtype) if expected.dtype.kind == "f" else expected, dtype)


def divided(left: Any, right: Any) -> Any:
    """Divide with truncation: by zero gives zero, and the lowest number by -1 wraps around."""
    safe = numpy.where(right == 0, 1, right)
    quotient = [
        int(abs(int(a)) // abs(int(b))) * (-1 if (a < 0) != (b < 0) else 1) for a, b in zip(left, safe, strict=True)
    ]
    wrapped = numpy.array([value & (2 ** (left.dtype.itemsize * 8) - 1) for value in quotient], object)
    return numpy.where(right == 0, 0, wrapped.astype(f"uint{left.dtype.itemsize * 8}").astype(left.dtype))


def rest(left: Any, right: Any) -> Any:
    return numpy.where(right == 0, 0, left - divided(left, right) * right)


ARITHMETIC = {
    "add": (numpy.add, numpy.add), "subtract": (numpy.subtract, numpy.subtract),
    "multiply": (numpy.multiply, numpy.multiply), "divide": (numpy.divide, divided),
    "floor_divide": (numpy.floor_divide, numpy.floor_divide), "mod": (numpy.fmod, rest),
    "floor_mod": (numpy.mod, numpy.mod), "maximum": (numpy.maximum, numpy.maximum),
    "minimum": (numpy.minimum, numpy.minimum),
    **{name: (getattr(numpy, name),) * 2 for name in "equal not_equal less less_equal greater greater_equal".split()},
}  # fmt: skip


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", sorted(ARITHMETIC))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_two_floats(name: str, dtype: str) -> None:
    left, right = pairs(floats(dtype))
    check(name, ran(name, left, right), ARITHMETIC[name][0](left, right), dtype)


@pytest.mark.parametrize(
    ("dtype", "left", "right", "expected"),
    [
        ("float16", 36.5, 0.55322265625, 65.0),
        ("bfloat16", 1.6015625, 0.1337890625, 11.0),
        ("float32", 2.5, 0.001, 2499.0),
        ("float64", 1.0, 0.1, 9.0),
    ],
)
def test_quotients_are_rounded_down_alone(dtype: str, left: float, right: float, expected: float) -> None:
    """Floor exact quotients such as 65.98 and 2499.9999, which would be rounded up to the type first."""
    x, y = (numpy.array([number], numpy_type(dtype)) for number in (left, right))
    assert numpy.floor(x / y)[0] == expected + 1
    assert ran("floor_divide", x, y)[0] == expected


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", sorted(ARITHMETIC))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_two_integers(name: str, dtype: str) -> None:
    left, right = pairs(integers(dtype))
    check(name, ran(name, left, right), ARITHMETIC[name][1](left, right), dtype)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int64"))
@pytest.mark.parametrize(
    ("name", "reference"),
    [("bitwise_and", numpy.bitwise_and), ("bitwise_or", numpy.bitwise_or), ("bitwise_xor", numpy.bitwise_xor)],
)
def test_bits(name: str, reference: Any, dtype: str) -> None:
    left, right = pairs(integers(dtype))
    check(name, ran(name, left, right), reference(left, right), dtype)


@pytest.mark.parametrize("dtype", ("int8", "int32", "int64"))
@pytest.mark.parametrize(
    ("name", "reference"),
    [("abs", numpy.abs), ("negative", numpy.negative), ("square", numpy.square), ("bitwise_not", numpy.invert)],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_integer(name: str, reference: Any, dtype: str) -> None:
    values = integers(dtype)
    check(name, ran(name, values), reference(values), dtype)


def test_booleans() -> None:
    left, right = numpy.array([True, True, False, False]), numpy.array([True, False, True, False])
    for name in ("and", "or", "xor"):
        check(name, ran(f"logical_{name}", left, right), getattr(numpy, f"logical_{name}")(left, right), "bool")
    check("not", ran("logical_not", left), ~left, "bool")


SHAPES = [
    ([("n", 4), (4,)], [(3, 4), (4,)]),
    ([("n", "m"), (1, "m")], [(2, 5), (1, 5)]),
    ([("n", 4), ("m", 4)], [(3, 4), (3, 4)]),
    ([(), ("n",)], [(), (7,)]),
    ([("n", 0), (1, 1)], [(3, 0), (1, 1)]),
    ([("n", 1, 3), (4, 3)], [(2, 1, 3), (4, 3)]),
    ([("k", 3), (5, 3)], [(1, 3), (5, 3)]),
    ([("k", 3), (5, 3)], [(5, 3), (5, 3)]),
]


@pytest.mark.parametrize(("symbols", "shapes"), SHAPES, ids=str)
def test_broadcasting_with_symbols(symbols: Any, shapes: Any) -> None:
    arrays = [numpy.random.default_rng(3).normal(size=shape).astype("float32") for shape in shapes]
    check("add", ran("add", *arrays, symbols=symbols), arrays[0] + arrays[1], "float32")


@draws(25)
@given(st.data())
def test_broadcasting_as_numpy_does(data: Any) -> None:
    full = data.draw(st.lists(st.integers(0, 3), max_size=3), label="full")
    shapes = [
        tuple(data.draw(st.sampled_from([size, 1])) for size in full[data.draw(st.integers(0, len(full))) :])
        for _ in range(2)
    ]
    arrays = [numpy.random.default_rng(5).normal(size=shape).astype("float32") for shape in shapes]
    check("multiply", ran("multiply", *arrays), arrays[0] * arrays[1], "float32")


def test_every_rule_is_of_an_operator_that_is_run_here() -> None:
    run = {*FLOAT_UNARY, *ARITHMETIC, "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "logical_and"}
    run |= {"logical_or", "logical_xor", "logical_not", "power", "atan2", "ewise_fma", "sign", "left_shift"}
    run |= {"right_shift", "log_add_exp"}
    rules = [rule for rule in rx.all_rules("llvm") if "legalize_elementwise" in rule.place]
    assert {rule.op.removeprefix("relax.") for rule in rules} == run


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_power_atan2_and_fma() -> None:
    left, right = pairs(floats("float64")[:40])
    check("atan2", ran("atan2", left, right), numpy.arctan2(left, right), "float64")
    base = numpy.abs(left)
    check("power", ran("power", base, right), numpy.power(base, right), "float64")
    finite = numpy.random.default_rng(1).normal(size=64)
    check("ewise_fma", ran("ewise_fma", finite, finite, finite), finite * finite + finite, "float64")
    small = numpy.arange(-8, 8, dtype="int8")
    check("ewise_fma", ran("ewise_fma", small, small, small), small * small + small, "int8")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("exponent", (2.0, 3.0, 0.5, -0.5, -1.0, 1.5))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_power_of_a_known_exponent(exponent: float, dtype: str) -> None:
    """Compute powers as products or roots. numpy's power gets arrays, because of other results for -0 and -infinity."""
    values = floats(dtype)
    wide = values.astype("float64")
    module = rx.Module()
    with module.function("main", [rx.tensor(values.shape, dtype)]) as f:
        (x,) = f
        f.returns(relax.power(x, relax.const(numpy.array(exponent, dtype))))
    actual = rx.compile(module)["main"](values)
    expected = numpy.float_power(wide, numpy.full_like(wide, exponent)).astype(dtype)
    check("power", actual, expected, dtype)
    is_zero = expected == 0
    numpy.testing.assert_array_equal(numpy.signbit(actual[is_zero]), numpy.signbit(expected[is_zero]))


@pytest.mark.parametrize("length", (1, 15, 16, 64, 67, 200))
def test_truth_values_in_vectors(length: int) -> None:
    """Compute in whole and partial vectors, by rows, columns and steps of two, for known and dynamic sizes."""
    random = numpy.random.default_rng(length)
    x, y = random.normal(size=(2, 5, length)).astype("float32")
    x[0, 0] = numpy.nan
    module = rx.Module()
    with module.function("main", [rx.tensor((5, length)), rx.tensor(("n", "m"))]) as f:
        a, b = f
        zero, seven = (relax.const(numpy.float32(number)) for number in (0, 7))
        above, is_number = relax.greater(a, zero), relax.logical_not(relax.isnan(a))
        both, of_open = relax.logical_xor(above, is_number), relax.logical_not(relax.less(b, zero))
        turned = relax.permute_dims(both)
        half = relax.strided_slice(both, axes=[1], begin=[0], end=[length], strides=[2])
        f.returns(above, both, turned, half, relax.where(both, a, seven), of_open, relax.where(of_open, b, seven))
    given = rx.compile(module)["main"](x, y)
    both = (x > 0) != ~numpy.isnan(x)
    wanted = (x > 0, both, both.T, both[:, ::2], numpy.where(both, x, 7), y >= 0, numpy.where(y >= 0, y, 7))
    for actual, expected in zip(given, wanted, strict=True):
        numpy.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_sign(dtype: str) -> None:
    values = floats(dtype) if dtype in FLOATS else integers(dtype)
    check("sign", ran("sign", values), numpy.sign(values), dtype)


def test_sign_of_a_type_without_zero() -> None:
    """Round 0.0 to the smallest number of f8E8M0FNU."""
    values = numpy.array([0, 1, 127, 254, 255], "uint8").view(numpy_type("float8_e8m0fnu"))
    assert ran("sign", values).view("uint8").tolist() == [127, 127, 127, 127, 255]


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(("name", "reference"), [("left_shift", numpy.left_shift), ("right_shift", numpy.right_shift)])
def test_shifts(name: str, reference: Any, dtype: str) -> None:
    values = integers(dtype)
    width = values.dtype.itemsize * 8
    amounts = numpy.array([0, 1, 3, width - 1, width, width + 1, 100, numpy.iinfo(dtype).max], dtype)
    if dtype in SIGNED:
        amounts = numpy.concatenate([amounts, numpy.array([-1, -width, numpy.iinfo(dtype).min], dtype)])
    left, right = (grid.ravel() for grid in numpy.meshgrid(values, amounts))
    check(name, ran(name, left, right), reference(left, right), dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_power_of_integers(dtype: str) -> None:
    bases = integers(dtype)[:30]
    exponents = numpy.array([0, 1, 2, 3, 5, 31, 64, 127], dtype)
    left, right = (grid.ravel() for grid in numpy.meshgrid(bases, exponents))
    check("power", ran("power", left, right), numpy.power(left, right), dtype)
    if dtype not in SIGNED:
        return
    # numpy refuses negative exponents.
    base = numpy.array([1, 1, -1, -1, 2, -2, 0, 127, -128], dtype)
    exponent = numpy.array([-1, -128, -1, -128, -1, -3, -1, -2, -128], dtype)
    check("power", ran("power", base, exponent), numpy.array([1, 1, -1, 1, 0, 0, 0, 0, 0], dtype), dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS)
def test_log_add_exp(dtype: str) -> None:
    left, right = pairs(floats(dtype))
    expected = numpy.logaddexp(left.astype("float64"), right.astype("float64"))
    check("log_add_exp", ran("log_add_exp", left, right), expected.astype(dtype), dtype)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int32", "uint64"))
@pytest.mark.parametrize(("name", "reference"), [("atan2", numpy.arctan2), ("log_add_exp", numpy.logaddexp)])
def test_float_functions_of_integers_go_towards_zero(name: str, reference: Any, dtype: str) -> None:
    small = numpy.array([0, 1, 2, 3, 50, 120], dtype)
    values = numpy.concatenate([small, -small]) if dtype in SIGNED else small
    left, right = (grid.ravel() for grid in numpy.meshgrid(values, values))
    expected = numpy.trunc(reference(left.astype("float64"), right.astype("float64"))).astype(dtype)
    check(name, ran(name, left, right), expected, dtype)
