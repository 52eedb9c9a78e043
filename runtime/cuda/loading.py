# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program's part on a device: its kernels, its constants, the record of what kernels assert, and the code's table."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Lock

from ...support.byte_sizes import byte_text
from ...support.errors import OptionError
from ..artifact import DeviceCode
from ..constant_memory import address_of
from ..errors import ArtifactError, DeviceError
from ..foreign_types import CodeModule
from ..manifest import Signature
from .driver import OUT_OF_MEMORY, UNSUPPORTED_PTX, Device, DriverError, driver
from .graphs import graphs_of

KIND = "cuda"
#: The driver's functions that code calls, in the order of its table (targets/host/library/device.mlir), from place 6.
_CALLED = (
    "cuCtxPushCurrent", "cuCtxPopCurrent", "cuLaunchKernel", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuStreamSynchronize", "cuCtxSynchronize", "cuGetErrorName",
    "cuGetErrorString", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuEventDestroy",
)  # fmt: skip
_CONSTANT_ALIGNMENT = 256
#: What makes tensor maps, of the table's place behind graphs, and the first driver's version that has it.
_MAKES_MAPS, _FIRST_WITH_MAPS = "cuTensorMapEncodeTiled", "12.0"
#: Instructions that read them. What is no text may have some where it is for a device with them.
_ARCH = re.compile(r"sm_(\d+)(\d)([af]?)")
_READS_MAPS, _HAS_MAPS = b"cp.async.bulk.tensor", "sm_90a"
#: For what kernels assert: one for each of this many threads that call, and as many flags.
_RECORDS, _RECORD_BYTES = 64, 64
_PORTABLE_AND_MAPPED = 3
_LOG_BYTES, _SHOWN_LINES = 8192, 5
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6
_STATIC_SHARED, _MOST_DYNAMIC_SHARED = 1, 8
_MOST_SHARED_IN_A_BLOCK = 97
#: What code asks for whose kernels' shared memory is as large as a launch says.
_DYNAMIC_SHARED = b".extern .shared"


def checked_device(device: str | None, codes: Sequence[DeviceCode]) -> str:
    """Where a program runs: on the first device of its kind by default. Raises RelaxError for what is none."""
    kind = codes[0].kind if codes else "cpu"
    if device is None:
        return f"{kind}:0" if codes else kind
    found = re.fullmatch(r"([a-z]+)(?::(\d{1,4}))?", device) if isinstance(device, str) else None
    if found is None or found[1] not in ("cpu", KIND):
        raise OptionError(f"device={device!r}: expected 'cuda' or 'cuda:0', 'cuda:1', ... by the device's number")
    if found[1] != kind:
        raise OptionError(f"device={device!r}: the program is compiled for {kind}, and has no code for another device")
    return f"{kind}:{int(found[2] or 0)}" if codes else kind


