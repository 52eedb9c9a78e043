# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of a model's bits in batches of other sizes and orders. Needs NumPy only, for any environment.

The base is one call with all rows on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy

#: Rows of the calls that together compute the first rows of the batch.
PARTS = {"12 x 1": [1] * 12, "5 + 7": [5, 7]}
#: Rows of single calls.
SIZES = (1, 2, 3, 5, 8, 12, 13, 16, 31, 32, 33, 64)
THREADS = (2, 3, 8)
#: A call with arrays returns the results.
Call = Callable[[Sequence[Any]], list[Any]]


def found_bits(
    call: Callable[[int], Call], arrays: Sequence[Any], axes: Sequence[int | None], rows: int, threads: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each comparison, and "same" or the largest relative difference.

    `call` returns the model's call for a number of threads, `axes` number the axes of rows in the arguments.
    """
    one = call(1)
    expected = one(arrays)
    result_axes = _result_axes(one, arrays, axes, expected)
    for name, counts in PARTS.items():
        starts = numpy.cumsum([0, *counts])
        places = [range(start, stop) for start, stop in pairwise(starts)]
        yield name, _worst(_of_rows(one, arrays, axes, expected, result_axes, each) for each in places)
    sizes = [range(size) for size in SIZES if size <= rows]
    yield f"{len(sizes)} sizes", _worst(_of_rows(one, arrays, axes, expected, result_axes, each) for each in sizes)
    mixed = numpy.random.default_rng(1).permutation(rows)
    yield "other places", _of_rows(one, arrays, axes, expected, result_axes, mixed)
    for number in threads:
        yield f"{number} threads", difference(call(number)(arrays), expected)


def _result_axes(
    call: Call, arrays: Sequence[Any], axes: Sequence[int | None], expected: Sequence[Any]
) -> list[int | None]:
    """Return the axis of the rows in each result: a call with one row has 1 there. None for results without one."""
    rows = next(each.shape[axis] for each, axis in zip(arrays, axes, strict=True) if axis is not None)
    pairs = zip(call(taken(arrays, axes, range(1))), expected, strict=True)
    found = ([a for a in range(one.ndim) if (one.shape[a], whole.shape[a]) == (1, rows)] for one, whole in pairs)
    return [each[0] if each else None for each in found]


def _of_rows(
    call: Call,
    arrays: Sequence[Any],
    axes: Sequence[int | None],
    expected: Sequence[Any],
    result_axes: Sequence[int | None],
    rows: Sequence[int],
) -> str:
    if all(axis is None for axis in result_axes):
        return "no rows"  # such as a number of boxes that depends on the data
    found = call(taken(arrays, axes, rows))
    wanted = taken(expected, result_axes, rows)
    kept = [each for each, axis in enumerate(result_axes) if axis is not None]
    return difference([found[each] for each in kept], [wanted[each] for each in kept])


def taken(arrays: Sequence[Any], axes: Sequence[int | None], rows: Sequence[int]) -> list[Any]:
    """Return some rows of arrays. Arrays without an axis of rows stay whole."""
    pairs = zip(arrays, axes, strict=True)
    return [
        each if axis is None else numpy.ascontiguousarray(numpy.take(each, rows, axis=axis)) for each, axis in pairs
    ]


def _worst(texts: Iterator[str]) -> str:
    found = set(texts)
    others = [float(text) for text in found - {"same", "no rows"}]
    return f"{max(others):.0e}" if others else next(iter(found))


def difference(found: Sequence[Any], expected: Sequence[Any]) -> str:
    """Return "same" for equal bits, or the largest difference relative to the largest result."""
    if all(one.tobytes() == other.tobytes() for one, other in zip(found, expected, strict=True)):
        return "same"
    pairs = [(one.astype("f8"), other.astype("f8")) for one, other in zip(found, expected, strict=True)]
    return f"{max(abs(one - other).max() / max(abs(other).max(), 1e-30) for one, other in pairs):.0e}"


def line(name: str, found: Iterator[tuple[str, str]]) -> str:
    """Return a row of the report. Comparisons that fail are named with the error."""
    try:
        return f"{name:40} " + "  ".join(f"{what}: {text}" for what, text in found)
    except Exception as error:
        return f"{name:40} {type(error).__name__}: {' '.join(str(error).split())[:120]}"
