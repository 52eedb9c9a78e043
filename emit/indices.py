# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds checks of indices into tensors before any access, and ranges by Python's rules."""

from __future__ import annotations

from ..bindings.affine import identity
from ..bindings.ir import Value
from ..bindings.mlir import ir
from . import linalg, loops
from .arithmetic import convert, element
from .numbers import Number, Size, as_i64, as_index, divide, intrinsic, maximum, minimum, number, select

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def as_position(value: Number, dtype: str) -> Number:
    """Return an integer as an index. A ui64 that exceeds the range of an index becomes the largest index."""
    x = value.of(dtype)
    return (minimum(x, _LARGEST) if dtype == "ui64" else x).to("index")


def from_end(place: Number, size: Size) -> Number:
    """Resolve a negative index, which counts from the end."""
    return select(place < 0, place + size, place)


def checked_position(value: Number, dtype: str, size: Size) -> Number:
    """Resolve an index that has been checked."""
    return from_end(as_position(value, dtype), size)


def require_index(place: Number, axis: int, size: Number) -> None:
    """Raise IndexError in the program unless -size <= index < size."""
    message = f"index {{}} is out of range for axis {axis} of size {{}}"
    loops.require((place >= 0 - size) & (place < size), "IndexError", message, place, size)


def extremes(tensor: Value, dtype: str) -> tuple[Number, Number]:
    """Return the smallest and the largest of a tensor's integers as indices.

    An empty tensor gives the ends of the range, exchanged.
    """
    rank = linalg.rank_of(tensor)
    starts = [linalg.fill(value, linalg.empty([], element("i64"))) for value in (_LARGEST, _SMALLEST)]
    scalar_map = linalg.select_dims(rank, [])

    def step(given: Number, low: Number, high: Number) -> list[Number]:
        value = as_i64(as_position(given, dtype))
        return [minimum(value, low), maximum(value, high)]

    maps = [identity(rank), scalar_map, scalar_map]
    found = linalg.generic([tensor], starts, maps, [linalg.REDUCTION] * rank, step)
    low, high = (as_index(linalg.extract(each, [])) for each in found)
    return low, high


def require_indices(indices: Value, dtype: str, axis: int, size: Number) -> None:
    """Raise IndexError in the program unless a scalar, or every element of a tensor or memref, is an index of an axis.

    For a tensor, a reduction finds the extremes. For a memref, the error reports the first invalid index.
    """
    if isinstance(indices.type, ir.MemRefType):
        place = lambda *at: as_position(loops.load(indices, *at), dtype)  # noqa: E731
        loops.nest(loops.sizes(indices), lambda *at: require_index(place(*at), axis, size))
        return
    if not isinstance(indices.type, ir.RankedTensorType):
        require_index(as_position(number(indices), dtype), axis, size)
        return
    low, high = extremes(indices, dtype)
    # No indices at all: the exchanged ends of the range pass.
    message = f"index {{}} is out of range for axis {axis} of size {{}}"
    loops.require(low >= 0 - size, "IndexError", message, low, size)
    loops.require(high < size, "IndexError", message, high, size)


# ---- ranges by Python's rules ----


_TOO_MANY = "the steps lead nowhere, or there are more of them than a tensor can have"


def slice_range(begin: Size, end: Size, stride: Size, size: Size) -> tuple[Size, Size]:
    """Return the start and the number of elements of `x[begin:end:stride]`, as numbers or indices like the arguments.

    The stride is not 0. Bounds below 0 count from the end; bounds outside are clamped.
    """
    if isinstance(begin, int) and isinstance(end, int) and isinstance(stride, int) and isinstance(size, int):
        known = range(*slice(begin, end, stride).indices(size))
        # An empty range can start behind the last element, where upstream's operations allow no offset.
        return (known.start if known else 0), len(known)
    return _resolve_at_run_time(*(as_index(each) for each in (begin, end, stride, size)))


def _resolve_at_run_time(begin: Number, end: Number, stride: Number, size: Number) -> tuple[Number, Number]:
    backward = stride < 0
    first = select(backward, as_index(-1), 0)
    last = size + first
    start, stop = (minimum(maximum(from_end(bound, size), first), last) for bound in (begin, end))
    span = select(backward, start, stop) - select(backward, stop, start)
    # As unsigned, the result is also right for the lowest number, which negation leaves unchanged.
    step = maximum(select(backward, -stride, stride).of("ui64"), 1).of("index")
    count = (span - 1) // step + 1
    is_empty = span <= 0
    return select(is_empty, 0, start), select(is_empty, 0, count)


# ---- lengths ----


def step_count(start: Number, end: Number, step: Number) -> Number:
    """Return the number of steps from a start to before an end, as an i64.

    All arguments are i64, or all are f64.

    The program raises ValueError for a step of 0 and for too many steps.
    """
    loops.require(step != 0, "ValueError", "the step must not be zero")
    return _float_count(start, end, step) if step.is_float else _integer_count(start, end, step)


def _integer_count(start: Number, end: Number, step: Number) -> Number:
    """Count steps by magnitudes. A difference of signed numbers may overflow, but fits without a sign."""
    is_up = step > 0
    low, high = select(is_up, start, end), select(is_up, end, start)
    stride = select(is_up, step, -step)
    steps = divide((high - low - 1).of("ui64"), stride) + 1
    found = select(low < high, steps, 0).of("i64")
    loops.require(found >= 0, "ValueError", _TOO_MANY)
    return found


def _float_count(start: Number, end: Number, step: Number) -> Number:
    quotient = intrinsic("ceil", (end - start) / step)
    # False for NaN too.
    loops.require(quotient < 2.0**63, "ValueError", _TOO_MANY)
    return convert("arith.fptosi", select(quotient > 0, quotient, 0), element("i64"))
