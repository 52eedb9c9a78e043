# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of tensor programs as operations on scalars, with T's functions and its rules for mixed types.

A Python number is a constant that takes the type of the Number that it is combined with. A loop variable is an index,
and is converted to the integer or float type that it is combined with.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from ...bindings.ir import Value
from ...bindings.mlir import as_list, ir
from ...dialects.core.infos import bit_width, is_bool, is_float
from ...dialects.script.syntax import APPLIED, parts_within
from ...dialects.script.words import COMPARED_INTEGERS, SIGN_OF_WORD
from ...dialects.tir import dialect as tir
from ...emit import numbers
from ...emit.arithmetic import element
from ...emit.conversions import limits
from ...emit.loops import with_results
from ...emit.numbers import Number, Size, as_index, constant
from ...support.errors import RelaxError
from .annotations import Annotations, arguments_of
from .common.expression_reader import ExpressionReader
from .common.source import Source
from .names import TIR, NotConstant
from .program import Buffer, Let, element_of
from .scalar_types import (
    ARITHMETIC,
    INDEX,
    KNOWN,
    OF_INTEGERS,
    SHORTEST,
    common,
    common_of,
    dtype_named,
    kind_of,
    natural,
    same,
    shown,
    typed,
)

_SHIFTS = frozenset({"<<", ">>"})
_COMPARISONS = frozenset(COMPARED_INTEGERS.values())


class BufferMemory(Protocol):
    """Access to buffers where expressions are emitted."""

    def load(self, scalars: Scalars, node: ast.expr, buffer: Buffer, indices: tuple[ast.expr, ...]) -> Number:
        """Return the element of a buffer that an expression reads."""

    def memory(self, scalars: Scalars, node: ast.expr, buffer: Buffer) -> Value:
        """Return a buffer as the argument of a call."""

    def is_safe(self, scalars: Scalars, node: ast.expr) -> bool:
        """Check whether all reads of an expression are in bounds, even if its condition is false."""


def _is_function(name: str) -> bool:
    """Check whether an operator of tir is a function of numbers."""
    return name in tir.ops and not tir.ops[name].role and name not in ("packed", "release", "return_unless_ok")


Function = Callable[["Scalars", ast.Call], object]
#: Handlers of calls by their word in T. See scalar_functions.py.
FUNCTIONS: dict[str, Function] = {}


