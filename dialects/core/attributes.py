# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of operator attributes: conversions from Python values to MLIR attributes, and back.

A kind with a default is optional in the IR: an absent attribute has the default. If the default is None, an absent
attribute has a meaning of its own. `REQUIRED` attributes must be present.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Attribute, Context
from ...bindings.mlir import ir, is_encodable, parse_attribute, string_value
from ...support.suggest import suggest
from .cache import Table, cache_of
from .codec import TypeProblem, element_type
from .infos import dtype_name
from .symbols import Size, SymExpr, parse

REQUIRED: object = object()


class AttributeProblem(ValueError):
    """Value that does not fit its attribute. The message states the expected form."""


class AttrKind:
    """One kind of attribute with its default."""

    #: Expected values, for messages and the operator reference: "an integer".
    expects = "an attribute"
    #: Name of the kind in the operator reference.
    label = "attribute"
    #: Type hint of the builder's argument.
    hint = "Any"

    def __init__(self, default: object = REQUIRED, doc: str = ""):
        self.default = default
        self.doc = doc

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def normalize(self, value: object) -> Any:
        """Return the canonical Python value. Raise AttributeProblem for an invalid value."""
        raise AttributeProblem(f"expects {self.expects}, got {value!r}")

    def encode(self, value: Any, context: Context) -> Attribute:
        """Return the MLIR attribute of a normalized value."""
        raise AttributeProblem(f"expects {self.expects}, got {value!r}")

    def decode(self, attribute: Attribute) -> Any:
        """Return the Python value of an MLIR attribute. Raise AttributeProblem for another attribute."""
        raise AttributeProblem(f"expects {self.expects}, got {attribute}")

    def refuse(self, value: object) -> AttributeProblem:
        shown = value if isinstance(value, ir.Attribute) else repr(value)
        return AttributeProblem(f"expects {self.expects}, got {shown}")


class Int(AttrKind):
    expects = "an integer"
    label = "int"
    hint = "SupportsIndex"

    def normalize(self, value: object) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise self.refuse(value)
        try:
            number: int = value.__index__()
        except TypeError:  # an array of several numbers
            raise self.refuse(value) from None
        if not -(2**63) <= number < 2**63:
            raise AttributeProblem(f"expects {self.expects} of 64 bits, got {number}")
        return number

    def encode(self, value: int, context: Context) -> Attribute:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context), value)

    def decode(self, attribute: Attribute) -> int:
        if not isinstance(attribute, ir.IntegerAttr) or str(attribute.type) == "i1":
            raise self.refuse(attribute)
        return int(attribute.value)


def size_of(item: object) -> Size:
    """Return a size: an integer, an expression over symbols, or parsed text. Raise AttributeProblem or SymbolError."""
    if isinstance(item, SymExpr):
        return item
    return parse(item) if isinstance(item, str) else Int().normalize(item)


class Bool(AttrKind):
    expects = "true or false"
    label = "bool"
    hint = "bool"

    def normalize(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self.refuse(value)

    def encode(self, value: bool, context: Context) -> Attribute:
        return ir.BoolAttr.get(value, context)

    def decode(self, attribute: Attribute) -> bool:
        if isinstance(attribute, ir.BoolAttr):
            return bool(attribute.value)
        raise self.refuse(attribute)


class Float(AttrKind):
    expects = "a number"
    label = "float"
    hint = "SupportsFloat"

    def normalize(self, value: object) -> float:
        if isinstance(value, (bool, str, bytes, type)) or not hasattr(value, "__float__"):
            raise self.refuse(value)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):  # several numbers, or out of range for floats
            raise self.refuse(value) from None

    def encode(self, value: float, context: Context) -> Attribute:
        with ir.Location.unknown(context):
            return ir.FloatAttr.get(ir.F64Type.get(context), value)

    def decode(self, attribute: Attribute) -> float:
        if isinstance(attribute, ir.FloatAttr):
            return float(attribute.value)
        if isinstance(attribute, ir.IntegerAttr) and not isinstance(attribute, ir.BoolAttr):
            return float(attribute.value)
        raise self.refuse(attribute)


class Number(AttrKind):
    """Integer or float. The kind of the number is preserved."""

    expects = "a number"
    label = "number"
    hint = "float"

    def normalize(self, value: object) -> int | float:
        if not isinstance(value, bool) and hasattr(value, "__index__"):
            return Int.normalize(self, value)  # type: ignore[arg-type]
        return Float.normalize(self, value)  # type: ignore[arg-type]

    def encode(self, value: int | float, context: Context) -> Attribute:
        return (Int() if isinstance(value, int) else Float()).encode(value, context)  # type: ignore[arg-type]

    def decode(self, attribute: Attribute) -> int | float:
        if isinstance(attribute, ir.FloatAttr):
            return float(attribute.value)
        return Int.decode(self, attribute)  # type: ignore[arg-type]


class Str(AttrKind):
    label = "str"

    def __init__(self, default: object = REQUIRED, choices: Sequence[str] = (), doc: str = ""):
        super().__init__(default, doc)
        self.choices = tuple(choices)

    @property
    def hint(self) -> str:  # type: ignore[override]
        return f"Literal[{', '.join(map(repr, self.choices))}]" if self.choices else "str"

    @property
    def expects(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(map(repr, self.choices))}" if self.choices else "a string"

    def normalize(self, value: object) -> str:
        if not isinstance(value, str) or not is_encodable(value):
            raise self.refuse(value)
        if self.choices and value not in self.choices:
            raise AttributeProblem(f"expects {self.expects}, got {value!r}{suggest(value, self.choices)}")
        return value

    def encode(self, value: str, context: Context) -> Attribute:
        return ir.StringAttr.get(value, context)

    def decode(self, attribute: Attribute) -> str:
        if not isinstance(attribute, ir.StringAttr):
            raise self.refuse(attribute)
        try:
            return self.normalize(string_value(attribute))
        except UnicodeDecodeError:
            raise AttributeProblem(f"expects {self.expects}, got text that is not UTF-8") from None


