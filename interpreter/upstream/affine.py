# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""affine: loops, accesses and conditions whose numbers are linear expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ...bindings.affine import by_operators, value_of
from ...bindings.ir import AffineExpr, AffineMap
from ...bindings.mlir import ir
from ..registry import register_step
from ..sites import Frame, Site, Step
from .memref import held
from .operands import segments
from .places import element, put

#: What an expression is, of the dimensions' values, and behind them the symbols'.
Place = Callable[[Sequence[Any]], Any]


def place_of(expr: AffineExpr, dims: int = 0) -> Place:
    """A function of the values of so many dimensions, numbers or arrays, and of symbols behind them."""

    def at(position: int) -> Place:
        return lambda values: values[position]

    def constant(number: int) -> Place:
        return lambda values: number

    def joined(sign: str, left: Place, right: Place) -> Place:
        return lambda values: by_operators(sign, left(values), right(values))

    found: Place = value_of(expr, at, joined, constant, lambda position: at(dims + position))
    return found


def places_of(map_: AffineMap) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    places = [place_of(expr, map_.n_dims) for expr in map_.results]
    return lambda values: tuple(place(values) for place in places)


def _map(site: Site, name: str = "map") -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    return places_of(site.attributes[name].value)


@register_step("affine.apply")
def apply(site: Site) -> Step:
    of = _map(site)
    return lambda frame, *operands: numpy.int64(of(operands)[0])


@register_step("affine.min")
def minimum(site: Site) -> Step:
    of = _map(site)
    return lambda frame, *operands: numpy.int64(min(of(operands)))


@register_step("affine.max")
def maximum(site: Site) -> Step:
    of = _map(site)
    return lambda frame, *operands: numpy.int64(max(of(operands)))


@register_step(["affine.load"])
def load(site: Site) -> Step:
    of = _map(site)
    return lambda frame, array, *operands: element(site, held(site, array), of(operands))


@register_step(["affine.store"])
def store(site: Site) -> Step:
    of = _map(site)
    return lambda frame, value, array, *operands: put(site, held(site, array), of(operands), value)


@register_step("affine.for")
def for_loop(site: Site) -> Step:
    body, split, step = site.body(), segments(site), int(site.attributes["step"].value)
    lowest, highest = _map(site, "lowerBoundMap"), _map(site, "upperBoundMap")

    def run(frame: Frame, *operands: Any) -> list[Any]:
        lower, upper, carried = split(operands)
        values: Sequence[Any] = carried
        for position in range(int(max(lowest(lower))), int(min(highest(upper))), step):
            values = body.run(frame, [numpy.int64(position), *values])
        return list(values)

    return run


@register_step("affine.if")
def branch(site: Site) -> Step:
    holds = _constraints(site)
    then = site.body(0)
    otherwise = site.body(1) if site.has_body(1) else None

    def run(frame: Frame, *operands: Any) -> list[Any]:
        numbers = [(of(operands), is_equal) for of, is_equal in holds]
        is_so = all(number == 0 if is_equal else number >= 0 for number, is_equal in numbers)
        chosen = then if is_so else otherwise
        return [] if chosen is None else list(chosen.run(frame, ()))

    return run


def _constraints(site: Site) -> list[tuple[Place, bool]]:
    """What must be 0, or not below it: the bindings have a set as text only, `affine_set<(d0) : (d0 - 4 >= 0)>`."""
    names, _, conditions = (
        str(site.attributes["condition"]).removeprefix("affine_set<").removesuffix(">").partition(" : ")
    )
    parts = [part.rsplit(" ", 2) for part in conditions.strip("()").split(", ")]
    text = f"affine_map<{names} -> ({', '.join(expression for expression, _, _ in parts)})>"
    map_ = ir.Attribute.parse(text, site.operation.context).value
    return [(place_of(expr, map_.n_dims), sign == "==") for expr, (_, sign, _) in zip(map_.results, parts, strict=True)]


@register_step("affine.parallel")
def parallel(site: Site) -> Step:
    if len(site.operation.results):
        raise site.refusal("the reference does not run its reductions")
    body, steps = site.body(), [int(step) for step in site.attributes["steps"]]
    lower_map, upper_map = site.attributes["lowerBoundsMap"].value, site.attributes["upperBoundsMap"].value
    lowest, highest = places_of(lower_map), places_of(upper_map)
    counts = [[int(count) for count in site.attributes[f"{name}BoundsGroups"]] for name in ("lower", "upper")]
    inputs = lower_map.n_inputs

    def grouped(numbers: Sequence[Any], lengths: Sequence[int], of: Callable[[Sequence[Any]], Any]) -> list[int]:
        rest = iter(numbers)
        return [int(of(list(itertools.islice(rest, length)))) for length in lengths]

    def run(frame: Frame, *operands: Any) -> None:
        starts = grouped(lowest(operands[:inputs]), counts[0], max)
        stops = grouped(highest(operands[inputs:]), counts[1], min)
        for point in itertools.product(*map(range, starts, stops, steps)):
            body.run(frame, list(map(numpy.int64, point)))

    return run
