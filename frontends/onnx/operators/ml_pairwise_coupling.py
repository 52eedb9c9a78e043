# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Probabilities of classes from those between each two of them: pairwise coupling by LIBSVM's iteration.

The iteration ends early, up to 0.005 from where it goes, so its steps are those of the reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....dialects.core.infos import TensorInfo
from ....emit import loops
from ....emit.numbers import Number, constant, number, select
from ..control.scf_regions import truth
from ..prelude import Node, Tensor, const, info_of, relax

_LEAST_TURNS = 100
_PRECISION = 0.005
_LEAST_SHARE = 1e-7


def class_shares(node: Node, scores: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Any:
    """The probabilities of the classes [rows, classes] of the scores [rows, pairs], through a sigmoid for each pair."""
    slopes, offsets = (node.floats(name) or [] for name in ("prob_a", "prob_b"))
    if len(slopes) != len(pairs) or len(offsets) != len(pairs):
        counts = f"'prob_a' has {len(slopes)} numbers and 'prob_b' {len(offsets)}"
        raise node.fail(f"{counts}: {classes} classes need {len(pairs)} each, one for each pair", "prob_a")
    moved = relax["add"](relax["multiply"](scores, const(slopes, "f32")), const(offsets, "f32"))
    first = relax["clip"](relax["sigmoid"](relax["negative"](moved)), min=_LEAST_SHARE, max=1 - _LEAST_SHARE)
    info = info_of(scores)
    assert info.shape is not None
    result = TensorInfo((info.shape[0], classes), "f32")
    shares, _ = node.call_tir(_coupled, [_quadratic(first, pairs, classes)], [result, result])
    return shares


def _quadratic(first: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """The form [rows, classes, classes] that the probabilities make least, of those of each pair's first class."""
    import numpy

    places = numpy.eye(classes, dtype="float32")
    sides = [const(numpy.stack([places[pair[side]] for pair in pairs])) for side in (0, 1)]
    second = relax["subtract"](const(1.0, "f32"), first)
    diagonal = relax["add"](
        relax["matmul"](relax["square"](second), sides[0]), relax["matmul"](relax["square"](first), sides[1])
    )
    others = relax["negative"](relax["multiply"](first, second))
    table = numpy.diag(numpy.arange(classes))
    for index, (one, other) in enumerate(pairs):
        table[one, other] = table[other, one] = classes + index
    return relax["take"](relax["concat"](diagonal, others, axis=1), const(table, "i64"), axis=1)


def _coupled(form: Any, shares: Any, slopes: Any) -> None:
    """A kernel: the shares of each row; the form's slopes there are the iteration's memory."""
    rows, classes, _ = loops.sizes(form)
    assert isinstance(classes, int)
    loops.for_range(0, rows, lambda row: _Row(form, shares, slopes, row, classes).fill())


class _Row(NamedTuple):
    """One row of memrefs, and how many classes it has."""

    form: Any
    shares: Any
    slopes: Any
    row: Any
    classes: int

    def fill(self) -> None:
        loops.for_range(
            0, self.classes, lambda one: loops.store(self._real(1 / self.classes), self.shares, self.row, one)
        )

        def turn(_: Any, is_open: Any) -> list[Any]:
            return loops.when(is_open, self._improve, lambda: is_open, [is_open.type])

        loops.for_range(0, max(_LEAST_TURNS, self.classes), turn, truth(True))

    def _improve(self) -> Number:
        """One turn, unless the shares are good enough; whether they were not."""

        def derive(one: Any, value: Number) -> Number:
            slope = self._folded(
                lambda other, sum_: sum_ + self._of(self.form, one, other) * self._of(self.shares, other)
            )
            loops.store(slope, self.slopes, self.row, one)
            return value + self._of(self.shares, one) * slope

        value = self._folded(derive)
        error = self._folded(lambda one, most: _larger(most, _absolute(self._of(self.slopes, one) - value)))
        is_open = error >= _PRECISION / self.classes

        def sweep() -> None:
            self._folded(self._move, value)

        loops.when(is_open, sweep)
        return is_open

    def _move(self, one: Any, value: Number) -> Number:
        """Moves one share to where the form is least, all so that they are 1 together; the form's value there."""
        curve, slope = self._of(self.form, one, one), self._of(self.slopes, one)
        step = (value - slope) / curve
        whole = step + 1.0
        loops.store(self._of(self.shares, one) + step, self.shares, self.row, one)

        def scale(other: Any) -> None:
            moved = self._of(self.slopes, other) + step * self._of(self.form, one, other)
            loops.store(moved / whole, self.slopes, self.row, other)
            loops.store(self._of(self.shares, other) / whole, self.shares, self.row, other)

        loops.for_range(0, self.classes, scale)
        return (value + step * (step * curve + slope * 2.0)) / whole / whole

    def _of(self, buffer: Any, *places: Any) -> Number:
        return number(loops.load(buffer, self.row, *places))

    def _folded(self, body: Callable[[Any, Number], Number], start: Number | None = None) -> Number:
        """`result = body(class, result)` for each class."""
        first = self._real(0.0) if start is None else start
        (last,) = loops.for_range(0, self.classes, lambda one, result: body(one, number(result)), first.value)
        return number(last)

    def _real(self, value: float) -> Number:
        return constant(value, self.form.type.element_type)


def _absolute(x: Number) -> Number:
    return select(x < 0.0, -x, x)


def _larger(x: Number, y: Number) -> Number:
    return select(x < y, y, x)
