# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of the emulated driver: allocation, copies, fills."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy

from .driver_core import INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Core, DriverError, function, put
from .driver_streams import Streams
from .faults import USE_AFTER_FREE, Fault
from .memory import ALLOCATED, WRITTEN, Allocation, OutOfDeviceMemory

#: Handles of the devices' memory pools, and a pool's attribute: the amount of released memory that it keeps.
_POOLS, _RELEASE_THRESHOLD = 0x0500_0000, 4


def _allocate(driver: Core, size: int, label: str, is_managed: bool = False) -> Allocation:
    if not size:
        raise DriverError(INVALID_VALUE, "0 bytes")
    try:
        return driver.memory.allocate(size, f"{label} {len(driver.memory.allocations)}", is_managed)
    except OutOfDeviceMemory as error:
        raise DriverError(OUT_OF_MEMORY, str(error)) from None


def _free(driver: Streams, address: int, function: str) -> None:
    found = driver.memory.at(address)
    if found is None and driver.memory.is_freed(address):
        raise Fault.of_host("freed twice", function, f"{address:#x}: {driver.memory.describe(address)}")
    if found is None:
        raise DriverError(INVALID_VALUE, f"{address:#x} is no allocation: {driver.memory.describe(address)}")
    driver.require_unused(found, function)
    driver.memory.free(found, driver.now(function))


@function("cuMemAlloc_v2", "pz")
def _alloc(driver: Streams, to: int, size: int) -> None:
    driver.refuse_capture()
    put(to, _allocate(driver, size, "cuMemAlloc").address)


@function("cuMemAllocAsync", "pzp")
def _alloc_async(driver: Streams, to: int, size: int, stream: int | None) -> None:
    driver.stream(stream)
    found = _allocate(driver, size, "cuMemAllocAsync")
    driver.keep(stream, found)
    put(to, found.address)


@function("cuDeviceGetDefaultMemPool", "pi")
def _default_pool(driver: Core, to: int, number: int) -> None:
    put(to, _POOLS + driver.device(number).number)


@function("cuMemPoolSetAttribute", "pip")
def _set_pool(driver: Core, pool: int, which: int, value: int) -> None:
    if not 0 <= (pool or 0) - _POOLS < driver.devices:
        raise DriverError(INVALID_HANDLE, f"{pool} is no memory pool")
    if which != _RELEASE_THRESHOLD:
        raise DriverError(INVALID_VALUE, f"the emulator knows no attribute {which} of memory pools that can be set")
    driver.release_thresholds[pool - _POOLS] = ctypes.c_uint64.from_address(value).value


@function("cuMemAllocManaged", "pzu")
def _alloc_managed(driver: Core, to: int, size: int, flags: int) -> None:
    found = _allocate(driver, size, "cuMemAllocManaged", is_managed=True)
    driver.memory.state[found.start : found.start + size] = ALLOCATED | WRITTEN
    put(to, driver.memory.host_address + found.start)


@function("cuMemFree_v2", "d")
def _free_now(driver: Streams, address: int) -> None:
    driver.refuse_capture()
    driver.order.host_waits_for_all()
    if address:
        _free(driver, address, "cuMemFree")


@function("cuMemFreeAsync", "dp")
def _free_async(driver: Streams, address: int, stream: int | None) -> None:
    found = driver.memory.at(address)
    if found is None or not driver.release(stream, found):
        driver.do(stream, lambda: _free(driver, address, "cuMemFreeAsync"))


@function("cuMemHostAlloc", "pzu")
def _alloc_host(driver: Streams, to: int, size: int, flags: int) -> None:
    """Memory of the arena: host and kernels see the same bytes, at different addresses."""
    driver.refuse_capture()
    found = _allocate(driver, size, "cuMemHostAlloc")
    driver.memory.state[found.start : found.start + size] = ALLOCATED | WRITTEN
    put(to, driver.memory.host_address + found.start)


@function("cuMemHostGetDevicePointer_v2", "ppu")
def _device_pointer(driver: Core, to: int, host: int, flags: int) -> None:
    put(
        to,
        _host_allocation(driver, host).address
        + (host - driver.memory.host_address - _host_allocation(driver, host).start),
    )


@function("cuMemFreeHost", "p")
def _free_host(driver: Streams, host: int) -> None:
    driver.order.host_waits_for_all()
    driver.memory.free(_host_allocation(driver, host), driver.now("cuMemFreeHost"))


def _host_allocation(driver: Core, host: int) -> Allocation:
    found = driver.memory.around(host)
    if found is None or not found.is_live or not found.label.startswith("cuMemHostAlloc"):
        raise DriverError(INVALID_VALUE, f"{host:#x} is no memory of cuMemHostAlloc")
    return found


@function("cuMemGetInfo_v2", "pp")
def _info(driver: Core, free: int, total: int) -> None:
    put(free, driver.memory.size - driver.memory.used)
    put(total, driver.memory.size)


