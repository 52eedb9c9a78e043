# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, summed in a wide dtype and rounded once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ...bindings.affine import identity
from ...bindings.ir import Value
from ...dialects.core.infos import is_unsigned
from ...emit import linalg, loops
from ...emit.arithmetic import element
from ...emit.conversions import rounded
from ...emit.indices import as_position
from ...emit.numbers import Number, as_index, select
from ...emit.parallel import share_places
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: Sums over a whole batch are long. In f32 their error would grow with the length.
_SUM = "f64"


@register_legalize("relax.nn.cross_entropy_with_logits")
def cross_entropy_with_logits(call: LegalizeCall) -> Legalized:
    dtype = call.dtype(call.operands[0])

    def loss(predictions: Value, labels: Value, output: Value) -> Value:
        sizes = linalg.sizes(predictions)
        for axis, size in enumerate(linalg.sizes(labels)):
            loops.require_same(sizes[axis], size, f"axis {axis} of predictions and labels")
        add = lambda x, y, total: x.of(dtype).to(_SUM) * y.of(dtype).to(_SUM) + total  # noqa: E731
        (total,) = _fold_sums([predictions, labels], 1, add)
        batch = as_index(sizes[0] if len(sizes) > 1 else 1)
        return _make_scalar([total], output, lambda x: -x / batch.to(_SUM), dtype)

    return call.prim(loss)


@register_legalize("relax.nn.nll_loss")
def nll_loss(call: LegalizeCall) -> Legalized:
    dtype, target_dtype = call.dtype(call.operands[0]), call.dtype(call.operands[1])
    reduction, has_weights = call.op.reduction, len(call.operands) > 2
    ignored = None if is_unsigned(target_dtype) and call.op.ignore_index < 0 else call.op.ignore_index

    def loss(predictions: Value, targets: Value, *rest: Value) -> Value:
        weights, output = rest[0] if has_weights else None, rest[-1]
        gather = _Gather(predictions, targets, weights, dtype, target_dtype, ignored)
        gather.check()
        if reduction == "none":
            return gather.each(output)
        if reduction == "sum":
            (total,) = _fold_sums([targets], 1, lambda target, total: gather.add(target, [total])[0])
            return _make_scalar([total], output, lambda x: x, dtype)
        totals = _fold_sums([targets], 2, lambda target, *totals: gather.add(target, totals))
        return _make_scalar(totals, output, operator.truediv, dtype)

    return call.prim(loss, pattern="opaque" if reduction == "none" else None)


class _Gather:
    """Losses of targets: -prediction * weight of the target's class, or 0 for the ignored target."""

    def __init__(
        self,
        predictions: Value,
        targets: Value,
        weights: Value | None,
        dtype: str,
        target_dtype: str,
        ignored: int | None,
    ):
        self.predictions, self.targets, self.weights = predictions, targets, weights
        self.dtype, self.target_dtype, self.ignored = dtype, target_dtype, ignored
        self.rank = linalg.rank_of(targets)
        self.class_axis = 0 if linalg.rank_of(predictions) == 1 else 1
        self.classes = linalg.sizes(predictions)[self.class_axis]

    def check(self) -> None:
        """Raise an error for sizes that do not match, and for a target that is not a class."""
        sizes = linalg.sizes(self.predictions)
        del sizes[self.class_axis]
        for axis, size in enumerate(linalg.sizes(self.targets)):
            loops.require_same(sizes[axis], size, f"axis {axis} of predictions without classes and targets")
        if self.weights is not None:
            loops.require_same(self.classes, linalg.sizes(self.weights)[0], "classes and weights")
        share_places(linalg.sizes(self.targets), self._check_target)

    def _check_target(self, *at: Number) -> None:
        target = as_position(loops.load(self.targets, *at), self.target_dtype)
        classes = as_index(self.classes)
        is_valid = (target >= 0) & (target < classes)
        if self.ignored is not None:
            # Without classes there is nothing to read, not even for an ignored target.
            is_valid = is_valid | ((target == self.ignored) & (classes > 0))
        message = "target {} is out of range for {} classes"
        loops.require(is_valid, "IndexError", message, target, classes)

    def _loss(self, target: Number) -> tuple[Number, Number]:
        """Return the loss and the weight in the summation dtype, inside of a loop over the targets."""
        place = as_position(target, self.target_dtype)
        is_ignored = place == self.ignored if self.ignored is not None else None
        if is_ignored is not None:
            place = select(is_ignored, 0, place)
        indices = [linalg.index(axis) for axis in range(self.rank)]
        indices.insert(self.class_axis, place)
        loss = -linalg.extract(self.predictions, indices).of(self.dtype).to(_SUM)
        weight = loss.constant(1.0)
        if self.weights is not None:
            weight = linalg.extract(self.weights, [place]).of(self.dtype).to(_SUM)
            loss = loss * weight
        if is_ignored is not None:
            loss, weight = select(is_ignored, 0.0, loss), select(is_ignored, 0.0, weight)
        return loss, weight

    def each(self, output: Value) -> Value:
        return linalg.parallel([self.targets], output, lambda target: rounded(self._loss(target)[0], self.dtype))

    def add(self, target: Number, totals: Sequence[Number]) -> list[Number]:
        """Add a target's loss, and its weight if requested, to the sums."""
        return [total + part for total, part in zip(totals, self._loss(target), strict=False)]


def _fold_sums(inputs: Sequence[Value], count: int, step: linalg.ScalarBody) -> list[Value]:
    """Fold `totals = step(*elements, *totals)` over tensors of one shape, from 0."""
    rank = linalg.rank_of(inputs[0])
    starts = [linalg.fill(0, linalg.empty([], element(_SUM))) for _ in range(count)]
    maps = [identity(rank)] * len(inputs) + [linalg.select_dims(rank, [])] * count
    return linalg.generic(inputs, starts, maps, [linalg.REDUCTION] * rank, step)


def _make_scalar(totals: Sequence[Value], output: Value, function: Callable[..., Number], dtype: str) -> Value:
    """Return the scalar result, a function of sums."""
    return linalg.parallel(totals, output, lambda *scalars: rounded(function(*scalars), dtype))
