# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memref, tensor and vector: elements by index, parts as slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.mlir import ir
from .expr import Expr
from .printer import Printer
from .rules import expression, statement
from .slices import index_text, slice_text, vector_slice
from .types import dim_texts, shaped_arguments, type_text

# ---- elements ----


@expression("memref.load", "tensor.extract", reads=True)
def _load(printer: Printer, op: Any) -> Expr | None:
    base, *indices = op.operands
    return Expr(index_text(printer, base, printer.texts(indices)))


@statement("memref.store")
def _store(printer: Printer, op: Any) -> bool:
    value, base, *indices = op.operands
    target = index_text(printer, base, printer.texts(indices))
    printer.emit(f"{target} = {printer.text(value)}{printer.notes(op)}", printer.comment(op))
    return True


@statement("tensor.insert")
def _insert(printer: Printer, op: Any) -> bool:
    value, base, *indices = op.operands
    texts = printer.texts([value, *indices])
    name = printer.destination(op, base, op.results[0])
    target = f"{name}[{', '.join(texts[1:]) or '()'}]"
    printer.emit(f"{target} = {texts[0]}{printer.notes(op)}", printer.comment(op, types=False))
    return True


@expression("tensor.dim", "memref.dim")
def _dim(printer: Printer, op: Any) -> Expr | None:
    base, axis = op.operands
    return Expr(f"{printer.atom(base)}.shape[{printer.text(axis)}]")


# ---- vectors in memory ----


@expression("vector.load", reads=True)
def _vector_load(printer: Printer, op: Any) -> Expr | None:
    base, *indices = op.operands
    if not _holds_scalars(base):
        return None
    items = vector_slice([printer.value(index) for index in indices], op.results[0].type)
    return Expr(index_text(printer, base, items))


@statement("vector.store")
def _vector_store(printer: Printer, op: Any) -> bool:
    value, base, *indices = op.operands
    if not _holds_scalars(base):
        return False
    items = vector_slice([printer.value(index) for index in indices], value.type)
    target = index_text(printer, base, items)
    printer.emit(f"{target} = {printer.text(value)}{printer.notes(op)}", printer.comment(op))
    return True


@expression("vector.transfer_read", shown="permutation_map in_bounds", reads=True)
def _transfer_read(printer: Printer, op: Any) -> Expr | None:
    base, *rest = op.operands
    rank = base.type.rank
    vector = op.results[0].type
    if not _is_plain_transfer(op, base, vector) or len(rest) != rank + 1:
        return None
    return Expr(index_text(printer, base, vector_slice([printer.value(index) for index in rest[:rank]], vector)))


@statement("vector.transfer_write", shown="permutation_map in_bounds")
def _transfer_write(printer: Printer, op: Any) -> bool:
    value, base, *indices = op.operands
    if not _is_plain_transfer(op, base, value.type) or len(indices) != base.type.rank:
        return False
    items = vector_slice([printer.value(index) for index in indices], value.type)
    text = printer.text(value)
    name = printer.destination(op, base, op.results[0]) if len(op.results) else printer.atom(base)
    line = f"{name}[{', '.join(items) or '()'}] = {text}{printer.notes(op)}"
    printer.emit(line, printer.comment(op, types=False))
    return True


def _holds_scalars(base: Any) -> bool:
    return not isinstance(base.type.element_type, ir.VectorType)


def _is_plain_transfer(op: Any, base: Any, vector: Any) -> bool:
    """Whether it moves elements of the last dimensions, all of them there: what a slice says."""
    inside = all(op.attributes["in_bounds"][axis].value for axis in range(len(op.attributes["in_bounds"])))
    rank = base.type.rank
    dims = ", ".join(f"d{axis}" for axis in range(rank))
    last = ", ".join(f"d{axis}" for axis in range(rank - vector.rank, rank))
    minor = str(op.attributes["permutation_map"]) == f"affine_map<({dims}) -> ({last})>"
    return inside and minor and _holds_scalars(base)


# ---- parts ----

_SLICE = "static_offsets static_sizes static_strides"


