# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear forms of indices with upper and lower bounds."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import constant_of, made_by

#: Variable of an index: a loop counter, another value, or a dimension of a linalg operation.
Term = Hashable
#: Maximum number of bounds considered per number.
_MOST_BOUNDS = 8


class Linear(NamedTuple):
    """Linear form: a number plus multiples of variables."""

    number: int
    terms: dict[Term, int]

    def plus(self, other: Linear, scale: int = 1) -> Linear:
        if not other.terms:
            return Linear(self.number + scale * other.number, self.terms)
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + scale * factor
        return Linear(self.number + scale * other.number, {term: factor for term, factor in terms.items() if factor})


NONE, ONE = Linear(0, {}), Linear(1, {})


class Linears:
    """Linear forms of one function's index values, cached."""

    def __init__(self) -> None:
        self._known: dict[Value, Linear] = {}

    def of(self, value: Value) -> Linear:
        if value not in self._known:
            self._known[value] = self._new(value)
        return self._known[value]

    def _new(self, value: Value) -> Linear:
        if (number := constant_of(value)) is not None:
            return Linear(number, {})
        sum_ = made_by(value, "arith.addi", "arith.subi")
        if sum_ is not None and _rounded_down(value) is None:
            left, right = map(self.of, sum_.operands)
            return left.plus(right, 1 if sum_.name == "arith.addi" else -1)
        product = made_by(value, "arith.muli")
        if product is not None and _rounded_down(value) is None:
            left, right = map(self.of, product.operands)
            for one, other in ((left, right), (right, left)):
                if not other.terms:
                    return NONE.plus(one, other.number)
        return Linear(0, {value: 1})

    # ---- the counters of loops ----

    def steps_of(self, loop: Operation) -> tuple[Linear, ...]:
        """Return lower bounds of the distance between consecutive iterations."""
        step = self.of(loop.operands[2])
        return (step, ONE) if step.terms else (step,)

    def firsts_of(self, loop: Operation) -> tuple[Linear, ...]:
        """Return lower bounds of the counter, the most exact first."""
        first = self.of(loop.operands[0])
        return (first, NONE) if first.terms and _is_natural(loop.operands[0]) else (first,)

    def lasts_of(self, loop: Operation) -> tuple[Linear, ...]:
        """Return upper bounds of the counter, the most exact first."""
        low, high = map(self.of, list(loop.operands)[:2])
        step = constant_of(loop.operands[2]) or 1
        if not low.terms and not high.terms:
            return (Linear(low.number + max(high.number - 1 - low.number, 0) // step * step, {}),)
        is_whole = (low == NONE and is_multiple(loop.operands[1], step)) or _is_multiple(high.plus(low, -1), step)
        return tuple(bound.plus(ONE, -step if is_whole else -1) for bound in self.bounds_of(loop.operands[1]))

    def bounds_of(self, value: Value) -> list[Linear]:
        """Return the linear form of a value, followed by upper bounds."""
        bounds = [self.of(value)]
        for each in bounds:
            for term, factor in each.terms.items():
                for bound in self._not_below(term) if factor > 0 else ():
                    if len(bounds) < _MOST_BOUNDS:
                        bounds.append(each.plus(Linear(0, {term: -factor})).plus(bound, factor))
        return bounds

    def _not_below(self, term: Term) -> list[Linear]:
        if not isinstance(term, Value):
            return []
        least, whole = made_by(term, "arith.minsi"), _rounded_down(term)
        if least is not None:
            return list(map(self.of, least.operands))
        return [self.of(whole.value)] if whole is not None and _is_natural(whole.value) else []


def is_positive(form: Linear) -> bool:
    """Check that a linear form is positive. A negative term must be outweighed by a term that is at least as large."""
    if form.number <= 0:
        return False
    terms = dict(form.terms)
    for term, factor in form.terms.items():
        outweighing = (key for key, times in terms.items() if times >= -factor and _is_at_most(term, key))
        if factor < 0 and (other := next(outweighing, None)) is not None:
            terms[other] += terms.pop(term)
    return all(factor == 0 or (factor > 0 and _is_natural(term)) for term, factor in terms.items())


def _is_at_most(term: Term, other: Term) -> bool:
    """Check whether a term is a rounded-down value, and the other term the value itself or a finer rounding."""
    whole, part = _rounded_down(term), _rounded_down(other)
    if whole is None or not _is_natural(whole.value):
        return False
    if part is None or part.step is None or part.value != whole.value:
        return other == whole.value
    return is_multiple(term, part.step)


def _is_multiple(form: Linear, step: int) -> bool:
    """Check whether a sum of rounded-down values is a multiple of a step."""
    whole = (_rounded_down(term) if is_multiple(term, step) else None for term in form.terms)
    return form.number % step == 0 and all(value is not None and _is_natural(value.value) for value in whole)


def _is_natural(value: Term) -> bool:
    """Check that a value is known to be nonnegative."""
    if not isinstance(value, Value):
        return False
    if (number := constant_of(value)) is not None:
        return number >= 0
    least, whole, rest = made_by(value, "arith.minsi"), _rounded_down(value), made_by(value, "arith.remui")
    if least is not None:
        around = list(map(_loop_of_rest, least.operands))
        steps = [loop.operands[2] for loop in around if loop is not None]
        return all(operand in steps or _is_natural(operand) for operand in least.operands)
    if whole is not None:
        return _is_natural(whole.value)
    if rest is not None:
        return (constant_of(rest.operands[1]) or 0) > 0
    # Index arithmetic does not overflow: linear forms add and multiply without bounds.
    if (computed := made_by(value, "arith.addi", "arith.muli")) is not None:
        return all(map(_is_natural, computed.operands))
    return made_by(value, "memref.dim") is not None or _loop_of_rest(value) is not None


def is_multiple(value: Term, step: int) -> bool:
    """Check whether a value is rounded down to a multiple of the step, as the ends of vector loops are."""
    whole = _rounded_down(value)
    return whole is not None and (whole.step or 1) % step == 0


class _RoundedValue(NamedTuple):
    """Value rounded down to a multiple of `step`, or of an unknown step (None)."""

    value: Value
    step: int | None


def _rounded_down(value: Term) -> _RoundedValue | None:
    """Match `x - x % step` and `x / step * step`, and return the rounded value x with its step."""
    if not isinstance(value, Value):
        return None
    less, product = made_by(value, "arith.subi"), made_by(value, "arith.muli")
    part = made_by(less.operands[1], "arith.remui", "arith.remsi") if less is not None else None
    if less is not None and part is not None and part.operands[0] == less.operands[0]:
        return _RoundedValue(part.operands[0], _positive(part.operands[1]))
    part = made_by(product.operands[0], "arith.divui") if product is not None else None
    step = None if part is None else _positive(part.operands[1])
    if product is None or part is None or step is None or constant_of(product.operands[1]) != step:
        return None
    return _RoundedValue(part.operands[0], step)


def _positive(value: Value) -> int | None:
    number = constant_of(value)
    return number if number is not None and number > 0 else None


def _loop_of_rest(value: Value) -> Operation | None:
    """Return the loop if a value is its end minus its counter, which is at least 1 inside the loop."""
    less = made_by(value, "arith.subi")
    if less is None or not isinstance(less.operands[1].owner, Block):
        return None
    end, counter = less.operands
    loop = counter.owner.owner.operation
    is_left = loop.name == "scf.for" and counter == counter.owner.arguments[0] and end == loop.operands[1]
    return loop if is_left else None
