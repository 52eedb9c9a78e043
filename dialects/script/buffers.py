# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memref, tensor and vector: elements by index, parts as slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from .attributes import attribute_items
from .expr import Expr, Level, infix, literal
from .printer import Printer
from .rules import expression, statement
from .types import dim_texts, shaped_arguments, type_text


def index_text(printer: Printer, base: Value, indices: Sequence[str]) -> str:
    """`A[i, j]`; a tensor or buffer of rank 0 has its one element at `A[()]`."""
    return f"{printer.atom(base)}[{', '.join(indices) or '()'}]"


def slice_text(printer: Printer, op: Operation, base: Value, dynamic: Sequence[Value], part_type: Type) -> str:
    """What an operation with offsets, sizes and strides takes of `base`; `part_type` is the part's type."""
    values = iter([printer.value(value) for value in dynamic])
    offsets, sizes, strides = (
        [mixed(item, values) for item in op.attributes[name]]
        for name in ("static_offsets", "static_sizes", "static_strides")
    )
    whole = list(base.type.shape) if base.type.has_rank else [None] * len(offsets)
    units = [axis for axis, size in enumerate(sizes) if size.text == "1"]
    # Where all sizes of 1 are dropped they are indices.
    dropped = set(units) if len(units) == len(offsets) - part_type.rank else set()
    items = [
        offset.text if axis in dropped else _range(offset, size, stride, whole[axis])
        for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True))
    ]
    return index_text(printer, base, items)


def mixed(static: int, dynamic: Iterator[Expr]) -> Expr:
    """A static size, or the next of the dynamic ones."""
    return next(dynamic) if static == ir.ShapedType.get_dynamic_size() else literal(str(static))


def _range(offset: Expr, size: Expr, stride: Expr, whole: int | None) -> str:
    if offset.text == "0" and stride.text == "1" and size.text == str(whole):
        return ":"
    length = size if stride.text == "1" else infix(size, "*", stride, Level.PRODUCT)
    step = "" if stride.text == "1" else f":{stride.text}"
    return f"{offset.text}:{_end(offset, length)}{step}"


def _end(offset: Expr, length: Expr) -> str:
    if offset.text == "0":
        return length.text
    if offset.text.isdecimal() and length.text.isdecimal():
        return str(int(offset.text) + int(length.text))
    return infix(offset, "+", length, Level.SUM).text


def vector_slice(indices: Sequence[Expr], type_: Type) -> list[str]:
    """The indices of a vector's elements, which lie along the last dimensions."""
    first = len(indices) - type_.rank
    scalable = list(type_.scalable_dims) if type_.scalable else [False] * type_.rank
    items = [index.text for index in indices[:first]]
    for index, size, scales in zip(indices[first:], type_.shape, scalable, strict=True):
        length = Expr(f"{size}*vscale", Level.PRODUCT) if scales else literal(str(size))
        items.append(f"{index.text}:{_end(index, length)}")
    return items


# ---- elements ----


@expression("memref.load", "tensor.extract", reads=True)
def _load(printer: Printer, op: Operation) -> Expr | None:
    base, *indices = op.operands
    return Expr(index_text(printer, base, printer.texts(indices)))


@statement("memref.store")
def _store(printer: Printer, op: Operation) -> bool:
    value, base, *indices = op.operands
    return printer.emit_op(op, f"{index_text(printer, base, printer.texts(indices))} = {printer.text(value)}")


@statement("tensor.insert")
def _insert(printer: Printer, op: Operation) -> bool:
    value, base, *indices = op.operands
    texts = printer.texts([value, *indices])
    name = printer.destination(op, base, op.results[0])
    target = f"{name}[{', '.join(texts[1:]) or '()'}]"
    return printer.emit_op(op, f"{target} = {texts[0]}", types=False)


@expression("tensor.dim", "memref.dim")
def _dim(printer: Printer, op: Operation) -> Expr | None:
    base, axis = op.operands
    return Expr(f"{printer.atom(base)}.shape[{printer.text(axis)}]")


# ---- vectors in memory ----


@expression("vector.load", reads=True)
def _vector_load(printer: Printer, op: Operation) -> Expr | None:
    base, *indices = op.operands
    return Expr(_elements(printer, base, indices, op.results[0].type)) if _holds_scalars(base) else None


