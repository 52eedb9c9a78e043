# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of the math dialect by functions of <math.h>, and calls of external C functions."""

from __future__ import annotations

from typing import NamedTuple

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir, string_value
from relax_mlir.emit.extern_calls import refused_buffer
from relax_mlir.support.errors import RefusalError

from .expressions import Expression, binary, call, cast, integer, of_size
from .floats import c_function
from .integers import chosen, compared, cut, helped, is_bool
from .types import INDEX, literal, machine_width, scalar_type
from .writer import FunctionWriter, Rule, ScalarRule, scalar

_SAME = (
    "ceil floor trunc round sqrt exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan asinh "
    "acosh atanh atan2 erf erfc cbrt fma copysign"
).split()
_OTHERS = {"absf": "fabs", "roundeven": "rint", "powf": "pow"}
_CLASSES = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "isnormal": "isnormal"}
_OF_BITS = {"ctlz": "leading_zeros", "cttz": "trailing_zeros", "ctpop": "count_ones", "ipowi": "power"}


def _class_of(function: str) -> ScalarRule:
    return lambda writer, op, operands: binary("!=", call(function, *operands), integer(0))


def _inverse_root(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    root = c_function("sqrt")(writer, op, operands)
    return binary("/", literal(1.0, str(op.results[0].type)), root)


def _absolute(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = op.results[0].type
    if is_bool(type_):
        return operands[0]
    value = writer.atom(operands[0], type_)
    minus = cut(writer, call(writer.helper(f"wrap_sub_i{machine_width(type_)}"), integer(0), value), type_)
    return chosen(compared(writer, "<", value, integer(0), type_), minus, value)


def _integer_power(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = scalar_type(op.results[0].type)
    return c_function("pow")(writer, op, [operands[0], cast(type_, operands[1])])


def _clamp(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    value, least, most = operands
    return c_function("fmin")(writer, op, [c_function("fmax")(writer, op, [value, least]), most])


def _sine_and_cosine(writer: FunctionWriter, op: Operation) -> None:
    angle = writer.atom(writer.get(op.operands[0]), op.operands[0].type)
    for result, function in zip(op.results, ("sin", "cos"), strict=True):
        writer.define(result, c_function(function)(writer, op, [angle]))


def _call(writer: FunctionWriter, op: Operation) -> None:
    """Write a call of a function of <math.h>, or of an external function that is provided at link time."""
    function = string_value(op.attributes["func"])
    if op.name == "tir.call_extern" or not op.results:
        call_now(writer, op, function)
    else:
        writer.define(op.results[0], _called(writer, op, function))


def call_now(writer: FunctionWriter, op: Operation, function: str) -> None:
    """Write a call as a separate statement, so that its side effects occur in program order."""
    made = _called(writer, op, function)
    writer.settle()
    if op.results:
        writer.know(op.results[0], writer.variable(scalar_type(op.results[0].type), made, is_constant=True))
    else:
        writer.line(f"{made.text};")


class PassedArgument(NamedTuple):
    """Argument of a call: its type in the function's declaration, and its text."""

    c_type: str
    text: Expression


def _pass_operand(writer: FunctionWriter, function: str, value: Value) -> list[PassedArgument]:
    """Return the arguments for one operand: a scalar, or a pointer and the strides of all dimensions but the last."""
    if not isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType)):
        return [PassedArgument(scalar_type(value.type), writer.get(value))]
    if (refused := refused_buffer(value)) is not None:
        raise RefusalError(f"C function '{function}': {refused}")
    view = writer.view(value)
    const = "const " if writer.program.is_constant(writer.function, value) else ""
    strides = [PassedArgument(INDEX, of_size(stride)) for stride in view.strides[:-1]]
    return [PassedArgument(f"{const}{view.memory_type} *", view.address()), *strides]


def _called(writer: FunctionWriter, op: Operation, function: str) -> Expression:
    """Return the call of a function, and declare the function in the program."""
    passed = [argument for operand in op.operands for argument in _pass_operand(writer, function, operand)]
    returned = scalar_type(op.results[0].type) if op.results else "void"
    writer.program.externs.declare(function, returned, [passed_argument.c_type for passed_argument in passed])
    return call(function, *(argument.text for argument in passed))


RULES: dict[str, Rule] = {
    **{f"math.{word}": scalar(c_function(word)) for word in _SAME},
    **{f"math.{word}": scalar(c_function(function)) for word, function in _OTHERS.items()},
    **{f"math.{word}": scalar(_class_of(function)) for word, function in _CLASSES.items()},
    **{f"math.{word}": scalar(helped(helper)) for word, helper in _OF_BITS.items()},
    "math.rsqrt": scalar(_inverse_root),
    "math.absi": scalar(_absolute),
    "math.fpowi": scalar(_integer_power),
    "math.clampf": scalar(_clamp),
    "math.sincos": _sine_and_cosine,
    "tir.call_extern": _call,
    "tir.call_pure_extern": _call,
}
