# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of parts that are watched while they run: whether they write their outputs, all of them, and nothing else.

That is done at a function's first call, for those that are Python; with RELAX_CHECK_PARTS=1 at each, and for what
tvm-ffi and C functions are called by as well. What is linked into a program is called by its own code, unwatched.
"""

from __future__ import annotations

import ctypes
import math
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..support.errors import RelaxError
from .foreign_types import Tensor
from .poisoning import PATTERNS, element_of, places_of, unwritten

#: Says that each call is watched.
VARIABLE = "RELAX_CHECK_PARTS"
# The bytes of an output that are looked at to see whether anything has been written.
_LOOKED_AT = 1 << 16
# What outputs hold before a call. Where some of it is there afterwards, a second call with the other one shows whether
# the function has written that itself.
_BEFORE, _BEFORE_AGAIN = PATTERNS


def is_each_call_watched() -> bool:
    return os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def each_call_watched() -> Iterator[None]:
    """Programs that are loaded inside have each call of their parts watched."""
    before = os.environ.get(VARIABLE, "")
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        os.environ[VARIABLE] = before


def watched(function: Callable[..., object], inputs: int) -> Callable[..., object]:
    """The function, which is refused where it has written into what it was to read, or has not written what it was to.

    `inputs` is how many of its arguments it only reads.
    """
    is_always, is_known = is_each_call_watched(), False

    def call(*arguments: Tensor) -> None:
        # What it gives is let go: an array of numpy's that was given where to write (`out=`) holds on to that.
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
    read = [each for each in inputs if not any(_meet(_span(each), other) for other in spans)]
    before = list(map(_sum, read))
    filled = [
        number for number in _to_be_written(outputs) if not any(_meet(_span(each), spans[number]) for each in inputs)
    ]
    for number in filled:
        _fill(outputs[number], _BEFORE)
    untouched = list(map(_sum, outputs))
    result = function(*inputs, *outputs)
    if result is not None and not _is_in(result, spans) and untouched == list(map(_sum, outputs)):
        kind = type(result).__name__
        results = "results go to the outputs behind its inputs"
        raise RelaxError(f"it has returned an object of type {kind}, and written nothing: {results}")
    changed = [number for number, each in enumerate(read) if _sum(each) != before[number]]
    if changed:
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
    """The numbers of outputs in this machine's memory, but for bytes behind others: that may be memory to work in."""
    last = len(outputs) - 1
    is_workspace = last > 0 and len(outputs[last].shape) == 1 and str(outputs[last].dtype) == "uint8"
    return [number for number, each in enumerate(outputs) if _memory(each) and not (number == last and is_workspace)]


def _fill(output: Tensor, pattern: bytes) -> None:
    begin, end = _span(output)
    element = _element(output, pattern)
    ctypes.memset(begin, element[0], end - begin)
    if len(element) > 1:
        ctypes.memmove(begin, element * ((end - begin) // len(element)), end - begin)


def _element(output: Tensor, pattern: bytes) -> bytes:
    """What an element of such a tensor is filled with."""
    return element_of(_bytes_per_element(output), pattern)


def _bytes_per_element(output: Tensor) -> int:
    return max(output.dtype.bits * output.dtype.lanes // 8, 1)


def _has(output: Tensor, pattern: bytes) -> bool:
    return next(places_of(memoryview(_memory(output)).cast("B"), _element(output, pattern)), None) is not None


def _is_ordinary(output: Tensor) -> bool:
    """Whether an output of bytes has others than it was filled with: results give any byte, and a second call for each
    would be too much where it was not requested."""
    element = _element(output, _BEFORE)
    return len(element) == 1 and any(byte != element[0] for byte in _bytes_of(output)[:_LOOKED_AT])


def _memory(argument: object) -> ctypes.Array[ctypes.c_char] | bytes:
    begin, end = _span(argument)
    return (ctypes.c_char * (end - begin)).from_address(begin) if begin < end else b""


def _bytes_of(argument: object) -> bytes:
    return bytes(memoryview(_memory(argument)).cast("B"))


def _span(argument: object) -> tuple[int, int]:
    """Where a tensor of this machine's memory begins and ends; nowhere for anything else."""
    from .ffi import tvm_ffi

    if not isinstance(argument, tvm_ffi.Tensor) or argument.device.type != "cpu" or not argument.is_contiguous():
        return 0, 0
    bits = math.prod(argument.shape) * argument.dtype.bits * argument.dtype.lanes
    return argument.data_ptr(), argument.data_ptr() + (bits + 7) // 8


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _is_in(array: object, spans: list[tuple[int, int]]) -> bool:
    """Whether it is one of these, as numpy gives what it was given to write to."""
    address = getattr(array, "__array_interface__", {}).get("data", (0,))[0]
    return any(begin <= address < end for begin, end in spans)


def _sum(argument: object) -> int:
    return zlib.crc32(_memory(argument))
