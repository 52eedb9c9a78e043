# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's operators on SSA values. Conversions are made of these alone; rules get them as Numbers (numbers.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar, Union

from ..bindings.ir import Attribute, Block, Type, Value
from ..bindings.mlir import i64_attribute, ir
from ..dialects.core.codec import element_type as type_named
from ..dialects.core.infos import is_unsigned, signless

if TYPE_CHECKING:
    from typing_extensions import Self

_FLOAT_PREDICATES = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
_SIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_UNSIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}

#: Of the usual types: MLIR takes its time to write one.
_NAMES = {ir.F32Type: "f32", ir.F64Type: "f64", ir.IndexType: "index"}

Operand = Union["Arithmetic", float, int]
#: A Number where it is one.
X = TypeVar("X", bound="Arithmetic")


class Arithmetic(Value):
    """An SSA value that is a float, an integer, or a vector of them; what is computed is of the same class."""

    __slots__ = ("element", "is_float", "is_unsigned")
    element: Type
    is_float: bool
    is_unsigned: bool
    __hash__ = None  # type: ignore[assignment]  # == makes an operation

    def __init__(self, value: Value, *, unsigned: bool = False):
        super().__init__(value)
        if unsigned:
            self.is_unsigned = True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """What the type says, looked at when it is asked for: of most values it never is."""
            if name == "element":
                self.element = element_type(self.type)
            elif name == "is_float":
                self.is_float = isinstance(self.element, ir.FloatType)
            elif name == "is_unsigned":
                self.is_unsigned = not self.is_float and _has_no_sign(self.element)
            else:
                raise AttributeError(f"a {type(self).__name__} has no '{name}'")
            return object.__getattribute__(self, name)

    def __bool__(self) -> bool:
        raise TypeError("what a Number is only the program knows, so Python cannot decide by it: use select or when")

    @property
    def value(self) -> Value:
        """The SSA value alone, which can be compared and hashed."""
        return ir.Value(self)

    @property
    def dtype(self) -> str:
        """The element type's name with its sign, "ui8"."""
        text = _NAMES.get(type(self.element)) or str(self.element)
        return f"u{text}" if self.is_unsigned and text[0] == "i" and text not in ("i1", "index") else text

    @property
    def bits(self) -> int:
        return 64 if isinstance(self.element, ir.IndexType) else self.element.width

    def of(self, dtype: str) -> Self:
        """The same value of an element type that says whether there is a sign."""
        return type(self)(self, unsigned=is_unsigned(dtype))

    def constant(self, value: float | int) -> Self:
        """A constant of this number's type."""
        return type(self)(constant_value(value, self.type))

    def as_operand(self, other: Value | float) -> Value:
        """The other operand of an operation: a Python number becomes a constant of this type."""
        return other if isinstance(other, Value) else constant_value(other, self.type)

    def made(self, name: str, operands: Sequence[Value], result: Type, /, **attributes: Attribute) -> Self:
        """What a new operation gives."""
        return type(self)(result_of(name, operands, result, **attributes))

    def binary(self, float_op: str, int_op: str, other: Operand, *, swapped: bool = False) -> Self:
        pair: list[Value] = [self, self.as_operand(other)]
        name = float_op if self.is_float else int_op
        made = self.made(name, pair[::-1] if swapped else pair, self.type)
        made.is_unsigned = self.is_unsigned or getattr(other, "is_unsigned", False)
        return made

    def _by_sign(self, name: str, other: Operand, *, swapped: bool = False) -> Self:
        has_sign = not (self.is_unsigned or getattr(other, "is_unsigned", False))
        return self.binary(f"arith.{name}f", f"arith.{name}{'si' if has_sign else 'ui'}", other, swapped=swapped)

    def _is_unchanged_by(self, neutral: int, other: Operand) -> bool:
        """Of integers: arithmetic with what is known makes no operations for nothing."""
        return isinstance(other, int) and other == neutral and not self.is_float

    def __add__(self, other: Operand) -> Self:
        if self._is_unchanged_by(0, other):
            return self
        return self.binary("arith.addf", "arith.addi", other)

    __radd__ = __add__

    def __mul__(self, other: Operand) -> Self:
        if self._is_unchanged_by(1, other):
            return self
        return self.binary("arith.mulf", "arith.muli", other)

    __rmul__ = __mul__

    def __sub__(self, other: Operand) -> Self:
        if self._is_unchanged_by(0, other):
            return self
        return self.binary("arith.subf", "arith.subi", other)

    def __rsub__(self, other: Operand) -> Self:
        return self.binary("arith.subf", "arith.subi", other, swapped=True)

    def __truediv__(self, other: Operand) -> Self:
        return self._by_sign("div", other)

    def __rtruediv__(self, other: Operand) -> Self:
        return self._by_sign("div", other, swapped=True)

    def __floordiv__(self, other: Operand) -> Self:
        """Of sizes, and other integers that are not negative."""
        if self._is_unchanged_by(1, other):
            return self
        return self.binary("", "arith.divui", other)

    def __rfloordiv__(self, other: Operand) -> Self:
        return self.binary("", "arith.divui", other, swapped=True)

    def __mod__(self, other: Operand) -> Self:
        """As `//` of integers that are not negative."""
        return self.binary("", "arith.remui", other)

    def __neg__(self) -> Self:
        return self.made("arith.negf", [self], self.type) if self.is_float else 0 - self

    def __and__(self, other: Operand) -> Self:
        return self.binary("", "arith.andi", other)

    def __or__(self, other: Operand) -> Self:
        return self.binary("", "arith.ori", other)

    def __xor__(self, other: Operand) -> Self:
        return self.binary("", "arith.xori", other)

    def __invert__(self) -> Self:
        return self ^ -1

    def __lshift__(self, other: Operand) -> Self:
        return self.binary("", "arith.shli", other)

    def __rshift__(self, other: Operand) -> Self:
        """Of a signed number copies of the sign come in."""
        return self.binary("", "arith.shrui" if self.is_unsigned else "arith.shrsi", other)

    def shift_right_unsigned(self, other: Operand) -> Self:
        return self.binary("", "arith.shrui", other)

    def compare(self, sign: str, other: Operand) -> Self:
        """`x == y` where type checkers do not know that it makes an operation: of a type variable."""
        if not self.is_float:
            has_sign = not (self.is_unsigned or getattr(other, "is_unsigned", False))
            return self._compared("arith.cmpi", (_SIGNED_PREDICATES if has_sign else _UNSIGNED_PREDICATES)[sign], other)
        return self._compared("arith.cmpf", _FLOAT_PREDICATES[sign], other)

    def unsigned(self, sign: str, other: Operand) -> Self:
        """A comparison of integers without sign: `x.unsigned("<", y)`."""
        return self._compared("arith.cmpi", _UNSIGNED_PREDICATES[sign], other)

    def _compared(self, name: str, predicate: int, other: Operand) -> Self:
        attribute = i64_attribute(predicate)
        truth = with_element(self.type, ir.IntegerType.get_signless(1))
        return self.made(name, [self, self.as_operand(other)], truth, predicate=attribute)

    def __lt__(self, other: Operand) -> Self:
        return self.compare("<", other)

    def __le__(self, other: Operand) -> Self:
        return self.compare("<=", other)

    def __gt__(self, other: Operand) -> Self:
        return self.compare(">", other)

    def __ge__(self, other: Operand) -> Self:
        return self.compare(">=", other)

    def __eq__(self, other: Operand) -> Self:  # type: ignore[override]
        return self.compare("==", other)

    def __ne__(self, other: Operand) -> Self:  # type: ignore[override]
        return self.compare("!=", other)


