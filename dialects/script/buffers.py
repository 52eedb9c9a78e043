# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements and slices of tensors and buffers: `A[i, j]`, `A.shape[0]`, `A.vload([i, j], T.Vector((8,), "float32"))`."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from .expr import Expr
from .printer import Printer, expression, statement
from .types import is_tensor
from .words import SEGMENTS


def index_texts(exprs: Sequence[Expr]) -> list[str]:
    """Return the texts of indices, without types of numbers."""
    return [expr.bare or expr.text for expr in exprs]


def element(name: str, indices: Sequence[Expr]) -> str:
    return f"{name}[{', '.join(index_texts(indices)) or '()'}]"


def _is_named(printer: Printer, value: Value) -> bool:
    return printer.text_of(value).isidentifier()


@expression("tensor.dim", "memref.dim")
def _dim(printer: Printer, op: Operation) -> Expr | None:
    source, index = op.operands
    if not _is_named(printer, source) or len(op.attributes) or not printer.is_leaf(index):
        return None
    name, number = printer.take(op.operands)
    return Expr(f"{name.text}.shape[{number.bare}]") if number.bare.isdecimal() else None


@expression("tensor.extract", "memref.load")
def _load(printer: Printer, op: Operation) -> Expr | None:
    if not _is_named(printer, op.operands[0]) or printer.other_attributes(op):
        return None
    source, *indices = printer.take(op.operands)
    if printer.nest is not None and not printer.nest.may_load(op.operands[0], index_texts(indices)):
        return None
    return Expr(element(source.text, indices))


@statement("tensor.insert", "memref.store")
def _store(printer: Printer, op: Operation) -> bool:
    value, target, *_ = op.operands
    if not _is_named(printer, target) or printer.other_attributes(op):
        return False
    name = _name_target(printer, op, target, value)
    text, _, *places = printer.take(op.operands)
    printer.emit(f"{element(name, places)} = {text.plain().text}")
    for result in op.results:
        printer.assign(name, result)
    return True


def _name_target(printer: Printer, op: Operation, target: Value, value: Value) -> str:
    """Return the name that a store assigns to: a new name for a tensor, or the name of a buffer."""
    return printer.overwritten(op, target, [value], op.operands) if is_tensor(target.type) else printer.text_of(target)


# ---- vectors ----


def _is_plain_transfer(op: Operation, tensor: Value, vector: Value) -> bool:
    """Check whether a transfer moves adjacent elements along the last dimensions, all in bounds.

    The transfer may have a mask.
    """
    if set(op.attributes) != {"in_bounds", SEGMENTS, "permutation_map"} or not tensor.type.has_rank:
        return False
    if not isinstance(vector.type, ir.VectorType):
        return False
    rank, count = len(tensor.type.shape), len(vector.type.shape)
    if str(op.attributes["in_bounds"]) != f"[{', '.join(['true'] * count)}]":
        return False
    expected = ir.AffineMap.get_minor_identity(rank, count, op.context)
    return bool(op.attributes["permutation_map"].value == expected)


@expression("vector.transfer_read")
def _vload(printer: Printer, op: Operation) -> Expr | None:
    """Print `A.vload([i, j], T.float32x8, mask=m)`. Masked lanes are zero."""
    source, *rest = op.operands
    if not _is_named(printer, source) or not _is_plain_transfer(op, source, op.results[0]):
        return None
    rank = len(source.type.shape)
    indices, padding, mask = rest[:rank], rest[rank], rest[rank + 1 :]
    if not _is_zero(printer, padding):
        return None
    name, *texts = printer.take([source, *indices, *mask])
    items = [f"[{', '.join(index_texts(texts[:rank]))}]", printer.type_text(op.results[0].type)]
    items += [f"mask={text.text}" for text in texts[rank:]]
    return Expr(f"{name.text}.vload({', '.join(items)})")


def _is_zero(printer: Printer, value: Value) -> bool:
    return printer.is_leaf(value) and printer.take([value])[0].bare in ("0", "0.0", "False")


@statement("vector.transfer_write")
def _vstore(printer: Printer, op: Operation) -> bool:
    vector, target, *_ = op.operands
    if not _is_named(printer, target) or not _is_plain_transfer(op, target, vector):
        return False
    name = _name_target(printer, op, target, vector)
    text, _, *rest = printer.take(op.operands)
    rank = len(target.type.shape)
    # In the order of the operation: value, indices, mask.
    items = [text.text, f"[{', '.join(index_texts(rest[:rank]))}]", *(f"mask={each.text}" for each in rest[rank:])]
    printer.emit(f"{name}.vstore({', '.join(items)})")
    for result in op.results:
        printer.assign(name, result)
    return True
