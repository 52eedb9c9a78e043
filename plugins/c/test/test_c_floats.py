# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons of floats in C: every predicate, of any two numbers, of one with itself and with a constant, with NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_kernels import Kernel, pairs
from c_programs import CProgram, needs_compiler
from relax_mlir import relax

pytestmark = needs_compiler
WIDTHS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
ORDERED = {
    "oeq": numpy.equal,
    "ogt": numpy.greater,
    "oge": numpy.greater_equal,
    "olt": numpy.less,
    "ole": numpy.less_equal,
    "one": lambda x, y: (x < y) | (x > y),
    "ord": lambda x, y: ~(numpy.isnan(x) | numpy.isnan(y)),
    "false": lambda x, y: numpy.zeros(x.shape, bool),
}
UNORDERED = {"ueq": "oeq", "ugt": "ogt", "uge": "oge", "ult": "olt", "ule": "ole", "une": "one", "uno": "false"}
PREDICATES = (*ORDERED, *UNORDERED, "true")
SPECIAL = [0.0, -0.0, 1.0, -1.5, 1.0, numpy.inf, -numpy.inf, numpy.nan]


def holds(predicate: str, x: Any, y: Any) -> Any:
    """Return the comparison's result by numpy. An unordered comparison also holds for NaN."""
    x, y = x.astype("float64"), y.astype("float64")
    if predicate == "true":
        return numpy.ones(x.shape, bool)
    if predicate in ORDERED:
        return ORDERED[predicate](x, y)
    return ORDERED[UNORDERED[predicate]](x, y) | numpy.isnan(x) | numpy.isnan(y)


def array_of(values: Any, type_: str) -> Any:
    import ml_dtypes  # noqa: F401  # numpy knows its names then

    return numpy.array(values).astype(numpy.dtype(WIDTHS[type_]))


def lines_of(type_: str, left: str, right: str) -> dict[str, tuple[str, str]]:
    """Return each comparison by itself, its negation, and a select by it."""
    made = {}
    for name in PREDICATES:
        compare = f"arith.cmpf {name}, %{left}, %{right} : {type_}"
        made[f"is_{name}"] = (f"%{name}_truth = {compare}\n%is_{name} = arith.extui %{name}_truth : i1 to i8", "i8")
        contrary = f"%{name}_there = {compare}\n%{name}_not = arith.xori %{name}_there, %yes : i1"
        made[f"not_{name}"] = (f"{contrary}\n%not_{name} = arith.extui %{name}_not : i1 to i8", "i8")
        chosen = f"%{name}_first = {compare}\n%{name}_chosen = arith.select %{name}_first, %{left}, %{right} : {type_}"
        made[f"{name}_chosen"] = (chosen, type_)
    return made


def check(kernel: Kernel, x: Any, y: Any, given: dict[str, Any]) -> None:
    for name in PREDICATES:
        truth = holds(name, x, y)
        numpy.testing.assert_array_equal(given[f"is_{name}"], truth, err_msg=name)
        numpy.testing.assert_array_equal(given[f"not_{name}"], ~truth, err_msg=name)
        chosen = numpy.where(truth, x, y).view(f"u{x.itemsize}")
        numpy.testing.assert_array_equal(given[f"{name}_chosen"].view(f"u{x.itemsize}"), chosen, err_msg=name)


YES = "%yes = arith.constant true"


@pytest.mark.parametrize("type_", WIDTHS)
def test_two_numbers(type_: str) -> None:
    x, y = (array_of(each, type_) for each in pairs(SPECIAL))
    kernel = Kernel(type_, lines_of(type_, "a", "b"), YES)
    given = kernel(x, y)
    check(kernel, x, y, given)
    expected = kernel.on_llvm(x, y)
    for name in PREDICATES:
        numpy.testing.assert_array_equal(given[f"is_{name}"], expected[f"is_{name}"], err_msg=name)


@pytest.mark.parametrize("type_", WIDTHS)
def test_a_number_and_itself(type_: str) -> None:
    x = array_of(SPECIAL, type_)
    kernel = Kernel(type_, lines_of(type_, "a", "a"), YES)
    check(kernel, x, x, kernel(x, x))


@pytest.mark.parametrize("value", ["0.0", "-1.5", "0x7F800000", "0xFF800000", "0x7FC00000"])
@pytest.mark.parametrize("order", [("a", "known"), ("known", "a")])
def test_a_number_and_one_that_is_known(value: str, order: tuple[str, str]) -> None:
    x = array_of(SPECIAL, "f32")
    bits = int(value, 16) if value.startswith("0x") else int(numpy.float32(value).view("uint32"))
    known = numpy.full(x.shape, numpy.uint32(bits)).view("float32")
    kernel = Kernel("f32", lines_of("f32", *order), f"{YES}\n%known = arith.constant {value} : f32")
    check(kernel, *((x, known) if order[0] == "a" else (known, x)), kernel(x, x))


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_two_elements_that_are_one_place(type_: str) -> None:
    """Compare two reads of one element, which become one read in C: the element may be NaN."""
    lines = {}
    for name in PREDICATES:
        reads = "\n".join(f"%{name}_{each} = memref.load %x[%i] : memref<?x{type_}>" for each in ("one", "other"))
        compare = f"%{name}_truth = arith.cmpf {name}, %{name}_one, %{name}_other : {type_}"
        lines[name + "_is"] = (f"{reads}\n{compare}\n%{name}_is = arith.extui %{name}_truth : i1 to i8", "i8")
    kernel, x = Kernel(type_, lines), array_of(SPECIAL, type_)
    given = kernel(x, x)
    for name in PREDICATES:
        numpy.testing.assert_array_equal(given[f"{name}_is"], holds(name, x, x), err_msg=name)


