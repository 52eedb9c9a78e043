# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that codegens of several libraries share: dimension orders, axes, and common reasons to refuse an operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation
from ....bindings.navigation import use_count
from ....dialects.core.dialect import row_of
from ....dialects.core.opdef import Call
from ....dialects.core.symbols import Dim, equal
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.layouts import Layout, blocked_dimensions, layouts_of
from ....dialects.relax.values import normal_axis
from ..quantization.kept import multiplies_quantized


def call_at(op: Operation) -> Call:
    """Return the call that shape inference receives for an operation of a registered operator."""
    row = row_of(op)
    assert row is not None, op
    return call_of(row, op)


def same(one: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Check whether two shapes are provably equal."""
    return len(one) == len(other) and all(equal(*pair) is True for pair in zip(one, other, strict=True))


def is_static(shape: Sequence[Dim] | None) -> bool:
    """Check whether the rank is known and every size is a number."""
    return shape is not None and all(isinstance(size, int) for size in shape)


def order_of(layout: Layout) -> list[int]:
    """Return the axis of each dimension in the layout's canonical order: batch, channels, spatial dimensions."""
    return [[axis.dimension for axis in layout.axes].index(letter) for letter in layout.dimensions]


def permuted_order(call: Call) -> list[int]:
    """Return the axes of permute_dims as non-negative numbers. The default reverses them."""
    rank = len(call.x.shape)
    return [*reversed(range(rank))] if call.axes is None else [axis % rank for axis in call.axes]


def normal_axes(call: Call) -> list[int]:
    """Return the axes of a norm as non-negative numbers in ascending order."""
    rank = len(call.data.shape)
    return sorted(normal_axis(axis, rank) for axis in call.axes)


def refuse_reduction(op: Operation, call: Call) -> str:
    """Return why a library cannot reduce the tensor: a scalar, or no axis; or ""."""
    if not call.x.shape:
        return "there is nothing to reduce"
    return "" if call.axis is None or call.axis else "no axis is reduced"


class OperatorChecks(NamedTuple):
    """Reasons why a library cannot take an operation. A method returns an empty text if nothing prevents it."""

    library: str

    def layouts(self, call: Call) -> str:
        blocked = next((layout for layout in layouts_of(call).values() if blocked_dimensions(layout)), None)
        return "" if blocked is None else f"layout {blocked.text} is blocked, and {self.library} chooses blocks itself"

    def clip(self, op: Operation, call: Call) -> str:
        low, high = (call.operands[name].value for name in ("min", "max"))
        if not all(isinstance(each, (int, float)) for each in (low, high)):
            return f"{self.library} needs constant limits"
        return "" if low <= high else f"the lower limit {low} is above the upper limit {high}"

    def split(self, op: Operation, call: Call) -> str:
        is_known = isinstance(call.x.shape[normal_axis(call.axis, len(call.x.shape))], int)
        return "" if is_known else f"{self.library} needs a static size along the split axis"

    def batch_norm(self, op: Operation, call: Call) -> str:
        if call.training:
            return f"this norm uses the statistics of the batch (training), and {self.library} supports inference only"
        if any(use_count(result) for result in list(op.results)[1:]):
            return f"the new mean or variance has users, and {self.library} does not return them"
        return ""

    def layer_norm(self, op: Operation, call: Call) -> str:
        shape, axes = call.data.shape, normal_axes(call)
        if axes != [*range(len(shape) - len(axes), len(shape))]:
            return f"{self.library} normalizes over the last dimensions, not over {tuple(call.axes)}"
        return self._check_normalized(shape[axes[0] :])

    def group_norm(self, op: Operation, call: Call) -> str:
        rank = len(call.data.shape)
        if normal_axis(call.channel_axis, rank) != 1 or normal_axes(call) != [*range(2, rank)]:
            return f"{self.library} needs channels in dimension 1, and a norm over all dimensions after them"
        return self._check_normalized(call.data.shape[1:])

    def _check_normalized(self, sizes: Sequence[Dim]) -> str:
        return "" if is_static(sizes) else f"{self.library} needs static sizes of the normalized dimensions"


def refuse_quantized(product: Operation) -> str:
    """Return the reason to leave a product or convolution of quantized numbers. Empty for real numbers."""
    return (
        "the target computes a product of quantized numbers as an integer product"
        if multiplies_quantized(product)
        else ""
    )
