# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic sizes of whole functions: their names, their canonical form, and their substitution."""

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

#: Operators with expressions in attributes: a text, or a list that contains texts.
_SIZED = {"relax.shape_expr": ("dims",), "relax.prim_value": ("value",), "relax.strided_slice": ("begin", "end")}


def dims_of(info: Info) -> tuple[Dim, ...]:
    """Return the sizes in an info, or an empty tuple if it has none or the rank is unknown."""
    if isinstance(info, TensorInfo):
        return info.shape or ()
    return info.dims or () if isinstance(info, ShapeInfo) else ()


def with_dims(info: Info, dims: tuple[Dim, ...]) -> Info:
    """Return an info with its sizes replaced."""
    if isinstance(info, TensorInfo):
        return info.with_shape(dims) if info.shape is not None else info
    return ShapeInfo(dims) if isinstance(info, ShapeInfo) and info.dims is not None else info


def symbols_of(type_: Type) -> frozenset[str]:
    """Return the names of symbolic sizes in a type. Raise TypeProblem for a malformed type."""
    known = cache_of(type_.context).symbols
    found: frozenset[str] | None = known.get(type_)
    return known.remember(type_, _variables(dims_of(decode(type_)))) if found is None else found


def symbols_in(operation: OperationBase) -> set[str]:
    """Return the names of symbolic sizes in an operation and its regions."""
    symbols: set[str] = set()
    seen: set[Type] = set()
    for inside in _operations(operation):
        if (new := {value.type for value in _values(inside)} - seen) or has_sized_attributes(inside):
            seen |= new
            with _at(inside):
                symbols.update(_variables(_attribute_dims(inside)), *map(symbols_of, new))
    return symbols


def sizes_in(operations: Iterable[Operation]) -> set[SymExpr]:
    """Return the symbolic sizes, as written, in operations and their regions."""
    dims: set[Dim] = set()
    types: set[Type] = set()
    for inside in (each for operation in operations for each in _operations(operation)):
        types.update(value.type for value in _values(inside))
        if has_sized_attributes(inside):
            dims.update(_attribute_dims(inside))
    dims.update(dim for type_ in types for dim in dims_of(decode(type_)))
    return {dim for dim in dims if isinstance(dim, SymExpr)}


def symbols_of_operation(operation: Operation) -> frozenset[str]:
    """Return the names in an operation's attributes and in its own types.

    The operation's own types belong to operands, results and block arguments.
    """
    types = {value.type for value in (*operation.operands, *_values(operation))}
    return _variables(_attribute_dims(operation)).union(*map(symbols_of, types))


def substitute(operation: OperationBase, sizes: Mapping[str, Dim]) -> None:
    """Replace symbolic sizes, in place, in the types and attributes of an operation and its regions."""
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
    """Rewrite all sizes in canonical form: types are compared as text, in which `n+1` differs from `n + 1`.

    Return False, after reporting the location, if a type cannot be rewritten.
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


#: The elements of a constant also have the type, which cannot be changed.
_CONSTANTS = ("arith.constant", "relax.constant")


def _canonicalize_signature(function: Operation) -> None:
    signature = function_type_of(function)
    inputs, results = (list(map(canonical_type, types)) for types in (signature.inputs, signature.results))
    type_ = ir.FunctionType.get(inputs, results, function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(type_, function.context)


def substituted_type(type_: Type, sizes: Mapping[str, Dim]) -> Type:
    """Return the type with symbols replaced by other sizes, or the type itself if none of the symbols occurs."""
    info = decode(type_)
    if _variables(dims_of(info)).isdisjoint(sizes):
        return type_
    return encode(with_dims(info, tuple(_substitute(dim, sizes) for dim in dims_of(info))), type_.context)


def _substitute(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    return dim.substitute(sizes) if isinstance(dim, SymExpr) else dim


def _variables(dims: tuple[Dim, ...]) -> frozenset[str]:
    return frozenset().union(*(dim.variables for dim in dims if isinstance(dim, SymExpr)))


def has_sized_attributes(operation: Operation) -> bool:
    """Check whether the operation's attributes may contain sizes."""
    return operation.name in _SIZED


def _attribute_dims(operation: Operation) -> tuple[Dim, ...]:
    """Return the expressions in the operation's attributes."""
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
            ir.ArrayAttr.get([_replace(item, sizes) for item in attribute], operation.context)
            if isinstance(attribute, ir.ArrayAttr)
            else ir.StringAttr.get(str(_substitute(parse(attribute.value), sizes)), operation.context)
        )
        # In the operator's own encoding: numbers alone may be another kind of attribute.
        kind = find_op(operation.name).attrs[name]
        operation.attributes[name] = kind.encode(kind.decode(replaced), operation.context)


def _replace(item: Attribute, sizes: Mapping[str, Dim]) -> Attribute:
    """Substitute in one item of a list of integers and expressions."""
    if not _texts(item):
        return item
    (encoded,) = encode_dims((_substitute(parse(item.value), sizes),), item.context)
    return encoded


def _values(operation: Operation) -> Iterator[Value]:
    """Yield the values that an operation defines: results and block arguments."""
    yield from operation.results
    for region in operation.regions:
        for block in region.blocks:
            yield from block.arguments


def _operations(operation: OperationBase) -> list[Operation]:
    """Return the operation and all operations in its regions."""
    operations: list[Operation] = []

    def visit(inside: Operation) -> object:
        operations.append(inside)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return operations


class _at:
    """Context manager that reports malformed types at the operation's location."""

    def __init__(self, operation: Operation):
        self._operation = operation

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, (TypeProblem, SymbolError)):
            raise RelaxError(str(error), location=str(self._operation.location)) from None
