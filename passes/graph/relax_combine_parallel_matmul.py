# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Combination of products that share an operand: one product, and a slice of its result for each.

x @ q, x @ k and x @ v are slices of x @ concat(q, k, v): the combined product reads x once, and has more work to share
among threads. Convolutions of one image by kernels of one size are combined likewise. So are equal biases and
activations after the products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ...bindings.ir import Block, Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, operations_in, users_of
from ...dialects import relax
from ...dialects.core.dialect import row_of
from ...dialects.core.symbols import Dim, dim_add
from ...dialects.relax.known_constants import is_constant
from ...dialects.relax.values import shape_of, stated
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.options import PYTHON_ONLY
from ..core.registry import register_pass
from .combine.branches import CONVOLUTIONS, Branch, Step, are_alike, bring_before, groups_in, makers_behind, next_step
from .layout.registry import is_elementwise

#: Callback that decides whether products of one operand are combined.
Check = Callable[[Sequence[OpView]], bool]


@register_pass
@dataclass(frozen=True)
class CombineParallelMatmul(Pass):
    """Combine matmuls or convolutions of one operand into one product and slices of its result."""

    name: ClassVar[str] = "relax-combine-parallel-matmul"
    anchor: ClassVar[str] = "any"

    #: Concatenate only constants, at compile time. Other operands are copied in each call.
    constants_only: bool = False
    #: Minimum number of products to combine.
    least: int = 2
    #: Keep products apart if an elementwise operation joins their results, as it fits in the epilogue of a product.
    keep_meeting: bool = False
    #: Combine convolutions, too.
    convolutions: bool = True
    check: Check = field(default=lambda products: True, metadata={PYTHON_ONLY: True})

    def __post_init__(self) -> None:
        if self.least < 2:
            raise OptionError(f"pass '{self.name}': least must be 2 or more, got {self.least}")

    def run(self, op: Operation) -> None:
        blocks = [block for inner in (op, *operations_in(op)) if len(inner.regions) for block in blocks_of(inner)]
        for block in blocks:
            self._combine_in(block)

    def _combine_in(self, block: Block) -> None:
        for group in groups_in(block):
            if not self.convolutions and group[0].op.operation.name in CONVOLUTIONS:
                continue
            chosen = [branch for branch in group if is_constant(branch.weight)] if self.constants_only else group
            chosen = _select_unjoined(chosen) if self.keep_meeting else chosen
            for members in _movable_groups(chosen):
                if len(members) >= self.least and self.check([member.op for member in members]):
                    _combine(members)


def _movable_groups(group: Sequence[Branch]) -> Iterator[list[Branch]]:
    """Yield the products with weights that can move before the first product, then groups of the rest."""
    rest = list(group)
    while rest:
        first = rest[0].op.operation
        meeting = [makers_behind(branch.weight, first) is not None for branch in rest]
        members = [branch for branch, meets in zip(rest, meeting, strict=True) if meets]
        rest = [branch for branch, meets in zip(rest, meeting, strict=True) if not meets]
        yield members


def _select_unjoined(group: Sequence[Branch]) -> list[Branch]:
    """Return the products with a result that no elementwise operation joins with another product's."""
    reached = [_elementwise_users(branch.op.operation) for branch in group]
    others = [set[Operation]().union(*reached[:place], *reached[place + 1 :]) for place in range(len(group))]
    return [branch for branch, own, other in zip(group, reached, others, strict=True) if own.isdisjoint(other)]


def _elementwise_users(product: Operation) -> set[Operation]:
    """Return the elementwise operations on a product's result, and on their own results."""
    elementwise_users, left = set[Operation](), [product]
    while left:
        for user in users_of(left.pop().results[0]):
            row = row_of(user)
            if row is not None and is_elementwise(row) and user not in elementwise_users:
                elementwise_users.add(user)
                left.append(user)
    return elementwise_users


def _combine(members: Sequence[Branch]) -> None:
    first = members[0].op.operation
    axis, sizes = members[0].result_axis, [member.size for member in members]
    location = ir.Location.fused([member.op.location for member in members], context=first.context)
    values: list[Value] = [member.op.operation.results[0] for member in members]
    with ir.InsertionPoint(first), location:
        whole = _product(members, first)
        done = [member.op.operation for member in members]
        while (steps := _common_steps(values, axis, sizes, first)) is not None:
            whole = _step_of_all(whole, steps, axis, first)
            values = [step.op.operation.results[0] for step in steps]
            done += [step.op.operation for step in steps]
        slices = list(_slices(whole, axis, sizes))
        fitting = [stated(slice_, value.type) for slice_, value in zip(slices, values, strict=True)]
    for value, part in zip(values, fitting, strict=True):
        value.replace_all_uses_with(part)
    for operation in reversed(done):
        operation.erase()


def _product(members: Sequence[Branch], first: Operation) -> Value:
    weights = [member.weight for member in members]
    for weight in weights:
        bring_before(weight, first)
    joined = relax.concat(weights, axis=members[0].weight_axis)
    return _rebuild(members[0].op, [first.operands[0], joined])


def _rebuild(op: OpView, operands: Sequence[Value]) -> Value:
    """Build an operation like `op`, of its type, on other operands."""
    attributes = dict(op.operation.attributes)
    own = {name: attribute for name, attribute in attributes.items() if name in op.definition.attrs}
    made = op.definition(*operands, **own)
    for name in attributes.keys() - own.keys():
        made.owner.operation.attributes[name] = attributes[name]
    return made


def _common_steps(values: Sequence[Value], axis: int, sizes: Sequence[Dim], first: Operation) -> list[Step] | None:
    """Return the steps that follow on all branches, or None if they differ or cannot move to the first product."""
    steps = [next_step(value, axis, size) for value, size in zip(values, sizes, strict=True)]
    if not are_alike(steps):
        return None
    found = [step for step in steps if step is not None]
    return found if all(step.bias is None or makers_behind(step.bias, first) is not None for step in found) else None


def _step_of_all(whole: Value, steps: Sequence[Step], axis: int, first: Operation) -> Value:
    if not (biases := [step.bias for step in steps if step.bias is not None]):
        return _rebuild(steps[0].op, [whole])
    for bias in biases:
        bring_before(bias, first)
    joined = relax.concat(biases, axis=axis)
    return _rebuild(steps[0].op, [whole, joined] if steps[0].bias_index == 1 else [joined, whole])


def _slices(whole: Value, axis: int, sizes: Sequence[Dim]) -> Iterator[Value]:
    shape = shape_of(whole)
    assert shape is not None
    begin: Dim = 0
    for size in sizes:
        end = dim_add(begin, size)
        yield relax.dialect.ops["strided_slice"](whole, axes=[len(shape) + axis], begin=[begin], end=[end])
        begin = end
