# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splitting of vectors with more than four lanes, which SPIR-V shaders lack.

Loads and stores stay whole, because spirv-lower-memory splits them in pieces of four lanes. Other operations become one
operation per lane. Loops and branches pass the lanes after their other values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relax_mlir.bindings.ir import Block, Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in, operations_named
from relax_mlir.bindings.rewriting import located_error, made_again, replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.vectors import from_elements, lane_of
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.kernels.outline import kernels_in

MOST_LANES = 4
_KEPT = ("vector.load", "vector.store", "vector.extract", "vector.from_elements")
_PASSING = ("scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition")


@register_pass
class SplitVectors(Pass):
    """Limit the vectors in kernels to four lanes."""

    name: ClassVar[str] = "spirv-split-vectors"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "scf", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                for each in operations_named(kernel, "arith.select"):
                    _condition_of_lanes(each)
                for operation in reversed(operations_in(kernel)):
                    if _is_touched(operation) and operation.name not in _KEPT:
                        with operation.location, ir.InsertionPoint(operation):
                            _split(operation)


def _condition_of_lanes(select: Operation) -> None:
    """Broadcast a scalar condition. Before version 1.4, SPIR-V selects vectors lane by lane only."""
    condition, type_ = select.operands[0], select.results[0].type
    if isinstance(type_, ir.VectorType) and not isinstance(condition.type, ir.VectorType):
        with select.location, ir.InsertionPoint(select):
            conditions = ir.VectorType.get(type_.shape, condition.type)
            select.operands[0] = result_of("vector.broadcast", [condition], conditions)


def _is_touched(op: Operation) -> bool:
    if any(_is_wide(value.type) for value in (*op.results, *op.operands)):
        return True
    return any(
        _is_wide(argument.type) for region in op.regions for block in region.blocks for argument in block.arguments
    )


def _split(op: Operation) -> None:
    if op.name in _PASSING:
        _pass_lanes(op)
    elif op.name == "vector.broadcast":
        replace_op(op, [from_elements([op.operands[0]] * _lanes(op.results[0].type))])
    elif op.name == "arith.constant":
        element = op.results[0].type.element_type
        values = op.attributes["value"]
        one = made_again(op, [], [element])
        one.attributes["value"] = values.get_splat_value()
        replace_op(op, [from_elements([one.results[0]] * _lanes(op.results[0].type))])
    elif op.name.startswith(("arith.", "math.")):
        _compute_lanes(op)
    else:
        raise located_error(f"'{op.name}' op uses vectors that SPIR-V does not support", op.location)


def _compute_lanes(op: Operation) -> None:
    (result,) = op.results
    made = [
        made_again(op, [_lane(operand, lane) for operand in op.operands], [result.type.element_type]).results[0]
        for lane in range(_lanes(result.type))
    ]
    replace_op(op, [from_elements(made)])


def _lane(value: Value, lane: int) -> Value:
    return lane_of(value, lane) if isinstance(value.type, ir.VectorType) else value


def _pass_lanes(op: Operation) -> None:
    """Rebuild an operation, or a terminator, with scalars in place of wide vectors."""
    made = _with_regions(op, _scalars(op.operands), _types([result.type for result in op.results]))
    for region in made.regions:
        for block in region.blocks:
            _take_lanes(block)
    replace_op(op, _vectors([result.type for result in op.results], list(made.results)))


def _with_regions(op: Operation, operands: Sequence[Value], results: Sequence[Type]) -> Operation:
    attributes = dict(op.attributes.items())
    made = ir.Operation.create(op.name, list(results), list(operands), attributes, regions=len(op.regions))
    for old, new in zip(op.regions, made.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    return made


def _take_lanes(block: Block) -> None:
    """Replace the block's arguments, in the order of `_scalars`."""
    old = list(block.arguments)
    if not any(_is_wide(each.type) for each in old):
        return
    types = [each.type for each in old]
    with ir.InsertionPoint.at_block_begin(block):
        new = [block.add_argument(type_, old[0].owner.owner.location) for type_ in _types(types)]
        for argument, value in zip(old, _vectors(types, new), strict=True):
            argument.replace_all_uses_with(value)
    for _ in old:
        block.erase_argument(0)


def _is_wide(type_: Type) -> bool:
    return isinstance(type_, ir.VectorType) and _lanes(type_) > MOST_LANES


def _lanes(type_: Type) -> int:
    (lanes,) = type_.shape
    return int(lanes)


def _scalars(values: Sequence[Value]) -> list[Value]:
    """Return the values that are not wide vectors, then the lanes of the wide ones."""
    wide = [value for value in values if _is_wide(value.type)]
    return [
        *(value for value in values if not _is_wide(value.type)),
        *(lane_of(value, lane) for value in wide for lane in range(_lanes(value.type))),
    ]


def _types(types: Sequence[Type]) -> list[Type]:
    wide = [type_ for type_ in types if _is_wide(type_)]
    return [
        *(type_ for type_ in types if not _is_wide(type_)),
        *(type_.element_type for type_ in wide for _ in range(_lanes(type_))),
    ]


def _vectors(types: Sequence[Type], scalars: Sequence[Value]) -> list[Value]:
    """Return values of `types` from scalars in the order of `_types`."""
    count = sum(not _is_wide(type_) for type_ in types)
    narrow, lanes = iter(scalars[:count]), iter(scalars[count:])
    return [
        from_elements([next(lanes) for _ in range(_lanes(type_))]) if _is_wide(type_) else next(narrow)
        for type_ in types
    ]
