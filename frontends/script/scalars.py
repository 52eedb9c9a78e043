# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of tensor programs as operations on scalars, with T's functions and its rules for mixed types.

A Python number is a constant until a Number beside it tells its type. A loop's variable is an index, and becomes the
integer or float that stands beside it.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...bindings.ir import Value
from ...bindings.mlir import as_list, ir
from ...dialects.core.infos import bit_width, is_bool, is_float, signless
from ...dialects.tir import dialect as tir
from ...emit import numbers
from ...emit.arithmetic import bits_of, element, from_bits
from ...emit.conversions import limits
from ...emit.numbers import Number, as_index, constant
from .annotations import Annotations
from .names import TIR, NotConstant
from .program import Buffer, Let
from .source import Source



class Memory(Protocol):
    """What buffers are where expressions are emitted."""

    def load(self, scalars: Scalars, node: ast.expr, buffer: Buffer, indices: tuple[ast.expr, ...]) -> Number:
        """The element of a buffer that an expression reads."""

    def memory(self, scalars: Scalars, node: ast.expr, buffer: Buffer) -> Value:
        """A buffer as a call passes it."""


_INDEX = "index"
_MOST_DEPTH = 300
#: What an integer beside an index that is narrower becomes: loops count in 32 bits at least.
_SHORTEST = "i32"

