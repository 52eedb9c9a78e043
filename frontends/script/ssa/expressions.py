# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions as operations: operands from left to right, then the operation."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from ....bindings.context import load_dialects
from ....bindings.ir import Attribute, Block, Location, Operation, Type, Value
from ....bindings.mlir import ir
from ....dialects.core.codec import TypeProblem, encode, encode_dims
from ....dialects.core.infos import ScalarInfo, ShapeInfo, is_dtype
from ....dialects.core.infos import dtype_name as mlir_name
from ....dialects.core.symbols import SymbolError
from ....dialects.script.syntax import dotted, operation_of, text_of
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
from .spelling import Spelling, is_number, number_of

_OF_FLOATS = {sign: number for number, sign in COMPARED_FLOATS.items()}
_OF_INTEGERS = {sign: number for number, sign in COMPARED_INTEGERS.items()}
_MOST_DEPTH = 200


class Around(Protocol):
    """The linalg operation whose body is read."""

    def lookup(self, node: ast.Subscript) -> Value | None:
        """The block's argument that it is; None for what is loaded."""

    def index(self, name: str) -> Value | None:
        """The loop's variable as a value; None for any other name."""


class Values(ABC):
    """The values that names stand for, and those of expressions at the current insertion point."""

    def __init__(self, spelling: Spelling, functions: dict[str, list[Type]]):
        self.spelling, self.source, self.context = spelling, spelling.source, spelling.context
        #: What the module's functions give.
        self.functions = functions
        self.named: dict[str, Value] = {}
        #: Numbers and sizes of the block that is being filled, each made once.
        self.leaves: dict[object, Value] = {}
        self.nest: Around | None = None
        self.location: Location = ir.Location.unknown(self.context)
        self.statement: ast.AST = ast.Pass(lineno=1, col_offset=0)
        # What names were before they were assigned in the region that is being read.
        self.changed: list[tuple[str, Value | None]] = []
        self._index = ir.IndexType.get(self.context)
        self._i1 = ir.IntegerType.get_signless(1, self.context)
        self._i64 = ir.IntegerType.get_signless(64, self.context)
        self._is_float: dict[Type, bool | None] = {}
        #: Where operands are made while `location` has the name of what is made of them.
        self.around: Location | None = None
        self._depth = 0
        # Words that are operations.
        self._operations: set[str] = set()

    # ---- names ----

    def bind(self, name: str, value: Value) -> None:
        self.changed.append((name, self.named.get(name)))
        self.named[name] = value

    def hide(self, name: str) -> None:
        """In the region that is being read, the name is not what it is around it."""
        self.changed.append((name, self.named.pop(name, None)))

    def known(self, node: ast.Name) -> Value:
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
        except IndexError:  # behind a terminator
            raise self.source.problem(self.statement, "nothing stands behind what ends a block") from None

    def one(
        self, name: str, operands: Sequence[Value], type_: Type, attributes: dict[str, Attribute] | None = None
    ) -> Value:
        return self.create(name, operands, [type_], attributes).results[0]

    def leaf(self, key: object, make: Callable[[], Value]) -> Value:
        """A value without operands: made where the block first uses it."""
        found = self.leaves.get(key)
        if found is None:
            found = self.leaves[key] = make()
        return found

    # ---- expressions ----

    def value(self, node: ast.expr) -> Value:
        """Raises ScriptError."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self.source.problem(node, "the expression is nested too deep")
        write = _READERS.get(type(node))
        if write is None:
            raise self.source.problem(node, f"this is no value: {ast.unparse(node)[:80]}")
        found = write(self, node)
        self._depth -= 1
        return found

    def typed(self, node: ast.expr, type_: Type) -> Value:
        """A value; a number alone is one of that type."""
        return self.number(node, type_) if is_number(node) else self.value(node)

    def index(self, node: ast.expr) -> Value:
        return self.typed(node, self._index)

    def number(self, node: ast.expr, type_: Type) -> Value:
        value = number_of(node)
        key = type_, repr(value if isinstance(value, float) else int(value))
        found = self.leaves.get(key)
        if found is None:
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
            raise self.source.problem(node, f"{value} is no number of type {type_}")
        width = type_.width if isinstance(type_, ir.IntegerType) else 64
        if not -(2 ** (width - 1)) <= value < 2**width:
            raise self.source.problem(node, f"{value} does not fit into {type_}")
        if width > 64:
            return ir.Attribute.parse(f"{int(value)} : {type_}", self.context)
        return ir.IntegerAttr.get(type_, int(value) - (2**width if value >= 2 ** (width - 1) and width > 1 else 0))

    def is_float(self, type_: Type) -> bool | None:
        """Of numbers and vectors of them; None for what Python's signs mean nothing for."""
        if type_ not in self._is_float:
            element = type_.element_type if isinstance(type_, ir.VectorType) else type_
            is_number = isinstance(element, (ir.FloatType, ir.IntegerType, ir.IndexType))
            self._is_float[type_] = isinstance(element, ir.FloatType) if is_number else None
        return self._is_float[type_]

    def _pair(self, node: ast.expr, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
        """Two values; a number with something that has a type is of that type."""
        if is_number(left):
            if is_number(right):
                raise self.source.problem(node, "a number needs a type here: T.float32(1.0)")
            second = self.value(right)
            return self.number(left, second.type), second
        first = self.value(left)
        return first, self.typed(right, first.type)

    def _sign(self, node: ast.BinOp) -> Value:
        sign, operands = operation_of(node)
        left, right = self._pair(node, *operands)
        is_float = self.is_float(left.type)
        name = None if is_float is None else (OF_FLOATS if is_float else OF_INTEGERS).get(sign)
        if name is None or left.type != right.type:
            shown = ast.unparse(node)[:60]
            raise self.source.problem(node, f"`{shown}`: no operation on {left.type} and {right.type} has this sign")
        return self.one(name, (left, right), left.type)

    def _compare(self, node: ast.Compare) -> Value:
        sign, operands = operation_of(node)
        if len(node.ops) != 1:
            raise self.source.problem(node, "comparisons do not chain")
        left, right = self._pair(node, *operands)
        is_float = self.is_float(left.type)
        predicate = None if is_float is None else (_OF_FLOATS if is_float else _OF_INTEGERS).get(sign)
        if predicate is None or left.type != right.type:
            raise self.source.problem(node, f"{left.type} and {right.type} cannot be compared by this sign")
        attributes = {"predicate": ir.IntegerAttr.get(self._i64, predicate)}
        return self.one("arith.cmpf" if is_float else "arith.cmpi", (left, right), self._truth(left.type), attributes)

    def _truth(self, type_: Type) -> Type:
        if not isinstance(type_, ir.VectorType):
            return self._i1
        with self.location:
            return ir.VectorType.get(list(type_.shape), self._i1)

    def _unary(self, node: ast.UnaryOp) -> Value:
        if is_number(node):
            raise self.source.problem(node, "a number needs a type here: T.float32(1.0)")
        value = self.value(node.operand)
        if not isinstance(node.op, ast.USub) or not self.is_float(value.type):
            raise self.source.problem(node, f"no operation on {value.type} has this sign")
        return self.one("arith.negf", (value,), value.type)

    def _number_alone(self, node: ast.Constant) -> Value:
        raise self.source.problem(node, "a number needs a type here: T.float32(1.0)")

    # ---- elements ----

    def _element(self, node: ast.Subscript) -> Value:
        """`A[i, j]`, `A.shape[0]`."""
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "shape":
            source, axis = self.value(base.value), self.index(node.slice)
            is_ranked = isinstance(source.type, (ir.RankedTensorType, ir.MemRefType))
            if is_ranked and is_number(node.slice) and not 0 <= number_of(node.slice) < source.type.rank:
                raise self.source.problem(node, f"{source.type} has no dimension {ast.unparse(node.slice)}")
            kind = "memref.dim" if isinstance(source.type, ir.MemRefType) else "tensor.dim"
            return self.one(kind, (source, axis), self._index)
        if self.nest is not None:
            argument = self.nest.lookup(node)
            if argument is not None:
                return argument
        source = self.value(base)
        indices = [self.index(each) for each in self.places(node)]
        self.check_rank(node, source, len(indices))
        is_memory = isinstance(source.type, ir.MemRefType)
        return self.one("memref.load" if is_memory else "tensor.extract", (source, *indices), source.type.element_type)

    def check_rank(self, node: ast.Subscript, source: Value, count: int) -> None:
        if not isinstance(source.type, (ir.RankedTensorType, ir.MemRefType)):
            raise self.source.problem(node, f"{source.type} has no elements")
        if source.type.rank != count:
            raise self.source.problem(node, f"{source.type} has {source.type.rank} dimensions, not {count}")

    @staticmethod
    def places(node: ast.Subscript) -> Sequence[ast.expr]:
        return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    # ---- calls ----

    def _call_value(self, node: ast.Call) -> Value:
        named, self.location = self.location, self.around or self.location
        results = self.call(node, 1)
        self.location = named
        if len(results) != 1:
            raise self.source.problem(node, f"expected one value, this gives {len(results)}")
        return results[0]

    def call(self, node: ast.Call, count: int, types: list[Type] | None = None) -> Sequence[Value]:
        """The results of a call. `count` and `types`: how many and which are asked for, where that is known."""
        word = dotted(node.func)
        if word in self._operations:
            return self.generic(node, word, count, types)
        special = SPECIAL.get(word)
        if special is not None:
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
        """`T.float32(1.0)`, `T.float32("-inf")`."""
        type_ = self.spelling.type(node.func)
        if len(node.args) == 1 and not node.keywords:
            if is_number(node.args[0]):
                return self.number(node.args[0], type_)
            only = node.args[0]
            if isinstance(only, ast.Constant) and only.value in ("inf", "-inf", "nan") and self.is_float(type_):
                return self.number(ast.copy_location(ast.Constant(float(only.value)), only), type_)
        raise self.source.problem(node, f"T.{dtype} takes one number")

    def _function(self, node: ast.Call, name: str) -> Sequence[Value]:
        if name not in self.functions:
            raise self.source.problem(node, f"the module has no function '{name}'", self.functions, name)
        attributes: dict[str, Attribute] = {}
        for keyword in node.keywords:
            if keyword.arg != "attrs":
                raise self.source.problem(node, "a function is called by position: cls.f(x, y)")
            attributes = self.spelling.dictionary(keyword.value)
        values = [self.value(each) for each in node.args]
        attributes["callee"] = ir.FlatSymbolRefAttr.get(name, self.context)
        return list(self.create("func.call", values, self.functions[name], attributes).results)

    def _vload(self, node: ast.Call, source: Value) -> Value:
        """`A.vload([i, j], T.float32x8)`: elements one after the other."""
        if len(node.args) != 2 or not isinstance(node.args[0], ast.List):
            raise self.source.problem(node, "vload takes indices and a type: A.vload([i, j], T.float32x8)")
        type_ = self.spelling.type(node.args[1])
        self.check_transfer(node, source.type, type_)
        indices = [self.index(each) for each in node.args[0].elts]
        padding = self.number(
            ast.copy_location(ast.Constant(0.0 if self.is_float(type_) else 0), node), type_.element_type
        )
        mask = self.mask(node)
        attributes = self.transfer(source, type_, [1, len(indices), 1, len(mask)])
        return self.one("vector.transfer_read", (source, *indices, padding, *mask), type_, attributes)

    def mask(self, node: ast.Call) -> list[Value]:
        """What says which elements of a vector are meant, if anything does."""
        for keyword in node.keywords:
            if keyword.arg != "mask":
                raise self.source.problem(keyword.value, "there is no such argument", ("mask",), keyword.arg or "**")
        return [self.value(keyword.value) for keyword in node.keywords]

    def check_transfer(self, node: ast.Call, held: Type, vector: Type) -> None:
        """A vector's dimensions are the last ones of what holds its elements."""
        load_dialects(self.context, ("vector",))
        if not isinstance(held, (ir.RankedTensorType, ir.MemRefType)) or not isinstance(vector, ir.VectorType):
            raise self.source.problem(node, f"{vector} is no part of {held}")
        if vector.rank > held.rank:
            raise self.source.problem(node, f"{vector} has more dimensions than {held}")

    def transfer(self, source: Value, vector: Type, segments: list[int]) -> dict[str, Attribute]:
        """The attributes of a vector's elements that are contiguous, all of them inside."""
        count = len(vector.shape)
        with self.context:
            return {
                "in_bounds": ir.ArrayAttr.get([ir.BoolAttr.get(True)] * count),
                SEGMENTS: ir.DenseI32ArrayAttr.get(segments),
                "permutation_map": ir.AffineMapAttr.get(ir.AffineMap.get_minor_identity(source.type.rank, count)),
            }

    @abstractmethod
    def generic(self, node: ast.Call, word: str, count: int, types: list[Type] | None) -> Sequence[Value]:
        """An operation by its word. Raises ScriptError."""


#: Words that are no operation's name.
SPECIAL: dict[str, Callable[[Values, ast.Call], Value]] = {}


special = entering(SPECIAL)


@special("I.const")
def _const(values: Values, node: ast.Call) -> Value:
    """`I.const(attribute)`: a constant that is no number."""
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
    """`R.const([1.0, 2.0], "float32")`; one number with a whole type is each of the elements."""
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
    """`("n", 256)` as a shape."""
    try:
        dims = values.spelling.dims(node)
        type_ = encode(ShapeInfo(dims), values.context)
    except (TypeProblem, SymbolError) as error:
        raise values.source.problem(node, str(error)) from None
    attributes = {"dims": encode_dims(dims, values.context)}
    return values.leaf(type_, lambda: values.one("relax.shape_expr", (), type_, attributes))


@special("R.prim_value")
def _prim_value(values: Values, node: ast.Call) -> Value:
    """`R.prim_value("2*n")`: a size as a number."""
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Constant):
        raise values.source.problem(node, 'R.prim_value takes a size: R.prim_value("2*n")')
    text = str(node.args[0].value)
    attributes = {"value": ir.StringAttr.get(text, values.context)}
    type_ = encode(ScalarInfo("i64"), values.context)
    return values.leaf(("size", text), lambda: values.one("relax.prim_value", (), type_, attributes))


_READERS: dict[type, Callable[..., Value]] = {
    ast.Name: Values.known,
    ast.BinOp: Values._sign,
    ast.Compare: Values._compare,
    ast.UnaryOp: Values._unary,
    ast.Constant: Values._number_alone,
    ast.Subscript: Values._element,
    ast.Call: Values._call_value,
}
