# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a program on an OpenCL device: its kernels, and memory from the program's own functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial

from relax_mlir.runtime.artifact import DeviceCode
from relax_mlir.runtime.errors import DeviceError
from relax_mlir.runtime.manifest import Signature

from ..device_kernels import FORMAT, TEXT_FORMAT, SpirvKernel, capabilities, read_kernels, too_large
from ..paged import PagedProgram
from .driver import FLOATS_OF_64, OpenclDevice, OpenclError, driver
from .opened import open_device
from .source_text import extensions, kernel_name, most_threads
from .statuses import STATUSES

KIND = "opencl"
#: Words of a kernel's handle: the driver's handle, words of parameters, the last update of its chunks.
_HANDLE_WORDS = 3
#: Option that SPIR-V modules state themselves.
_EXACT_DIVISION = b"-cl-fp32-correctly-rounded-divide-sqrt"
_BUILD_LOG, _LOG_BYTES, _SHOWN_LINES = 0x1183, 8192, 5
#: Capabilities of SPIR-V by number: kernels with a subgroup size; and an element type with its extension.
_SUBGROUP_DISPATCH = 58
_OPTIONAL = {9: ("f16", "cl_khr_fp16"), 10: ("f64", FLOATS_OF_64), 12: ("atomic i64", "cl_khr_int64_base_atomics")}


class OpenclProgram(PagedProgram):
    """State of a program on a device of OpenCL's loader."""

    kind, dlpack_kind, statuses = KIND, 4, STATUSES

    @classmethod
    def devices(cls) -> list[str]:
        return [device.table() for device in driver().devices()]

    @classmethod
    def targets(cls) -> list[str]:
        return [device.target for device in driver().devices()]

    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        self.driver = driver()
        _check_fits(codes[0], _kernels(codes[0]), self.driver.device(self.number))
        self.device = open_device(self.driver, self.number)
        self.set_page(self.device.page)

    @property
    def label(self) -> str:
        return str(self.device.device)

    def allocate_shared(self, size: int) -> tuple[int, int]:
        found = self.device.host_visible(size)
        self._undo.append(partial(self.device.free, found))
        return found, found

    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        """Return the addresses of the kernels' handles."""
        code, kernels = codes[0], _kernels(codes[0])
        self._handles = (ctypes.c_uint64 * max(_HANDLE_WORDS * len(kernels), 1))()
        programs: dict[bytes, int] = {}
        for place, (name, kernel) in enumerate(zip(code.kernels, kernels, strict=True)):
            if kernel.module not in programs:
                programs[kernel.module] = self._program(code, kernel.module)
            found = kernel_name(name) if code.format == TEXT_FORMAT else name
            try:
                handle = self.driver.made("clCreateKernel", programs[kernel.module], found.encode())
            except OpenclError as error:
                raise DeviceError(f"{self.label} refuses kernel '{name}' of the program: {error}") from None
            self._undo.append(partial(self.driver.call, "clReleaseKernel", handle))
            self._handles[_HANDLE_WORDS * place : _HANDLE_WORDS * (place + 1)] = [handle, kernel.words, 0]
        base = ctypes.addressof(self._handles)
        return [base + 8 * _HANDLE_WORDS * place for place in range(len(kernels))]

    def _program(self, code: DeviceCode, module: bytes) -> int:
        handle = self.device.device.handle
        try:
            if code.format == TEXT_FORMAT:
                texts, sizes = (ctypes.c_char_p * 1)(module), (ctypes.c_size_t * 1)(len(module))
                program = self.driver.made("clCreateProgramWithSource", self.device.context, 1, texts, sizes)
            else:
                program = self.driver.made("clCreateProgramWithIL", self.device.context, module, len(module))
        except OpenclError as error:
            raise DeviceError(f"{self.label} refuses {code.label}: {error}") from None
        self._undo.append(partial(self.driver.call, "clReleaseProgram", program))
        try:
            is_exact = code.format == TEXT_FORMAT and self.device.device.divides_exactly
            options = _EXACT_DIVISION if is_exact else b""
            self.driver.call("clBuildProgram", program, 1, (ctypes.c_void_p * 1)(handle), options, None, None)
        except OpenclError as error:
            log = ctypes.create_string_buffer(_LOG_BYTES)
            self.driver.call("clGetProgramBuildInfo", program, handle, _BUILD_LOG, _LOG_BYTES, log, None)
            lines = [line for line in log.value.decode(errors="replace").splitlines() if line.strip()]
            text = f"{self.label} refuses {code.label}: {error}"
            raise DeviceError("\n  ".join([text, *lines[:_SHOWN_LINES]])) from None
        return program


def _kernels(code: DeviceCode) -> list[SpirvKernel]:
    return read_kernels(code, FORMAT, TEXT_FORMAT)


def _check_fits(code: DeviceCode, kernels: Sequence[SpirvKernel], device: OpenclDevice) -> None:
    """Raise DeviceError if the device lacks features that kernels need."""
    if code.format == TEXT_FORMAT:
        _check_text_fits(code, kernels, device)
        return
    if "SPIR-V" not in device.spirv:
        problem = f"takes no SPIR-V, which {code.label}, are"
        raise DeviceError(f"{device} ({device.version}) {problem}; {_fitting(device)}")
    needed = {number for module in {kernel.module for kernel in kernels} for number in capabilities(module)}
    asked = [(name, extension) for number, (name, extension) in _OPTIONAL.items() if number in needed]
    lacking = [name for name, extension in asked if not device.has(extension)]
    if lacking:
        raise DeviceError(f"{device} lacks what {code.label}, need: {', '.join(lacking)}; {_fitting(device)}")
    large = too_large(kernels, device.threads)
    if large:
        raise DeviceError(f"{device} is too small for {code.label}, which need {large}; {_fitting(device)}")
    sizes = device.subgroup_sizes
    for size in {kernel.subgroup for kernel in kernels if _SUBGROUP_DISPATCH in capabilities(kernel.module)}:
        if sizes and size not in sizes:
            there = ", ".join(map(str, sizes))
            raise DeviceError(f"{device} has subgroups of {there}, {code.label}, are for {size}; {_fitting(device)}")


def _check_text_fits(code: DeviceCode, kernels: Sequence[SpirvKernel], device: OpenclDevice) -> None:
    for text in {kernel.module for kernel in kernels}:
        lacking = {said for name, said in extensions(text).items() if not device.has(name)}
        if lacking:
            needed = ", ".join(sorted(lacking))
            raise DeviceError(f"{device} lacks what {code.label}, need: {needed}; {_fitting(device)}")
        if most_threads(text) > device.threads:
            large = f"blocks of {most_threads(text)} threads, at most {device.threads} here"
            raise DeviceError(f"{device} is too small for {code.label}, which need {large}; {_fitting(device)}")


def _fitting(device: OpenclDevice) -> str:
    return f"target '{device.target}' is for it"