class DeviceProgram:
    """What a program has on a device, as long as this object lives: the program's code holds it."""

    def __init__(
        self,
        codes: Sequence[DeviceCode],
        device: str,
        constants: Sequence[memoryview],
        signatures: Sequence[Signature] = (),
        graphs: bool | None = False,
    ) -> None:
        """Raises DeviceError with the reason; what has been made until then is given back. `signatures` are the
        functions', `graphs` says which are launched as graphs (graphs_of)."""
        _check_codes(codes)
        self.driver = driver()
        self.device = self.driver.device(int(device.partition(":")[2]))
        chosen = _codes_for(self.device, codes)
        self._addresses = [self.driver.address(name) for name in _CALLED]
        self.graphs = graphs_of(signatures, graphs, self.driver, self.device)
        self._make_maps = self.driver.address(_MAKES_MAPS, _FIRST_WITH_MAPS) if _need_maps(codes) else 0
        self.context = self.driver.context(self.device.handle)
        #: What gives something back, the last one made first.
        self._undo: list[Callable[[], None]] = []
        try:
            with self.driver.current(self.context):
                self.kernels = self._load_one(chosen)
                places = self._upload(constants)
                self.record = self._make_record()
            if self.graphs is not None:
                self._undo.append(self.graphs.close)
        except BaseException:
            self.close()
            raise
        #: The constants' addresses, as ConstantMemory has them.
        self.table = (ctypes.c_void_p * max(len(places), 1))(*places)
        self._names = _texts(f"kernel '{name}'" for name in codes[0].kernels)

    def table_for(self, deleter: int) -> ctypes.Array[ctypes.c_void_p]:
        """The table that the code is given; `deleter` is the address of what frees results."""
        names = ctypes.cast(self._names, ctypes.c_void_p).value
        head = [self.context, self.device.number, self.record[1], self.record[0], names, deleter]
        graphs = 0 if self.graphs is None else self.graphs.address
        listed = [*head, *self._addresses, graphs, self._make_maps, *self.kernels]
        return (ctypes.c_void_p * len(listed))(*listed)

    def close(self) -> None:
        """Waits for what is under way, and gives all back. The driver's errors are ignored then."""
        undo, self._undo = self._undo, []
        if not undo:
            return
        with suppress(DeviceError), self.driver.current(self.context):
            with suppress(DeviceError):
                self.driver.call("cuCtxSynchronize")
            for each in reversed(undo):
                with suppress(DeviceError):
                    each()

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # Where the process ends the driver gives all back; this module's names may be gone then.
        if getattr(self, "_undo", None) and not _is_finalizing():
            self.close()

    def _load_one(self, codes: Sequence[DeviceCode]) -> list[int]:
        """The handles of the kernels, of the first code that the driver takes: a driver that is older than what has
        made machine code refuses that, and makes its own of PTX.
        """
        *others, last = codes
        for code in others:
            with suppress(_RefusedError):
                return self._load(code)
        return self._load(last)

    def _load(self, code: DeviceCode) -> list[int]:
        """The handles of the kernels."""
        data = bytes(code.data) + b"\0"
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        try:
            module = self.driver.made("cuModuleLoadDataEx", data, 2, options, values)
        except DriverError as error:
            raise self._refused(code, error, log.value.decode(errors="replace")) from None
        self._undo.append(partial(self.driver.call, "cuModuleUnload", module))
        kernels = [self._kernel(module, name) for name in code.kernels]
        if code.format != "ptx" or _DYNAMIC_SHARED in data:
            for kernel in kernels:
                self._allow_shared(kernel)
        return kernels

    def _refused(self, code: DeviceCode, error: DriverError, log: str) -> DeviceError:
        if error.status == OUT_OF_MEMORY:
            return DeviceError(f"{self.device} ({self.device.name}) has no room for the program's kernels: {error}")
        text = f"{self.device} ({self.device.name}) refuses {code.label} ({code.format}): {error}"
        if error.status == UNSUPPORTED_PTX:
            major, minor = self.driver.version()
            text += f"; the driver is of CUDA {major}.{minor}, which is too old for them: a newer one is needed"
        lines = [line for line in log.splitlines() if line.strip()][:_SHOWN_LINES]
        return _RefusedError("\n  ".join([text, *lines]))

    def _kernel(self, module: int, name: str) -> int:
        try:
            return self.driver.made("cuModuleGetFunction", module, name.encode())
        except DriverError as error:
            raise ArtifactError(f"the code for the device has no kernel '{name}': {error}") from None

    def _allow_shared(self, kernel: int) -> None:
        """Lets launches ask for all the shared memory that a block can have, which is more than the usual 48 KB."""
        static = self.driver.number("cuFuncGetAttribute", _STATIC_SHARED, kernel)
        most = self.driver.attribute(self.device.handle, _MOST_SHARED_IN_A_BLOCK) - static
        self.driver.call("cuFuncSetAttribute", kernel, _MOST_DYNAMIC_SHARED, most)

    def _upload(self, constants: Sequence[memoryview]) -> list[int]:
        """The constants' addresses on the device: one allocation for all."""
        total = sum(map(_padded, constants))
        if not total:
            return [1] * len(constants)  # what has no elements is never read; 0 would say that they are not set
        base = self._allocate(total, "constants")
        places = []
        for view in constants:
            places.append(base)
            if view.nbytes:
                self.driver.call("cuMemcpyHtoD", base, address_of(view), view.nbytes)
            base += _padded(view)
        return places

    def _allocate(self, size: int, what: str) -> int:
        try:
            found = self.driver.made("cuMemAlloc", size)
        except DriverError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            reason = f"has no room for the program's {what}, {byte_text(size)}: {error}"
            raise DeviceError(f"{self.device} ({self.device.name}) {reason}") from None
        self._undo.append(partial(self.driver.call, "cuMemFree", found))
        return found

    def _make_record(self) -> tuple[int, int]:
        """Where the host finds the records of what kernels assert, and where these find flags, in memory of their own:
        what is behind a kernel that asserts looks whether it has. Each flag says where the record is, for kernels.
        """
        host = self.driver.made("cuMemHostAlloc", _RECORDS * _RECORD_BYTES, _PORTABLE_AND_MAPPED)
        self._undo.append(partial(self.driver.call, "cuMemFreeHost", host))
        mapped = self.driver.made("cuMemHostGetDevicePointer", host, 0)
        ctypes.memset(host, 0, _RECORDS * _RECORD_BYTES)
        words = _RECORD_BYTES // 8
        flags = (ctypes.c_uint64 * (_RECORDS * words))()
        flags[1::words] = [mapped + _RECORD_BYTES * number for number in range(_RECORDS)]
        own = self._allocate(ctypes.sizeof(flags), "flags for what kernels assert")
        self.driver.call("cuMemcpyHtoD", own, ctypes.addressof(flags), ctypes.sizeof(flags))
        return host, own