@expression("memref.subview", shown=_SLICE)
@expression("tensor.extract_slice", shown=_SLICE, reads=True)
def _part(printer: Printer, op: Any) -> Expr | None:
    base, *dynamic = op.operands
    return Expr(slice_text(printer, op, base, dynamic, op.results[0].type), part=True)


@statement("tensor.insert_slice", shown=_SLICE)
def _insert_slice(printer: Printer, op: Any) -> bool:
    source, base, *dynamic = op.operands
    text = printer.text(source)
    name = printer.destination(op, base, op.results[0])
    part = slice_text(printer, op, op.results[0], dynamic, source.type).removeprefix(name)
    printer.emit(f"{name}{part} = {text}{printer.notes(op)}", printer.comment(op, types=False))
    return True


# ---- new ones ----


def _sizes(printer: Printer, type_: Any, dynamic: Sequence[Any]) -> list[str]:
    """The sizes of a type: a symbol says more than the value that it stands for, a value more than nothing."""
    values = iter(printer.texts(dynamic))
    sizes = dim_texts(type_)
    unknown = ir.ShapedType.get_dynamic_size()
    for axis, size in enumerate(type_.shape):
        if size == unknown:
            value = next(values, "?")
            sizes[axis] = value if sizes[axis] == "?" else sizes[axis]
    return sizes


@statement("tensor.empty")
def _empty(printer: Printer, op: Any) -> bool:
    type_ = op.results[0].type
    sizes = _sizes(printer, type_, list(op.operands))
    text = f"{printer.targets(op)}empty({shaped_arguments(type_, sizes)}){printer.notes(op)}"
    printer.emit(text, printer.comment(op, types=False), effect=False)
    return True


@statement("memref.alloc", "memref.alloca")
def _alloc(printer: Printer, op: Any) -> bool:
    dynamic_count, symbol_count = op.attributes["operandSegmentSizes"]
    if symbol_count:
        return False
    type_ = op.results[0].type
    sizes = _sizes(printer, type_, list(op.operands)[:dynamic_count])
    word = op.name.rpartition(".")[2]
    text = f"{printer.targets(op)}{word}({shaped_arguments(type_, sizes)}){printer.notes(op)}"
    printer.emit(text, printer.comment(op, types=False), effect=False)
    return True


@statement("memref.dealloc")
def _dealloc(printer: Printer, op: Any) -> bool:
    printer.emit(f"dealloc({printer.text(op.operands[0])}){printer.notes(op)}", printer.comment(op))
    return True


@statement("memref.copy", "linalg.copy")
def _copy(printer: Printer, op: Any) -> bool:
    if len(op.operands) != 2 or len(op.results):
        return False
    source, target = op.operands
    printer.emit(f"{printer.atom(target)}[:] = {printer.text(source)}{printer.notes(op)}", printer.comment(op))
    return True


@statement("tensor.cast", "memref.cast")
def _cast(printer: Printer, op: Any) -> bool:
    text = f"cast({printer.text(op.operands[0])}, {type_text(op.results[0].type)})"
    line = f"{printer.targets(op)}{text}{printer.notes(op)}"
    printer.emit(line, printer.comment(op, types=False), effect=False)
    return True


@statement("memref.global", shown="sym_name type initial_value sym_visibility constant")
def _global(printer: Printer, op: Any) -> bool:
    attributes = op.attributes
    words = [word for word in ("sym_visibility", "constant") if word in attributes]
    shown = " ".join(attributes[word].value if word == "sym_visibility" else word for word in words)
    value = _initial_value(op)
    name = f"@{attributes['sym_name'].value}: {type_text(attributes['type'].value)}"
    printer.emit(f"{shown + ' ' if shown else ''}{name}{value}{printer.notes(op)}", printer.comment(op))
    return True


def _initial_value(op: Any) -> str:
    from .attributes import attribute_items

    found = dict(attribute_items(op, ()))
    value = found.get("initial_value")
    return "" if value is None else f" = {'...' if value == 'True' else value}"
