# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Propagation of shardings by the operators' rules, forward and backward, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, TypeAlias

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import use_count
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import TensorInfo, is_float
from relax_mlir.dialects.core.symbols import Dim, SymExpr, equal

from . import relax_rules  # noqa: F401  # registers the rules of this project's operators
from .factors import ShardingFactor, factors_of, shape_of
from .mesh import Mesh, Sharding, whole

#: Patterns of operators. Kernels of anchors have the maps behind them, or sums the maps and moves before them.
_MAPS, _MOVE, _SUM = ("elemwise", "broadcast"), "injective", "comm_reduce"
_ANCHORS = ("out_ewise_fusable", _SUM)
#: Patterns of operators with sums.
_ACROSS = (*_ANCHORS, "")
#: Sums that have another pattern.
_COLLAPSING = ("relax.collapse_sum_like", "relax.collapse_sum_to")


class FactoredOperation(NamedTuple):
    """An operation, its values (operands first) and their whole shapes, and its factors; None without a rule."""

    operation: Operation
    values: tuple[Value, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    factors: tuple[ShardingFactor, ...] | None
    #: Factors along which all users add the result in the same kernel, where one process rounds a product and its sum
    #: together.
    added: frozenset[ShardingFactor] = frozenset()

    def divides(self, factor: ShardingFactor, plan: ShardingPlan) -> bool:
        """Return True if ranks may have parts of a factor: no result depends on two parts, or parts may be combined."""
        is_rounded = factor.kind in ("sum", "prod") and is_float(element_of(self.values[-1]))
        return not (plan.keeps_sums and (is_rounded or factor in self.added or self.values[-1] in plan.undivided))

    def keeps_order(self, factor: ShardingFactor, axes: Sequence[str], plan: ShardingPlan) -> bool:
        """Return False if sums run across a dimension with parts of one element, in an order of their own."""
        row = row_of(self.operation.opview)
        is_across = row is not None and _pattern(self) in _ACROSS and not factor.is_outer
        if not plan.keeps_sums or not is_across or any(size != plan.mesh.count(axes) for size in factor.sizes):
            return True
        results = {place for other in self.factors or () if not other.kind for place in other.places}
        operands = [place for place in factor.places if place[0] < len(self.operation.operands)]
        return all(
            (value, before) in results or self.shapes[value][before] == 1
            for value, dimension in operands
            for before in range(dimension)
        )

    def count(self, index: int) -> int:
        """Return the number of elements of a value as far as it is known."""
        return prod(size for size in self.shapes[index] if isinstance(size, int))


@dataclass
class ShardingPlan:
    """Sharding of each value of a function."""

    mesh: Mesh
    #: True: a float's sum stays in one rank, so that results have the bits of one process.
    keeps_sums: bool
    shardings: dict[Value, Sharding] = field(default_factory=dict)
    #: Values with a sharding that the user chose.
    fixed: set[Value] = field(default_factory=set)
    #: Results that one rank computes, since a collective would stand between a product and its sum.
    undivided: set[Value] = field(default_factory=set)
    #: Symbols that the arguments divide. Others are not divided.
    symbols: frozenset[str] = frozenset()

    def sharding_of(self, value: Value) -> Sharding:
        return self.shardings.get(value) or whole(len(shape_of(value)))

    def can_divide(self, factor: ShardingFactor, axes: Sequence[str]) -> bool:
        """Return True if a factor has parts for these axes.

        Parts may be short if all dimensions have one size and nothing combines the parts.
        """
        count = self.mesh.count(axes)
        is_short = not factor.kind and len(factor.sizes) == 1
        return all(self._can_divide(size, count, is_short) for size in factor.sizes)

    def _can_divide(self, size: Dim, count: int, is_short: bool) -> bool:
        if isinstance(size, int):
            return size % count == 0 or (is_short and size > count)
        return isinstance(size, SymExpr) and size.variables <= self.symbols and equal(size % count, 0) is True


#: Function that extends a plan to all values.
Planner: TypeAlias = "Callable[[Sequence[FactoredOperation], ShardingPlan], None]"


def element_of(value: Value) -> str:
    info = decode(value.type)
    return info.dtype or "" if isinstance(info, TensorInfo) else ""


def propagate(steps: Sequence[FactoredOperation], plan: ShardingPlan) -> None:
    """Extend the plan to all values."""
    order = [*steps, *reversed(steps)]
    while any([_propagate(step, plan) for step in order]):  # a list: each round visits all operations
        pass


def keep_whole(arguments: Collection[Value], steps: Sequence[FactoredOperation], plan: ShardingPlan) -> bool:
    """Undo the division of arguments that an operation would gather. Return True if there are some."""
    before = len(plan.fixed)
    for _, value in _moved_operands(steps, plan, is_traced=False):
        if value in arguments and value not in plan.fixed:
            plan.shardings[value] = whole(len(shape_of(value)))
            plan.fixed.add(value)
    return len(plan.fixed) > before


def keep_kernels(steps: Sequence[FactoredOperation], plan: ShardingPlan) -> bool:
    """Undo the division of sums and of products if a collective would stand between. Return True if there are some."""
    if not plan.keeps_sums:
        return False
    products = {step.values[-1] for step in steps if step.added}
    before = len(plan.undivided)
    for step, value in _moved_operands(steps, plan, is_traced=True):
        if value in products:
            plan.undivided |= {value, step.values[-1]}
    return len(plan.undivided) > before


def _moved_operands(
    steps: Sequence[FactoredOperation], plan: ShardingPlan, *, is_traced: bool
) -> Iterator[tuple[FactoredOperation, Value]]:
    """Yield operations with operands that a collective moves: planned results, or traced ones as they are computed."""
    have: dict[Value, Sharding] = {}
    for step in steps:
        chosen = chosen_axes(step, plan, have)
        for index, value in enumerate(step.values):
            sharding = required_sharding(step, chosen, index)
            if index < len(step.operation.operands):
                if sharding != (have.get(value) or plan.sharding_of(value)):
                    yield step, value
            elif is_traced:
                have[value] = sharding


def _propagate(step: FactoredOperation, plan: ShardingPlan) -> bool:
    changed = False
    for factor in step.factors or ():
        axes = next(iter(_candidates(step, factor, plan)), ()) if step.divides(factor, plan) else ()
        if axes and plan.can_divide(factor, axes) and step.keeps_order(factor, axes, plan):
            for place, dimension in factor.places:
                changed |= _give(step.values[place], dimension, axes, plan)
    return changed


def _give(value: Value, dimension: int, axes: tuple[str, ...], plan: ShardingPlan) -> bool:
    """Divide a dimension of a value unless it is divided, or fixed, or has one of the axes elsewhere."""
    sharding = plan.sharding_of(value)
    if (
        value in plan.fixed
        or sharding[dimension]
        or {axis for dimension_axes in sharding for axis in dimension_axes} & set(axes)
    ):
        return False
    plan.shardings[value] = (*sharding[:dimension], axes, *sharding[dimension + 1 :])
    return True


def _candidates(step: FactoredOperation, factor: ShardingFactor, plan: ShardingPlan) -> list[tuple[str, ...]]:
    """Return the axes that divide a factor in some value: axes of more elements first."""
    weights: dict[tuple[str, ...], int] = {}
    for place, dimension in factor.places:
        if axes := plan.sharding_of(step.values[place])[dimension]:
            weights[axes] = weights.get(axes, 0) + step.count(place)
    return sorted(weights, key=lambda axes: -weights[axes])


def chosen_axes(step: FactoredOperation, plan: ShardingPlan, have: Mapping[Value, Sharding]) -> list[tuple[str, ...]]:
    """Return the axes that divide each factor of an operation, if operands have certain shardings."""
    factors, weighed = step.factors or (), []
    for index, factor in enumerate(factors):
        for place, dimension in factor.places if step.divides(factor, plan) else ():
            value = step.values[place]
            if axes := (have.get(value) or plan.sharding_of(value))[dimension]:
                weighed.append((-step.count(place), index, axes))
    chosen: list[tuple[str, ...]] = [()] * len(factors)
    used: set[str] = set()
    for _, index, axes in sorted(weighed):
        is_free = not chosen[index] and used.isdisjoint(axes)
        if is_free and plan.can_divide(factors[index], axes) and step.keeps_order(factors[index], axes, plan):
            chosen[index] = axes
            used |= set(axes)
    return chosen


def required_sharding(step: FactoredOperation, chosen: Sequence[tuple[str, ...]], index: int) -> Sharding:
    """Return the sharding that an operation needs of one of its values, or gives to it."""
    sharding = list(whole(len(step.shapes[index])))
    for factor, axes in zip(step.factors or (), chosen, strict=True):
        for place, dimension in factor.places:
            if place == index:
                sharding[dimension] = axes
    return tuple(sharding)


def steps_of(operations: Collection[Operation]) -> list[FactoredOperation]:
    """Return the operations with their factors."""
    steps = [_read_step(operation) for operation in operations]
    anchored: set[Value] = set()
    for step in steps:
        if _pattern(step) in _ANCHORS or (_pattern(step) in _MAPS and _continues(step, anchored)):
            anchored.update(step.operation.results)
    uses: dict[Value, list[set[int]]] = {}
    for index, step in reversed(list(enumerate(steps))):
        steps[index] = step = step._replace(added=_added_factors(step, uses, anchored))
        for place, value in enumerate(step.operation.operands):
            uses.setdefault(value, []).append(_added_dimensions(step, place))
    return steps


def _read_step(operation: Operation) -> FactoredOperation:
    factors = None if len(operation.regions) else factors_of(operation)
    values = (*operation.operands, *operation.results)
    shapes = tuple(shape_of(value) for value in values)
    return FactoredOperation(operation, values, shapes, None if factors is None else tuple(factors))


def _pattern(step: FactoredOperation) -> str:
    row = row_of(step.operation.opview)
    return _SUM if step.operation.name in _COLLAPSING else row.pattern if row else ""


def _continues(step: FactoredOperation, anchored: Collection[Value]) -> bool:
    """Return True if a kernel that ends with an operand computes the result, too."""
    result = step.shapes[-1]
    return any(
        value in anchored and use_count(value) == 1 and shape == result
        for value, shape in zip(step.operation.operands, step.shapes, strict=False)
    )


def _added_factors(
    step: FactoredOperation, uses: Mapping[Value, Sequence[set[int]]], anchored: Collection[Value]
) -> frozenset[ShardingFactor]:
    """Return the factors along which all users add the result, if one kernel computes it and the sums."""
    result = step.values[-1]
    if _pattern(step) not in (*_MAPS, _MOVE) or result in anchored or len(uses.get(result, ())) != use_count(result):
        return frozenset()
    dimensions = set.intersection(*uses[result]) if uses.get(result) else set()
    last = len(step.values) - 1
    return frozenset(
        factor for factor in step.factors or () if {(last, axis) for axis in dimensions} & {*factor.places}
    )


def _added_dimensions(step: FactoredOperation, index: int) -> set[int]:
    """Return the dimensions of an operand along which a sum in the same kernel adds its elements."""
    if _pattern(step) != _SUM:
        return {axis for factor in step.added for place, axis in factor.places if place == index}
    if step.factors is None or index or not is_float(element_of(step.values[-1])):
        return set()
    others = {place for factor in step.factors if factor.kind != "sum" for place in factor.places}
    return {axis for axis in range(len(step.shapes[0])) if (0, axis) not in others}
