# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches of graph functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from ..held_values import Elements, HeldValue, Integers
from ..sites import Body, Flow, Frame, Site, Step
from ..steps import register_step


def _range(site: Site, lower: Integers, upper: Integers, step: Integers) -> Iterator[Integers]:
    """Return the steps of a loop in the type of its bounds."""
    if step <= 0:
        raise site.refusal(f"its step is {step}, which is undefined")
    return map(numpy.asarray(lower).dtype.type, range(int(lower), int(upper), int(step)))


def _run(body: Body | Flow, frame: Frame, values: Sequence[HeldValue]) -> Sequence[HeldValue]:
    """Run a region. Symbols bound inside may have other sizes the next time."""
    symbols = frame.symbols
    frame.symbols = dict(symbols)
    found = body.run(frame, values)
    frame.symbols = symbols
    return found


@register_step("scf.for")
def for_loop(site: Site) -> Step:
    body = site.body()
    is_unsigned = "unsignedCmp" in site.attributes

    def run(frame: Frame, lower: Integers, upper: Integers, step: Integers, *carried: HeldValue) -> list[HeldValue]:
        if is_unsigned and (lower < 0 or upper < 0):
            raise site.refusal("the reference does not support unsigned loops with the highest bit set")
        values: Sequence[HeldValue] = carried
        for position in _range(site, lower, upper, step):
            values = _run(body, frame, [position, *values])
        return list(values)

    return run


@register_step("scf.while")
def while_loop(site: Site) -> Step:
    before, after = site.body(0), site.body(1)

    def run(frame: Frame, *carried: HeldValue) -> list[HeldValue]:
        values: Sequence[HeldValue] = carried
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

    def run(frame: Frame, condition: Elements) -> list[HeldValue]:
        chosen = then if condition else otherwise
        return [] if chosen is None else list(chosen.run(frame, ()))

    return run


@register_step("scf.index_switch")
def switch(site: Site) -> Step:
    numbers = [int(number) for number in site.attributes["cases"]]
    bodies = [site.body(region) for region in range(len(numbers) + 1)]

    def run(frame: Frame, chosen: int) -> list[HeldValue]:
        place = 1 + numbers.index(chosen) if chosen in numbers else 0
        return list(bodies[place].run(frame, ()))

    return run


@register_step("scf.execute_region")
def executed(site: Site) -> Step:
    body = site.body()
    return lambda frame: list(_run(body, frame, ()))
