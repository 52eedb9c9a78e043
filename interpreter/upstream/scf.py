# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scf: loops and branches, of which each step is run in its turn, also where they could run at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ...bindings.navigation import operations_of
from ..registry import register_step
from ..sites import Body, Flow, Frame, Site, Step
from .operands import mixed, segments


def _range(site: Site, lower: Any, upper: Any, step: Any) -> Iterator[Any]:
    """The steps of a loop, numbers of the bounds' type."""
    if step <= 0:
        raise site.refusal(f"its step is {step}, which is undefined")
    return map(numpy.asarray(lower).dtype.type, range(int(lower), int(upper), int(step)))


def _run(body: Body | Flow, frame: Frame, values: Sequence[Any]) -> Sequence[Any]:
    """What the region gives. A symbol that it learns may be another size the next time."""
    symbols = frame.symbols
    frame.symbols = dict(symbols)
    found = body.run(frame, values)
    frame.symbols = symbols
    return found


@register_step("scf.for")
def for_loop(site: Site) -> Step:
    body = site.body()
    is_unsigned = "unsignedCmp" in site.attributes

    def run(frame: Frame, lower: Any, upper: Any, step: Any, *carried: Any) -> list[Any]:
        if is_unsigned and (lower < 0 or upper < 0):
            raise site.refusal("the reference has no loops over numbers of the highest bit")
        values: Sequence[Any] = carried
        for position in _range(site, lower, upper, step):
            values = _run(body, frame, [position, *values])
        return list(values)

    return run


@register_step("scf.while")
def while_loop(site: Site) -> Step:
    before, after = site.body(0), site.body(1)

    def run(frame: Frame, *carried: Any) -> list[Any]:
        values: Sequence[Any] = carried
        while True:
            goes_on, *values = _run(before, frame, values)
            if not goes_on:
                return values
            values = _run(after, frame, values)

    return run


@register_step("scf.if")
def branch(site: Site) -> Step:
    then = site.body(0)
    otherwise = site.body(1) if site.has_body(1) else None

    def run(frame: Frame, condition: Any) -> list[Any]:
        chosen = then if condition else otherwise
        return [] if chosen is None else list(chosen.run(frame, ()))

    return run


@register_step("scf.index_switch")
def switch(site: Site) -> Step:
    numbers = [int(number) for number in site.attributes["cases"]]
    bodies = [site.body(region) for region in range(len(numbers) + 1)]

    def run(frame: Frame, chosen: Any) -> list[Any]:
        place = 1 + numbers.index(chosen) if chosen in numbers else 0
        return list(bodies[place].run(frame, ()))

    return run


@register_step(["scf.execute_region", "memref.alloca_scope"])
def executed(site: Site) -> Step:
    body = site.body()
    return lambda frame: list(_run(body, frame, ()))


@register_step("scf.parallel")
def parallel(site: Site) -> Step:
    """The steps in their order, and what they reduce one after the other: an order like any other."""
    body, split = site.body(), segments(site)
    ends = operations_of(site.operation.regions[0].blocks[0])
    combiners = [site.prepared(region) for region in ends[-1].regions]

    def run(frame: Frame, *operands: Any) -> list[Any]:
        lower, upper, steps, totals = (list(part) for part in split(operands))
        ranges = [list(_range(site, *bounds)) for bounds in zip(lower, upper, steps, strict=True)]
        for point in itertools.product(*ranges):
            for place, value in enumerate(_run(body, frame, point)):
                (totals[place],) = combiners[place].run(frame, [totals[place], value])
        return totals

    return run


@register_step("scf.forall")
def for_all(site: Site) -> Step:
    body, split = site.body(), segments(site)
    bounds = [mixed(site.attributes[f"static{name}"]) for name in ("LowerBound", "UpperBound", "Step")]
    last = operations_of(site.operation.regions[0].blocks[0])[-1]
    inserts = site.prepared(last.regions[0]) if len(last.regions) else None

    def run(frame: Frame, *operands: Any) -> list[Any]:
        *dynamic, shared = split(operands)
        sizes = [of(iter(given)) for of, given in zip(bounds, dynamic, strict=True)]
        arrays = [numpy.array(array) for array in shared]
        for point in itertools.product(*(range(*each) for each in zip(*sizes, strict=True))):
            _run(body, frame, [*map(numpy.int64, point), *arrays])
            if inserts is not None:
                inserts.run(frame, ())
        return arrays

    return run