class _RefusedError(DeviceError):
    """The driver does not take code."""


def _check_codes(codes: Sequence[DeviceCode]) -> None:
    if {each.kind for each in codes} != {KIND}:
        there = ", ".join(f"code for {each.kind}" for each in codes) or "none"
        raise ArtifactError(f"this release runs code for one device, {KIND}; there is {there}")
    if len({each.kernels for each in codes}) > 1:
        raise ArtifactError("the program's codes for the device have not the same kernels")


def _codes_for(device: Device, codes: Sequence[DeviceCode]) -> list[DeviceCode]:
    """Those that run on a device, machine code first. Raises DeviceError where none does."""
    for code in codes:
        if not _ARCH.fullmatch(code.arch):
            raise ArtifactError(f"the code for the device is for '{code.arch}', which this release does not know")
    found = [code for code in codes if not _reason_against(code, device)]
    if not found:
        raise DeviceError(_reason_against(codes[0], device))
    return sorted(found, key=lambda code: code.format == "ptx")


def _need_maps(codes: Sequence[DeviceCode]) -> bool:
    """As PTX says; where there is none, machine code may."""
    texts = [each for each in codes if each.format == "ptx"]
    return any(_READS_MAPS in bytes(each.data) for each in texts) if texts else codes[0].arch == _HAS_MAPS


def _padded(view: memoryview) -> int:
    return view.nbytes + -view.nbytes % _CONSTANT_ALIGNMENT


def _texts(texts: Iterator[str]) -> ctypes.Array[ctypes.c_char_p]:
    """An array of C strings, which it keeps."""
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * max(len(encoded), 1))(*encoded)


def _reason_against(code: DeviceCode, device: Device) -> str:
    """Why code is not for a device: PTX is for newer ones too, a cubin and what says so for its own."""
    major, minor, own = _ARCH.fullmatch(code.arch).groups()  # type: ignore[union-attr]
    wanted, had = (int(major), int(minor)), (device.major, device.minor)
    if had == wanted if own else had >= wanted and (code.format == "ptx" or had[0] == wanted[0]):
        return ""
    newer = "" if own else f" to sm_{major}9" if code.format != "ptx" else " and newer"
    return f"{code.label}, run on {code.arch}{newer}; {device} ({device.name}) is {device.arch}"


# ---- what gives results back: code that stays ----

_resident: list[tuple[object, int]] = []
_lock = Lock()


def deleter_of_process(load: Callable[[], CodeModule]) -> int:
    """The address of what frees results, in code that `load` loads once more and is never unloaded: results outlive the
    programs that made them.
    """
    with _lock:
        if not _resident:
            module = load()
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))  # after the interpreter's end too
            _resident.append((module, int(module.get_function("__relax_device_deleter")())))
        return _resident[0][1]
