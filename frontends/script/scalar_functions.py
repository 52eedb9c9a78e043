# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of T that are more than an operation of tir: casts, choices, limits, calls."""

from __future__ import annotations

import ast
import math

from ...bindings.ir import Value
from ...bindings.mlir import as_list, ir
from ...dialects.core.infos import bit_width, is_float, signless
from ...dialects.script.syntax import text_of
from ...dialects.tir import dialect as tir
from ...emit.arithmetic import bits_of, element, from_bits
from ...emit.conversions import limits
from ...emit.extern_calls import address_of
from ...emit.numbers import Number
from ...support.registry import entering
from .names import TIR
from .program import Buffer
from .scalar_types import INDEX, shown
from .scalars import FUNCTIONS, Scalars

_function = entering(FUNCTIONS)


def _taken(scalars: Scalars, node: ast.Call, count: int) -> list[ast.expr]:
    others = [keyword for keyword in node.keywords if keyword.arg not in ("dtype", "span")]
    if len(node.args) != count or others:
        raise scalars.source.problem(node, f"{ast.unparse(node.func)} takes {count} arguments")
    return node.args


@_function("Cast", "cast")
def _cast(scalars: Scalars, node: ast.Call) -> Number:
    value, dtype = _converted(scalars, node)
    return scalars.cast(node, scalars.value(value), scalars.annotations.dtype(dtype))


def _converted(scalars: Scalars, node: ast.Call) -> tuple[ast.expr, ast.expr]:
    """Return the value and the type. T.Cast names the type first, T.cast last."""
    one, other = _taken(scalars, node, 2)
    return (other, one) if text_of(one) is not None else (one, other)


@_function("reinterpret")
def _reinterpret(scalars: Scalars, node: ast.Call) -> Number:
    value, dtype = _converted(scalars, node)
    name, number = scalars.annotations.dtype(dtype), scalars.number(value)
    if bit_width(number.dtype) != bit_width(name) or number.dtype == INDEX:
        raise scalars.source.problem(node, f"{shown(number.dtype)} and {shown(name)} differ in width")
    bits = bits_of(number) if number.is_float else number
    return (from_bits(bits, element(name)) if is_float(name) else bits).of(name)


_function("if_then_else")(lambda scalars, node: scalars.chosen(node, *_taken(scalars, node, 3)))
_function("And", "all")(lambda scalars, node: scalars.logical(True, list(map(scalars.truth, node.args))))
_function("Or", "any")(lambda scalars, node: scalars.logical(False, list(map(scalars.truth, node.args))))
_function("Not")(lambda scalars, node: _signed(scalars, node, "not"))
_function("bitwise_not")(lambda scalars, node: _signed(scalars, node, "~"))
_function("likely")(lambda scalars, node: scalars.value(_taken(scalars, node, 1)[0]))


def _signed(scalars: Scalars, node: ast.Call, sign: str) -> object:
    """Evaluate a call that corresponds to a Python operator."""
    (operand,) = _taken(scalars, node, 1)
    return scalars.apply_operator(operand, sign, scalars.value(operand))


@_function("Select")
def _select(scalars: Scalars, node: ast.Call) -> object:
    """Evaluate both sides, unless one side might read out of bounds."""
    condition, yes, no = _taken(scalars, node, 3)
    if not (scalars.memory.is_safe(scalars, yes) and scalars.memory.is_safe(scalars, no)):
        return scalars.chosen(node, condition, yes, no)
    return scalars.select(node, scalars.truth(condition), scalars.value(yes), scalars.value(no))


@_function("Let")
def _let(scalars: Scalars, node: ast.Call) -> object:
    """Evaluate T.Let(body, where={x: value})."""
    where = next((keyword.value for keyword in node.keywords if keyword.arg == "where"), None)
    if len(node.args) != 1 or not isinstance(where, ast.Dict):
        raise scalars.source.problem(node, "T.Let takes an expression and where={name: value}")
    outer = scalars.env
    scalars.env = dict(outer)
    for key, value in zip(where.keys, where.values, strict=True):
        if not isinstance(key, ast.Name):
            raise scalars.source.problem(node, "the keys of where= in T.Let must be names")
        scalars.env[key.id] = scalars.value(value)
    found = scalars.value(node.args[0])
    scalars.env = outer
    return found


_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


@_function("max_value", "min_value", "infinity", "nan")
def _limit(scalars: Scalars, node: ast.Call) -> Number:
    """Return the limit of an element type. Integers only have the highest and the lowest number."""
    _, word = scalars.names.word(node)
    dtype = scalars.annotations.dtype(_taken(scalars, node, 1)[0])
    if not is_float(dtype):
        return scalars.constant(node, limits(dtype)[word != "min_value"], dtype)
    largest = _LARGEST.get(dtype, math.inf)
    values = {"max_value": largest, "min_value": -largest, "infinity": math.inf, "nan": math.nan}
    return scalars.constant(node, values[word], dtype)


def _result_type(scalars: Scalars, node: ast.expr) -> str:
    """Return the result type of a call: an element type, or "" for none."""
    return "" if scalars.names.found(node) in ("void", "handle", "") else scalars.annotations.dtype(node)


@_function("call_extern", "call_pure_extern", "call_packed", "tvm_call_packed")
def _call_extern(scalars: Scalars, node: ast.Call) -> object:
    """Emit T.call_extern("float32", "fabsf", x) or T.call_packed("name", ...)."""
    _, word = scalars.names.word(node)
    is_packed = "packed" in word
    args = node.args
    if len(args) < (1 if is_packed else 2):
        raise scalars.source.problem(node, f"T.{word} lacks the function's name")
    dtype = "" if is_packed else _result_type(scalars, args[0])
    name, *rest = args if is_packed else args[1:]
    if (symbol := text_of(name)) is None:
        raise scalars.source.problem(name, "the name of a function must be text")
    operands = [_passed(scalars, each) for each in rest]
    if not is_packed:
        # As in TVM: the argument is a pointer and nothing else. A buffer itself is passed with its strides.
        operands = [
            address_of(operand)
            if isinstance(node, ast.Attribute) and isinstance(operand.type, ir.MemRefType)
            else operand
            for node, operand in zip(rest, operands, strict=True)
        ]
    operator_name = "call_packed" if is_packed else word
    types = [] if not dtype else [signless(dtype)]
    made = scalars.source.guarded(node, lambda: tir.ops[operator_name](symbol, operands, ty=types))
    results = as_list(made) if made is not None else []
    return Number(results[0]).of(dtype) if results else 0


def _passed(scalars: Scalars, node: ast.expr) -> Value:
    """Return an argument of an external function: a number, or a buffer's memory (A, A.data)."""
    base = node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node
    if isinstance(base, ast.Call) and scalars.names.word(base) == (TIR, "address_of"):
        raise scalars.source.problem(node, "the address of an element cannot be passed: pass the buffer")
    held = scalars.env.get(base.id) if isinstance(base, ast.Name) else None
    return scalars.memory.memory(scalars, node, held) if isinstance(held, Buffer) else scalars.number(node)
