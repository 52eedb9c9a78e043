# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of parts' functions: whether they write all of their outputs, and nothing else.

Python functions are checked at the first call. With RELAX_CHECK_PARTS=1 each call is checked, also of tvm-ffi and C
functions. Functions that are linked into a program are called by its own code and are not checked.
"""

from __future__ import annotations

import ctypes
import math
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from ..support.errors import RelaxError
from .foreign_types import Tensor
from .poisoning import PATTERNS, element_of, places_of, unwritten

#: Environment variable for checks of each call.
VARIABLE = "RELAX_CHECK_PARTS"
# Number of bytes of an output that are examined for writes.
_LOOKED_AT = 1 << 16
# Patterns in outputs before a call. If part of a pattern remains, a second call with the other pattern shows whether
# the function wrote it.
_BEFORE, _BEFORE_AGAIN = PATTERNS


_is_requested: ContextVar[bool] = ContextVar("is_requested", default=False)


def is_each_call_watched() -> bool:
    return _is_requested.get() or os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def each_call_watched() -> Iterator[None]:
    """Check each call of parts in programs that this thread loads inside of the `with`."""
    token = _is_requested.set(True)
    try:
        yield
    finally:
        _is_requested.reset(token)


def watched(function: Callable[..., object], inputs: int) -> Callable[..., object]:
    """Return the function with checks: it must write all outputs, and must not write inputs.

    The first `inputs` arguments are the inputs.
    """
    is_always, is_known = is_each_call_watched(), False

    def call(*arguments: Tensor) -> None:
        # The result is dropped: a NumPy array that received an output (`out=`) keeps the output alive.
        nonlocal is_known
        if is_known:
            function(*arguments)
            return
        _watch(function, arguments[:inputs], arguments[inputs:], is_thorough=is_always)
        is_known = not is_always

    return call


def _watch(
    function: Callable[..., object], inputs: Sequence[object], outputs: Sequence[Tensor], *, is_thorough: bool
) -> None:
    spans = list(map(_span, outputs))
    read = [input_ for input_ in inputs if not any(_meet(_span(input_), other) for other in spans)]
    before = list(map(_sum, read))
    filled = [
        number
        for number in _to_be_written(outputs)
        if not any(_meet(_span(input_), spans[number]) for input_ in inputs)
    ]
    for number in filled:
        _fill(outputs[number], _BEFORE)
    untouched = list(map(_sum, outputs))
    result = function(*inputs, *outputs)
    if result is not None and not _is_in(result, spans) and untouched == list(map(_sum, outputs)):
        kind = type(result).__name__
        results = "results go to the outputs behind its inputs"
        raise RelaxError(f"it has returned an object of type {kind}, and written nothing: {results}")
    if changed := [number for number, each in enumerate(read) if _sum(each) != before[number]]:
        raise RelaxError(f"it has written into input {changed[0]}, which is the caller's: results go to outputs")
    asked = [number for number in filled if is_thorough or not _is_ordinary(outputs[number])]
    suspects = {number: _bytes_of(outputs[number]) for number in asked if _has(outputs[number], _BEFORE)}
    if not suspects:
        return
    for number in suspects:
        _fill(outputs[number], _BEFORE_AGAIN)
    function(*inputs, *outputs)
    for number, first in suspects.items():
        output = outputs[number]
        left = next(unwritten(first, _bytes_of(output), _bytes_per_element(output)), None)
        if left is not None:
            raise RelaxError(
                f"it has left output {number} unwritten, from element {left} on: outputs come behind inputs"
            )


def _to_be_written(outputs: Sequence[Tensor]) -> list[int]:
    """Return the numbers of outputs in this machine's memory, without a trailing workspace of bytes."""
    last = len(outputs) - 1
    is_workspace = last > 0 and len(outputs[last].shape) == 1 and str(outputs[last].dtype) == "uint8"
    return [
        number for number, output in enumerate(outputs) if _memory(output) and not (number == last and is_workspace)
    ]


def _fill(output: Tensor, pattern: bytes) -> None:
    begin, end = _span(output)
    element = _element(output, pattern)
    ctypes.memset(begin, element[0], end - begin)
    if len(element) > 1:
        ctypes.memmove(begin, element * ((end - begin) // len(element)), end - begin)


def _element(output: Tensor, pattern: bytes) -> bytes:
    """Return the bytes of an element in a tensor filled with a pattern."""
    return element_of(_bytes_per_element(output), pattern)


def _bytes_per_element(output: Tensor) -> int:
    return max(output.dtype.bits * output.dtype.lanes // 8, 1)


def _has(output: Tensor, pattern: bytes) -> bool:
    return next(places_of(memoryview(_memory(output)).cast("B"), _element(output, pattern)), None) is not None


def _is_ordinary(output: Tensor) -> bool:
    """Check whether an output of bytes contains bytes other than the pattern.

    Any byte may be a valid result, and a second call for each would cost too much unless it is requested.
    """
    element = _element(output, _BEFORE)
    return len(element) == 1 and any(byte != element[0] for byte in _bytes_of(output)[:_LOOKED_AT])


def _memory(argument: object) -> ctypes.Array[ctypes.c_char] | bytes:
    begin, end = _span(argument)
    return (ctypes.c_char * (end - begin)).from_address(begin) if begin < end else b""


def _bytes_of(argument: object) -> bytes:
    return bytes(memoryview(_memory(argument)).cast("B"))


def _span(argument: object) -> tuple[int, int]:
    """Return the address range of a tensor in this machine's memory, or (0, 0) for any other object."""
    from .ffi import tvm_ffi

    if not isinstance(argument, tvm_ffi.Tensor) or argument.device.type != "cpu" or not argument.is_contiguous():
        return 0, 0
    bits = math.prod(argument.shape) * argument.dtype.bits * argument.dtype.lanes
    return argument.data_ptr(), argument.data_ptr() + (bits + 7) // 8


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _is_in(array: object, spans: list[tuple[int, int]]) -> bool:
    """Check whether an array is in one of the ranges: NumPy returns the array that was passed as `out=`."""
    address = getattr(array, "__array_interface__", {}).get("data", (0,))[0]
    return any(begin <= address < end for begin, end in spans)


def _sum(argument: object) -> int:
    return zlib.crc32(_memory(argument))
