# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of elementwise operators: arithmetic, comparisons, bits, functions of numbers."""

from __future__ import annotations

from .....dialects.core.infos import is_bool, is_float, is_unsigned
from ...tensor_data import number_of
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import Export, export_rows, export_same, exports

export_same(
    {
        "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
        "atan": "Atan", "atanh": "Atanh", "cos": "Cos", "cosh": "Cosh", "equal": "Equal", "erf": "Erf",
        "exp": "Exp", "greater": "Greater", "greater_equal": "GreaterOrEqual", "less": "Less",
        "less_equal": "LessOrEqual", "log": "Log", "logical_and": "And", "logical_not": "Not", "logical_or": "Or",
        "logical_xor": "Xor", "maximum": "Max", "minimum": "Min", "multiply": "Mul", "negative": "Neg",
        "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "subtract": "Sub",
        "tan": "Tan", "tanh": "Tanh", "where": "Where",
    }
)  # fmt: skip


def of_bits(name: str) -> Export:
    """Return the exporter of a bitwise operator. Booleans use the logical operator of the same name."""
    return lambda op: op.node(name if is_bool(op.operands[0].dtype) else f"Bitwise{name}", *op.operands)


def _rounding(name: str) -> Export:
    """Return the exporter of a rounding operator. Integers are unchanged."""
    return lambda op: op.node(name, op["x"]) if is_float(op["x"].dtype) else op["x"]


export_rows(
    {
        "astype": lambda op: op.cast(op["x"], op.result().dtype),
        "bitwise_and": of_bits("And"),
        "bitwise_not": of_bits("Not"),
        "bitwise_or": of_bits("Or"),
        "bitwise_xor": of_bits("Xor"),
        "ceil": _rounding("Ceil"),
        "clip": lambda op: op.node("Clip", op["x"], *(op.cast(op[end], op["x"].dtype) for end in ("min", "max"))),
        # ONNX divides integers towards zero, too.
        "divide": lambda op: op.node("Div", op["x1"], op["x2"]),
        "ewise_fma": lambda op: op.node("Add", op.node("Mul", op["x1"], op["x2"]), op["x3"]),
        "floor": _rounding("Floor"),
        "mod": lambda op: op.node("Mod", op["x1"], op["x2"], fmod=1),
        "not_equal": lambda op: op.node("Not", op.node("Equal", op["x1"], op["x2"])),
        "power": lambda op: op.node("Pow", op["x1"], op["x2"]),
        "round": _rounding("Round"),
        "rsqrt": lambda op: op.node("Reciprocal", op.node("Sqrt", op["x"])),
        "square": lambda op: op.node("Mul", op["x"], op["x"]),
    }
)


@exports("relax.trunc")
def trunc(op: ExportedOp) -> Ref:
    x = op["x"]
    if not is_float(x.dtype):
        return x
    is_below = op.node("Less", x, op.number(0, x.dtype))
    return op.node("Where", is_below, op.node("Ceil", x), op.node("Floor", x))


@exports("relax.floor_divide")
def floor_divide(op: ExportedOp) -> Ref:
    x, y = op["x1"], op["x2"]
    if is_float(x.dtype):
        return _floor_divide_floats(op, x, y)
    if is_unsigned(x.dtype):
        return op.node("Div", x, y)
    # The remainder has the sign of y. Without the remainder, the quotient is an integer.
    return op.node("Div", op.node("Sub", x, op.node("Mod", x, y)), y)


def _floor_divide_floats(op: ExportedOp, x: Ref, y: Ref) -> Ref:
    """Divide floats and round down. Without the remainder, the quotient is an integer except for rounding errors."""
    rest = op.node("Mod", x, y, fmod=1)
    cut = op.node("Round", op.node("Div", op.node("Sub", x, rest), y))
    below = op.node("Where", _is_across(op, rest, y), op.node("Sub", cut, op.number(1, x.dtype)), cut)
    return op.node("Where", op.node("Equal", y, op.number(0, x.dtype)), op.node("Div", x, y), below)


@exports("relax.floor_mod")
def floor_mod(op: ExportedOp) -> Ref:
    x, y = op["x1"], op["x2"]
    if not is_float(x.dtype):
        return op.node("Mod", x, y)
    rest = op.node("Mod", x, y, fmod=1)
    return op.node("Where", _is_across(op, rest, y), op.node("Add", rest, y), rest)


def _is_across(op: ExportedOp, rest: Ref, y: Ref) -> Ref:
    """Check whether a nonzero remainder and the divisor have different signs."""
    zero = op.number(0, y.dtype)
    signs_differ = op.node("Xor", op.node("Less", rest, zero), op.node("Less", y, zero))
    return op.node("And", signs_differ, op.node("Not", op.node("Equal", rest, zero)))


@exports("relax.log_add_exp")
def log_add_exp(op: ExportedOp) -> Ref:
    """Export max + log(1 + exp(-|difference|)). For equal infinities, the difference is set to 0 instead of NaN."""
    x, y = op["x1"], op["x2"]
    zero = op.number(0, x.dtype)
    distance = op.node("Where", op.node("Equal", x, y), zero, op.node("Abs", op.node("Sub", x, y)))
    share = op.node("Log", op.node("Add", op.node("Exp", op.node("Neg", distance)), op.number(1, x.dtype)))
    return op.node("Add", op.node("Max", x, y), share)


@exports(["relax.isnan", "relax.isinf", "relax.isfinite"])
def kind_of_number(op: ExportedOp) -> Ref:
    x, what = op["x"], op.name.removeprefix("relax.is")
    if not is_float(x.dtype):
        is_itself = op.node("Equal", x, x)
        return is_itself if what == "finite" else op.node("Not", is_itself)
    if what != "finite":
        return op.node({"nan": "IsNaN", "inf": "IsInf"}[what], x)
    return op.node("Not", op.node("Or", op.node("IsNaN", x), op.node("IsInf", x)))


@exports(["relax.left_shift", "relax.right_shift"])
def shift(op: ExportedOp) -> Ref:
    """Export shifts by ONNX's shift of unsigned integers.

    Negative numbers are inverted before and after a right shift.
    """
    x, bits = op["x1"], op["x2"]
    direction = "LEFT" if op.name.endswith("left_shift") else "RIGHT"
    if is_unsigned(x.dtype):
        return op.node("BitShift", x, bits, direction=direction)
    unsigned, signed = f"u{x.dtype}", x.dtype
    if direction == "LEFT":
        moved = op.node("BitShift", op.cast(x, unsigned), op.cast(bits, unsigned), direction=direction)
        return op.cast(moved, signed)
    is_below = op.node("Less", x, op.number(0, signed))
    positive = op.node("Where", is_below, op.node("BitwiseNot", x), x)
    moved = op.cast(
        op.node("BitShift", op.cast(positive, unsigned), op.cast(bits, unsigned), direction="RIGHT"), signed
    )
    return op.node("Where", is_below, op.node("BitwiseNot", moved), moved)


@exports("relax.bitcast")
def bitcast(op: ExportedOp) -> Ref:
    """Export bitcast. A conversion to bool tests whether any bit is set."""
    x, dtype = op["x"], op.result().dtype
    if is_bool(dtype) or is_bool(x.dtype):
        return op.cast(x, dtype)
    return op.node("BitCast", x, to=number_of(dtype), result=dtype)