_BINARY: dict[type, str] = {
    ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.FloorDiv: "FloorDiv", ast.Mod: "FloorMod",
    ast.LShift: "shift_left", ast.RShift: "shift_right", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.Pow: "pow",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_COMPARISON_WORDS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: T's words for tir's functions, where they differ.
_ALIASES = {"power": "pow", "max_value": "", "min_value": "", "fabs": "fabs", "isinf": "isinf"}


class Scalars:
    """Evaluates expressions at the current insertion point."""

    #: Who emits the program sets it.
    memory: Memory

    def __init__(self, annotations: Annotations, known: Mapping[str, Any]):
        self.annotations, self.names = annotations, annotations.names
        self.source: Source = annotations.names.source
        #: Name -> Number, Python number or Buffer; a function makes what it stands for where it is used.
        self.env: dict[str, Any] = dict(known)
        self._depth = 0

    # ---- what callers want ----

    def number(self, node: ast.expr, dtype: str | None = None) -> Number:
        """A Number; of a type, where one is told. Raises ScriptError."""
        value = self.value(node)
        if dtype is None:
            return value if isinstance(value, Number) else self._constant(node, value, _natural(value))
        return self.as_element(node, value, dtype)

    def as_element(self, node: ast.AST, value: Any, dtype: str) -> Number:
        """A value that a buffer of such elements takes: indices fit all integers, others say what they become."""
        if not isinstance(value, Number):
            return self._constant(node, value, dtype)
        if _same(value.dtype, dtype):
            return value
        if value.dtype == _INDEX or is_bool(value.dtype):
            return self.cast(node, value, dtype)
        hint = f"T.Cast({_shown(dtype)!r}, ...) converts it"
        raise self.source.problem(node, f"this is {_shown(value.dtype)}, not {_shown(dtype)}; {hint}")

    def index(self, node: ast.expr) -> Any:
        """A Python integer or an index."""
        value = self.value(node)
        if isinstance(value, bool) or isinstance(value, float):
            raise self.source.problem(node, f"an index is an integer, this is {value!r}")
        if isinstance(value, int):
            return value
        if not isinstance(value, Number) or value.is_float:
            raise self.source.problem(node, f"an index is an integer, this is {_kind(value)}")
        return value if value.dtype == _INDEX else as_index(value)

    def truth(self, node: ast.expr) -> Any:
        """True, False or an i1."""
        return self._truth_of(node, self.value(node))

    def _truth_of(self, node: ast.AST, value: Any) -> Any:
        if isinstance(value, (bool, int)):
            return bool(value)
        if not isinstance(value, Number):
            raise self.source.problem(node, f"a condition is a bool, this is {_kind(value)}")
        return value if is_bool(value.dtype) else value != 0

    def define(self, statement: Let) -> None:
        """A name for a number, from here on."""
        value, dtype = statement.value, statement.dtype
        self.env[statement.name] = self.value(value) if dtype is None else self.cast(value, self.value(value), dtype)

    # ---- expressions ----

    def value(self, node: ast.expr) -> Any:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self.source.problem(node, "the expression is nested too deep")
        try:
            return self._value(node)
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.BinOp):
            return self._of_long_sum(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.BoolOp):
            values = [self.truth(each) for each in node.values]
            return self._logical(isinstance(node.op, ast.And), values)
        if isinstance(node, ast.IfExp):
            return self._chosen(node, node.test, node.body, node.orelse)
        if isinstance(node, ast.Subscript):
            return self._element(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        try:
            return self.names.constant(node, self.env)
        except NotConstant:
            word = type(node).__name__.lower()
            raise self.source.problem(node, f"a tensor program has no such expression ({word})") from None

    def _named(self, node: ast.Name) -> Any:
        if node.id in self.env:
            found = self.env[node.id]
            if isinstance(found, Buffer):
                if not found.dims:
                    return self.memory.load(self, node, found, ())
                raise self.source.problem(node, f"'{node.id}' is a buffer: one of its elements is needed, {node.id}[...]")
            return found() if callable(found) else found
        try:
            value = self.names.known(node.id)
        except NotConstant:
            value = None
        if not isinstance(value, (bool, int, float, str, tuple)):
            raise self.source.problem(node, f"there is no '{node.id}' here", self.env, node.id)
        return value

    def _of_long_sum(self, node: ast.BinOp) -> Any:
        """Left to right without recursion: generated programs have sums of thousands."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for each in reversed(chain):
            value = self.binary(each, _BINARY.get(type(each.op), ""), value, self.value(each.right))
        return value

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self._truth_of(node.operand, value)
            return not truth if isinstance(truth, bool) else truth ^ True
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.USub):
            return -value
        return ~value

    def _compared(self, node: ast.Compare) -> Any:
        operands = [self.value(each) for each in (node.left, *node.comparators)]
        found = []
        for position, sign in enumerate(node.ops):
            word = _COMPARISONS.get(type(sign))
            if word is None:
                raise self.source.problem(node, "a tensor program has no such comparison")
            found.append(self.compare(node, word, *operands[position : position + 2]))
        return found[0] if len(found) == 1 else self._logical(True, found)

    def compare(self, node: ast.AST, sign: str, x: Any, y: Any) -> Any:
        x, y = self._matched(node, x, y)
        return _COMPARE[sign](x, y)

    def _logical(self, is_and: bool, values: Sequence[Any]) -> Any:
        found: Any = is_and
        for value in values:
            if isinstance(found, bool):
                found = value if found is is_and else found
            elif isinstance(value, bool):
                found = found if value is is_and else value
            else:
                found = found & value if is_and else found | value
        return found

    def _element(self, node: ast.Subscript) -> Any:
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "shape" and isinstance(base.value, ast.Name):
            buffer = self.env.get(base.value.id)
            axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(buffer, Buffer) and isinstance(axis, int) and -len(buffer.sizes) <= axis < len(buffer.sizes):
                return self.value(buffer.sizes[axis])
        from .prim_func import element_of

        if isinstance(base, ast.Name) and not isinstance(self.env.get(base.id), Buffer):
            try:
                return self.names.constant(node, self.env)
            except NotConstant:
                pass
        return self.memory.load(self, node, *element_of(self, node, self.env))

    # ---- arithmetic ----

    def binary(self, node: ast.AST, word: str, x: Any, y: Any) -> Any:
        """T.Add and its like, and Python's signs for them."""
        if not isinstance(x, Number) and not isinstance(y, Number):
            return self._known(node, word, x, y)
        x, y = self._matched(node, x, y)
        make = _ARITHMETIC.get(word)
        if make is None:
            raise self.source.problem(node, "a tensor program has no such operation")
        if word == "Div" and not x.is_float:
            raise self.source.problem(node, "integers are divided by //, T.truncdiv or T.ceildiv")
        if word in _OF_INTEGERS and x.is_float:
            raise self.source.problem(node, f"this is of integers, not {_shown(x.dtype)}")
        return make(x, y)

    def _known(self, node: ast.AST, word: str, x: Any, y: Any) -> Any:
        make = _KNOWN.get(word)
        if make is None or not all(isinstance(each, (bool, int, float)) for each in (x, y)):
            raise self.source.problem(node, f"this cannot be computed of {_kind(x)} and {_kind(y)}")
        if word in ("pow", "shift_left") and not abs(y) <= 4096:
            raise self.source.problem(node, "this number is too large")
        try:
            return make(x, y)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise self.source.problem(node, f"this cannot be computed: {error}") from None

    def _matched(self, node: ast.AST, x: Any, y: Any) -> tuple[Any, Any]:
        """Two operands in one type: that of the wider one; integers beside floats become these."""
        for each in (x, y):
            if not isinstance(each, (Number, bool, int, float)):
                raise self.source.problem(node, f"numbers are needed, this is {_kind(each)}")
        if not isinstance(x, Number) or not isinstance(y, Number):
            return self._beside(node, x, y)
        if _same(x.dtype, y.dtype):
            return x, y
        dtype = _common(x.dtype, y.dtype)
        return self.cast(node, x, dtype), self.cast(node, y, dtype)

    def _beside(self, node: ast.AST, x: Any, y: Any) -> tuple[Any, Any]:
        if not isinstance(x, Number) and not isinstance(y, Number):
            return x, y
        like, other = (x, y) if isinstance(x, Number) else (y, x)
        dtype = like.dtype
        if isinstance(other, float) and not is_float(dtype):
            dtype = "f32"
        elif is_bool(dtype) and not isinstance(other, bool):
            dtype = _SHORTEST
        pair = (self.cast(node, like, dtype), self._constant(node, other, dtype))
        return pair if isinstance(x, Number) else pair[::-1]

    def _constant(self, node: ast.AST, value: Any, dtype: str) -> Number:
        if not isinstance(value, (bool, int, float)):
            raise self.source.problem(node, f"a number is needed, this is {_kind(value)}")
        if not is_float(dtype):
            if isinstance(value, float) and not value.is_integer():
                raise self.source.problem(node, f"{value!r} is no {_shown(dtype)}")
            low, high = (0, 1) if is_bool(dtype) else limits("i64" if dtype == _INDEX else dtype)
            if is_bool(dtype):
                value = bool(value)
            elif not min(low, 0) <= value <= max(high, 2 ** bit_width(dtype) - 1):
                raise self.source.problem(node, f"{value} is out of the range of {_shown(dtype)}")
        try:
            return constant(value, element(dtype)).of(dtype)
        except (OverflowError, ValueError) as error:
            raise self.source.problem(node, f"{value} is no {_shown(dtype)}: {error}") from None

    def cast(self, node: ast.AST, value: Any, dtype: str) -> Number:
        if not isinstance(value, Number):
            if isinstance(value, float) and not is_float(dtype) and math.isfinite(value):
                value = int(value)
            return self._constant(node, value, dtype)
        if _same(value.dtype, dtype):
            return value
        return self.source.guarded(node, lambda: value.to(dtype))

    # ---- calls ----

    def _call(self, node: ast.Call) -> Any:
        word = self.names.word(node.func)
        if word is None or word[0] != TIR:
            return self._call_of_python(node)
        name = word[1]
        special = _FUNCTIONS.get(name)
        if special is not None:
            return special(self, node)
        if name in _ARITHMETIC or name in _ARITHMETIC_WORDS:
            x, y = self._operands(node, 2)
            return self.binary(node, _ARITHMETIC_WORDS.get(name, name), x, y)
        if name in _COMPARISON_WORDS:
            return self.compare(node, _COMPARISON_WORDS[name], *self._operands(node, 2))
        if _is_dtype(name):
            return self._of_type(node, name)
        return self._intrinsic(node, _ALIASES.get(name, name))

    def _call_of_python(self, node: ast.Call) -> Any:
        """`x.astype("float32")`, and Python's min, max and abs."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1:
            return self.cast(node, self.value(node.func.value), self.annotations.dtype(node.args[0]))
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("min", "max") and len(node.args) == 2:
            return self.binary(node, name, *self._operands(node, 2))
        if name == "abs":
            return self._intrinsic(node, "abs")
        try:
            return self.names.constant(node, self.env)
        except NotConstant:
            raise self.source.problem(node.func, f"there is no function '{ast.unparse(node.func)}' here") from None

    def _operands(self, node: ast.Call, count: int) -> list[Any]:
        args = [each for each in node.args if not isinstance(each, ast.Starred)]
        named = [each.value for each in node.keywords if each.arg in ("a", "b", "x", "y", "lhs", "rhs")]
        if len(args) + len(named) != count:
            raise self.source.problem(node, f"{ast.unparse(node.func)} takes {count} arguments, not {len(args)}")
        return [self.value(each) for each in (*args, *named)]

    def _of_type(self, node: ast.Call, name: str) -> Any:
        """T.float32(x)."""
        if len(node.args) != 1:
            raise self.source.problem(node, f"T.{name} takes one number")
        dtype = self.annotations.dtype(node.func)
        value = self.value(node.args[0])
        if isinstance(value, str):  # T.float32("inf")
            try:
                value = float(value)
            except ValueError:
                raise self.source.problem(node.args[0], f"{value!r} is no number") from None
        return self.cast(node, value, dtype)

    def _intrinsic(self, node: ast.Call, name: str) -> Any:
        if name not in tir.ops or tir.ops[name].role or name in ("packed", "release", "return_unless_ok"):
            known = [*tir.ops, *_FUNCTIONS, *_ARITHMETIC, *_ARITHMETIC_WORDS, *_COMPARISON_WORDS]
            raise self.source.problem(node.func, f"T has no '{name}'", known, name)
        values = [self.value(each) for each in node.args]
        like = next((value for value in values if isinstance(value, Number)), None)
        dtype = "f32" if like is None else like.dtype
        for value in values:
            if isinstance(value, Number) and value.dtype != dtype:
                dtype = _common(dtype, value.dtype)
        if dtype == _INDEX:
            dtype = "i64"
        has_float_only = any(isinstance(value, float) for value in values) and not is_float(dtype)
        dtype = "f32" if has_float_only else dtype
        operands = [self.cast(node, value, dtype) for value in values]
        made = self.source.guarded(node, lambda: as_list(tir.ops[name](*operands)))
        results = [Number(each).of(dtype) if not is_float(dtype) else Number(each) for each in made]
        return results[0] if len(results) == 1 else tuple(results)

    def _chosen(self, node: ast.AST, test: ast.expr, yes: ast.expr, no: ast.expr) -> Any:
        """One of two, of which only that one is computed."""
        condition = self.truth(test)
        if isinstance(condition, bool):
            return self.value(yes if condition else no)
        if not _reads(yes) and not _reads(no):
            return self.select(node, condition, self.value(yes), self.value(no))
        return self._branched(node, condition, yes, no)

    def select(self, node: ast.AST, condition: Any, x: Any, y: Any) -> Any:
        if isinstance(condition, bool):
            return x if condition else y
        if not isinstance(x, Number) and not isinstance(y, Number):
            dtype = _natural(x if isinstance(x, float) else y)
            x = self._constant(node, x, dtype)
        x, y = self._matched(node, x, y)
        return numbers.select(condition, x, y)

    def _branched(self, node: ast.AST, condition: Number, *nodes: ast.expr) -> Number:
        """An scf.if whose sides read memory. The types are known when both are there."""
        sketch = ir.Operation.create("scf.if", operands=[condition], regions=2)
        try:
            values: list[Any] = []
            for region, each in zip(sketch.regions, nodes, strict=True):
                with ir.InsertionPoint(region.blocks.append()):
                    values.append(self.value(each))
            dtype = _common_of(values)
            for region, value in zip(sketch.regions, values, strict=True):
                with ir.InsertionPoint(region.blocks[0]):
                    ir.Operation.create("scf.yield", operands=[self.cast(node, value, dtype)])
            made = ir.Operation.create("scf.if", results=[element(dtype)], operands=[condition], regions=2)
            for source, target in zip(sketch.regions, made.regions, strict=True):
                source.blocks[0].append_to(target)
        finally:
            sketch.erase()
        return Number(made.result).of(dtype)


def _reads(node: ast.expr) -> bool:
    return any(isinstance(each, (ast.Subscript, ast.Call)) for each in ast.walk(node))


def _common_of(values: Sequence[Any]) -> str:
    typed = [value.dtype for value in values if isinstance(value, Number)]
    if not typed:
        return _natural(next((value for value in values if isinstance(value, float)), values[0]))
    dtype: str = typed[0]
    for other in typed[1:]:
        dtype = dtype if _same(dtype, other) else _common(dtype, other)
    return "f32" if any(isinstance(value, float) for value in values) and not is_float(dtype) else dtype


def _natural(value: Any) -> str:
    """The type of a Python number that nothing stands beside."""
    return "i1" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32"


def _same(one: str, other: str) -> bool:
    """Types are equal; a bool is what MLIR has as i1."""
    return one == other or (is_bool(one) and is_bool(other))


def _common(one: str, other: str) -> str:
    """The type of an operation on two: floats before integers, then the wider one."""
    floats = [dtype for dtype in (one, other) if is_float(dtype)]
    if floats:
        return max(floats, key=bit_width)
    if _INDEX in (one, other):
        rest = other if one == _INDEX else one
        return rest if bit_width(rest) >= 32 else _SHORTEST
    if is_bool(one) or is_bool(other):
        return other if is_bool(one) else one
    return max((one, other), key=bit_width)


def _shown(dtype: str) -> str:
    from ...dialects.script.types import dtype_name

    return dtype_name(dtype)


def _kind(value: Any) -> str:
    if isinstance(value, Number):
        return _shown(value.dtype)
    return repr(value)[:60] if not isinstance(value, Buffer) else f"buffer '{value.name}'"


def _is_dtype(name: str) -> bool:
    from ...dialects.core.infos import dtype_name, is_dtype

    found = dtype_name(name)
    return found is not None and is_dtype(found) and name not in tir.ops


# ---- arithmetic by T's names ----


def _shift_right(x: Number, y: Number) -> Number:
    return x >> y


def _ceildiv(x: Number, y: Number) -> Number:
    return 0 - numbers.floor_divide(0 - x, y) if not x.is_unsigned else numbers.floor_divide(x + (y - 1), y)


def _divided_exactly(x: Number, y: Number) -> Number:
    return x / y


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": _divided_exactly,
    "FloorDiv": numbers.floor_divide, "FloorMod": numbers.floor_remainder, "truncdiv": numbers.divide,
    "truncmod": numbers.remainder, "ceildiv": _ceildiv, "min": numbers.minimum, "max": numbers.maximum,
    "shift_left": operator.lshift, "shift_right": _shift_right, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "pow": lambda x, y: numbers.intrinsic("pow", x, y),
}  # fmt: skip
_ARITHMETIC_WORDS = {
    "floordiv": "FloorDiv", "floormod": "FloorMod", "Mod": "truncmod", "Min": "min", "Max": "max", "add": "Add",
    "subtract": "Sub", "multiply": "Mul", "div": "Div", "truncmod": "truncmod", "indexdiv": "FloorDiv",
    "indexmod": "FloorMod", "Div": "Div", "power": "pow",
}  # fmt: skip
_OF_INTEGERS = frozenset({"shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "ceildiv"})
_KNOWN: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "FloorMod": operator.mod, "truncdiv": lambda x, y: int(x / y),
    "truncmod": math.fmod, "ceildiv": lambda x, y: -(-x // y), "min": min, "max": max, "shift_left": operator.lshift,
    "shift_right": operator.rshift, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "pow": operator.pow,
}  # fmt: skip

Function = Callable[[Scalars, ast.Call], Any]
_FUNCTIONS: dict[str, Function] = {}


def _function(*names: str) -> Callable[[Function], Function]:
    def declare(make: Function) -> Function:
        _FUNCTIONS.update(dict.fromkeys(names, make))
        return make

    return declare


def _taken(scalars: Scalars, node: ast.Call, count: int) -> list[ast.expr]:
    if len(node.args) != count or node.keywords:
        raise scalars.source.problem(node, f"{ast.unparse(node.func)} takes {count} arguments")
    return node.args


@_function("Cast", "cast")
def _cast(scalars: Scalars, node: ast.Call) -> Number:
    one, other = _taken(scalars, node, 2)
    # T.Cast names the type first, T.cast last.
    dtype, value = (one, other) if isinstance(one, ast.Constant) and isinstance(one.value, str) else (other, one)
    return scalars.cast(node, scalars.value(value), scalars.annotations.dtype(dtype))


@_function("reinterpret")
def _reinterpret(scalars: Scalars, node: ast.Call) -> Number:
    one, other = _taken(scalars, node, 2)
    dtype, value = (one, other) if isinstance(one, ast.Constant) and isinstance(one.value, str) else (other, one)
    name, number = scalars.annotations.dtype(dtype), scalars.number(value)
    if bit_width(number.dtype) != bit_width(name) or number.dtype == _INDEX:
        raise scalars.source.problem(node, f"{_shown(number.dtype)} and {_shown(name)} differ in width")
    bits = bits_of(number) if number.is_float else number
    return (from_bits(bits, element(name)) if is_float(name) else bits).of(name)


@_function("if_then_else")
def _if_then_else(scalars: Scalars, node: ast.Call) -> Any:
    return scalars._chosen(node, *_taken(scalars, node, 3))


@_function("Select")
def _select(scalars: Scalars, node: ast.Call) -> Any:
    condition, yes, no = _taken(scalars, node, 3)
    return scalars.select(node, scalars.truth(condition), scalars.value(yes), scalars.value(no))


@_function("And", "all")
def _and(scalars: Scalars, node: ast.Call) -> Any:
    return scalars._logical(True, [scalars.truth(each) for each in node.args])


@_function("Or", "any")
def _or(scalars: Scalars, node: ast.Call) -> Any:
    return scalars._logical(False, [scalars.truth(each) for each in node.args])


@_function("Not")
def _not(scalars: Scalars, node: ast.Call) -> Any:
    truth = scalars.truth(_taken(scalars, node, 1)[0])
    return not truth if isinstance(truth, bool) else truth ^ True


@_function("likely")
def _likely(scalars: Scalars, node: ast.Call) -> Any:
    return scalars.value(_taken(scalars, node, 1)[0])


@_function("bitwise_not")
def _bitwise_not(scalars: Scalars, node: ast.Call) -> Any:
    return ~scalars.value(_taken(scalars, node, 1)[0])


@_function("Let")
def _let(scalars: Scalars, node: ast.Call) -> Any:
    """T.Let(body, where={x: value})."""
    where = next((each.value for each in node.keywords if each.arg == "where"), None)
    if len(node.args) != 1 or not isinstance(where, ast.Dict):
        raise scalars.source.problem(node, "T.Let takes an expression and where={name: value}")
    outer = scalars.env
    scalars.env = dict(outer)
    for key, value in zip(where.keys, where.values, strict=True):
        if not isinstance(key, ast.Name):
            raise scalars.source.problem(node, "T.Let gives names their values")
        scalars.env[key.id] = scalars.value(value)
    found = scalars.value(node.args[0])
    scalars.env = outer
    return found


def _limit(scalars: Scalars, node: ast.Call, of_float: Callable[[str], float], position: int) -> Any:
    dtype = scalars.annotations.dtype(_taken(scalars, node, 1)[0])
    value: Any = of_float(dtype) if is_float(dtype) else limits(dtype)[position]
    return scalars._constant(node, value, dtype)


_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


@_function("max_value")
def _max_value(scalars: Scalars, node: ast.Call) -> Any:
    return _limit(scalars, node, lambda dtype: _LARGEST.get(dtype, math.inf), 1)


@_function("min_value")
def _min_value(scalars: Scalars, node: ast.Call) -> Any:
    return _limit(scalars, node, lambda dtype: -_LARGEST.get(dtype, math.inf), 0)


@_function("infinity")
def _infinity(scalars: Scalars, node: ast.Call) -> Any:
    return _limit(scalars, node, lambda _: math.inf, 1)


@_function("nan")
def _nan(scalars: Scalars, node: ast.Call) -> Any:
    return _limit(scalars, node, lambda _: math.nan, 1)


def _result_type(scalars: Scalars, node: ast.expr) -> str:
    """Of a call: an element type, "" for none."""
    try:
        value = scalars.names.constant(node)
    except NotConstant:
        value = None
    return "" if value in ("void", "handle", "") else scalars.annotations.dtype(node)


@_function("call_extern", "call_pure_extern", "call_packed", "tvm_call_packed")
def _call_extern(scalars: Scalars, node: ast.Call) -> Any:
    """T.call_extern("float32", "fabsf", x), T.call_packed("name", ...)."""
    word = scalars.names.word(node.func)
    assert word is not None
    is_packed = "packed" in word[1]
    args = node.args
    if len(args) < (1 if is_packed else 2):
        raise scalars.source.problem(node, f"T.{word[1]} lacks the function's name")
    dtype = "" if is_packed else _result_type(scalars, args[0])
    name, *rest = args if is_packed else args[1:]
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        raise scalars.source.problem(name, "the name of a function is text")
    operands = [_passed(scalars, each) for each in rest]
    operator_name = "call_packed" if is_packed else word[1]
    types = [] if not dtype else [signless(dtype)]
    made = scalars.source.guarded(node, lambda: tir.ops[operator_name](name.value, operands, ty=types))
    results = as_list(made) if made is not None else []
    return Number(results[0]).of(dtype) if results else 0


def _passed(scalars: Scalars, node: ast.expr) -> Value:
    """An argument of a function that is not ours: a number, or a buffer's memory (A, A.data)."""
    base = node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node
    if isinstance(base, ast.Call) and scalars.names.word(base.func) == (TIR, "address_of"):
        raise scalars.source.problem(node, "the address of an element is not passed: pass the buffer")
    held = scalars.env.get(base.id) if isinstance(base, ast.Name) else None
    if isinstance(held, Buffer):
        return scalars.memory.memory(scalars, node, held)
    return scalars.number(node)