class Scalars(ExpressionReader[object]):
    """Evaluation of expressions at the current insertion point."""

    def __init__(
        self, annotations: Annotations, known: Mapping[str, object], inside: Collection[ast.AST], memory: BufferMemory
    ):
        self.annotations, self.names, self.memory = annotations, annotations.names, memory
        self.source: Source = annotations.names.source
        #: Name -> Number, Python number or Buffer. A function computes the value where it is used.
        self.env: dict[str, object] = dict(known)
        #: Accesses that are proven in bounds.
        self.inside = inside

    # ---- entry points ----

    def number(self, node: ast.expr, dtype: str | None = None) -> Number:
        """Return a Number, of a type if one is stated. Raises ScriptError."""
        value = self.value(node)
        if dtype is None:
            return value if isinstance(value, Number) else self.constant(node, value, natural(value))
        return self.as_element(node, value, dtype)

    def as_element(self, node: ast.AST, value: object, dtype: str) -> Number:
        """Return a value as an element of a buffer. An index fits all integer types; other conversions are explicit."""
        if not isinstance(value, Number):
            return self.constant(node, value, dtype)
        if same(value.dtype, dtype):
            return value
        if value.dtype == INDEX or is_bool(value.dtype):
            return self.cast(node, value, dtype)
        hint = f"T.Cast({shown(dtype)!r}, ...) converts it"
        raise self.source.problem(node, f"this is {shown(value.dtype)}, not {shown(dtype)}; {hint}")

    def index(self, node: ast.expr) -> Size:
        """Return a Python integer or an index."""
        if isinstance(value := self.value(node), (bool, float)):
            raise self.source.problem(node, f"an index must be an integer, this is {value!r}")
        if isinstance(value, int):
            return value
        if not isinstance(value, Number) or value.is_float:
            raise self.source.problem(node, f"an index must be an integer, this is {kind_of(value)}")
        return value if value.dtype == INDEX else as_index(value)

    def truth(self, node: ast.expr) -> bool | Number:
        """Return a condition as True, False or an i1."""
        return self._truth_of(node, self.value(node))

    def _truth_of(self, node: ast.AST, value: object) -> bool | Number:
        if isinstance(value, (bool, int)):
            return bool(value)
        if not isinstance(value, Number):
            raise self.source.problem(node, f"a condition must be a bool, this is {kind_of(value)}")
        return value if is_bool(value.dtype) else value != 0

    def define(self, statement: Let) -> None:
        """Define a name for a number."""
        value, dtype = statement.value, statement.dtype
        self.env[statement.name] = self.value(value) if dtype is None else self.cast(value, self.value(value), dtype)

    # ---- expressions ----

    def read_other(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.IfExp):
            return self.chosen(node, node.test, node.body, node.orelse)
        if isinstance(node, ast.BoolOp):
            return self.logical(isinstance(node.op, ast.And), [self.truth(value) for value in node.values])
        return self.names.constant_in(node, "a tensor program")

    def read_name(self, node: ast.Name) -> object:
        if node.id in self.env:
            if isinstance(found := self.env[node.id], Buffer):
                if not found.dims:
                    return self.memory.load(self, node, found, ())
                raise self.source.problem(node, f"'{node.id}' is a buffer: use one of its elements, {node.id}[...]")
            return found() if callable(found) else found
        try:
            value = self.names.known(node.id)
        except NotConstant:
            value = None
        if not isinstance(value, (bool, int, float, str, tuple)):
            raise self.source.problem(node, f"there is no '{node.id}' here", self.env, node.id)
        return value

    def apply_operator(self, node: ast.expr, sign: str, *values: Any) -> object:
        if sign == "and":
            return self.logical(True, values)
        if len(values) == 1:
            return self._unary_operation(node, sign, *values)
        if isinstance(node, ast.Compare) and not sign:
            raise self.source.problem(node, "this comparison is not supported in a tensor program")
        if sign in _COMPARISONS:
            return APPLIED[sign](*self._matched(node, *values))
        return self.binary(node, sign, *values)

    def _unary_operation(self, node: ast.expr, sign: str, value: Any) -> object:
        if sign == "not":
            truth = self._truth_of(node.operand if isinstance(node, ast.UnaryOp) else node, value)
            return not truth if isinstance(truth, bool) else truth ^ True
        if not isinstance(value, (Number, bool, int, float)):
            raise self.source.problem(node, f"expected a number, got {kind_of(value)}")
        if sign != "~":
            return -value if sign == "-" else value
        if isinstance(value, float) or (isinstance(value, Number) and value.is_float):
            raise self.source.problem(node, f"this operation takes integers, not {kind_of(value)}")
        return ~value

    def logical(self, is_and: bool, values: Sequence[bool | Number]) -> bool | Number:
        found: bool | Number = is_and
        for value in values:
            if isinstance(found, bool):
                found = value if found is is_and else found
            elif isinstance(value, bool):
                found = found if value is is_and else value
            else:
                found = found & value if is_and else found | value
        return found

    def read_element(self, node: ast.Subscript) -> object:
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "shape" and isinstance(base.value, ast.Name):
            buffer = self.env.get(base.value.id)
            axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(buffer, Buffer) and isinstance(axis, int) and -len(buffer.sizes) <= axis < len(buffer.sizes):
                return self.value(buffer.sizes[axis])
        if isinstance(base, ast.Name) and not isinstance(self.env.get(base.id), Buffer):
            try:
                return self.names.constant(node)
            except NotConstant:
                pass
        if isinstance(base, ast.Call):
            return self._item(node, self.value(base))
        return self.memory.load(self, node, *element_of(self.source, node, self.env))

    def _item(self, node: ast.Subscript, held: object) -> object:
        """Return an item of a call with several results: `T.frexp(x)[0]`."""
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(held, tuple) or not isinstance(place, int) or not 0 <= place < len(held):
            raise self.source.problem(node, "only a call with several results can be indexed, by a constant")
        return held[place]

    # ---- arithmetic ----

    def binary(self, node: ast.AST, sign: str, x: object, y: object) -> object:
        """Return the result of an operator, or of T's function for it, on two numbers."""
        if not isinstance(x, Number) and not isinstance(y, Number):
            return self._known(node, sign, x, y)
        left, right = self._matched(node, x, y)
        if sign == "/" and not left.is_float:
            if not isinstance(node, ast.Call):  # T.Div(x, y) is the division of C
                raise self.source.problem(node, "use //, T.truncdiv or T.ceildiv to divide integers")
            sign = "truncdiv"
        if (make := ARITHMETIC.get(sign)) is None:
            raise self.source.problem(node, "this operation is not supported in a tensor program")
        if sign in OF_INTEGERS and left.is_float:
            raise self.source.problem(node, f"this operation takes integers, not {shown(left.dtype)}")
        return self._shifted(sign, left, right) if sign in _SHIFTS else make(left, right)

    def _shifted(self, sign: str, x: Number, y: Number) -> Number:
        """Shift a number. A shift by the bit width or more gives 0, or the sign.

        For LLVM such a shift is poison, and a check after it has no effect.
        """
        y, most = numbers.number(x.as_operand(y)), bit_width(x.dtype) - 1
        is_ordinary = y.unsigned("<=", most)
        if sign == "<<" or x.is_unsigned:
            return numbers.select(is_ordinary, ARITHMETIC[sign](x, y), 0)
        return Number(ARITHMETIC[sign](x, numbers.select(is_ordinary, y, most)))

    def _known(self, node: ast.AST, sign: str, x: object, y: object) -> object:
        make = KNOWN.get(sign)
        if make is None or not isinstance(x, (bool, int, float)) or not isinstance(y, (bool, int, float)):
            raise self.source.problem(node, f"this cannot be computed with {kind_of(x)} and {kind_of(y)}")
        if sign in ("**", "<<") and not abs(y) <= 4096:
            raise self.source.problem(node, "this number is too large")
        return self.names.worked_out(node, make, x, y)

    def _matched(self, node: ast.AST, x: object, y: object) -> tuple[Any, Any]:
        """Return two operands in their common type: the wider one, or the float type of a float and an integer."""
        for each in (x, y):
            if not isinstance(each, (Number, bool, int, float)):
                raise self.source.problem(node, f"expected numbers, got {kind_of(each)}")
        if not isinstance(x, Number) or not isinstance(y, Number):
            return self._with_constant(node, x, y)
        if x.element == y.element and x.is_unsigned == y.is_unsigned:
            return x, y
        dtype = common(x.dtype, y.dtype)
        return self.cast(node, x, dtype), self.cast(node, y, dtype)

    def _with_constant(self, node: ast.AST, x: object, y: object) -> tuple[Any, Any]:
        if isinstance(y, Number):
            return self._with_constant(node, y, x)[::-1]
        if not isinstance(x, Number):
            return x, y
        dtype = x.dtype
        if isinstance(y, float) and not is_float(dtype):
            dtype = "f32"
        elif is_bool(dtype) and not isinstance(y, bool):
            dtype = SHORTEST
        return self.cast(node, x, dtype), self.constant(node, y, dtype)

    def constant(self, node: ast.AST, value: object, dtype: str) -> Number:
        if not isinstance(value, (bool, int, float)):
            raise self.source.problem(node, f"expected a number, got {kind_of(value)}")
        if not is_float(dtype):
            if isinstance(value, float) and not value.is_integer():
                raise self.source.problem(node, f"{value!r} is not a {shown(dtype)}")
            low, high = (0, 1) if is_bool(dtype) else limits("i64" if dtype == INDEX else dtype)
            if is_bool(dtype):
                value = bool(value)
            elif not min(low, 0) <= value <= max(high, 2 ** bit_width(dtype) - 1):
                raise self.source.problem(node, f"{value} is out of the range of {shown(dtype)}")
        try:
            return constant(value, dtype)
        except (OverflowError, ValueError) as error:
            raise self.source.problem(node, f"{value} is not a {shown(dtype)}: {error}") from None

    def cast(self, node: ast.AST, value: object, dtype: str) -> Number:
        if not isinstance(value, Number):
            if isinstance(value, float) and not is_float(dtype) and math.isfinite(value):
                value = int(value)
            return self.constant(node, value, dtype)
        if same(value.dtype, dtype):
            return value
        return self.source.guarded(node, lambda: value.to(dtype))

    # ---- calls ----

    def read_call(self, node: ast.Call) -> object:
        kind, name = self.names.word(node)
        if kind != TIR:
            return self._call_of_python(node)
        if (special := FUNCTIONS.get(name)) is not None:
            return special(self, node)
        if name in SIGN_OF_WORD:
            return self.apply_operator(node, SIGN_OF_WORD[name], *self._operands(node, 2))
        dtype = dtype_named(name)
        return self._of_type(node, name, dtype) if dtype is not None else self._intrinsic(node, name)

    def _call_of_python(self, node: ast.Call) -> object:
        """Evaluate `x.astype("float32")`, and Python's min, max and abs."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1:
            return self.cast(node, self.value(node.func.value), self.annotations.dtype(node.args[0]))
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("min", "max") and len(node.args) == 2:
            return self.binary(node, name, *self._operands(node, 2))
        if name == "abs":
            return self._intrinsic(node, "abs")
        try:
            return self.names.constant(node)
        except NotConstant:
            raise self.source.problem(node.func, f"there is no function '{ast.unparse(node.func)}' here") from None

    def _operands(self, node: ast.Call, count: int) -> list[object]:
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        named = [
            keyword.value for keyword in node.keywords if keyword.arg in ("a", "b", "x", "y", "x1", "x2", "lhs", "rhs")
        ]
        if len(args) + len(named) != count:
            raise self.source.problem(
                node, f"{ast.unparse(node.func)} takes {count} arguments, not {len(args) + len(named)}"
            )
        return [self.value(arg) for arg in (*args, *named)]

    def _of_type(self, node: ast.Call, name: str, dtype: str) -> Number:
        """Evaluate a conversion such as T.float32(x)."""
        if len(node.args) != 1:
            raise self.source.problem(node, f"T.{name} takes one number")
        if isinstance(value := self.value(node.args[0]), str):  # T.float32("inf")
            try:
                value = float(value)
            except ValueError:
                raise self.source.problem(node.args[0], f"{value!r} is not a number") from None
        return self.cast(node, value, dtype)

    def _intrinsic(self, node: ast.Call, name: str) -> object:
        if not _is_function(name):
            known = [*filter(_is_function, tir.ops), *FUNCTIONS, *SIGN_OF_WORD]
            raise self.source.problem(node.func, f"T has no '{name}'", known, name)
        definition = tir.ops[name]
        arguments = arguments_of(self.names, node, (*definition.parameters, "dtype"))
        arguments.pop("dtype", None)  # TVM's print-outs state the result's type
        attributes = {key: self.value(value) for key, value in arguments.items() if key in definition.attrs}
        names = [key for key in arguments if key not in definition.attrs]
        values = [self.value(arguments[key]) for key in names]
        dtype = common_of(values) if any([isinstance(value, Number) for value in values]) else "f32"
        dtype = "i64" if dtype == INDEX else dtype
        attempts = [[dtype] * len(values)]
        if len(values) > 1:
            # Operators on two kinds of numbers, such as ldexp, take each operand as it is.
            alone = [self._type_alone(value) for value in values]
            if len(set(map(is_float, alone))) > 1:
                attempts.insert(0, alone)
        for types in attempts:
            operands = [self.cast(node, *pair) for pair in zip(values, types, strict=True)]
            try:
                made = as_list(definition(**dict(zip(names, operands, strict=True)), **attributes))
                break
            except RelaxError as error:
                problem = error
        else:
            raise self.source.problem(node, problem.message)
        results = [typed(Number(each), dtype) for each in made]
        return results[0] if len(results) == 1 else tuple(results)

    @staticmethod
    def _type_alone(value: object) -> str:
        dtype = value.dtype if isinstance(value, Number) else natural(value)
        return SHORTEST if dtype == INDEX else dtype

    def chosen(self, node: ast.AST, test: ast.expr, yes: ast.expr, no: ast.expr) -> object:
        """Return one of two values. Only the chosen value is computed."""
        if isinstance(condition := self.truth(test), bool):
            return self.value(yes if condition else no)
        if not _reads(yes) and not _reads(no):
            return self.select(node, condition, self.value(yes), self.value(no))
        return self._branched(node, condition, yes, no)

    def select(self, node: ast.AST, condition: bool | Number, x: object, y: object) -> object:
        if isinstance(condition, bool):
            return x if condition else y
        if not isinstance(x, Number) and not isinstance(y, Number):
            x = self.constant(node, x, natural(x if isinstance(x, float) else y))
        return numbers.select(condition, *self._matched(node, x, y))

    def _branched(self, node: ast.AST, condition: Number, *nodes: ast.expr) -> Number:
        """Emit an scf.if with sides that read memory. The type is known once both sides are built."""
        sketch = ir.Operation.create("scf.if", operands=[condition], regions=2)
        try:
            values: list[object] = []
            for region, expr in zip(sketch.regions, nodes, strict=True):
                with ir.InsertionPoint(region.blocks.append()):
                    values.append(self.value(expr))
            dtype = common_of(values)
            for region, value in zip(sketch.regions, values, strict=True):
                with ir.InsertionPoint(region.blocks[0]):
                    ir.Operation.create("scf.yield", operands=[self.cast(node, value, dtype)])
            operation = with_results(sketch, [element(dtype)])
        finally:
            sketch.erase()
        return typed(Number(operation.result), dtype)


def _reads(node: ast.expr) -> bool:
    return any(isinstance(expr, (ast.Subscript, ast.Call)) for expr in parts_within(node))
