# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for intrinsics on scalars and vectors: accepted element types, and types of the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..core.infos import Info, ScalarInfo, VectorInfo, describe, is_bool, is_float, is_int
from ..core.opdef import Call, OpProblem

Elementwise = ScalarInfo | VectorInfo

# Classes of element types: the test, and the name in messages.
_CLASSES: dict[str, tuple[Callable[[str], bool], str]] = {
    "float": (is_float, "floating-point"),
    "int": (is_int, "an integer (iN, uiN or index)"),
    "bool": (is_bool, "i1"),
}


class GivenOperand(NamedTuple):
    """Operand of a call: its name in messages, and its type."""

    label: str
    info: Elementwise


def given(call: Call, name: str) -> GivenOperand:
    return GivenOperand(call.describe(name), call.operands[name])


def given_elementwise(call: Call) -> list[GivenOperand]:
    """Return every present operand of kind "elementwise", with variadic operands expanded."""
    found = []
    for operand in call.definition.operands:
        info = call.operands[operand.name]
        if operand.kind != "elementwise" or info is None:
            continue
        if operand.arity == "variadic":
            found += [
                GivenOperand(f"operand '{operand.name}' #{i} ({describe(item)})", item) for i, item in enumerate(info)
            ]
        else:
            found.append(given(call, operand.name))
    return found


def check_dtype(operand: GivenOperand, *classes: str) -> None:
    """Raise OpProblem unless the element type is in one of the classes ("float", "int", "bool")."""
    if not any(_CLASSES[cls][0](operand.info.dtype) for cls in classes):
        raise OpProblem(f"{operand.label} must be {' or '.join(_CLASSES[cls][1] for cls in classes)}")


def check_same_type(first: GivenOperand, other: GivenOperand) -> None:
    if first.info.dtype != other.info.dtype or shape_of(first.info) != shape_of(other.info):
        raise OpProblem(f"{first.label} and {other.label} must have the same type{_broadcast_hint(first, other)}")


def check_same_shape(first: GivenOperand, other: GivenOperand) -> None:
    if shape_of(first.info) != shape_of(other.info):
        raise OpProblem(f"{first.label} and {other.label} must have the same shape{_broadcast_hint(first, other)}")


def _broadcast_hint(first: GivenOperand, other: GivenOperand) -> str:
    if isinstance(first.info, VectorInfo) == isinstance(other.info, VectorInfo):
        return ""
    return ": nothing broadcasts here (vector.broadcast makes a vector of a scalar)"


def shape_of(info: Elementwise) -> tuple[tuple[int, ...], tuple[bool, ...]] | None:
    """Return the sizes and the flags of scalable dimensions, or None for a scalar."""
    return (info.shape, info.scalable) if isinstance(info, VectorInfo) else None


def with_dtype(info: Elementwise, dtype: str) -> Elementwise:
    """Return the type with another element type, and without the known value of a scalar."""
    return info._replace(dtype=dtype) if isinstance(info, VectorInfo) else ScalarInfo(dtype)


def same_type(*classes: str) -> Callable[[Call], Elementwise]:
    """Return an inference function for operands of one type in these classes (none: any), which the result shares."""

    def infer(call: Call) -> Elementwise:
        first, *others = given_elementwise(call)
        if classes:
            check_dtype(first, *classes)
        for other in others:
            check_same_type(first, other)
        return with_dtype(first.info, first.info.dtype)

    return infer


same_float = same_type("float")
same_int = same_type("int")
same_number = same_type("float", "int")


def fixed_dtype(dtype: str) -> Callable[[Call], Elementwise]:
    """Return an inference function for results with this element type, in the operands' common shape.

    Without operands, the result is a scalar.
    """

    def infer(call: Call) -> Elementwise:
        operands = given_elementwise(call)
        for other in operands[1:]:
            check_same_shape(operands[0], other)
        return with_dtype(operands[0].info, dtype) if operands else ScalarInfo(dtype)

    return infer


def predicate(call: Call) -> Elementwise:
    return with_dtype(same_float(call), "i1")


def float_to_int(call: Call) -> Info:
    """Infer integers of the type in attribute 'dtype'."""
    (operand,) = given_elementwise(call)
    check_dtype(operand, "float")
    call.require(is_int(call.dtype), f"{call.describe('dtype')} must be {_CLASSES['int'][1]}")
    return with_dtype(operand.info, call.dtype)


def exponent_of(call: Call) -> Info:
    """Infer exponents, which have type int in C."""
    return with_dtype(same_float(call), "i32")


def float_and_int(call: Call) -> list[Info]:
    """Infer a float like the operands, and C's int."""
    return [same_float(call), exponent_of(call)]


def two_floats(call: Call) -> list[Info]:
    return [same_float(call), same_float(call)]


def scaled(call: Call) -> Info:
    """Infer the product of a float x1 with a power of two, for an integer exponent x2 of the same shape."""
    value, exponent = given_elementwise(call)
    check_dtype(value, "float")
    check_dtype(exponent, "int")
    check_same_shape(value, exponent)
    return with_dtype(value.info, value.info.dtype)


def fixed_point(call: Call) -> Info:
    """Infer a fixed-point result. Operands are Q-numbers of one type with 32 bits, of which 'q' are the fraction."""
    first, *others = given_elementwise(call)
    call.require(first.info.dtype == "i32", f"{first.label} must have elements of type i32")
    for other in others:
        check_same_type(first, other)
    call.require(1 <= call.q <= 31, f"{call.describe('q')} must be a number of fractional bits between 1 and 31")
    return with_dtype(first.info, "i32")
