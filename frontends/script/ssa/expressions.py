# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions as operations: operands from left to right, then the operation."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ....bindings.context import load_dialects
from ....bindings.ir import Attribute, Block, Location, Operation, Type, Value
from ....bindings.mlir import ir
from ....dialects.core.codec import TypeProblem, encode, encode_dims
from ....dialects.core.infos import ScalarInfo, ShapeInfo, is_dtype
from ....dialects.core.infos import dtype_name as mlir_name
from ....dialects.core.symbols import SymbolError
from ....dialects.script.syntax import dotted, indices_of, operation_of, text_of
from ....dialects.script.words import (
    COMPARED_FLOATS,
    COMPARED_INTEGERS,
    OF_FLOATS,
    OF_INTEGERS,
    SEGMENTS,
    constant_operation,
)
from ....dialects.tir import dialect as tir
from ....support.registry import entering
from ..common.expression_reader import ExpressionReader
from .spelling import Spelling, is_number, number_of

_OF_FLOATS = {sign: number for number, sign in COMPARED_FLOATS.items()}
_OF_INTEGERS = {sign: number for number, sign in COMPARED_INTEGERS.items()}
_NO_TYPE = "a number needs a type here: T.float32(1.0)"

#: Value of an expression, or the number of a literal.
ReadValue: TypeAlias = "Value | int | float"


class Around(Protocol):
    """Interface of the linalg operation that encloses the current body."""

    def lookup(self, node: ast.Subscript) -> Value | None:
        """Return the block argument of an element, or None if the element is loaded."""

    def index(self, name: str) -> Value | None:
        """Return the variable of a loop as a value, or None for any other name."""


