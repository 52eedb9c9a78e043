# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Propagation of shardings by the operators' rules, forward and backward, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, TypeAlias

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo, is_float
from relax_mlir.dialects.core.symbols import Dim, SymExpr, equal

from . import relax_rules  # noqa: F401  # registers the rules of this project's operators
from .factors import ShardingFactor, factors_of, shape_of
from .mesh import Mesh, Sharding, whole


class FactoredOperation(NamedTuple):
    """An operation, its values (operands first) and their whole shapes, and its factors; None without a rule."""

    operation: Operation
    values: tuple[Value, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    factors: tuple[ShardingFactor, ...] | None

    def divides(self, factor: ShardingFactor, plan: ShardingPlan) -> bool:
        """Return True if ranks may have parts of a factor: no result depends on two parts, or parts may be combined."""
        is_rounded = factor.kind in ("sum", "prod") and is_float(element_of(self.values[-1]))
        return not (plan.keeps_sums and is_rounded)

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
    undone = False
    for step in steps:
        chosen = chosen_axes(step, plan, {})
        for index, value in enumerate(step.operation.operands):
            if (
                value in arguments
                and value not in plan.fixed
                and required_sharding(step, chosen, index) != plan.sharding_of(value)
            ):
                plan.shardings[value] = whole(len(step.shapes[index]))
                plan.fixed.add(value)
                undone = True
    return undone


def _propagate(step: FactoredOperation, plan: ShardingPlan) -> bool:
    changed = False
    for factor in step.factors or ():
        axes = next(iter(_candidates(step, factor, plan)), ()) if step.divides(factor, plan) else ()
        if axes and plan.can_divide(factor, axes):
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
        if is_free and plan.can_divide(factors[index], axes):
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
    steps = []
    for operation in operations:
        factors = None if len(operation.regions) else factors_of(operation)
        values = (*operation.operands, *operation.results)
        shapes = tuple(shape_of(value) for value in values)
        steps.append(FactoredOperation(operation, values, shapes, None if factors is None else tuple(factors)))
    return steps