@statement("vector.store")
def _vector_store(printer: Printer, op: Operation) -> bool:
    value, base, *indices = op.operands
    if not _holds_scalars(base):
        return False
    return printer.emit_op(op, f"{_elements(printer, base, indices, value.type)} = {printer.text(value)}")


@expression("vector.transfer_read", shown="permutation_map in_bounds", reads=True)
def _transfer_read(printer: Printer, op: Operation) -> Expr | None:
    base, *rest = op.operands
    rank = base.type.rank
    vector = op.results[0].type
    if not _is_plain_transfer(op, base, vector) or len(rest) != rank + 1:
        return None
    return Expr(_elements(printer, base, rest[:rank], vector))


@statement("vector.transfer_write", shown="permutation_map in_bounds")
def _transfer_write(printer: Printer, op: Operation) -> bool:
    value, base, *indices = op.operands
    if not _is_plain_transfer(op, base, value.type) or len(indices) != base.type.rank:
        return False
    items = vector_slice([printer.value(index) for index in indices], value.type)
    text = printer.text(value)
    name = printer.destination(op, base, op.results[0]) if len(op.results) else printer.atom(base)
    return printer.emit_op(op, f"{name}[{', '.join(items) or '()'}] = {text}", types=False)


def _elements(printer: Printer, base: Value, indices: Sequence[Value], vector: Type) -> str:
    """Those that a vector's type says, from these indices on."""
    return index_text(printer, base, vector_slice([printer.value(index) for index in indices], vector))


def _holds_scalars(base: Value) -> bool:
    return not isinstance(base.type.element_type, ir.VectorType)


def _is_plain_transfer(op: Operation, base: Value, vector: Type) -> bool:
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
def _part(printer: Printer, op: Operation) -> Expr | None:
    base, *dynamic = op.operands
    return Expr(slice_text(printer, op, base, dynamic, op.results[0].type), part=True)


@statement("tensor.insert_slice", shown=_SLICE)
def _insert_slice(printer: Printer, op: Operation) -> bool:
    source, base, *dynamic = op.operands
    text = printer.text(source)
    name = printer.destination(op, base, op.results[0])
    part = slice_text(printer, op, op.results[0], dynamic, source.type).removeprefix(name)
    return printer.emit_op(op, f"{name}{part} = {text}", types=False)


# ---- new ones ----


def _sizes(printer: Printer, type_: Type, dynamic: Sequence[Value]) -> list[str]:
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
def _empty(printer: Printer, op: Operation) -> bool:
    type_ = op.results[0].type
    sizes = _sizes(printer, type_, list(op.operands))
    return printer.emit_definition(op, f"empty({shaped_arguments(type_, sizes)})")


@statement("memref.alloc", "memref.alloca")
def _alloc(printer: Printer, op: Operation) -> bool:
    dynamic_count, symbol_count = op.attributes["operandSegmentSizes"]
    if symbol_count:
        return False
    type_ = op.results[0].type
    sizes = _sizes(printer, type_, list(op.operands)[:dynamic_count])
    return printer.emit_definition(op, f"{op.name.rpartition('.')[2]}({shaped_arguments(type_, sizes)})")


@statement("memref.dealloc")
def _dealloc(printer: Printer, op: Operation) -> bool:
    return printer.emit_op(op, f"dealloc({printer.text(op.operands[0])})")


@statement("memref.copy", "linalg.copy")
def _copy(printer: Printer, op: Operation) -> bool:
    if len(op.operands) != 2 or len(op.results):
        return False
    source, target = op.operands
    return printer.emit_op(op, f"{printer.atom(target)}[:] = {printer.text(source)}")


@statement("tensor.cast", "memref.cast")
def _cast(printer: Printer, op: Operation) -> bool:
    return printer.emit_definition(op, f"cast({printer.text(op.operands[0])}, {type_text(op.results[0].type)})")


@statement("memref.global", shown="sym_name type initial_value sym_visibility constant")
def _global(printer: Printer, op: Operation) -> bool:
    attributes = op.attributes
    words = [word for word in ("sym_visibility", "constant") if word in attributes]
    shown = " ".join(attributes[word].value if word == "sym_visibility" else word for word in words)
    value = dict(attribute_items(op, ())).get("initial_value")
    initial = "" if value is None else f" = {'...' if value == 'True' else value}"
    name = f"@{attributes['sym_name'].value}: {type_text(attributes['type'].value)}"
    return printer.emit_op(op, f"{shown + ' ' if shown else ''}{name}{initial}")
