# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of arrays by place, or by arrays of places: what is outside is refused, and what numpy counts backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..sites import Site


def element(site: Site, array: Any, place: Sequence[Any]) -> Any:
    """The element at a place; for arrays of numbers those at the places."""
    try:
        if is_natural(place):
            return array[tuple(place)]
    except IndexError:
        pass
    raise outside(site, array, place, "reads")


def put(site: Site, array: Any, place: Sequence[Any], value: Any) -> None:
    try:
        if is_natural(place):
            array[tuple(place)] = value
            return
    except IndexError:
        pass
    raise outside(site, array, place, "writes")


def is_natural(place: Sequence[Any]) -> bool:
    for number in place:
        if isinstance(number, numpy.ndarray):
            if number.size and number.min() < 0:
                return False
        elif number < 0:
            return False
    return True


def outside(site: Site, array: Any, place: Sequence[Any], what: str) -> Exception:
    """The error that names an axis along which it is outside."""
    for axis, (numbers, size) in enumerate(zip(place, array.shape, strict=False)):
        wrong = [int(number) for number in numpy.ravel(numbers) if not 0 <= number < size]
        if wrong:
            return site.refusal(f"it {what} place {wrong[0]} along axis {axis}, which has size {size}")
    return site.refusal(f"it {what} outside of {array.shape}")