COMPARISONS: dict[str, Callable[..., Any]] = {
    name: getattr(numpy, name) for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
def test_operators_of_a_value_and_itself(dtype: str) -> None:
    """Compare a value with itself: in a kernel of its own, and fused with another user of the value."""
    module = rx.Module()
    for name in COMPARISONS:
        with module.function(f"alone_{name}", [rx.tensor((8,), dtype)]) as f:
            (x,) = f
            f.returns(getattr(relax, name)(x, x))
        with module.function(f"fused_{name}", [rx.tensor((8,), dtype)] * 2) as f:
            x, y = f
            f.returns(getattr(relax, name)(x, x), relax.where(getattr(relax, name)(x, x), x, y))
    program = CProgram(module)
    x = numpy.array(SPECIAL).astype("float32")
    x = numpy.nan_to_num(x, nan=3, posinf=9, neginf=-9).astype(dtype) if dtype in ("int32", "bool") else x.astype(dtype)
    y = x[::-1].copy()
    for name, function in COMPARISONS.items():
        truth = function(x, x)
        (alone,) = program(x, function=f"alone_{name}")
        fused, chosen = program(x, y, function=f"fused_{name}")
        for given in (alone, fused):
            numpy.testing.assert_array_equal(given.astype(bool), truth, err_msg=name)
        numpy.testing.assert_array_equal(chosen, numpy.where(truth, x, y), err_msg=name)


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_arithmetic(type_: str) -> None:
    names = "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split()
    lines = {name: (f"%{name} = arith.{name} %a, %b : {type_}", type_) for name in names}
    lines["negf"] = (f"%negf = arith.negf %a : {type_}", type_)
    kernel = Kernel(type_, lines)
    x, y = (array_of(each, type_) for each in pairs([*SPECIAL, 7.25, -3.0, 1e-3]))
    with numpy.errstate(all="ignore"):
        expected = {
            "addf": x + y, "subf": x - y, "mulf": x * y, "divf": x / y, "remf": numpy.fmod(x, y), "negf": -x,
            "maximumf": numpy.maximum(x, y), "minimumf": numpy.minimum(x, y), "maxnumf": numpy.fmax(x, y),
            "minnumf": numpy.fmin(x, y),
        }  # fmt: skip
    given = kernel(x, y)
    for name, wanted in expected.items():
        numpy.testing.assert_array_equal(given[name], wanted, err_msg=name)
        if name in ("negf", "mulf", "divf"):
            is_number = ~numpy.isnan(wanted)
            assert (numpy.signbit(given[name]) == numpy.signbit(wanted))[is_number].all(), name


@pytest.mark.parametrize("held", ["i1", "i4", "i8", "i32", "i64"])
def test_floats_and_integers_of_all_widths(held: str) -> None:
    width = int(held[1:])
    lines = {
        "signed": (
            f"%signed_made = arith.fptosi %a : f64 to {held}\n%signed = arith.extsi %signed_made : {held} to i64",
            "i64",
        ),
        "unsigned": (
            f"%unsigned_made = arith.fptoui %b : f64 to {held}\n%unsigned = arith.extui %unsigned_made : {held} to i64",
            "i64",
        ),
    }
    if held == "i64":
        lines = {
            "signed": ("%signed = arith.fptosi %a : f64 to i64", "i64"),
            "unsigned": ("%unsigned = arith.fptoui %b : f64 to i64", "i64"),
        }
    lines |= {
        "back": (f"%again = arith.fptosi %a : f64 to {held}\n%back = arith.sitofp %again : {held} to f64", "f64"),
        "back_u": (
            f"%again_u = arith.fptoui %b : f64 to {held}\n%back_u = arith.uitofp %again_u : {held} to f32",
            "f32",
        ),
    }
    most = float(min(1 << (width - 1), 1 << 52))
    x = numpy.array([0.0, -0.0, 0.5, -0.75, 0.99, -0.99, -most, (most - 1) / 2, most - 1, -most - 0.5, most - 0.25])
    x = x[(numpy.trunc(x) >= -most) & (numpy.trunc(x) < most)]
    y = numpy.abs(x) * 1.5
    y = numpy.where(numpy.trunc(y) < 2 * most, y, 0.0)
    given = Kernel("f64", lines)(x, y)
    numpy.testing.assert_array_equal(given["signed"], numpy.trunc(x))
    numpy.testing.assert_array_equal(given["back"], numpy.trunc(x))
    numpy.testing.assert_array_equal(given["unsigned"], numpy.trunc(y))
    numpy.testing.assert_array_equal(given["back_u"], numpy.trunc(y).astype("float32"))