def _range(driver: Streams, address: int, size: int, function: str) -> slice:
    """Return the place of bytes that the host copies or fills. Raise a fault if they were released."""
    start = driver.memory.range(address, size)
    if driver.memory.is_freed(address):
        message = f"{size} bytes at {address:#x}: {driver.memory.describe(address)}"
        raise Fault.of_host(USE_AFTER_FREE, function, message)
    driver.note_use(driver.memory.around(address), function)
    if start is None:
        raise DriverError(INVALID_VALUE, f"{size} bytes at {address:#x}: {driver.memory.describe(address)}")
    return slice(start, start + size)


def _host_to_device(driver: Streams, to: int, source: int, size: int) -> None:
    place = _range(driver, to, size, "cuMemcpyHtoD")
    driver.copied["to the device"] += size
    ctypes.memmove(driver.memory.host_address + place.start, source, size)
    driver.memory.state[place] |= WRITTEN


def _device_to_host(driver: Streams, to: int, source: int, size: int) -> None:
    place = _range(driver, source, size, "cuMemcpyDtoH")
    driver.copied["to the host"] += size
    unwritten = numpy.flatnonzero((driver.memory.state[place] & WRITTEN) == 0)
    if len(unwritten) and driver.checks.unwritten:
        first = source + int(unwritten[0])
        message = (
            f"{len(unwritten)} of {size} bytes that the host reads were never written: {driver.memory.describe(first)}"
        )
        driver.faults.append(Fault.of_host("unwritten", "cuMemcpyDtoH", message))
    ctypes.memmove(to, driver.memory.host_address + place.start, size)


def _device_to_device(driver: Streams, to: int, source: int, size: int) -> None:
    place, origin = (_range(driver, each, size, "cuMemcpyDtoD") for each in (to, source))
    memory = driver.memory
    driver.copied["on the device"] += size
    memory.data[place] = memory.data[origin].copy()
    memory.state[place] |= memory.state[origin] & WRITTEN


def _declare_copies() -> None:
    copies: dict[str, tuple[str, Any]] = {
        "cuMemcpyHtoD": ("dpz", _host_to_device),
        "cuMemcpyDtoH": ("pdz", _device_to_host),
        "cuMemcpyDtoD": ("ddz", _device_to_device),
    }
    for name, (signature, copy) in copies.items():

        def now(driver: Streams, to: int, source: int, size: int, copy: Any = copy) -> None:
            driver.refuse_capture()
            if size:
                driver.do(None, lambda: copy(driver, to, source, size))
                driver.order.host_waits(0)

        def later(driver: Streams, to: int, source: int, size: int, stream: int | None, copy: Any = copy) -> None:
            driver.do(stream, lambda: copy(driver, to, source, size) if size else None)

        function(f"{name}_v2", signature)(now)
        function(f"{name}Async_v2", signature + "p")(later)


_HOST, _DEVICE = 1, 2  # of CUmemorytype


@function("cuMemcpy2DAsync_v2", "pp")
def _copy_2d(driver: Streams, described: int, stream: int | None) -> None:
    """Copy rows with gaps: places, kinds of memory, pitches of both sides, width and height."""
    words = list((ctypes.c_uint64 * 16).from_address(described))
    sides = [words[0:7], words[7:14]]
    width, height = words[14:]
    places = []
    for x, y, kind, host, device, array, pitch in sides:
        if kind not in (_HOST, _DEVICE) or array:
            raise DriverError(INVALID_VALUE, "the emulator copies memory of host and device, no arrays")
        if pitch < x + width:
            raise DriverError(INVALID_VALUE, f"a pitch of {pitch} bytes for rows of {width}")
        places.append(((host if kind == _HOST else device) + y * pitch + x, pitch))
    kinds = sides[0][2], sides[1][2]
    copies = {
        (_HOST, _DEVICE): _host_to_device,
        (_DEVICE, _HOST): _device_to_host,
        (_DEVICE, _DEVICE): _device_to_device,
    }
    if kinds not in copies:
        raise DriverError(INVALID_VALUE, "a copy from host to host")
    (source, source_pitch), (to, to_pitch) = places

    def copy() -> None:
        for row in range(height):
            copies[kinds](driver, to + row * to_pitch, source + row * source_pitch, width)

    driver.do(stream, copy)


def _declare_fills() -> None:
    for bits, letter in ((8, "b"), (32, "u")):

        def fill(driver: Streams, to: int, value: int, count: int, width: int = bits // 8) -> None:
            if to % width:
                raise DriverError(INVALID_VALUE, f"{to:#x} is no multiple of {width}")
            place = _range(driver, to, count * width, f"cuMemsetD{8 * width}")
            driver.memory.data[place] = numpy.tile(numpy.array([value], f"u{width}").view(numpy.uint8), count)
            driver.memory.state[place] |= WRITTEN

        def later(driver: Streams, to: int, value: int, count: int, stream: int | None, fill: Any = fill) -> None:
            driver.do(stream, lambda: fill(driver, to, value, count))

        def now(driver: Streams, to: int, value: int, count: int, fill: Any = fill) -> None:
            driver.refuse_capture()
            driver.do(None, lambda: fill(driver, to, value, count))

        function(f"cuMemsetD{bits}_v2", f"d{letter}z")(now)
        function(f"cuMemsetD{bits}Async", f"d{letter}zp")(later)


_declare_copies()
_declare_fills()
