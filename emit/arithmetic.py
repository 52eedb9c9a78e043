# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's operators on SSA values. Conversions use only these; rules receive them as Numbers (numbers.py)."""

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

#: Names of the usual types: MLIR is slow at printing a type.
_NAMES = {ir.F32Type: "f32", ir.F64Type: "f64", ir.IndexType: "index"}

Operand = Union["Arithmetic", float, int]
#: Number, if the argument is one.
X = TypeVar("X", bound="Arithmetic")


class Arithmetic(Value):
    """SSA value that is a float, an integer, or a vector of them. Results have the same class."""

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
            """Compute a fact about the type on first use, because most values never need it."""
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
        """Plain SSA value, which can be compared and hashed."""
        return ir.Value(self)

    @property
    def dtype(self) -> str:
        """Name of the element type with its signedness, "ui8"."""
        text = _NAMES.get(type(self.element)) or str(self.element)
        return f"u{text}" if self.is_unsigned and text[0] == "i" and text not in ("i1", "index") else text

    @property
    def bits(self) -> int:
        return 64 if isinstance(self.element, ir.IndexType) else self.element.width

    def of(self, dtype: str) -> Self:
        """Return the same value with the signedness of an element type."""
        return type(self)(self, unsigned=is_unsigned(dtype))

    def constant(self, value: float | int) -> Self:
        """Return a constant of this number's type."""
        return type(self)(constant_value(value, self.type))

    def as_operand(self, other: Value | float) -> Value:
        """Return the other operand of an operation. A Python number becomes a constant of this type."""
        return other if isinstance(other, Value) else constant_value(other, self.type)

    def made(self, name: str, operands: Sequence[Value], result: Type, /, **attributes: Attribute) -> Self:
        """Create an operation and return its result."""
        return type(self)(result_of(name, operands, result, **attributes))

    def binary(self, float_op: str, int_op: str, other: Operand, *, swapped: bool = False) -> Self:
        pair: list[Value] = [self, self.as_operand(other)]
        name = float_op if self.is_float else int_op
        made = self.made(name, pair[::-1] if swapped else pair, self.type)
        made.is_unsigned = self.is_unsigned or getattr(other, "is_unsigned", False)
        return made

    def _combine_by_sign(self, name: str, other: Operand, *, swapped: bool = False) -> Self:
        has_sign = not (self.is_unsigned or getattr(other, "is_unsigned", False))
        return self.binary(f"arith.{name}f", f"arith.{name}{'si' if has_sign else 'ui'}", other, swapped=swapped)

    def _is_unchanged_by(self, neutral: int, other: Operand) -> bool:
        """Check whether `other` is the integer `neutral`, so that no operation is needed."""
        return isinstance(other, int) and other == neutral and not self.is_float

    def __add__(self, other: Operand) -> Self:
        return self if self._is_unchanged_by(0, other) else self.binary("arith.addf", "arith.addi", other)

    __radd__ = __add__

    def __mul__(self, other: Operand) -> Self:
        return self if self._is_unchanged_by(1, other) else self.binary("arith.mulf", "arith.muli", other)

    __rmul__ = __mul__

    def __sub__(self, other: Operand) -> Self:
        return self if self._is_unchanged_by(0, other) else self.binary("arith.subf", "arith.subi", other)

    def __rsub__(self, other: Operand) -> Self:
        return self.binary("arith.subf", "arith.subi", other, swapped=True)

    def __truediv__(self, other: Operand) -> Self:
        return self._combine_by_sign("div", other)

    def __rtruediv__(self, other: Operand) -> Self:
        return self._combine_by_sign("div", other, swapped=True)

    def __floordiv__(self, other: Operand) -> Self:
        """Divide sizes, or other integers that are not negative."""
        return self if self._is_unchanged_by(1, other) else self.binary("", "arith.divui", other)

    def __rfloordiv__(self, other: Operand) -> Self:
        return self.binary("", "arith.divui", other, swapped=True)

    def __mod__(self, other: Operand) -> Self:
        """Return the remainder of integers that are not negative, like `//`."""
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
        """Shift right. Signed numbers are sign-extended."""
        return self.binary("", "arith.shrui" if self.is_unsigned else "arith.shrsi", other)

    def shift_right_unsigned(self, other: Operand) -> Self:
        return self.binary("", "arith.shrui", other)

    def compare(self, sign: str, other: Operand) -> Self:
        """Compare, as `x == y` does, for values whose static type is a type variable."""
        if not self.is_float:
            has_sign = not (self.is_unsigned or getattr(other, "is_unsigned", False))
            return self._compared("arith.cmpi", (_SIGNED_PREDICATES if has_sign else _UNSIGNED_PREDICATES)[sign], other)
        return self._compared("arith.cmpf", _FLOAT_PREDICATES[sign], other)

    def unsigned(self, sign: str, other: Operand) -> Self:
        """Compare integers as unsigned: `x.unsigned("<", y)`."""
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
    """Check for an unsigned integer type; truth values count as unsigned."""
    return isinstance(element, ir.IntegerType) and (element.width == 1 or element.is_unsigned)


def result_of(name: str, operands: Sequence[Value], result: Type, /, **attributes: Attribute) -> Value:
    """Create an operation and return its result, of any type."""
    return ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes).result


@contextmanager
def shared_constants(block: Block) -> Iterator[None]:
    """Emit each constant integer once, at the start of a block, while the context manager is active.

    Nothing but constants may be emitted at the start of the block meanwhile.
    """
    token = _shared.set((block, {}))
    try:
        yield
    finally:
        _shared.reset(token)


#: Block of the constant integers, and the constants emitted so far.
_shared: ContextVar[tuple[Block, dict[tuple[int, Type], Value]] | None] = ContextVar("shared_constants", default=None)


def constant_value(value: float | int, type_: Type) -> Value:
    """Return a constant scalar, or a vector of equal elements. Integers wrap to the type's width."""
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
    if isinstance(own := element_type(type_), ir.FloatType):
        attribute = ir.FloatAttr.get(own, float(value))
    else:
        attribute = ir.IntegerAttr.get(own, _wrap(int(value), own))
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return result_of("arith.constant", [], type_, value=attribute)


def _wrap(value: int, type_: Type) -> int:
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
    """Convert the elements by an operation: `convert("arith.truncf", x, f16)`."""
    return x.made(name, [x], with_element(x.type, element))


def bits_of(x: X) -> X:
    return convert("arith.bitcast", x, ir.IntegerType.get_signless(x.bits))


def from_bits(x: X, element: Type) -> X:
    return convert("arith.bitcast", x, element)


def element(dtype: str) -> Type:
    """Return the MLIR type of elements in PrimFuncs."""
    return type_named(signless(dtype), ir.Context.current)


def element_type(type_: Type) -> Type:
    """Return the element type of a vector, or the type itself."""
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def with_element(type_: Type, element: Type) -> Type:
    """Return the type with another element type."""
    if not isinstance(type_, ir.VectorType):
        return element
    scalable = list(type_.scalable_dims) if type_.scalable else None
    return ir.VectorType.get(type_.shape, element, scalable=scalable)
