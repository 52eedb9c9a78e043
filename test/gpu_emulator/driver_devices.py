# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, contexts and errors of the emulated driver."""

from __future__ import annotations

import ctypes

from .driver_core import ERRORS, INVALID_CONTEXT, INVALID_VALUE, Core, DriverError, function, put
from .driver_streams import Streams

_INT = ctypes.c_int
_TEXTS = {code: tuple(ctypes.create_string_buffer(text.encode()) for text in texts) for code, texts in ERRORS.items()}
MAX_THREADS, MAX_BLOCK, MAX_GRID = 1024, (1024, 1024, 64), ((1 << 31) - 1, 65535, 65535)
USUAL_SHARED_BYTES = 48 << 10
_LARGEST_SHARED = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 120: 99 << 10}
_ATTRIBUTES = {
    **{1: MAX_THREADS, 2: MAX_BLOCK[0], 3: MAX_BLOCK[1], 4: MAX_BLOCK[2]},
    **{5: MAX_GRID[0], 6: MAX_GRID[1], 7: MAX_GRID[2], 8: USUAL_SHARED_BYTES, 9: 65536, 10: 32, 12: 65536},
    **{13: 1410000, 16: 108, 18: 0, 19: 1, 20: 0, 31: 1, 36: 1215000, 37: 5120, 38: 40 << 20, 39: 2048, 40: 3, 41: 1},
    **{78: 1, 82: 65536, 83: 1, 84: 0, 88: 0, 89: 1, 90: 1, 95: 1, 106: 32, 111: 1024, 115: 1},
}


def largest_shared(capability: tuple[int, int]) -> int:
    return _LARGEST_SHARED.get(10 * capability[0] + capability[1], 227 << 10)


@function("cuInit", "u")
def _init(driver: Core, flags: int) -> None:
    if flags:
        raise DriverError(INVALID_VALUE, "flags are 0")
    if not driver.devices:
        raise DriverError(100)
    driver._initialized = True


@function("cuDriverGetVersion", "p")
def _version(driver: Core, to: int) -> None:
    put(to, 13000, _INT)


@function("cuGetErrorName", "ip")
def _error_name(driver: Core, code: int, to: int) -> int | None:
    put(to, ctypes.addressof(_TEXTS[code][0]) if code in _TEXTS else 0)
    return None if code in _TEXTS else INVALID_VALUE


@function("cuGetErrorString", "ip")
def _error_string(driver: Core, code: int, to: int) -> int | None:
    put(to, ctypes.addressof(_TEXTS[code][1]) if code in _TEXTS else 0)
    return None if code in _TEXTS else INVALID_VALUE


@function("cuDeviceGetCount", "p")
def _count(driver: Core, to: int) -> None:
    put(to, driver.devices, _INT)


@function("cuDeviceGet", "pi")
def _get(driver: Core, to: int, number: int) -> None:
    put(to, driver.device(number).number, _INT)


@function("cuDeviceGetName", "pii")
def _name(driver: Core, to: int, size: int, number: int) -> None:
    driver.device(number)
    text = b"Emulated device"[: max(size - 1, 0)] + b"\0"
    ctypes.memmove(to, text, len(text))


@function("cuDeviceGetAttribute", "pii")
def _attribute(driver: Core, to: int, which: int, number: int) -> None:
    driver.device(number)
    shared = largest_shared(driver.capability)
    known = {**_ATTRIBUTES, 75: driver.capability[0], 76: driver.capability[1], 97: shared, 81: shared + 1024}
    if which not in known:
        raise DriverError(INVALID_VALUE, f"the emulator knows no attribute {which}")
    put(to, known[which], _INT)


@function("cuDeviceTotalMem_v2", "pi")
def _total(driver: Core, to: int, number: int) -> None:
    driver.device(number)
    put(to, driver.memory.size)


@function("cuDevicePrimaryCtxRetain", "pi")
def _retain(driver: Core, to: int, number: int) -> None:
    device = driver.device(number)
    device.retained += 1
    put(to, device.context)


@function("cuDevicePrimaryCtxRelease_v2", "i")
def _release(driver: Core, number: int) -> None:
    device = driver.device(number)
    if not device.retained:
        raise DriverError(INVALID_CONTEXT, "it was not retained")
    device.retained -= 1


@function("cuCtxPushCurrent_v2", "p")
def _push(driver: Core, context: int) -> None:
    driver.stack().append(driver.known_context(context))


@function("cuCtxPopCurrent_v2", "p")
def _pop(driver: Core, to: int | None) -> None:
    if not driver.stack():
        raise DriverError(INVALID_CONTEXT, "nothing was pushed")
    context = driver.stack().pop()
    if to:
        put(to, context)


@function("cuCtxGetCurrent", "p")
def _get_current(driver: Core, to: int) -> None:
    put(to, driver.current())


@function("cuCtxSetCurrent", "p")
def _set_current(driver: Core, context: int | None) -> None:
    stack = driver.stack()
    if stack:
        stack.pop()
    if context:
        stack.append(driver.known_context(context))


@function("cuCtxGetDevice", "p")
def _context_device(driver: Core, to: int) -> None:
    number = next(each.number for each in driver._all_devices if each.context == driver.current())
    put(to, number, _INT)


@function("cuCtxSynchronize", "")
def _synchronize(driver: Streams) -> None:
    """Synchronize: all work is already done."""
    driver.refuse_capture()
    driver.order.host_waits_for_all()
