# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors and buffers: `A[i, 0:4]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from .expr import Expr, Level, infix, literal
from .printer import Printer


def index_text(printer: Printer, base: Value, indices: Sequence[str]) -> str:
    """`A[i, j]`; a tensor or buffer of rank 0 has its one element at `A[()]`."""
    return f"{printer.atom(base)}[{', '.join(indices) or '()'}]"


def slice_text(printer: Printer, op: Operation, base: Value, dynamic: Sequence[Value], part_type: Any) -> str:
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
