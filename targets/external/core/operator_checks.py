# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libraries ask alike of operators: their dimensions in the usual order, and whether there is anything to do."""

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
from ....passes.quantization.kept import multiplies_quantized


def call_at(op: Operation) -> Call:
    """An operator's operation as inference sees it."""
    row = row_of(op)
    assert row is not None, op
    return call_of(row, op)


def same(one: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Whether shapes are surely the same."""
    return len(one) == len(other) and all(equal(*pair) is True for pair in zip(one, other, strict=True))


def is_static(shape: Sequence[Dim] | None) -> bool:
    """Whether every size is a number."""
    return shape is not None and all(isinstance(size, int) for size in shape)


def order_of(layout: Layout) -> list[int]:
    """Which axis each dimension is: images and channels, then what windows slide over."""
    return [[axis.dimension for axis in layout.axes].index(letter) for letter in layout.dimensions]


def permuted_order(call: Call) -> list[int]:
    """The axes of permute_dims, counted from the front."""
    rank = len(call.x.shape)
    return [*reversed(range(rank))] if call.axes is None else [axis % rank for axis in call.axes]


def normal_axes(call: Call) -> list[int]:
    """The axes of a norm, from the front on."""
    rank = len(call.data.shape)
    return sorted(normal_axis(axis, rank) for axis in call.axes)


def refuse_reduction(op: Operation, call: Call) -> str:
    if not call.x.shape:
        return "there is nothing to reduce"
    return "" if call.axis is None or call.axis else "no axis is reduced"


class OperatorChecks(NamedTuple):
    """What keeps libraries that have much in common from an operation; empty where nothing does."""

    library: str

    def layouts(self, call: Call) -> str:
        blocked = next((each for each in layouts_of(call).values() if blocked_dimensions(each)), None)
        return "" if blocked is None else f"layout {blocked.text} is in blocks, which {self.library} chooses itself"

    def clip(self, op: Operation, call: Call) -> str:
        low, high = (call.operands[name].value for name in ("min", "max"))
        if not all(isinstance(each, (int, float)) for each in (low, high)):
            return f"{self.library} has to know the limits when it compiles"
        return "" if low <= high else f"the limits {low} and {high} hold nothing between them"

    def split(self, op: Operation, call: Call) -> str:
        is_known = isinstance(call.x.shape[normal_axis(call.axis, len(call.x.shape))], int)
        return "" if is_known else f"{self.library} has to know the size that is split"

    def batch_norm(self, op: Operation, call: Call) -> str:
        if call.training:
            return f"{self.library} is used for inference, and this norm takes the statistics of the batch"
        if any(use_count(each) for each in list(op.results)[1:]):
            return f"the new mean and variance are used, which {self.library} does not give"
        return ""

    def layer_norm(self, op: Operation, call: Call) -> str:
        shape, axes = call.data.shape, normal_axes(call)
        if axes != [*range(len(shape) - len(axes), len(shape))]:
            return f"{self.library} normalizes over the last dimensions, not over {tuple(call.axes)}"
        return self._normalized(shape[axes[0] :])

    def group_norm(self, op: Operation, call: Call) -> str:
        rank = len(call.data.shape)
        if normal_axis(call.channel_axis, rank) != 1 or normal_axes(call) != [*range(2, rank)]:
            return f"{self.library} normalizes groups of channels where these are dimension 1, over all that follow"
        return self._normalized(call.data.shape[1:])

    def _normalized(self, sizes: Sequence[Dim]) -> str:
        return "" if is_static(sizes) else f"{self.library} has to know the sizes that are normalized"


def refuse_quantized(product: Operation) -> str:
    """Why a product or convolution is left, of quantized numbers; empty for those of real numbers."""
    return "of quantized numbers the target makes a product of whole numbers" if multiplies_quantized(product) else ""
