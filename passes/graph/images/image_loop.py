# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of a graph that processes images of a batch independently, and the loop that replaces it."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, used_by, users_of
from ....dialects import relax
from ....dialects.core.codec import decode, encode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import ShapeInfo, TensorInfo, bit_width
from ....dialects.core.symbols import Dim, SymExpr
from ....dialects.core.work import work_of
from ....emit.numbers import as_index, constant, number
from ....emit.parallel import FLOPS, LEAST_WORK
from ....targets.core.machine import Machine
from .separable import is_separable, shape_of

#: Fewest window products in a chain for a loop to pay.
_FEWEST = 2
#: The largest tensor of an image takes at least 1/4 of a core's own cache.
_LEAST = 4
#: Weights are read for each image, and may have at most 8 times the bytes computed from them.
_MOST_WEIGHTS = 8


@dataclass(frozen=True)
class ImagePart:
    """Operations that process each image independently, from the graph's start on."""

    images: Dim
    inputs: tuple[Value, ...]
    operations: tuple[Operation, ...]
    #: Results of the operations with users outside.
    wanted: tuple[Value, ...]

    def is_worth_it(self, machine: Machine) -> bool:
        """Check the cost: one image's tensors stay in caches that all images' do not.

        The tensors must not be much smaller than the weights, and an image must have work for all cores.
        """
        sizes = [_bytes(result, 1) for op in self.operations for result in op.results]
        inside = {result for op in self.operations for result in op.results}
        read = {value for op in self.operations for value in op.operands if value not in inside}
        weights = sum(_bytes(value, 0) or 0 for value in read if value not in self.inputs)
        known = [size for size in sizes if size is not None]
        products = [op for op in self.operations if (row := row_of(op)) is not None and row.windows.taps == "weight"]
        if len(known) < len(sizes) or len(products) < _FEWEST:
            return False
        if machine.cores > 1 and self._nanoseconds(products) < machine.cores * LEAST_WORK:
            return False
        return max(known) >= machine.own_cache // _LEAST > 0 and weights <= _MOST_WEIGHTS * sum(known)

    def _nanoseconds(self, products: Sequence[Operation]) -> float:
        """Estimate a core's time for one product of one image. Threads share images with less work better."""
        return sum(_flops(op, self.images) for op in products) / len(products) / FLOPS


def part_of(function: Operation) -> ImagePart | None:
    """Return the independent part of a graph, or None if the batch size is 1 or unknown."""
    block = body_of(function)
    if (images := _images(block)) is None:
        return None
    inputs = [value for value in block.arguments if shape_of(value)[:1] == (images,)]
    of_images, others, operations = set(inputs), set[Value](), list[Operation]()
    for op in operations_of(block):
        read = used_by(op)
        if any(value in others for value in read):
            others.update(op.results)
        elif any(value in of_images for value in read):
            is_own = is_separable(op, images, of_images.__contains__) and not _has_large_weights(op, of_images)
            (of_images if is_own else others).update(op.results)
            operations += [op] if is_own else []
    inside = set(operations)
    results = [result for op in operations for result in op.results]
    wanted = [result for result in results if any(user not in inside for user in users_of(result))]
    is_whole = wanted and _can_be_moved(block, operations)
    return ImagePart(images, tuple(inputs), tuple(operations), tuple(wanted)) if is_whole else None


def _has_large_weights(op: Operation, of_images: Container[Value]) -> bool:
    """Check whether re-reading the weights for each image takes longer than the work on them."""
    weights = sum(_bytes(value, 0) or 0 for value in op.operands if value not in of_images)
    made = [_bytes(result, 1) for result in op.results]
    return all(size is not None and weights > _MOST_WEIGHTS * size for size in made)


def _images(block: Block) -> Dim:
    """Return the batch size of the first windowed operator, or None."""
    first = next((op for op in operations_of(block) if (row := row_of(op)) and row.windows.letters), None)
    shape = () if first is None else shape_of(first.operands[0])
    return shape[0] if shape and shape[0] not in (0, 1) else None


def _can_be_moved(block: Block, operations: Sequence[Operation]) -> bool:
    """Check whether the operations between may run after all of the part's."""
    found = operations_of(block)
    between = found[found.index(operations[0]) : found.index(operations[-1])]
    return all(row.pure if (row := row_of(op)) else op.name.startswith(("arith.", "tensor.")) for op in between)


