# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars of compute bodies: numbers with TVM's type promotion, and indices with symbolic expressions.

An index tracks its expression over loop variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn, Union

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.infos import DTYPE_BY_NAME, bit_width, dtype_name, is_bool, is_float, is_int, is_unsigned
from ...dialects.core.symbols_expr import Size, SymbolError, SymExpr
from ...support.errors import RelaxError
from ...support.suggest import suggest
from ..conversions import limits
from ..numbers import Number, constant, floor_divide, floor_remainder
from .places import place_of_caller

#: Number, or a Python number.
Operand = Union["Scalar", float]

_body: ContextVar[Any] = ContextVar("te_body", default=None)


def body(what: str) -> Any:
    """Return the current function call. Raise RelaxError outside of any call."""
    if (found := _body.get()) is None:
        raise place_of_caller().problem(f"{what} is known in the function of a te.compute only")
    return found


def is_in_function() -> bool:
    return _body.get() is not None


# ---- numbers ----


class Scalar(Number):
    """Number that can be combined with other types, as in TVM. Integer division rounds down."""

    __slots__ = ("_home",)
    #: Make NumPy defer operators with its numbers to this class.
    __array_ufunc__ = None

    def __init__(self, value: Value, *, unsigned: bool = False):
        super().__init__(value, unsigned=unsigned)
        #: Function call that created the number. The reference also keeps the value alive.
        self._home = _body.get()

    @classmethod
    def of_number(cls, value: Value) -> Scalar:
        return value if isinstance(value, Scalar) else cls(value, unsigned=getattr(value, "is_unsigned", False))

    @property
    def plain(self) -> Number:
        """Operand for conversions and divisions."""
        self.require_home()
        return Number(self, unsigned=self.is_unsigned)

    def require_home(self) -> None:
        if self._home is not _body.get():
            raise RelaxError("a number of another function is used: what it is only that one knows")

    def to(self, dtype: str, *, saturate: bool = False) -> Scalar:
        if not (is_float(dtype) or is_int(dtype) or is_bool(dtype) or dtype == "index"):
            raise RelaxError(f"unknown dtype {dtype!r}{suggest(str(dtype), DTYPE_BY_NAME)}")
        return self if dtype == self.dtype else Scalar.of_number(self.plain.to(dtype, saturate=saturate))

    def astype(self, dtype: object) -> Scalar:
        return self.to(dtype_name(dtype) or str(dtype))

    def __bool__(self) -> bool:
        raise RelaxError(
            "what a number is only the program knows, so `if`, `and`, `or`, `not` and `a < b < c` of Python cannot "
            "decide by it: use te.if_then_else, te.all, te.any, or where= of a reduction"
        )

    def __invert__(self) -> Scalar:
        if self.is_float:
            raise RelaxError(f"~ is of integers and bools, not of {self.dtype}")
        return Scalar.of_number(~self.plain)

    def __neg__(self) -> Scalar:
        return Scalar.of_number(-self.plain) if self.is_float else 0 - self

    def __floordiv__(self, other: object) -> Scalar:
        return _divide_safely(floor_divide, "//", self, other)

    def __rfloordiv__(self, other: object) -> Scalar:
        return _divide_safely(floor_divide, "//", other, self)

    def __mod__(self, other: object) -> Scalar:
        return _divide_safely(floor_remainder, "%", self, other)

    def __rmod__(self, other: object) -> Scalar:
        return _divide_safely(floor_remainder, "%", other, self)


def _make_binary_method(name: str, sign: str) -> Callable[..., Scalar]:
    plain = getattr(Number, f"__{name}__")

    def method(self: Scalar, other: object) -> Scalar:
        other = operand(other)
        x, y = together(self, other)
        _require_meaning(sign, x)
        is_size = x.dtype == "index" and isinstance(other, int)  # + 0 is folded
        return Scalar.of_number(plain(x.plain, other if is_size else y.plain))

    return method


