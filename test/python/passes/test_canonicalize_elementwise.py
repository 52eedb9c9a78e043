# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-canonicalize on elementwise operators: every special value against every special constant, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from canonicalized import changes_nothing
from relax_mlir.bindings.mlir import ir
from relax_mlir_proof.interpreter.held_values import stored

from relax_mlir import relax

SPECIAL: dict[str, list[Any]] = {
    "f32": [0.0, -0.0, 1.0, -1.0, 2.5, -0.5, float("nan"), float("inf"), float("-inf"), 1e-45],
    "f16": [0.0, -0.0, 1.0, 65504.0, float("nan"), float("-inf")],
    "i8": [0, 1, -1, 2, 127, -128],
    "i32": [0, 1, -1, 2**31 - 1, -(2**31)],
    "ui8": [0, 1, 255, 128],
    "i1": [False, True],
}
ARITHMETIC = "add subtract multiply divide maximum minimum power".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
BITS = "bitwise_and bitwise_or bitwise_xor".split()
LOGICAL = "logical_and logical_or logical_xor".split()
UNARY = "abs negative square sign ceil floor round trunc nn.relu".split()
OPERATORS = {
    "f": [*ARITHMETIC, *COMPARISONS, "floor_divide"],
    "i": [*ARITHMETIC[:3], "maximum", "minimum", *COMPARISONS, *BITS],
    "b": [*COMPARISONS, *BITS, *LOGICAL],
}


def class_of(dtype: str) -> str:
    return "b" if dtype == "i1" else dtype[0].replace("u", "i")


def operator(name: str) -> Any:
    found = relax
    for part in name.split("."):
        found = getattr(found, part)
    return found


def special(dtype: str) -> Any:
    return numpy.array(SPECIAL[dtype], dtype=stored(dtype))


@pytest.mark.parametrize("dtype", [dtype for dtype in SPECIAL if dtype != "ui8"])
@pytest.mark.parametrize("fixed", [True, False])
def test_constants_on_either_side(dtype: str, fixed: bool) -> None:
    array = special(dtype)

    def build(x: Any) -> list[Any]:
        results = []
        for name in OPERATORS[class_of(dtype)]:
            for number in array:
                for constant in (relax.const(number), relax.const(numpy.full(array.shape, number))):
                    results.append(operator(name)(x, constant))
                    if name != "power":
                        results.append(operator(name)(constant, x))
        return results

    size = str(len(array)) if fixed else "?"
    assert changes_nothing(f"tensor<{size}x{dtype}>", array, build) >= 0


@pytest.mark.parametrize("dtype", SPECIAL)
def test_with_itself(dtype: str) -> None:
    array = special(dtype)
    names = [name for name in OPERATORS[class_of(dtype)] if name not in ("divide", "power")]
    removed = changes_nothing(
        f"tensor<{len(array)}x{dtype}>", array, lambda x: [operator(name)(x, x) for name in names]
    )
    assert dtype == "ui8" or removed > 0


@pytest.mark.parametrize("dtype", [dtype for dtype in SPECIAL if dtype != "i1"])
def test_two_unary_operators(dtype: str) -> None:
    def build(x: Any) -> list[Any]:
        return [operator(outer)(operator(inner)(x)) for outer in UNARY for inner in UNARY]

    assert changes_nothing(f"tensor<?x{dtype}>", special(dtype), build) > 0


@pytest.mark.parametrize("dtype", SPECIAL)
def test_inverted_comparisons(dtype: str) -> None:
    array = special(dtype)

    def build(x: Any) -> list[Any]:
        turned = relax.flip(x, 0)
        return [relax.logical_not(operator(name)(x, turned)) for name in COMPARISONS]

    assert changes_nothing(f"tensor<{len(array)}x{dtype}>", array, build) > 0


@pytest.mark.parametrize("source", SPECIAL)
def test_two_conversions(source: str) -> None:
    """Convert by every type to every other one, without values out of range."""
    array = special(source)
    if source[0] == "f":
        array = array[numpy.isfinite(array)]
        targets = ["f16", "f32", "f64", "i1"]
    else:
        targets = ["i8", "ui8", "i16", "i32", "i64", "i1"]

    def build(x: Any) -> list[Any]:
        through = [relax.astype(x, middle) for middle in (targets if source[0] == "f" else [*targets, "f32", "f64"])]
        return [relax.astype(value, target) for value in through for target in _reachable(value, targets)]

    assert changes_nothing(f"tensor<{len(array)}x{source}>", array, build) > 0


def _reachable(value: Any, targets: list[str]) -> list[str]:
    is_float = isinstance(value.type.element_type, ir.FloatType)
    # A float that an integer became is within its range only in as wide an integer.
    return ["f64", "i64"] if is_float and targets[0] != "f16" else targets


def test_where() -> None:
    array = special("f32")

    def build(x: Any) -> list[Any]:
        results = []
        for number in (True, False):
            condition, one = relax.const(number), relax.const(1.0)
            results += [relax.where(condition, x, one), relax.where(condition, one, x), relax.where(condition, x, x)]
        positive = relax.greater(x, relax.const(0.0))
        return [*results, relax.where(relax.logical_not(positive), x, relax.negative(x))]

    assert changes_nothing("tensor<?xf32>", array, build) > 0


@pytest.mark.parametrize(("dtype", "names"), [("i8", ["add", "multiply", *BITS]), ("i1", [*LOGICAL, *BITS])])
def test_regrouped_constants(dtype: str, names: list[str]) -> None:
    array = special(dtype)

    def build(x: Any) -> list[Any]:
        return [
            operator(name)(operator(name)(x, relax.const(one)), relax.const(other))
            for name in names
            for one in array
            for other in array
        ]

    assert changes_nothing(f"tensor<{len(array)}x{dtype}>", array, build) > 0


@pytest.mark.parametrize("dtype", [dtype for dtype in SPECIAL if dtype != "ui8"])
def test_folded_constants(dtype: str) -> None:
    """Fold every operator on every pair of special constants."""
    array = special(dtype)
    left, right = numpy.repeat(array, len(array)), numpy.tile(array, len(array))

    def build(x: Any) -> list[Any]:
        one, other = relax.const(left), relax.const(right)
        names = [name for name in OPERATORS[class_of(dtype)] if name != "power"]
        unary = ["logical_not"] if dtype == "i1" else UNARY
        return [operator(name)(one, other) for name in names] + [operator(name)(one) for name in unary]

    assert changes_nothing(f"tensor<1x{dtype}>", array[:1], build) > 0


@pytest.mark.parametrize("dtype", ["i8", "i32"])
def test_folded_integer_divisions(dtype: str) -> None:
    left = numpy.array([7, -7, 7, -7, 6, -6, 0, 127], dtype=stored(dtype))
    right = numpy.array([2, 2, -2, -2, 3, -3, 5, -1], dtype=stored(dtype))

    def build(x: Any) -> list[Any]:
        one, other = relax.const(left), relax.const(right)
        return [
            relax.divide(one, other),
            relax.floor_divide(one, other),
            relax.divide(x, relax.const(right[:1] * 0 + 1)),
        ]

    assert changes_nothing(f"tensor<8x{dtype}>", left, build) > 0