def _has_no_sign(element: Type) -> bool:
    """Of integer types: truth values, and those that say it."""
    return isinstance(element, ir.IntegerType) and (element.width == 1 or element.is_unsigned)


def result_of(name: str, operands: Sequence[Value], result: Type, /, **attributes: Attribute) -> Value:
    """The result, of whatever type, of a new operation."""
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).result


@contextmanager
def shared_constants(block: Block) -> Iterator[None]:
    """Constant integers stand once, where a block begins, for all that is emitted in it meanwhile; but for constants
    nothing may be emitted where it begins.
    """
    token = _shared.set((block, {}))
    try:
        yield
    finally:
        _shared.reset(token)


#: Where constant integers stand, and those that do.
_shared: ContextVar[tuple[Block, dict[tuple[int, Type], Value]] | None] = ContextVar("shared_constants", default=None)


def constant_value(value: float | int, type_: Type) -> Value:
    """A constant scalar, or a vector of equal elements. Integers wrap to the type's width."""
    shared = _shared.get()
    if shared is None or not isinstance(type_, (ir.IndexType, ir.IntegerType)):
        return _new_constant(value, type_)
    block, known = shared
    key = int(value), type_
    if key not in known:
        with ir.InsertionPoint.at_block_begin(block):
            known[key] = _new_constant(value, type_)
    return known[key]


def _new_constant(value: float | int, type_: Type) -> Value:
    own = element_type(type_)
    if isinstance(own, ir.FloatType):
        attribute = ir.FloatAttr.get(own, float(value))
    else:
        attribute = ir.IntegerAttr.get(own, _wrapped(int(value), own))
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return result_of("arith.constant", [], type_, value=attribute)


def _wrapped(value: int, type_: Type) -> int:
    width = 64 if isinstance(type_, ir.IndexType) else type_.width
    if 0 <= value < 1 << (width - 1):
        return value
    low = value & ((1 << width) - 1)
    return low if _has_no_sign(type_) or low >> (width - 1) == 0 else low - (1 << width)


def select(condition: Value, yes: X | float, no: X | float) -> X:
    like = yes if isinstance(yes, Arithmetic) else no
    assert isinstance(like, Arithmetic), "one of both must say the type"
    made = like.made("arith.select", [condition, like.as_operand(yes), like.as_operand(no)], like.type)
    made.is_unsigned = any(getattr(each, "is_unsigned", False) for each in (yes, no))
    return made


def convert(name: str, x: X, element: Type) -> X:
    """An operation that gives other elements: `convert("arith.truncf", x, f16)`."""
    return x.made(name, [x], with_element(x.type, element))


def bits_of(x: X) -> X:
    return convert("arith.bitcast", x, ir.IntegerType.get_signless(x.bits))


def from_bits(x: X, element: Type) -> X:
    return convert("arith.bitcast", x, element)


def element(dtype: str) -> Type:
    """The MLIR type that elements of a type have in PrimFuncs."""
    return type_named(signless(dtype), ir.Context.current)


def element_type(type_: Type) -> Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def with_element(type_: Type, element: Type) -> Type:
    """The type with other elements."""
    if not isinstance(type_, ir.VectorType):
        return element
    scalable = list(type_.scalable_dims) if type_.scalable else None
    return ir.VectorType.get(type_.shape, element, scalable=scalable)