_SIGNS = {
    "add": "+", "radd": "+", "sub": "-", "rsub": "-", "mul": "*", "rmul": "*", "truediv": "/", "rtruediv": "/",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
for _name, _sign in _SIGNS.items():
    setattr(Scalar, f"__{_name}__", _make_binary_method(_name, _sign))
for _name in ("and", "or", "xor"):
    setattr(Scalar, f"__r{_name}__", _make_binary_method(_name, _SIGNS[_name]))


def _require_meaning(sign: str, x: Scalar) -> None:
    """Raise RelaxError if an operator is undefined for a type."""
    if is_bool(x.dtype) and sign in ("+", "-", "*", "/", "//", "%", "<<", ">>"):
        raise RelaxError(f'`{sign}` of two bools: use & and |, or numbers: x.astype("int32")')
    if sign == "/" and not x.is_float:
        raise RelaxError(f'`/` of {x.dtype}: use te.floordiv or te.truncdiv, or divide floats: x.astype("float32")')
    if x.is_float and sign in ("&", "|", "^", "<<", ">>"):
        raise RelaxError(f"`{sign}` is of integers and bools, not of {x.dtype}")


def _divide_safely(function: Callable[..., Number], sign: str, x: object, y: object) -> Scalar:
    """Return a quotient or remainder, which traps on no machine."""
    x, y = operand(x), operand(y)
    if isinstance(y, int) and y == 0 and not (isinstance(x, Scalar) and x.is_float):
        raise RelaxError(f"`{sign}` by 0")
    return of_two(function, sign, x, y)


def of_two(function: Callable[..., Number], sign: str, x: object, y: object) -> Scalar:
    """Apply a function to two numbers after promotion to one type."""
    x, y = together(x, y)
    _require_meaning(sign, x)
    return Scalar.of_number(function(x.plain, y.plain))


# ---- types ----


def together(x: object, y: object) -> tuple[Scalar, Scalar]:
    """Promote two numbers to one type.

    Python numbers take the other's type, integers become floats, and narrow types become wide types.
    """
    pair = operand(x), operand(y)
    dtype = common_dtype(*pair)
    return of_dtype(pair[0], dtype), of_dtype(pair[1], dtype)


def common_dtype(x: Any, y: Any) -> str:
    """Return the common type of two results of `operand`.

    Python numbers take the other's type, except a float with an integer, which gives f32.
    """
    if not isinstance(x, Scalar):
        x, y = y, x
    if not isinstance(x, Scalar):
        return max(_python_dtype(x), _python_dtype(y), key=lambda dtype: (is_float(dtype), bit_width(dtype)))
    if isinstance(y, Scalar):
        return _wider(x.dtype, y.dtype)
    if isinstance(y, bool) or x.is_float:
        return x.dtype
    if isinstance(y, float):
        return "f32"
    return _python_dtype(y) if is_bool(x.dtype) else x.dtype


def _python_dtype(value: bool | float | int) -> str:
    """Return the default type of a Python number."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "f32"
    return "i32" if -(1 << 31) <= value < 1 << 31 else "i64"


def _wider(x: str, y: str) -> str:
    if x == y or is_bool(y):
        return x
    if is_bool(x):
        return y
    if is_float(x) != is_float(y):
        return x if is_float(x) else y
    if "index" in (x, y):
        return "index"
    wide, narrow = sorted((x, y), key=bit_width, reverse=True)
    fits = is_float(x) or is_unsigned(x) == is_unsigned(y) or not is_unsigned(wide)
    if bit_width(wide) == bit_width(narrow) or not fits:
        raise RelaxError(f"{x} and {y}, of which neither holds the other's numbers: say which, by .astype")
    return wide


def of_dtype(value: Operand, dtype: str) -> Scalar:
    """Convert a number, or a Python number, to a type."""
    if isinstance(value, Scalar):
        return value.to(dtype)
    if isinstance(value, float) and not is_float(dtype):
        raise RelaxError(f"{value} is no {dtype}")
    if not is_float(dtype) and not isinstance(value, bool):
        low, high = limits("i64" if dtype == "index" else dtype)
        if not low <= value <= high:
            raise RelaxError(f"{value} is no {dtype}, which goes from {low} to {high}")
    return Scalar.of_number(constant(value, dtype))


def operand(value: object) -> Operand:
    """Return a number, or a Python number. Axes of reductions and symbols become indices."""
    if isinstance(value, Deferred):
        return value.number
    if isinstance(value, SymExpr):
        return body(f"the value of {value}").symbol(value)
    if isinstance(value, Scalar):
        value.require_home()
        return value
    if isinstance(value, (bool, int, float)):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # NumPy's scalars
        return operand(value.item())
    if isinstance(value, Number) or (isinstance(value, Value) and _is_scalar(value)):
        return Scalar.of_number(value)
    raise RelaxError(f"expected a number, got {described(value)}")


def scalar(value: object) -> Scalar:
    """Return a number. A Python number becomes an i1, i32, i64 or f32."""
    known = operand(value)
    return known if isinstance(known, Scalar) else of_dtype(known, _python_dtype(known))


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, (ir.FloatType, ir.IntegerType, ir.IndexType))


def described(value: Any) -> str:
    """Describe a value for messages."""
    kind = type(value).__name__
    if isinstance(value, Scalar):
        return f"a number, {value.dtype}"
    if isinstance(value, Reduction):
        return "a reduction, which is all that a function of places can give: use its tensor in another te.compute"
    if (shape := getattr(value, "shape", None)) is None:
        return f"{kind} {value!r}"
    if hasattr(value, "place"):
        return f"the tensor '{value.name}': say which of its elements"
    return f"a {kind} of shape {tuple(shape)}: what a program is given is a te.placeholder"


# ---- indices ----


class Index(Scalar):
    """Number of type index. `at` is its expression over loop variables, or None if unknown."""

    __slots__ = ("at",)

    def __init__(self, value: Value, at: Size | None = None, *, unsigned: bool = False):
        super().__init__(value, unsigned=unsigned)
        self.at = at


def _make_index_method(name: str, known: Callable[[Size, Size], Size]) -> Callable[..., Scalar]:
    plain = getattr(Scalar, f"__{name}__")

    def method(self: Index, other: object) -> Scalar:
        other = operand(other)
        made = plain(self, other)
        at = other if isinstance(other, int) and not isinstance(other, bool) else getattr(other, "at", None)
        if self.at is None or at is None:
            return made
        try:
            return Index(made, known(self.at, at))
        except SymbolError:  # the expression is too long to track
            return made

    return method


for _name, _known in {
    "add": lambda x, y: x + y,
    "radd": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "rsub": lambda x, y: y - x,
    "mul": lambda x, y: x * y,
    "rmul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
}.items():
    setattr(Index, f"__{_name}__", _make_index_method(_name, _known))


# ---- values that are numbers only inside a function ----


class Deferred:
    """Value created outside of functions, where nothing is computed. Inside a function it is a number."""

    __array_ufunc__ = None
    __hash__ = object.__hash__

    @property
    def number(self) -> Scalar:
        raise NotImplementedError

    @property
    def dtype(self) -> str:
        return self.number.dtype

    def astype(self, dtype: str) -> Number:
        return self.number.astype(dtype)

    def __bool__(self) -> bool:
        return bool(self.number)


def _make_forwarding_method(name: str) -> Callable[..., object]:
    return lambda self, *others: getattr(self.number, name)(*others)


for _name in (*_SIGNS, "floordiv", "rfloordiv", "mod", "rmod", "neg", "invert", "rand", "ror", "rxor"):
    setattr(Deferred, f"__{_name}__", _make_forwarding_method(f"__{_name}__"))


@dataclass(frozen=True, eq=False)
class ReduceAxis(Deferred):
    """Axis of a reduction: `extent` steps from `start` on."""

    start: int
    extent: Size
    name: str

    @property
    def number(self) -> Index:
        index: Index = body(f"where reduce axis '{self.name}' stands").reduce_index(self)
        return index

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class ScalarConstant(Deferred):
    """Python number with a type."""

    value: float | int
    given: str

    @property
    def number(self) -> Scalar:
        body(f"the constant {self.value}")
        return of_dtype(self.value, self.given)

    @property
    def dtype(self) -> str:
        return self.given


# ---- reductions ----


@dataclass(frozen=True, eq=False)
class Reduction:
    """Reduction that a compute body returns. It must be the body's entire result."""

    combine: Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[object]]
    values: tuple[Scalar, ...]
    starts: tuple[Scalar, ...]
    axes: tuple[ReduceAxis, ...]

    def __getitem__(self, position: int) -> NoReturn:
        raise RelaxError("a reduction of several values is all that a function of places can give")

    def _refuse(self, *others: object) -> NoReturn:
        raise RelaxError("nothing can be computed with a reduction: use its tensor in another te.compute")

    astype = _refuse


for _name in (*_SIGNS, "floordiv", "rfloordiv", "mod", "rmod", "neg", "bool"):
    setattr(Reduction, f"__{_name}__", Reduction._refuse)
