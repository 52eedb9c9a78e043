# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic sizes of whole functions: which names occur, how they are written, and other sizes in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...bindings.ir import Attribute, Operation, OperationBase, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import function_type_of
from ...support.errors import RelaxError
from .cache import cache_of
from .codec import TypeProblem, canonical_type, decode, encode, encode_dims
from .dialect import find_op
from .infos import Info, ShapeInfo, TensorInfo
from .symbols import Dim, SymbolError, SymExpr, parse

#: Operators with expressions in attributes, a text or a list with texts in it.
_SIZED = {"relax.shape_expr": ("dims",), "relax.prim_value": ("value",), "relax.strided_slice": ("begin", "end")}


def dims_of(info: Info) -> tuple[Dim, ...]:
    """The sizes in an info; none where it has no sizes or they are not known."""
    if isinstance(info, TensorInfo):
        return info.shape or ()
    return info.dims or () if isinstance(info, ShapeInfo) else ()


def with_dims(info: Info, dims: tuple[Dim, ...]) -> Info:
    """An info that has sizes, with others."""
    if isinstance(info, TensorInfo):
        return info.with_shape(dims) if info.shape is not None else info
    return ShapeInfo(dims) if isinstance(info, ShapeInfo) and info.dims is not None else info


def symbols_of(type_: Type) -> frozenset[str]:
    """The names of symbolic sizes in a type. Raises TypeProblem for a malformed one."""
    known = cache_of(type_.context).symbols
    found: frozenset[str] | None = known.get(type_)
    return known.remember(type_, _variables(dims_of(decode(type_)))) if found is None else found


def symbols_in(operation: OperationBase) -> set[str]:
    """The names of symbolic sizes in an operation and in everything inside it."""
    found: set[str] = set()
    seen: set[Type] = set()
    for inside in _operations(operation):
        new = {value.type for value in _values(inside)} - seen
        if new or has_sized_attributes(inside):
            seen |= new
            with _at(inside):
                found.update(_variables(_attribute_dims(inside)), *map(symbols_of, new))
    return found


def sizes_in(operations: Iterable[Operation]) -> set[SymExpr]:
    """The symbolic sizes in operations and in what is inside them, as they are written."""
    found: set[Dim] = set()
    types: set[Type] = set()
    for inside in (each for operation in operations for each in _operations(operation)):
        types.update(value.type for value in _values(inside))
        if has_sized_attributes(inside):
            found.update(_attribute_dims(inside))
    found.update(dim for type_ in types for dim in dims_of(decode(type_)))
    return {dim for dim in found if isinstance(dim, SymExpr)}


def symbols_of_operation(operation: Operation) -> frozenset[str]:
    """The names in the types of an operation's own operands, results and blocks, and in its attributes."""
    types = {value.type for value in (*operation.operands, *_values(operation))}
    return _variables(_attribute_dims(operation)).union(*map(symbols_of, types))


def substitute(operation: OperationBase, sizes: Mapping[str, Dim]) -> None:
    """Replaces symbolic sizes in the types and attributes of everything inside an operation, in place."""
    types: dict[Type, Type] = {}
    for inside in _operations(operation):
        with _at(inside):
            for value in _values(inside):
                if value.type not in types:
                    types[value.type] = substituted_type(value.type, sizes)
                if types[value.type] != value.type:
                    value.set_type(types[value.type])
            _substitute_attributes(inside, sizes)


def canonicalize_types(module: Operation) -> bool:
    """Writes all sizes as inference writes them: types are compared as text, where `n+1` is not `n + 1`.

    False, and it is reported where, if a type cannot be written otherwise.
    """
    for inside in _operations(module):
        with _at(inside):
            for value in _values(inside):
                canonical = canonical_type(value.type)
                if canonical != value.type and inside.name in _CONSTANTS:
                    inside.location.emit_error(f"'{inside.name}' op is of {value.type}: write it as {canonical}")
                    return False
                if canonical != value.type:
                    value.set_type(canonical)
            if inside.name == "func.func":
                _canonicalize_signature(inside)
    return True


#: Their elements have the type as well, and cannot be given another.
_CONSTANTS = ("arith.constant", "relax.constant")


def _canonicalize_signature(function: Operation) -> None:
    signature = function_type_of(function)
    inputs, results = (list(map(canonical_type, types)) for types in (signature.inputs, signature.results))
    type_ = ir.FunctionType.get(inputs, results, function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(type_, function.context)


def substituted_type(type_: Type, sizes: Mapping[str, Dim]) -> Type:
    """The type with other sizes in the place of symbols; the type itself where none of them occurs."""
    info = decode(type_)
    if _variables(dims_of(info)).isdisjoint(sizes):
        return type_
    return encode(with_dims(info, tuple(_substituted(dim, sizes) for dim in dims_of(info))), type_.context)


def _substituted(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    return dim.substitute(sizes) if isinstance(dim, SymExpr) else dim


def _variables(dims: tuple[Dim, ...]) -> frozenset[str]:
    return frozenset().union(*(dim.variables for dim in dims if isinstance(dim, SymExpr)))


def has_sized_attributes(operation: Operation) -> bool:
    """Whether sizes may stand in its attributes."""
    return operation.name in _SIZED


def _attribute_dims(operation: Operation) -> tuple[Dim, ...]:
    """The expressions that stand in attributes."""
    return tuple(parse(text.value) for name in _names(operation) for text in _texts(operation.attributes[name]))


def _names(operation: Operation) -> list[str]:
    return [name for name in _SIZED.get(operation.name, ()) if name in operation.attributes]


def _texts(attribute: Attribute) -> list[Attribute]:
    items = list(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]
    return [item for item in items if isinstance(item, ir.StringAttr) and item.value != "?"]


def _substitute_attributes(operation: Operation, sizes: Mapping[str, Dim]) -> None:
    if _variables(_attribute_dims(operation)).isdisjoint(sizes):
        return
    for name in _names(operation):
        attribute = operation.attributes[name]
        if not _texts(attribute):  # numbers only, perhaps as another kind of attribute
            continue
        replaced = (
            ir.ArrayAttr.get([_replaced(item, sizes) for item in attribute], operation.context)
            if isinstance(attribute, ir.ArrayAttr)
            else ir.StringAttr.get(str(_substituted(parse(attribute.value), sizes)), operation.context)
        )
        # As the operator itself would write it: numbers alone may be another kind of attribute.
        kind = find_op(operation.name).attrs[name]
        operation.attributes[name] = kind.encode(kind.decode(replaced), operation.context)


def _replaced(item: Attribute, sizes: Mapping[str, Dim]) -> Attribute:
    """An integer or an expression in a list of them."""
    if not _texts(item):
        return item
    (encoded,) = encode_dims((_substituted(parse(item.value), sizes),), item.context)
    return encoded


def _values(operation: Operation) -> Iterator[Value]:
    """The values that an operation defines: results and its blocks' arguments."""
    yield from operation.results
    for region in operation.regions:
        for block in region.blocks:
            yield from block.arguments


def _operations(operation: OperationBase) -> list[Operation]:
    """The operation and everything inside it."""
    found: list[Operation] = []

    def visit(inside: Operation) -> object:
        found.append(inside)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return found


class _at:
    """Malformed types become errors at the operation's location."""

    def __init__(self, operation: Operation):
        self._operation = operation

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, (TypeProblem, SymbolError)):
            raise RelaxError(str(error), location=str(self._operation.location)) from None
