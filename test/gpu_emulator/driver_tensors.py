# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuTensorMapEncodeTiled of the emulated driver: refusals, and maps for bulk copies."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from .driver_core import INVALID_VALUE, Core, DriverError, function
from .tensor_maps import BYTES, MOST_AXES, TensorMap, write_map

ALIGNMENT = 64
_MOST_BOX, _UNIT, _MOST_STRIDE = 256, 16, 1 << 40
#: By CUtensorMapDataType.
_ELEMENT_BYTES = dict(enumerate((1, 2, 4, 4, 8, 8, 2, 4, 8, 2)))
_TURNED_LINES, _LINE = 3, 128


def _numbers(address: int | None, count: int, kind: type, what: str) -> list[int]:
    if not address:
        raise DriverError(INVALID_VALUE, f"no {what}")
    return list((kind * count).from_address(address))  # type: ignore[operator]


@function("cuTensorMapEncodeTiled", "puudppppuuuu")
def _encode(
    driver: Core, to: int | None, kind: int, rank: int, address: int, sizes_at: int | None, strides_at: int | None,
    box_at: int | None, steps_at: int | None, interleave: int, swizzle: int, promotion: int, fill: int,
) -> None:  # fmt: skip
    if not to or to % ALIGNMENT:
        raise DriverError(INVALID_VALUE, f"the map is at {to or 0:#x}, which is no multiple of {ALIGNMENT}")
    if kind not in _ELEMENT_BYTES or not 1 <= rank <= MOST_AXES:
        raise DriverError(INVALID_VALUE, f"elements of type {kind}, {rank} axes")
    if interleave or swizzle != _TURNED_LINES or promotion > 3 or fill:
        text = f"interleave {interleave}, swizzle {swizzle}, promotion {promotion}, fill {fill}"
        raise DriverError(INVALID_VALUE, f"{text}: the emulator knows turned lines of 128 bytes and zeros alone")
    if not address or address % _UNIT:
        raise DriverError(INVALID_VALUE, f"the tensor is at {address:#x}, which is no multiple of {_UNIT}")
    element = _ELEMENT_BYTES[kind]
    sizes = _numbers(sizes_at, rank, ctypes.c_uint64, "sizes")
    strides = [element, *_numbers(strides_at, rank - 1, ctypes.c_uint64, "strides")]
    box = _numbers(box_at, rank, ctypes.c_uint32, "box")
    steps = _numbers(steps_at, rank, ctypes.c_uint32, "element strides")
    _check(element, sizes, strides, box, steps)
    data = write_map(TensorMap(element, address, tuple(sizes), tuple(strides), tuple(box)))
    ctypes.memmove(to, data, BYTES)


def _check(
    element: int, sizes: Sequence[int], strides: Sequence[int], box: Sequence[int], steps: Sequence[int]
) -> None:
    if any(not 1 <= size <= 1 << 32 for size in sizes):
        raise DriverError(INVALID_VALUE, f"sizes {list(sizes)}")
    if any(each % _UNIT or not 0 < each < _MOST_STRIDE for each in strides[1:]):
        raise DriverError(INVALID_VALUE, f"strides of {list(strides[1:])} bytes: multiples of {_UNIT} are wanted")
    ends = [stride * size for stride, size in zip(strides, sizes, strict=True)]
    if any(
        stride < end or stride % before for stride, end, before in zip(strides[2:], ends[1:], strides[1:], strict=False)
    ):
        raise DriverError(INVALID_VALUE, f"strides of {list(strides[1:])} bytes: each is a multiple of that before it")
    if len(sizes) > 1 and strides[1] < ends[0]:
        raise DriverError(INVALID_VALUE, f"lines of {ends[0]} bytes each {strides[1]}")
    if any(not 1 <= each <= _MOST_BOX for each in box) or box[0] * element % _UNIT:
        raise DriverError(INVALID_VALUE, f"a box of {list(box)}: up to {_MOST_BOX} of each, lines of {_UNIT} bytes")
    if box[0] * element > _LINE:
        raise DriverError(INVALID_VALUE, f"a box of {box[0] * element} bytes in a line: {_LINE} are turned at most")
    if any(not 1 <= each <= 8 for each in steps):
        raise DriverError(INVALID_VALUE, f"element strides {list(steps)}: 1 to 8")
    if any(each != 1 for each in steps):
        raise DriverError(INVALID_VALUE, f"element strides {list(steps)}: the emulator knows 1 alone")