class Values(ExpressionReader[ReadValue]):
    """Values of names, and of expressions at the current insertion point.

    A number literal has no type of its own: `value` returns it as a Python number.
    """

    def __init__(self, spelling: Spelling, functions: dict[str, list[Type]]):
        self.spelling, self.source, self.context = spelling, spelling.source, spelling.context
        #: Result types of the module's functions.
        self.functions = functions
        self.named: dict[str, Value] = {}
        #: Numbers and sizes of the current block, each built once.
        self.leaves: dict[object, Value] = {}
        self.nest: Around | None = None
        self.location: Location = ir.Location.unknown(self.context)
        self.statement: ast.AST = ast.Pass(lineno=1, col_offset=0)
        # Previous values of the names that the current region assigns.
        self.changed: list[tuple[str, Value | None]] = []
        self._index = ir.IndexType.get(self.context)
        self._i1 = ir.IntegerType.get_signless(1, self.context)
        self._i64 = ir.IntegerType.get_signless(64, self.context)
        self._is_float: dict[Type, bool | None] = {}
        #: Location of operands while `location` has the name of their user.
        self.around: Location | None = None
        # Words that are known to be operations.
        self._operations: set[str] = set()

    # ---- names ----

    def bind(self, name: str, value: Value) -> None:
        self.changed.append((name, self.named.get(name)))
        self.named[name] = value

    def hide(self, name: str) -> None:
        """Remove a name for the current region."""
        self.changed.append((name, self.named.pop(name, None)))

    def read_name(self, node: ast.Name) -> Value:
        value = self.named.get(node.id) or (self.nest.index(node.id) if self.nest is not None else None)
        if value is None:
            raise self.source.problem(node, f"there is no value '{node.id}' here", self.named, node.id)
        return value

    # ---- operations ----

    def create(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[Type],
        attributes: dict[str, Attribute] | None = None,
        successors: Sequence[Block] = (),
        regions: int = 0,
    ) -> Operation:
        try:
            return ir.Operation.create(
                name,
                results=types,
                operands=operands,
                attributes=attributes,
                successors=successors,
                regions=regions,
                loc=self.location,
            )
        except IndexError:  # after a terminator
            raise self.source.problem(self.statement, "no operation may follow the end of a block") from None

    def one(
        self, name: str, operands: Sequence[Value], type_: Type, attributes: dict[str, Attribute] | None = None
    ) -> Value:
        return self.create(name, operands, [type_], attributes).results[0]

    def leaf(self, key: object, make: Callable[[], Value]) -> Value:
        """Return a value without operands, built where the block first uses it."""
        if (found := self.leaves.get(key)) is None:
            found = self.leaves[key] = make()
        return found

    # ---- expressions ----

    def operand(self, node: ast.expr) -> Value:
        """Return the value of an expression that has a type. Raises ScriptError."""
        return self.with_type(node, self.value(node), None)

    def typed(self, node: ast.expr, type_: Type) -> Value:
        return self.with_type(node, self.value(node), type_)

    def with_type(self, node: ast.expr, value: ReadValue, type_: Type | None) -> Value:
        """Return a value. A number literal takes the type."""
        if not isinstance(value, (int, float)):
            return value
        if type_ is None:
            raise self.source.problem(node, _NO_TYPE)
        return self.number(node, value, type_)

    def index(self, node: ast.expr) -> Value:
        return self.typed(node, self._index)

    def number(self, node: ast.expr, value: int | float, type_: Type) -> Value:
        key = type_, repr(value if isinstance(value, float) else int(value))
        if (found := self.leaves.get(key)) is None:
            attribute = self._number_attribute(node, value, type_)
            found = self.leaves[key] = self.one("arith.constant", (), type_, {"value": attribute})
        return found

    def _number_attribute(self, node: ast.expr, value: int | float, type_: Type) -> Attribute:
        if isinstance(type_, ir.VectorType):
            return ir.DenseElementsAttr.get_splat(type_, self._number_attribute(node, value, type_.element_type))
        if isinstance(type_, ir.FloatType):
            with self.location:
                return ir.FloatAttr.get(type_, value)
        if not isinstance(type_, (ir.IntegerType, ir.IndexType)) or isinstance(value, float):
            raise self.source.problem(node, f"{value} is not a number of type {type_}")
        width = type_.width if isinstance(type_, ir.IntegerType) else 64
        if not -(2 ** (width - 1)) <= value < 2**width:
            raise self.source.problem(node, f"{value} does not fit into {type_}")
        if width > 64:
            return ir.Attribute.parse(f"{int(value)} : {type_}", self.context)
        return ir.IntegerAttr.get(type_, int(value) - (2**width if value >= 2 ** (width - 1) and width > 1 else 0))

    def is_float(self, type_: Type) -> bool | None:
        """Check whether a type is of floats, for numbers and their vectors. None if Python's operators do not apply."""
        if type_ not in self._is_float:
            element = type_.element_type if isinstance(type_, ir.VectorType) else type_
            is_number = isinstance(element, (ir.FloatType, ir.IntegerType, ir.IndexType))
            self._is_float[type_] = isinstance(element, ir.FloatType) if is_number else None
        return self._is_float[type_]

    def apply_operator(self, node: ast.expr, sign: str, *values: ReadValue) -> ReadValue:
        if len(values) == 1:
            return self._negated(node, sign, values[0])
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise self.source.problem(node, "comparisons do not chain")
        left, right = self._of_one_type(node, *values)
        is_float = self.is_float(left.type)
        if isinstance(node, ast.Compare):
            return self._compared(node, sign, left, right)
        name = None if is_float is None else (OF_FLOATS if is_float else OF_INTEGERS).get(sign)
        if name is None or left.type != right.type:
            message = f"`{ast.unparse(node)[:60]}`: no operation on {left.type} and {right.type} has this operator"
            raise self.source.problem(node, message)
        return self.one(name, (left, right), left.type)

    def _of_one_type(self, node: ast.expr, left: ReadValue, right: ReadValue) -> tuple[Value, Value]:
        """Return two operands as values. A number literal takes the type of the other operand."""
        first, second = operation_of(node)[1]
        if not isinstance(left, (int, float)):
            return left, self.with_type(second, right, left.type)
        value = self.with_type(node, right, None)
        return self.number(first, left, value.type), value

    def _compared(self, node: ast.Compare, sign: str, left: Value, right: Value) -> Value:
        is_float = self.is_float(left.type)
        predicate = None if is_float is None else (_OF_FLOATS if is_float else _OF_INTEGERS).get(sign)
        if predicate is None or left.type != right.type:
            raise self.source.problem(node, f"{left.type} and {right.type} cannot be compared with this operator")
        attributes = {"predicate": ir.IntegerAttr.get(self._i64, predicate)}
        return self.one("arith.cmpf" if is_float else "arith.cmpi", (left, right), self._truth(left.type), attributes)

    def _truth(self, type_: Type) -> Type:
        if not isinstance(type_, ir.VectorType):
            return self._i1
        with self.location:
            return ir.VectorType.get(list(type_.shape), self._i1)

    def _negated(self, node: ast.expr, sign: str, value: ReadValue) -> ReadValue:
        if isinstance(value, (int, float)):
            return -value if sign == "-" else self.with_type(node, value, None)
        if sign != "-" or not self.is_float(value.type):
            raise self.source.problem(node, f"no operation on {value.type} has this operator")
        return self.one("arith.negf", (value,), value.type)

    def read_other(self, node: ast.expr) -> ReadValue:
        if not isinstance(node, ast.Constant):
            raise self.source.problem(node, f"this is not a value: {ast.unparse(node)[:80]}")
        if not isinstance(node.value, (int, float)):
            raise self.source.problem(node, _NO_TYPE)
        return node.value

    # ---- elements ----

    def read_element(self, node: ast.Subscript) -> Value:
        """Return the value of `A[i, j]` or `A.shape[0]`."""
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "shape":
            source, axis = self.operand(base.value), self.index(node.slice)
            is_ranked = isinstance(source.type, (ir.RankedTensorType, ir.MemRefType))
            if is_ranked and is_number(node.slice) and not 0 <= number_of(node.slice) < source.type.rank:
                raise self.source.problem(node, f"{source.type} has no dimension {ast.unparse(node.slice)}")
            kind = "memref.dim" if isinstance(source.type, ir.MemRefType) else "tensor.dim"
            return self.one(kind, (source, axis), self._index)
        if self.nest is not None and (argument := self.nest.lookup(node)) is not None:
            return argument
        source = self.operand(base)
        indices = [self.index(expr) for expr in indices_of(node)]
        self.check_rank(node, source, len(indices))
        is_memory = isinstance(source.type, ir.MemRefType)
        return self.one("memref.load" if is_memory else "tensor.extract", (source, *indices), source.type.element_type)

    def check_rank(self, node: ast.Subscript, source: Value, count: int) -> None:
        if not isinstance(source.type, (ir.RankedTensorType, ir.MemRefType)):
            raise self.source.problem(node, f"{source.type} has no elements")
        if source.type.rank != count:
            raise self.source.problem(node, f"{source.type} has {source.type.rank} dimensions, not {count}")

    # ---- calls ----

    def read_call(self, node: ast.Call) -> Value:
        named, self.location = self.location, self.around or self.location
        results = self.call(node, 1)
        self.location = named
        if len(results) != 1:
            raise self.source.problem(node, f"expected one value, got {len(results)}")
        return results[0]

    def call(self, node: ast.Call, count: int, types: list[Type] | None = None) -> Sequence[Value]:
        """Return the results of a call. `count` and `types` are the expected results if they are known."""
        if (word := dotted(node.func)) in self._operations:
            return self.generic(node, word, count, types)
        if (special := SPECIAL.get(word)) is not None:
            return [special(self, node)]
        head, _, rest = word.partition(".")
        if head == "cls" or rest == "vload" and head in self.named:
            return self._function(node, rest) if head == "cls" else [self._vload(node, self.named[head])]
        if head == "T" and rest not in tir.ops and is_dtype(mlir_name(rest) or ""):
            return [self._typed_number(node, rest)]
        made = self.generic(node, word, count, types)
        self._operations.add(word)
        return made

    def _typed_number(self, node: ast.Call, dtype: str) -> Value:
        """Return the value of `T.float32(1.0)` or `T.float32("-inf")`."""
        type_ = self.spelling.type(node.func)
        if len(node.args) == 1 and not node.keywords:
            only = node.args[0]
            if is_number(only):
                return self.number(only, number_of(only), type_)
            if (text := text_of(only)) in ("inf", "-inf", "nan") and self.is_float(type_):
                return self.number(only, float(text), type_)
        raise self.source.problem(node, f"T.{dtype} takes one number")

    def _function(self, node: ast.Call, name: str) -> Sequence[Value]:
        if name not in self.functions:
            raise self.source.problem(node, f"the module has no function '{name}'", self.functions, name)
        attributes: dict[str, Attribute] = {}
        for keyword in node.keywords:
            if keyword.arg != "attrs":
                raise self.source.problem(node, "a function is called by position: cls.f(x, y)")
            attributes = self.spelling.dictionary(keyword.value)
        values = [self.operand(arg) for arg in node.args]
        attributes["callee"] = ir.FlatSymbolRefAttr.get(name, self.context)
        return list(self.create("func.call", values, self.functions[name], attributes).results)

    def _vload(self, node: ast.Call, source: Value) -> Value:
        """Emit `A.vload([i, j], T.float32x8)`: contiguous elements."""
        if len(node.args) != 2 or not isinstance(node.args[0], ast.List):
            raise self.source.problem(node, "vload takes indices and a type: A.vload([i, j], T.float32x8)")
        type_ = self.spelling.type(node.args[1])
        self.check_transfer(node, source.type, type_)
        indices = [self.index(each) for each in node.args[0].elts]
        padding = self.number(node, 0.0 if self.is_float(type_) else 0, type_.element_type)
        mask = self.mask(node)
        attributes = self.transfer(source, type_, [1, len(indices), 1, len(mask)])
        return self.one("vector.transfer_read", (source, *indices, padding, *mask), type_, attributes)

    def mask(self, node: ast.Call) -> list[Value]:
        """Return the mask of a vector access as a list, empty without a mask."""
        for keyword in node.keywords:
            if keyword.arg != "mask":
                raise self.source.problem(keyword.value, "there is no such argument", ("mask",), keyword.arg or "**")
        return [self.operand(keyword.value) for keyword in node.keywords]

    def check_transfer(self, node: ast.Call, held: Type, vector: Type) -> None:
        """Check that a vector's dimensions are the last ones of the accessed memory."""
        load_dialects(self.context, ("vector",))
        if not isinstance(held, (ir.RankedTensorType, ir.MemRefType)) or not isinstance(vector, ir.VectorType):
            raise self.source.problem(node, f"{vector} is not a part of {held}")
        if vector.rank > held.rank:
            raise self.source.problem(node, f"{vector} has more dimensions than {held}")

    def transfer(self, source: Value, vector: Type, segments: list[int]) -> dict[str, Attribute]:
        """Return the attributes of an access to contiguous elements that are all in bounds."""
        count = len(vector.shape)
        with self.context:
            return {
                "in_bounds": ir.ArrayAttr.get([ir.BoolAttr.get(True)] * count),
                SEGMENTS: ir.DenseI32ArrayAttr.get(segments),
                "permutation_map": ir.AffineMapAttr.get(ir.AffineMap.get_minor_identity(source.type.rank, count)),
            }

    @abstractmethod
    def generic(self, node: ast.Call, word: str, count: int, types: list[Type] | None) -> Sequence[Value]:
        """Build an operation by its word. Raises ScriptError."""


