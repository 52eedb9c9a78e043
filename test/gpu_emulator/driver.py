# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulated libcuda: an object with the driver's functions as attributes, each a C function pointer.

driver = EmulatedCuda(capability=(8, 0))
driver.cuInit(0)
...                # launches, through this object or from native code that has the functions' addresses
driver.check()     # raises the errors of kernels: races, accesses out of bounds, ...
assert not driver.leaks()
"""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy

from . import driver_devices, driver_memory, driver_tensors
from .driver_core import (
    INVALID_HANDLE,
    INVALID_PTX,
    INVALID_VALUE,
    NO_BINARY,
    NOT_FOUND,
    OUT_OF_MEMORY,
    OUT_OF_RESOURCES,
    Call,
    DriverError,
    function,
    put,
)
from .driver_devices import MAX_BLOCK, MAX_GRID, MAX_THREADS, USUAL_SHARED_BYTES, largest_shared
from .driver_streams import Streams
from .faults import Fault
from .machine import Checks, Launch
from .memory import ADDRESS, ALLOCATED, READ_ONLY, WRITTEN, Allocation, OutOfDeviceMemory
from .program import Program, make_program
from .ptx import PtxError, Unit, parse
from .races import LAUNCHES, Cells

__all__ = ["Call", "Checks", "EmulatedCuda", "Fault"]

_PARTS = (driver_devices, driver_memory, driver_tensors)  # which declare functions
_ERROR_LOG, _ERROR_LOG_BYTES, _INFO_LOG_BYTES = 5, 6, 4


@functools.lru_cache(maxsize=256)
def _read(text: str) -> tuple[Unit, dict[str, Program]]:
    unit = parse(text)
    return unit, {each.name: make_program(unit, each.name) for each in unit.functions.values() if each.is_kernel}


@dataclass
class _Module:
    unit: Unit
    programs: dict[str, Program]
    symbols: dict[str, Allocation]
    context: int


@dataclass
class _Kernel:
    module: _Module
    program: Program
    dynamic_limit: int = USUAL_SHARED_BYTES


@dataclass(eq=False)
class EmulatedCuda(Streams):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.modules: dict[int, _Module] = {}
        self.kernels: dict[int, _Kernel] = {}
        self._cells: dict[int, Cells] = {}
        self._launches = 0

    def kernel(self, handle: int) -> _Kernel:
        if handle not in self.kernels:
            raise DriverError(INVALID_HANDLE, f"{handle} is no kernel")
        return self.kernels[handle]

    def load(self, text: str) -> int:
        try:
            unit, programs = _read(text)
        except PtxError as error:
            raise DriverError(INVALID_PTX, str(error)) from None
        match = re.fullmatch(r"sm_(\d+)([af]?)", unit.target)
        if match is None:
            raise DriverError(INVALID_PTX, f"target {unit.target!r}")
        own, wanted = 10 * self.capability[0] + self.capability[1], int(match[1])
        if wanted > own or (match[2] == "a" and wanted != own) or (match[2] == "f" and wanted // 10 != own // 10):
            raise DriverError(NO_BINARY, f"the code is for {unit.target}, the device is sm_{own}")
        handle = self.handle()
        self.modules[handle] = _Module(unit, programs, self._variables(unit), self.current())
        return handle

    def _variables(self, unit: Unit) -> dict[str, Allocation]:
        found = {}
        memory = self.memory
        for each in unit.variables.values():
            if each.space not in ("global", "const"):
                continue
            try:
                found[each.name] = memory.allocate(max(each.size or 1, 1), f"variable {each.name}")
            except OutOfDeviceMemory as error:
                raise DriverError(OUT_OF_MEMORY, str(error)) from None
        for name, place in found.items():
            variable = unit.variables[name]
            data = bytearray(variable.data.ljust(place.size, b"\0"))
            for offset, other, addend in variable.addresses:
                data[offset : offset + 8] = (found[other].address + addend).to_bytes(8, "little")
            memory.data[place.start : place.start + place.size] = bytearray(data)
            kept = READ_ONLY if variable.space == "const" else 0
            memory.state[place.start : place.start + place.size] = ALLOCATED | WRITTEN | kept
        return found

    def unload(self, handle: int) -> None:
        if handle not in self.modules:
            raise DriverError(INVALID_HANDLE, f"{handle} is no module")
        module = self.modules.pop(handle)
        for allocation in module.symbols.values():
            self.memory.free(allocation, self.now("cuModuleUnload"))
        self.kernels = {key: kernel for key, kernel in self.kernels.items() if kernel.module is not module}

    def launch(self, kernel: _Kernel, grid: Any, block: Any, dynamic_bytes: int, parameters: bytes) -> None:
        if self.sticky:
            return
        program = kernel.program
        self._launches += 1
        cells = None
        if self.checks.races:
            unit = program.unit_bytes
            cells = self._cells.setdefault(unit, Cells(self.memory.reserved // unit))
            if self._launches % (LAUNCHES - 1) == 0:
                for each in self._cells.values():
                    each.reset()
        symbols = {name: allocation.address for name, allocation in kernel.module.symbols.items()}
        launch = Launch(
            program, self.memory, symbols, parameters, grid, block, dynamic_bytes, self._launches, cells, self.checks
        )
        try:
            self._note_uses(program.name, parameters)
            launch.run()
        except Fault as fault:
            self.break_down(fault)

    def _note_uses(self, kernel: str, parameters: bytes) -> None:
        """Record the use of memory that a kernel's parameters point to."""
        self.last_kernel = kernel
        words = numpy.frombuffer(parameters[: len(parameters) // 8 * 8], numpy.uint64)
        for address in words[(words >= ADDRESS) & (words < ADDRESS + self.memory.reserved)]:
            self.note_use(self.memory.around(int(address)), kernel)


@function("cuModuleLoadData", "pp")
def _load(driver: EmulatedCuda, to: int, image: int) -> None:
    put(to, driver.load(_text(image)))


def _text(image: int) -> str:
    if not image:
        raise DriverError(INVALID_VALUE, "no image")
    if ctypes.string_at(image, 4) == b"\x7fELF":
        raise DriverError(NO_BINARY, "the emulator runs PTX, no cubins")
    return ctypes.string_at(image).decode("ascii", "replace")


@function("cuModuleLoadDataEx", "ppupp")
def _load_ex(driver: EmulatedCuda, to: int, image: int, count: int, options: int | None, values: int | None) -> None:
    try:
        put(to, driver.load(_text(image)))
        message = ""
    except DriverError as error:
        message = f"ptxas error   : {error}"
        raise
    finally:
        _write_log(message, count, options, values)


def _write_log(message: str, count: int, options: int | None, values: int | None) -> None:
    if not count or not options or not values:
        return
    names = list((ctypes.c_int * count).from_address(options))
    given = (ctypes.c_uint64 * count).from_address(values)
    if _INFO_LOG_BYTES in names:
        given[names.index(_INFO_LOG_BYTES)] = 0
    if _ERROR_LOG not in names or _ERROR_LOG_BYTES not in names:
        return
    size = given[names.index(_ERROR_LOG_BYTES)] & 0xFFFFFFFF
    text = message.encode()[: max(size - 1, 0)] + b"\0"
    if size:
        ctypes.memmove(given[names.index(_ERROR_LOG)], text, len(text))
    given[names.index(_ERROR_LOG_BYTES)] = len(text) - 1


@function("cuModuleUnload", "p")
def _unload(driver: EmulatedCuda, module: int) -> None:
    driver.unload(module)


def _module(driver: EmulatedCuda, handle: int) -> _Module:
    if handle not in driver.modules:
        raise DriverError(INVALID_HANDLE, f"{handle} is no module")
    return driver.modules[handle]


@function("cuModuleGetFunction", "pps")
def _get_function(driver: EmulatedCuda, to: int, module: int, name: bytes) -> None:
    found = _module(driver, module)
    program = found.programs.get(name.decode())
    if program is None:
        raise DriverError(NOT_FOUND, f"no kernel {name.decode()}, only {', '.join(found.programs)}")
    handle = driver.handle()
    driver.kernels[handle] = _Kernel(found, program)
    put(to, handle)


@function("cuModuleGetGlobal_v2", "ppps")
def _get_global(driver: EmulatedCuda, to: int | None, size: int | None, module: int, name: bytes) -> None:
    found = _module(driver, module).symbols.get(name.decode())
    if found is None:
        raise DriverError(NOT_FOUND, f"no variable {name.decode()}")
    if to:
        put(to, found.address)
    if size:
        put(size, found.size)


@function("cuFuncSetAttribute", "pii")
def _set_attribute(driver: EmulatedCuda, kernel: int, which: int, value: int) -> None:
    found = driver.kernel(kernel)
    if which == 8:
        if value + found.program.shared_bytes > largest_shared(driver.capability):
            raise DriverError(INVALID_VALUE, f"{value} bytes of dynamic shared memory are too many")
        found.dynamic_limit = value
    elif which not in (9, 10, 11, 12, 13, 14, 15):
        raise DriverError(INVALID_VALUE, f"attribute {which}")


@function("cuFuncGetAttribute", "pip")
def _get_attribute(driver: EmulatedCuda, to: int, which: int, kernel: int) -> None:
    found = driver.kernel(kernel)
    program, own = found.program, 10 * driver.capability[0] + driver.capability[1]
    threads = _bound(program, "maxntid") or _bound(program, "reqntid") or MAX_THREADS
    known = {0: threads, 1: program.shared_bytes, 2: 0, 3: program.local_bytes, 4: 32, 5: own, 6: own, 7: 0}
    known[8] = found.dynamic_limit
    if which not in known:
        raise DriverError(INVALID_VALUE, f"attribute {which}")
    put(to, known[which], ctypes.c_int)


def _bound(program: Program, name: str) -> int:
    sizes = program.function.bounds.get(name, ())
    return functools.reduce(int.__mul__, sizes, 1) if sizes else 0


@function("cuLaunchKernel", "puuuuuuuppp")
def _launch(driver: EmulatedCuda, kernel: int, *rest: Any) -> None:
    grid, block, (dynamic_bytes, stream, parameters, extra) = rest[:3], rest[3:6], rest[6:]
    found = driver.kernel(kernel)
    if found.module.context != driver.current():
        raise DriverError(INVALID_HANDLE, f"{found.program.name} was loaded in another device's context")
    _check_launch(driver, found, grid, block, dynamic_bytes)
    if extra:
        raise DriverError(INVALID_VALUE, "the emulator reads kernelParams, not extra")
    given = _parameters(found.program, parameters)
    driver.do(stream, lambda: driver.launch(found, grid, block, dynamic_bytes, given))


def _check_launch(driver: EmulatedCuda, kernel: _Kernel, grid: Any, block: Any, dynamic_bytes: int) -> None:
    program = kernel.program
    name, threads = program.name, block[0] * block[1] * block[2]
    if any(not 1 <= size <= limit for size, limit in zip(grid, MAX_GRID, strict=True)):
        raise DriverError(INVALID_VALUE, f"{name}: a grid of {grid}, at most {MAX_GRID}")
    if any(not 1 <= size <= limit for size, limit in zip(block, MAX_BLOCK, strict=True)) or threads > MAX_THREADS:
        raise DriverError(INVALID_VALUE, f"{name}: a block of {block}, at most {MAX_BLOCK} and {MAX_THREADS} in all")
    required = program.function.bounds.get("reqntid")
    if required and block != (*required, 1, 1)[:3]:
        raise DriverError(INVALID_VALUE, f"{name}: a block of {block}, the kernel requires {required}")
    most = _bound(program, "maxntid")
    if most and threads > most:
        raise DriverError(OUT_OF_RESOURCES, f"{name}: {threads} threads, the kernel has at most {most}")
    if dynamic_bytes > kernel.dynamic_limit:
        raise DriverError(
            INVALID_VALUE, f"{name}: {dynamic_bytes} dynamic bytes, at most {kernel.dynamic_limit} allowed"
        )
    limit = max(USUAL_SHARED_BYTES, kernel.dynamic_limit + program.shared_bytes)
    if program.shared_bytes > USUAL_SHARED_BYTES or program.shared_bytes + dynamic_bytes > limit:
        raise DriverError(INVALID_VALUE, f"{name}: {program.shared_bytes} + {dynamic_bytes} bytes of shared memory")


def _parameters(program: Program, pointers: int | None) -> bytes:
    data = bytearray()
    layout = program.parameter_layout()
    if layout and not pointers:
        raise DriverError(INVALID_VALUE, f"{program.name}: no parameters")
    for number, (offset, size) in enumerate(layout):
        data += bytes(offset - len(data))
        address = ctypes.c_uint64.from_address((pointers or 0) + 8 * number).value
        if not address:
            raise DriverError(INVALID_VALUE, f"{program.name}: a null pointer for parameter {number}")
        data += ctypes.string_at(address, size)
    return bytes(data)
