# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requantized ties of the sweep of narrow kernels: more results of each case with a requantization.

The sums of products hold few ties. So a case also requantizes an i32 argument of its own: ties of both signs, numbers
between them, and the limits of i32. The size is odd, so that vectors leave a remainder.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import narrow_oracle
import numpy
from narrow_cases import FORMS, ROUNDINGS, Case, Requantize, limits

import relax_mlir as rx
from relax_mlir import relax

#: Roundings of a case. A draw has 20 to 40 cases with a requantization, so that each rounding has several of them.
_TOGETHER = 3
#: Ties of each sign, and other numbers.
_TIES, _OTHERS = 9, 15
SIZE = 2 * _TIES + _OTHERS + 4
#: Fractional bits of a multiplier in [1/2, 1).
_BITS = {"float": 0, "q31": 31, "double": 31, "q15": 15}


class Ties(NamedTuple):
    """Numbers to requantize, with one multiplier and shift, or with one for each number."""

    how: tuple[Requantize, ...]
    numbers: Any
    multiplier: Any
    shift: Any


def ties(case: Case) -> Ties | None:
    """Return the ties of a case, or None for a case without a requantization."""
    if case.requantize is None:
        return None
    numbers = numpy.random.default_rng((case.number, 1))
    size = (SIZE,) if case.requantize.by_channel else ()
    form = FORMS[int(numbers.integers(len(FORMS)))]
    # The product of a sum and odd / 2**places has its ties at odd multiples of 2**(places + shift - 1).
    places = 0 if form == "power_of_two" else numbers.integers(1, 4, size)
    odd = (numpy.int64(1) << places) - 1
    # Other numbers than ties have fractions too: the last rounding drops two bits or more.
    shift = numbers.integers(2 if form in ("power_of_two", "double") else 1, 5, size)
    unit = numpy.broadcast_to(numpy.int64(1) << places + shift - 1, (SIZE,))
    order = numbers.permutation(SIZE)
    factors = numpy.concatenate([numpy.arange(1 - 2 * _TIES, 2 * _TIES, 2), numpy.zeros(_OTHERS, "int64")])
    found = numpy.concatenate([factors, [-(2**31), 2**31 - 1, -(10**6), 10**6]])[order]
    found = numpy.where(numpy.abs(found) < 10**6, found * unit, found)
    near = numbers.choice((-1, 1), SIZE) * numpy.where(numbers.random(SIZE) < 0.5, 1, unit // 2)
    others = numbers.integers(-18, 19, SIZE) * unit + near
    found = numpy.where(found == 0, others, found).astype("int32")
    return Ties(_ways(case.requantize, form, numbers), found, *_parameters(form, odd, places, shift))


def _ways(how: Requantize, form: str, numbers: Any) -> tuple[Requantize, ...]:
    """Return consecutive roundings. The zero point is far from the limits, so that no tie saturates."""
    first = int(numbers.integers(len(ROUNDINGS)))
    middle = (sum(limits(how.dtype)) + 1) // 2
    zero = middle + int(numbers.integers(-20, 21))
    return tuple(
        how._replace(form=form, rounding=ROUNDINGS[(first + place) % len(ROUNDINGS)], zero_point=zero)
        for place in range(_TOGETHER)
    )


def _parameters(form: str, odd: Any, places: Any, shift: Any) -> tuple[Any, Any]:
    """Return the multiplier and the shift that multiply by odd / 2**(places + shift)."""
    if form == "power_of_two":
        return numpy.full(numpy.shape(shift), 1 << 30, "int32"), numpy.asarray(shift, "int32")
    if form == "float":
        return (odd * 2.0 ** -(places + shift)).astype("float32"), numpy.asarray(shift, "int32")
    multiplier = odd << (_BITS[form] - places)
    return numpy.asarray(multiplier, "int16" if form == "q15" else "int32"), numpy.asarray(shift, "int32")


def wanted(ties: Ties) -> dict[str, Any]:
    """Return the result of each rounding, with a name."""
    numbers = ties.numbers.astype("int64")
    return {
        f"ties, {how.form} {how.rounding}": narrow_oracle.requantized(how, numbers, ties.multiplier, ties.shift)
        for how in ties.how
    }


def emitted(ties: Ties, numbers: Any) -> list[Any]:
    """Emit the requantization with each rounding."""
    return [requantized(how, numbers, ties.multiplier, ties.shift, axis=-1) for how in ties.how]


def requantized(how: Requantize, total: Any, multiplier: Any, shift: Any, axis: int) -> Any:
    """Emit a requantization of i32 sums."""
    zero = numpy.asarray(how.zero_point, "int32")
    return relax.requantize(
        total, *map(relax.const, (multiplier, shift, zero)), axis=axis, rounding=how.rounding,
        form="q31" if how.form == "double" else how.form, saturate=how.saturate,
        double_rounding=how.form == "double", out_dtype=how.dtype,
    )  # fmt: skip


def type_of(ties: Ties, *, is_dynamic: bool) -> Any:
    """Return the type of the numbers. A multiplier for each number fixes the size."""
    is_fixed = not is_dynamic or numpy.ndim(ties.multiplier)
    return rx.tensor((SIZE if is_fixed else "ties",), "i32")