def _bytes(value: Value, first: int) -> int | None:
    """Return the bytes of a tensor, or of one image if `first` is 1. None for dynamic sizes."""
    info = decode(value.type)
    shape = shape_of(value)[first:]
    known = [size for size in shape if isinstance(size, int)]
    if not isinstance(info, TensorInfo) or len(known) < len(shape):
        return None
    return math.prod(known) * bit_width(info.dtype) // 8


def _flops(op: Operation, images: Dim) -> float:
    """Return the float operations for one image."""
    flops = work_of(op.opview).flops
    if isinstance(flops, int) and isinstance(images, int):
        return flops / images
    return flops.evaluate(dict.fromkeys(flops.variables, 1)) if isinstance(flops, SymExpr) else 0


# ---- the loop ----


def write(part: ImagePart) -> None:
    """Write the loop over images in place of the part's last operation, and move the users of its results behind it."""
    last = part.operations[-1]
    after = operations_of(last.block)
    before = after[: after.index(last)]
    with ir.InsertionPoint.after(last), last.location:
        loop = _loop(part)
        rows = [relax.match_cast(result, old.type) for result, old in zip(loop.results[1:], part.wanted, strict=True)]
    inside, moved, end = set(part.operations), set(part.wanted), rows[-1].owner.operation
    for op in before:
        if op not in inside and any(value in moved for value in used_by(op)):
            moved.update(op.results)
            op.move_after(end)
            end = op
    for old, new in zip(part.wanted, rows, strict=True):
        old.replace_all_uses_with(new)
    for op in reversed(part.operations):
        op.erase()


def _loop(part: ImagePart) -> Operation:
    """Build the loop. Like loops that gather, it carries the number of images and rows of the wanted results."""
    zero, count, one = _integer(0), _count(part.images), _integer(1)
    starts = [_no_rows(value) for value in part.wanted]
    types = [zero.type, *(value.type for value in starts)]
    operands = [zero, count, one, zero, *starts]
    loop = ir.Operation.create("scf.for", results=types, operands=operands, regions=1)
    body = loop.regions[0].blocks.append(zero.type, *types)
    with ir.InsertionPoint(body):
        place, turns, *rows = body.arguments
        index = ir.Operation.create(
            "tensor.from_elements", results=[ir.RankedTensorType.get([], zero.type)], operands=[place]
        ).result
        values = {input_: relax.expand_dims(relax.take(input_, index, axis=0), axis=(0,)) for input_ in part.inputs}
        for op in part.operations:
            values.update(_clone_for_image(op, values))
        joined = [relax.concat([row, values[value]], axis=0) for row, value in zip(rows, part.wanted, strict=True)]
        joined = [relax.match_cast(each, row.type) for each, row in zip(joined, rows, strict=True)]
        ir.Operation.create("scf.yield", operands=[(number(turns) + number(one)).value, *joined])
    return loop


def _integer(value: int) -> Value:
    return constant(value, "i64").value


def _count(images: Dim) -> Value:
    if isinstance(images, int):
        return _integer(images)
    sizes = relax.shape_to_tensor(relax.shape_expr(dims=(images,)))
    return ir.Operation.create(
        "tensor.extract", results=[sizes.type.element_type], operands=[sizes, as_index(0)]
    ).result


def _no_rows(value: Value) -> Value:
    info = decode(value.type)
    assert isinstance(info, TensorInfo) and info.shape is not None
    nothing = relax.zeros(relax.shape_expr(dims=(0, *info.shape[1:])), dtype=info.dtype)
    return relax.match_cast(nothing, encode(info.with_shape((None, *info.shape[1:])), value.context))


def _clone_for_image(op: Operation, values: dict[Value, Value]) -> dict[Value, Value]:
    """Clone the operation for one image. Return its results by the results for all images."""
    operands = [_shape_of_one(value) if _is_shape(value) else values.get(value, value) for value in op.operands]
    copy = op.clone().operation
    for place, value in enumerate(operands):
        copy.operands[place] = value
    for result in copy.results:
        info = decode(result.type)
        assert isinstance(info, TensorInfo) and info.shape is not None
        result.set_type(encode(info.with_shape((1, *info.shape[1:])), op.context))
    return dict(zip(op.results, copy.results, strict=True))


def _shape_of_one(shape: Value) -> Value:
    info = decode(shape.type)
    assert isinstance(info, ShapeInfo) and info.dims is not None
    return relax.shape_expr(dims=(1, *info.dims[1:]))


def _is_shape(value: Value) -> bool:
    return isinstance(decode(value.type), ShapeInfo)
