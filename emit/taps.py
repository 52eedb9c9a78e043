# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows taken tap by tap: a tap is worked on only where it meets the data, so that padding costs nothing.

Where most taps lie in the padding, as those of widely dilated convolutions on small pictures, that is little work;
elsewhere sums that stay in registers for all taps are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import prod
from typing import Any

from . import loops
from .linalg import is_nothing
from .numbers import Size
from .windows import Meeting, Window, meeting

#: Windows by dimension.
Windows = Mapping[str, Window]
#: `body(total, tap, meetings)`, both by dimension, gives the new total.
TapBody = Callable[[Any, dict[str, Size], dict[str, Meeting]], Any]

#: The part of all taps that meets the data from which on going tap by tap is not faster any more.
_MOST_INSIDE, _OF = 3, 5


def is_widely_padded(windows: Windows) -> bool:
    """Whether the padding is no narrow border, which would cost less than many small steps do."""
    is_known = all(isinstance(window.taps, int) for window in windows.values())
    return is_known and any(max(window.before, window.after) > window.taps for window in windows.values())


def is_mostly_padding(windows: Windows, sizes: Mapping[str, Size], positions: Mapping[str, Size]) -> Any:
    """Whether most taps lie in the padding, a truth value where sizes are known at run time only."""
    met = [
        [meeting(window, tap, sizes[letter], positions[letter]).length for tap in range(window.taps)]
        for letter, window in windows.items()
    ]
    every = prod(window.taps * positions[letter] for letter, window in windows.items())
    return prod(map(sum, met)) * _OF < every * _MOST_INSIDE


def for_each_tap(
    windows: Windows, sizes: Mapping[str, Size], positions: Mapping[str, Size], total: Any, body: TapBody
) -> Any:
    """The total after all taps of a window; those that are known to meet no data are left out."""
    letters = list(windows)

    def meet(letter: str, tap: Size) -> Meeting:
        return meeting(windows[letter], tap, sizes[letter], positions[letter])

    def enter(value: Any, *taps: Size) -> Any:
        if len(taps) == len(letters):
            at = dict(zip(letters, taps, strict=True))
            return body(value, at, {letter: meet(letter, tap) for letter, tap in at.items()})
        letter = letters[len(taps)]
        met = {tap: meet(letter, tap).length for tap in range(windows[letter].taps)}
        some = [tap for tap, count in met.items() if not is_nothing([count])]
        # Along the last dimension sizes that are known make better vectors than one loop for all taps has.
        is_worth_code = letter == letters[-1] and all(isinstance(met[tap], int) and met[tap] > 1 for tap in some)
        if len(some) > 1 and not is_worth_code:
            return loops.for_range(some[0], some[-1] + 1, lambda tap, inner: enter(inner, *taps, tap), value)[0]
        return reduce(lambda inner, tap: enter(inner, *taps, tap), some, value)

    return enter(total)


def one_by_one(count: Size, body: Callable[[Size, Any], Any], value: Any) -> Any:
    """`value = body(i, value)` so many times; without a loop where that is known to be once."""
    if isinstance(count, int) and count == 1:
        return body(0, value)
    return loops.for_range(0, count, lambda i, inner: body(i, inner), value)[0]
