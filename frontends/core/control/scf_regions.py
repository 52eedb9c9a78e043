# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands, captures and results of the regions of scf operations; conversion of tensors to scalars."""

from __future__ import annotations

from collections.abc import Collection

from ....bindings.ir import Type
from ....bindings.mlir import ir
from ....dialects import relax
from ....dialects.core.codec import decode, encode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import equal
from ....emit.numbers import constant
from ..node import Node, described
from ..values import Held, OneOf, Tensor, Value


def info_of(node: Node, held: Held, inner: Collection[str] = ()) -> TensorInfo:
    """Return the type of a tensor that enters or leaves a region.

    The `inner` symbols are unknown outside of the region.
    """
    if isinstance(held, OneOf):
        raise node.fail(f"control flow needs a tensor of one rank, got {held}")
    if not isinstance(held, Value):
        raise node.fail("a sequence or an optional cannot pass through dynamic control flow")
    if held.shape is None:
        raise node.fail("a tensor of unknown rank cannot pass through control flow")
    known = [isinstance(size, int) or size is not None and size.variables.isdisjoint(inner) for size in held.shape]
    return held.info.with_shape(size if is_known else None for size, is_known in zip(held.shape, known, strict=True))


def as_items(node: Node, made: list[Held]) -> list[Value]:
    """Check that each output of a body is a tensor, as items of sequences must be."""
    items = []
    for index, held in enumerate(made):
        if not isinstance(held, Value):
            raise node.fail(f"output #{index} of its body is a sequence or an optional: items of sequences are tensors")
        items.append(held)
    return items


def common_info(node: Node, left: TensorInfo, right: TensorInfo, what: str) -> TensorInfo:
    """Return the type that covers both tensors. `what` names the tensor in messages."""
    if left.dtype != right.dtype or left.shape is None or right.shape is None or left.rank != right.rank:
        raise node.fail(f"{what.format(described(left), described(right))}: a tensor has one element type and one rank")
    pairs = zip(left.shape, right.shape, strict=True)
    return left.with_shape([one if equal(one, other) is True else None for one, other in pairs])


def as_info(ssa: Tensor, info: TensorInfo) -> Tensor:
    """Cast a tensor to a type with more or fewer known sizes."""
    return ssa if decode(ssa.type) == info else relax.match_cast(ssa, ty=info)


def type_of(info: TensorInfo) -> Type:
    return encode(info, ir.Location.current.context)


def scalar_of(node: Node, held: Held, what: str = "a condition or a count") -> Tensor:
    """Return a tensor of one element as a scalar. `what` names the tensor in messages."""
    if not isinstance(held, Value):
        raise node.fail("a condition is a sequence or an optional, not a tensor")
    tensor = held.ssa
    if held.shape is not None and any(isinstance(size, int) and size != 1 for size in held.shape):
        raise node.fail(f"{what} must be a scalar, got {described(held)}")
    if held.rank != 0:
        tensor = relax.reshape(tensor, ())
    element = tensor.type.element_type
    return ir.Operation.create("tensor.extract", results=[element], operands=[tensor]).result


def tensor_of(scalar: Tensor) -> Value:
    """Return a scalar as a 0-D tensor."""
    type_ = ir.RankedTensorType.get([], scalar.type)
    return Value(ssa=ir.Operation.create("tensor.from_elements", results=[type_], operands=[scalar]).result)


def integer(value: int) -> Tensor:
    """Return a constant 64-bit integer as a scalar."""
    return constant(value, ir.IntegerType.get_signless(64)).value


def truth(value: bool) -> Tensor:
    return constant(int(value), ir.IntegerType.get_signless(1)).value


def known_truth(held: Held) -> bool | None:
    """Return a condition that is known at import, or None if it is not known."""
    array = held.array if isinstance(held, Value) else None
    return bool(array.ravel()[0]) if array is not None and array.size == 1 else None