class _ArrayKind(AttrKind):
    """Several values. A single value is repeated `broadcast` times (`strides=2` for `strides=(2, 2)`).

    Readers of an attribute with one entry, such as `strides = array<i64: 2>`, get the repeated values, too.
    """

    item: AttrKind
    array_attribute: Any

    def __init__(self, default: object = REQUIRED, broadcast: int = 1, doc: str = ""):
        super().__init__(default, doc)
        self.broadcast = broadcast

    def normalize(self, value: Any) -> tuple[int, ...]:
        if isinstance(value, (str, bytes)):
            raise self.refuse(value)
        try:
            items = tuple(value)
        except TypeError:  # one value, or an array of no dimensions
            items = (value,) * self.broadcast
        try:
            return tuple(self.item.normalize(item) for item in items)
        except AttributeProblem:
            raise self.refuse(value) from None

    def encode(self, value: tuple[object, ...], context: Context) -> Attribute:
        return self.array_attribute.get(list(value), context)

    def decode(self, attribute: Attribute | None) -> tuple[Any, ...]:
        if attribute is None:  # the bindings cannot return it
            raise self.refuse(attribute)
        # The bindings return one item per call, and a few lists occur again and again.
        known: Table = cache_of(attribute.context).attributes
        found = known.get((self, attribute))
        return known.remember((self, attribute), self._decode(attribute)) if found is None else found

    def _decode(self, attribute: Attribute) -> tuple[object, ...]:
        try:
            if isinstance(attribute, self.array_attribute):
                items = tuple(attribute)
            elif isinstance(attribute, ir.ArrayAttr):
                items = tuple(self.item.decode(item) for item in attribute)
            else:
                items = (self.item.decode(attribute),)
        except AttributeProblem:
            raise self.refuse(attribute) from None
        return items * self.broadcast if len(items) == 1 else items


class Ints(_ArrayKind):
    expects = "a list of integers"
    label = "ints"
    hint = "SupportsIndex | Sequence[SupportsIndex]"
    item = Int()
    array_attribute = ir.DenseI64ArrayAttr


class Floats(_ArrayKind):
    expects = "a list of numbers"
    label = "floats"
    hint = "SupportsFloat | Sequence[SupportsFloat]"
    item = Float()
    array_attribute = ir.DenseF64ArrayAttr


class DType(AttrKind):
    """Element type, by MLIR's name ("f32") or Relax's ("float32"). The Python value is MLIR's name."""

    expects = "an element type"
    label = "dtype"
    hint = "DTypeLike"

    def normalize(self, value: object) -> str:
        if isinstance(value, ir.Type):
            return str(value)
        if (name := dtype_name(value)) is None:
            raise self.refuse(value)
        return name

    def encode(self, value: str, context: Context) -> Attribute:
        try:
            return ir.TypeAttr.get(element_type(value, context), context)
        except TypeProblem as problem:
            raise AttributeProblem(str(problem)) from None

    def decode(self, attribute: Attribute) -> str:
        if isinstance(attribute, ir.TypeAttr) and not isinstance(attribute.value, ir.ShapedType):
            return str(attribute.value)
        raise self.refuse(attribute)


class Symbol(AttrKind):
    """Reference to a function. The Python value is its name; nested names look like "outer::inner"."""

    expects = "a symbol"
    label = "symbol"
    hint = "str"

    def normalize(self, value: object) -> str:
        if isinstance(value, str) and value and is_encodable(value):
            return value.removeprefix("@").replace("::@", "::")
        raise self.refuse(value)

    def encode(self, value: str, context: Context) -> Attribute:
        return ir.SymbolRefAttr.get(value.split("::"), context)

    def decode(self, attribute: Attribute) -> str:
        if not isinstance(attribute, (ir.FlatSymbolRefAttr, ir.SymbolRefAttr)):
            raise self.refuse(attribute)
        try:
            parts = attribute.value
        except (RuntimeError, UnicodeDecodeError):
            raise AttributeProblem(f"expects {self.expects}, got a name that is not UTF-8") from None
        return parts if isinstance(parts, str) else "::".join(parts)


class Raw(AttrKind):
    """MLIR attribute of one of the given classes, without conversion (affine maps, dictionaries, ...)."""

    def __init__(
        self, classes: Sequence[str], default: object = REQUIRED, expects: str = "an MLIR attribute", doc: str = ""
    ):
        super().__init__(default, doc)
        self.classes = tuple(classes)
        self.expects = expects
        self.label = expects.removeprefix("an ").removeprefix("a ")

    def normalize(self, value: Any) -> Attribute | str:
        return value if isinstance(value, str) else self.decode(value)

    def encode(self, value: Attribute | str, context: Context) -> Attribute:
        if not isinstance(value, str):
            return value
        try:
            attribute = parse_attribute(value, context)
        except ValueError:
            raise self.refuse(value) from None
        return self.decode(attribute)

    def decode(self, attribute: Attribute) -> Attribute:
        if any(isinstance(attribute, getattr(ir, name)) for name in self.classes):
            return attribute
        raise self.refuse(attribute)