#: Handlers of words that are not names of operations.
SPECIAL: dict[str, Callable[[Values, ast.Call], Value]] = {}


special = entering(SPECIAL)


@special("I.const")
def _const(values: Values, node: ast.Call) -> Value:
    """Read `I.const(attribute)`, a constant that is not a number."""
    if len(node.args) != 1 or node.keywords:
        raise values.source.problem(node, "I.const takes one attribute")
    given = node.args[0]
    text = text_of(given)
    attribute = values.spelling.attribute(given) if text is None else values.spelling.parsed(given, text)
    if not hasattr(attribute, "type"):
        raise values.source.problem(given, f"{attribute} has no type")
    type_ = attribute.type
    name = constant_operation(str(type_.element_type)) if isinstance(type_, ir.RankedTensorType) else "arith.constant"
    return values.leaf(attribute, lambda: values.one(name, (), type_, {"value": attribute}))


@special("R.const")
def _tensor(values: Values, node: ast.Call) -> Value:
    """Read `R.const([1.0, 2.0], "float32")`. A single number with a tensor type is the value of all elements."""
    if len(node.args) != 2 or node.keywords:
        raise values.source.problem(node, 'R.const takes elements and their type: R.const([1, 2], "int64")')
    attribute = values.spelling.elements(*node.args)
    name = constant_operation(str(attribute.type.element_type))
    return values.leaf(attribute, lambda: values.one(name, (), attribute.type, {"value": attribute}))


@special("R.shape")
def _shape(values: Values, node: ast.Call) -> Value:
    if len(node.args) != 1 or node.keywords:
        raise values.source.problem(node, 'R.shape takes sizes: R.shape(("n", 4))')
    return shape_of(values, node.args[0])


def shape_of(values: Values, node: ast.expr) -> Value:
    """Read `("n", 256)` as a shape."""
    try:
        dims = values.spelling.dims(node)
        type_ = encode(ShapeInfo(dims), values.context)
    except (TypeProblem, SymbolError) as error:
        raise values.source.problem(node, str(error)) from None
    attributes = {"dims": encode_dims(dims, values.context)}
    return values.leaf(type_, lambda: values.one("relax.shape_expr", (), type_, attributes))


@special("R.prim_value")
def _prim_value(values: Values, node: ast.Call) -> Value:
    """Read `R.prim_value("2*n")`, a size as a number."""
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Constant):
        raise values.source.problem(node, 'R.prim_value takes a size: R.prim_value("2*n")')
    text = str(node.args[0].value)
    attributes = {"value": ir.StringAttr.get(text, values.context)}
    type_ = encode(ScalarInfo("i64"), values.context)
    return values.leaf(("size", text), lambda: values.one("relax.prim_value", (), type_, attributes))
