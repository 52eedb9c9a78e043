# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bufferization of insert_slice chains: tensors written piece by piece become writes into subviews of one memref.

Upstream's analysis compares all pairs of slices of a tensor for each slice. Its time grows with the third power of
their number. Here nothing is compared, because such a tensor is not read before its last piece is written.
"""

from __future__ import annotations

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import made_by, operations_of, users_of
from ....bindings.rewriting import replace_op
from ....emit import memrefs
from ....emit.arithmetic import result_of
from ....emit.linalg import segments

_FEWEST_PIECES = 2
_INSERT = "tensor.insert_slice"
_EXTRACT = "tensor.extract_slice"
_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


def write_pieces(function: Operation) -> None:
    """Rewrite the tensors of a function on memrefs that start undefined and are written piece by piece."""
    with function.context:
        for block in function.regions[0].blocks:
            inserts = [op for op in operations_of(block) if op.name == _INSERT]
            for last in [insert for insert in inserts if _next(insert) is None]:
                pieces = _pieces_until(last)
                base = pieces[0].operands[1]
                if len(pieces) >= _FEWEST_PIECES and _is_nothing_yet(base) and _is_for(base, pieces[0]):
                    _write(base.owner.operation, pieces)


def _is_nothing_yet(tensor: Value) -> bool:
    """Check whether a tensor's contents are undefined: it is new, or an output of the function."""
    made = made_by(tensor, "tensor.empty", "bufferization.to_tensor")
    return made is not None and (made.name == "tensor.empty" or "writable" in made.attributes)


def _next(insert: Operation) -> Operation | None:
    """Return the next insertion into the result if it is the result's only use, else None."""
    result = insert.results[0]
    following = [user for user in users_of(result) if user.name == _INSERT and user.operands[1] == result]
    return following[0] if len(following) == 1 and _is_for(result, following[0]) else None


def _pieces_until(last: Operation) -> list[Operation]:
    """Return the chain of insertions that ends with this one, in order."""
    pieces = [last]
    while (before := made_by(pieces[0].operands[1], _INSERT)) is not None and _next(before):
        pieces.insert(0, before)
    return pieces


def _is_for(tensor: Value, insert: Operation) -> bool:
    """Check whether a tensor serves only to receive this piece, which may be computed in the same slice of it."""
    if insert.operands[0].type.rank != tensor.type.rank or insert.block != tensor.owner.operation.block:
        return False
    users = [user for user in users_of(tensor) if user.name != "tensor.dim"]
    allowed = [op for op in (insert, _place_of(insert)) if op is not None]
    return all(user in allowed for user in users) and insert.operands[0] != tensor


def _place_of(insert: Operation) -> Operation | None:
    """Return the slice of the tensor in which the piece is computed, if it is written back there, else None."""
    value = insert.operands[0]
    while not isinstance(value.owner, ir.Block) and (into := _destination(value)) is not None:
        value = into
    slice_ = made_by(value, _EXTRACT)
    if slice_ is None or slice_.operands[0] != insert.operands[1] or value.type != insert.operands[0].type:
        return None
    is_same = all(slice_.attributes[name] == insert.attributes[name] for name in ("static_offsets", "static_strides"))
    return slice_ if is_same and _offsets_and_strides(slice_, 1) == _offsets_and_strides(insert, 2) else None


def _destination(value: Value) -> Value | None:
    """Return the tensor that an operation overwrites, with equally many elements in the same order, or None."""
    op = value.owner.operation
    index = list(op.results).index(value)
    if op.name == "scf.for":
        return op.operands[3 + index]
    if op.name.startswith("linalg."):
        return op.operands[len(op.operands) - len(op.results) + index]
    if op.name in _RESHAPES and list(value.type.shape).count(DYNAMIC) <= 1:
        # With at most one dynamic size, equal types imply equal sizes.
        return op.operands[0]
    if op.name in ("vector.transfer_write", "tensor.insert", _INSERT):
        return op.operands[1]
    return None


def _offsets_and_strides(op: Operation, tensors: int) -> list[Value]:
    offsets, sizes, _ = list(op.attributes["operandSegmentSizes"])[tensors:]
    values = list(op.operands)[tensors:]
    return values[:offsets] + values[offsets + sizes :]


def _write(base: Operation, pieces: list[Operation]) -> None:
    tensor, memref = _as_memref(base)
    for insert in pieces:
        place = _place_of(insert)
        with insert.location, ir.InsertionPoint(place or insert):
            part = _part(memref, place, 1) if place is not None else _part(memref, insert, 2)
            if place is not None:
                place.results[0].replace_all_uses_with(to_tensor(part, place.results[0].type))
        with insert.location, ir.InsertionPoint(insert):
            materialize(insert.operands[0], part)
            written = to_tensor(memref, tensor.type) if insert == pieces[-1] else tensor
        replace_op(insert, [written])
        if place is not None:
            place.erase()


def _as_memref(base: Operation) -> tuple[Value, Value]:
    """Return the tensor that receives the first piece, and its memory."""
    tensor = base.results[0]
    if base.name == "bufferization.to_tensor":
        return tensor, base.operands[0]
    with base.location, ir.InsertionPoint(base):
        sizes = iter(base.operands)
        extents = [next(sizes) if size == DYNAMIC else size for size in tensor.type.shape]
        memref = memrefs.allocate(extents, tensor.type.element_type)
        value = to_tensor(memref, tensor.type)
    replace_op(base, [value])
    return value, memref


def to_tensor(memref: Value, type_: Type, *, writable: bool = True) -> Value:
    """Return the contents of a memref without aliases. A writable one may be changed in place."""
    attributes = {"restrict": ir.UnitAttr.get(), **({"writable": ir.UnitAttr.get()} if writable else {})}
    return result_of("bufferization.to_tensor", [memref], type_, **attributes)


def materialize(tensor: Value, memref: Value) -> None:
    """Copy a tensor's elements into a memref."""
    attributes = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    name = "bufferization.materialize_in_destination"
    ir.Operation.create(name, operands=[tensor, memref], attributes=attributes)


def _part(memref: Value, slice_: Operation, tensors: int) -> Value:
    """Return the subview of the memory for a slice or insertion with `tensors` tensor operands."""
    numbers = ("static_offsets", "static_sizes", "static_strides")
    attributes = {name: slice_.attributes[name] for name in numbers}
    attributes |= segments(1, *list(slice_.attributes["operandSegmentSizes"])[tensors:])
    offsets, sizes, steps = (list(attributes[name]) for name in numbers)
    strides, offset = memref.type.get_strides_and_offset()
    moved = [_multiply(*pair) for pair in zip(offsets, strides, strict=True)]
    known_offset = DYNAMIC if DYNAMIC in moved else offset + sum(moved)
    layout = ir.StridedLayoutAttr.get(known_offset, [_multiply(*pair) for pair in zip(steps, strides, strict=True)])
    type_ = ir.MemRefType.get(sizes, memref.type.element_type, layout=layout)
    return result_of("memref.subview", [memref, *list(slice_.operands)[tensors:]], type_, **attributes)


def _multiply(number: int, stride: int) -> int:
    """Multiply. Either factor may be MLIR's mark for a dynamic number."""
    return 0 if number == 0 else DYNAMIC if DYNAMIC in (number, stride) else number * stride
