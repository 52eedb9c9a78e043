# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, summed wide and rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.mlir import ir
from ...dialects.core.infos import is_unsigned
from ...dialects.tir.prim_func import OpPattern
from ...emit import linalg, loops, scalar, size_checks
from ...emit.conversions import convert_scalar, element, rounded
from ...emit.indices import as_position
from ...emit.numbers import number, select
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize

#: Sums over a whole batch are long: in f32 their error would grow with the length.
_SUM = "f64"


@register_legalize("relax.nn.cross_entropy_with_logits")
def cross_entropy_with_logits(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype = builder.dtype(operands[0])

    def loss(predictions: Any, labels: Any, output: Any) -> Any:
        sizes = linalg.sizes_of(predictions)
        for axis, size in enumerate(linalg.sizes_of(labels)):
            size_checks.require_same(sizes[axis], size, f"axis {axis} of predictions and labels")

        def step(x: Any, y: Any, total: Any) -> Any:
            return scalar.add(
                scalar.multiply(convert_scalar(x, dtype, _SUM), convert_scalar(y, dtype, _SUM), _SUM), total, _SUM
            )

        (total,) = _summed([predictions, labels], 1, step)
        batch = loops.index(sizes[0]) if len(sizes) > 1 else linalg.constant_index(1)
        return _finished([total], output, lambda x: (-number(x) / number(scalar.from_index(batch, _SUM))).value, dtype)

    return builder.prim(loss, pattern=OpPattern.COMM_REDUCE)


@register_legalize("relax.nn.nll_loss")
def nll_loss(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    dtype, target_dtype = builder.dtype(operands[0]), builder.dtype(operands[1])
    reduction, has_weights = op.reduction, len(operands) > 2
    ignored = None if is_unsigned(target_dtype) and op.ignore_index < 0 else op.ignore_index

    def loss(predictions: Any, targets: Any, *rest: Any) -> Any:
        weights, output = rest[0] if has_weights else None, rest[-1]
        gather = _Gather(predictions, targets, weights, dtype, target_dtype, ignored)
        gather.check()
        if reduction == "none":
            return gather.each(output)
        if reduction == "sum":
            (total,) = _summed([targets], 1, lambda target, total: gather.add(target, [total])[0])
            return _finished([total], output, lambda x: x, dtype)
        totals = _summed([targets], 2, lambda target, *totals: gather.add(target, totals))
        return _finished(totals, output, lambda x, weight: scalar.divide(x, weight, _SUM), dtype)

    pattern = OpPattern.OPAQUE if reduction == "none" else OpPattern.COMM_REDUCE
    return builder.prim(loss, pattern=pattern)


class _Gather:
    """The losses of targets: each is -prediction * weight of its class, or 0 where the target is the ignored one."""

    def __init__(
        self, predictions: Any, targets: Any, weights: Any, dtype: str, target_dtype: str, ignored: int | None
    ):
        self.predictions, self.targets, self.weights = predictions, targets, weights
        self.dtype, self.target_dtype, self.ignored = dtype, target_dtype, ignored
        self.rank = linalg.rank_of(targets)
        self.class_axis = 0 if linalg.rank_of(predictions) == 1 else 1
        self.classes = linalg.sizes_of(predictions)[self.class_axis]

    def check(self) -> None:
        """Raises for sizes that do not fit, and for a target that is no class."""
        sizes = linalg.sizes_of(self.predictions)
        del sizes[self.class_axis]
        for axis, size in enumerate(linalg.sizes_of(self.targets)):
            size_checks.require_same(sizes[axis], size, f"axis {axis} of predictions without classes and targets")
        if self.weights is not None:
            size_checks.require_same(self.classes, linalg.sizes_of(self.weights)[0], "classes and weights")
        loops.nest(linalg.sizes_of(self.targets), self._check_target)

    def _check_target(self, *at: Any) -> None:
        target = number(as_position(loops.load(self.targets, *at), self.target_dtype))
        classes = number(loops.index(self.classes))
        is_valid = (target >= 0) & (target < classes)
        if self.ignored is not None:
            # Without classes there is nothing to read, not even for a target that does not count.
            is_valid = is_valid | ((target == self.ignored) & (classes > 0))
        message = "target {} is out of range for {} classes"
        loops.require(is_valid.value, "IndexError", message, target.value, classes.value)

    def _loss(self, target: Any) -> tuple[Any, Any]:
        """Inside of a loop over the targets: the loss and the weight, as they are summed."""
        place = number(as_position(target, self.target_dtype))
        is_ignored = place == self.ignored if self.ignored is not None else None
        if is_ignored is not None:
            place = select(is_ignored, 0, place)
        indices = [linalg.index(axis) for axis in range(self.rank)]
        indices.insert(self.class_axis, place.value)
        loss = -number(convert_scalar(linalg.extract(self.predictions, indices), self.dtype, _SUM))
        weight = loss.constant(1.0)
        if self.weights is not None:
            weight = number(convert_scalar(linalg.extract(self.weights, [place.value]), self.dtype, _SUM))
            loss = loss * weight
        if is_ignored is not None:
            loss, weight = select(is_ignored, 0.0, loss), select(is_ignored, 0.0, weight)
        return loss.value, weight.value

    def each(self, output: Any) -> Any:
        maps = [linalg.identity(self.rank)] * 2
        body = lambda target, _: rounded(number(self._loss(target)[0]), self.dtype).value  # noqa: E731
        return linalg.generic([self.targets], [output], maps, [linalg.PARALLEL] * self.rank, body)[0]

    def add(self, target: Any, totals: Sequence[Any]) -> list[Any]:
        """The sums of losses, and of weights where they are asked for, with one more target."""
        return [scalar.add(total, part, _SUM) for total, part in zip(totals, self._loss(target), strict=False)]


def _summed(inputs: Sequence[Any], count: int, step: Any) -> list[Any]:
    """`totals = step(*elements, *totals)` over tensors of one shape, from 0."""
    rank = linalg.rank_of(inputs[0])
    zero = scalar.constant(0, element(_SUM))
    starts = [linalg.fill(zero, linalg.empty([], zero.type)) for _ in range(count)]
    maps = [linalg.identity(rank)] * len(inputs) + [ir.AffineMap.get(rank, 0, [])] * count
    return linalg.generic(inputs, starts, maps, [linalg.REDUCTION] * rank, step)


def _finished(totals: Sequence[Any], output: Any, function: Any, dtype: str) -> Any:
    """The scalar result: a function of sums."""
    maps = [linalg.identity(0)] * (len(totals) + 1)
    body = lambda *scalars: rounded(number(function(*scalars[:-1])), dtype).value  # noqa: E731
    return linalg.generic(totals, [output], maps, [], body)[0]
