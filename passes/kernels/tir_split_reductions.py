# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel reductions: long reductions with few results become partial reductions and a final one.

Threads share the partial reductions, which have the same size for any number of threads, and their results are combined
in order. So the bits do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from ...bindings.affine import identity
from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of
from ...bindings.rewriting import Decline, replace_op
from ...dialects.core.ir_attributes import PLAN, SCHEDULE, UNPLANNED
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit import linalg, loops, tensors
from ...emit.combiner import combiners
from ...emit.generic import GenericOp
from ...emit.numbers import Number, Size, minimum
from ...emit.parallel import FEWEST_GRAINS, LEAST_WORK
from ...emit.structured import StructuredOp, analyze, is_scalar, structured_ops
from ...targets.core.machine import Machine
from ...targets.core.machine_pass import MachinePass
from ..core.registry import register_pass
from .schedule.parallel_grain import nanoseconds
from .schedule.reduction_order import depends_on_order
from .schedule.vector_body import check_body, widest_bits

#: Least work of a split reduction, in multiples of the least work that is worth sharing: the parts cost extra.
_REGIONS = 4
#: Least steps of a split reduction, if its bits must not depend on the machine or on the number of results.
_LONG = 1 << 18


@register_pass
class TirSplitReductions(MachinePass):
    """Split reductions with few results into parts, so that threads can share the work."""

    name: ClassVar[str] = "tir-split-reductions"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "scf", "tensor")

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if SCHEDULE in function.attributes:
                continue
            block = body_of(function)
            for operation in [
                structured_op for structured_op in structured_ops(function) if structured_op.block == block
            ]:
                if (reduction := _reduction(operation)) is None:
                    continue
                if self._is_split(reduction):
                    with function.context, operation.location:
                        _split(reduction)

    def _is_split(self, op: StructuredOp) -> bool:
        if self.keeps_bits and depends_on_order(op):
            return _has_many_steps(op)
        return self.machine.cores > 1 and _is_long(op, self.machine)


def _reduction(operation: Operation) -> StructuredOp | None:
    if PLAN in operation.attributes or UNPLANNED in operation.attributes or not GenericOp(operation).reductions:
        return None
    try:
        op = analyze(operation)
        check_body(op)
        combiners(op)
    except Decline:
        return None
    is_known = None not in op.sizes
    return op if is_known and "tensor.extract" not in op.inner_names else None


def _is_long(op: StructuredOp, machine: Machine) -> bool:
    """Check whether each part is worth a thread, and whether there are too few results to share instead."""
    sizes = [size for size in op.sizes if size is not None]
    results = math.prod(sizes[dim] for dim in op.parallels)
    is_much = nanoseconds(op, machine.lanes(widest_bits(op))) >= _REGIONS * LEAST_WORK
    return results < machine.cores and is_much and _loop(op) is not None


def _has_many_steps(op: StructuredOp) -> bool:
    """Check whether each part is worth a thread. An input has all loops, so that parts take little memory."""
    steps = math.prod(op.sizes[dim] or 0 for dim in op.reductions)
    has_all = any(len(op.dims_used[operand]) == len(op.dims) for operand in range(op.input_count))
    return steps >= _LONG and has_all and _loop(op) is not None


def _loop(op: StructuredOp) -> int | None:
    """Return the outermost reduction loop with steps for all parts, or else the longest, or None."""
    dims = [dim for dim in sorted(op.reductions) if _can_be_cut(op, dim)]
    enough = [dim for dim in dims if (op.sizes[dim] or 0) >= FEWEST_GRAINS]
    return enough[0] if enough else max(dims, key=lambda dim: op.sizes[dim] or 0, default=None)


def _can_be_cut(op: StructuredOp, dim: int) -> bool:
    indices = [index for access in op.accesses for index in access if index.factor(dim)]
    return (op.sizes[dim] or 0) > 1 and all(index.is_all_of(dim) for index in indices)


def _split(op: StructuredOp) -> None:
    dim = _loop(op)
    assert dim is not None
    size = op.sizes[dim] or 0
    length = -(-size // FEWEST_GRAINS)
    count = -(-size // length)
    with ir.InsertionPoint(op.operation):
        starting = [combiner.neutral() for combiner in combiners(op)]
        empty = [linalg.empty([count, *linalg.sizes(output)], output.type.element_type) for output in op.outputs]

        def part(position: Number, *written: Value) -> list[Value]:
            start = position * length
            taken: Size = length if size % length == 0 else minimum(length, size - start)
            inputs = [_cut(op, operand, dim, start, taken) for operand in range(op.input_count)]
            places = [_place(value, position) for value in written]
            slices = [tensors.slice_of(value, *place) for value, place in zip(written, places, strict=True)]
            first = [linalg.fill(*pair) for pair in zip(starting, slices, strict=True)]
            results = _clone_for_part(op, inputs, first)
            linalg.move_indices(results[0].owner.operation, {dim: start})
            whole = zip(results, written, places, strict=True)
            return [tensors.put_slice(made, each, offsets, sizes=sizes) for made, each, (offsets, sizes) in whole]

        parts = loops.for_range(0, count, part, *empty, grain=1)
        results = [_combine_parts(op, output, each) for output, each in enumerate(parts)]
    replace_op(op.operation, results)


def _cut(op: StructuredOp, operand: int, dim: int, start: Number, taken: Size) -> Value:
    value = op.operands[operand]
    if is_scalar(value.type) or not op.uses(operand, dim):
        return value
    is_cut = [index.factor(dim) != 0 for index in op.accesses[operand]]
    sizes = [taken if cut else size for cut, size in zip(is_cut, linalg.sizes(value), strict=True)]
    return tensors.slice_of(value, [start if cut else 0 for cut in is_cut], sizes)


def _place(parts: Value, position: Number) -> tuple[list[Size], list[Size]]:
    """Return the offsets and sizes of a part's results."""
    _, *sizes = linalg.sizes(parts)
    return [position, *[0] * len(sizes)], [1, *sizes]


def _clone_for_part(op: StructuredOp, inputs: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
    """Clone the operation for a part. Its results have one more dimension, of size 1, in front."""
    copy = op.operation.clone().operation
    for operand, value in enumerate((*inputs, *outputs)):
        copy.operands[operand] = value
    for result, output in zip(copy.results, outputs, strict=True):
        result.set_type(output.type)
    maps = GenericOp(copy).maps
    zero = ir.AffineConstantExpr.get(0)
    new = [ir.AffineMap.get(map_.n_dims, 0, [zero, *map_.results]) for map_ in maps[op.output_start :]]
    attributes = [ir.AffineMapAttr.get(map_) for map_ in (*maps[: op.output_start], *new)]
    copy.attributes["indexing_maps"] = ir.ArrayAttr.get(attributes)
    return list(copy.results)


def _combine_parts(op: StructuredOp, output: int, parts: Value) -> Value:
    """Combine the initial value of an output with the results of the parts."""
    rank = linalg.rank_of(parts)
    maps = [identity(rank), linalg.select_dims(rank, list(range(1, rank)))]
    kinds = [linalg.REDUCTION, *[linalg.PARALLEL] * (rank - 1)]
    combine = combiners(op)[output].apply
    return linalg.generic([parts], [op.outputs[output]], maps, kinds, lambda part, total: combine(part, total))[0]
