# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of Python functions of sizes, numbers and conditions, where torch has no expression for the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from ..prelude import Convert, Outputs, TorchNode, Value, const, known, register_rows, relax, sizes
from ..symbolic_sizes import Scalar

# The function of sympy, or of torch.utils._sympy.functions, by Python function.
_SAME = {
    "_operator::ge": "GreaterThan", "_operator::le": "LessThan", "_operator::gt": "StrictGreaterThan",
    "_operator::lt": "StrictLessThan", "_operator::eq": "Equality", "_operator::ne": "Unequality",
    "_operator::and_": "And", "_operator::or_": "Or", "_operator::not_": "Not", "torch::sym_not": "Not",
    "_operator::add": "Add", "_operator::mul": "Mul", "_operator::mod": "PythonMod", "_operator::floordiv": "FloorDiv",
    "_operator::truediv": "IntTrueDiv", "_operator::pow": "Pow", "_operator::lshift": "LShift",
    "_operator::rshift": "RShift", "_operator::xor": "BitwiseFn_bitwise_xor",
    "torch::sym_ite": "Where", "torch::sym_max": "Max", "torch::sym_min": "Min", "torch::sym_float": "ToFloat",
    "torch::sym_int": "TruncToInt", "math::floor": "FloorToInt", "math::ceil": "CeilToInt", "math::trunc": "TruncToInt",
}  # fmt: skip
# Functions of floats, from math, and torch's functions for symbolic numbers.
_FUNCTIONS = "acos asin asinh atan cos cosh exp log log2 sin sinh sqrt tan tanh".split()
_CONDITIONS = {"And": "BitwiseFn_bitwise_and", "Or": "BitwiseFn_bitwise_or"}


def _same(name: str) -> Convert:
    return lambda node: as_value(node.expressions.applied(_choose_function(name, node.inputs), list(node.inputs)))


def _choose_function(name: str, given: Sequence[object]) -> str:
    """Return the function for the operands. `&` and `|` of integers are bitwise."""
    is_condition = all(isinstance(each, bool) or getattr(each, "dtype", "") == "i1" for each in given)
    return name if is_condition else _CONDITIONS.get(name, name)


def as_value(scalar: Scalar) -> Value:
    """Return a number, a size, or a 0-D tensor as a value."""
    if isinstance(scalar, Value):
        return scalar
    if isinstance(scalar, (bool, float)):
        return Value(ssa=const(scalar, "i1" if isinstance(scalar, bool) else "f64"))
    return known(scalar) if sizes.is_known(scalar) else Value(ssa=relax.reshape(scalar, ()))


def _negate(node: TorchNode) -> Scalar:
    return node.expressions.applied("Mul", [-1, node.inputs[0]])


def _difference(node: TorchNode) -> Scalar:
    return node.expressions.applied("Add", [node.inputs[0], node.expressions.applied("Mul", [-1, node.inputs[1]])])


def _sum(node: TorchNode) -> Scalar:
    return reduce(lambda one, other: node.expressions.applied("Add", [one, other]), node.get(0), 0)


def _magnitude(node: TorchNode) -> Scalar:
    return node.expressions.applied("Max", [node.inputs[0], _negate(node)])


def _round(node: TorchNode) -> Scalar:
    digits = node.inputs[1:]
    return node.expressions.applied("RoundDecimal" if digits else "RoundToInt", [node.inputs[0], *digits])


_OTHERS: Mapping[str, Callable[[TorchNode], Scalar]] = {
    "_operator::neg": _negate,
    "_operator::sub": _difference,
    "_operator::abs": _magnitude,
    "builtins::abs": _magnitude,
    "builtins::round": _round,
    "torch::sym_sum": _sum,
}


def _other(function: Callable[[TorchNode], Scalar]) -> Convert:
    def convert(node: TorchNode) -> Outputs:
        return as_value(function(node))

    return convert


register_rows({name: _same(function) for name, function in _SAME.items()})
register_rows({f"math::{name} torch::_sym_{name}": _same(f"OpaqueUnaryFn_{name}") for name in _FUNCTIONS})
register_rows({name: _other(function) for name, function in _OTHERS.items()})
