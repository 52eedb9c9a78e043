# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common base of the emulated driver's parts: functions with C signatures, handles, devices, contexts, errors."""

from __future__ import annotations

import ctypes
import itertools
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .faults import Fault
from .machine import Checks
from .memory import Memory

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
INVALID_DEVICE, INVALID_CONTEXT, NO_BINARY, INVALID_PTX = 101, 201, 209, 218
INVALID_HANDLE, NOT_FOUND, NOT_READY, ILLEGAL_ADDRESS, OUT_OF_RESOURCES, UNKNOWN = 400, 500, 600, 700, 701, 999
ERRORS = {
    SUCCESS: ("CUDA_SUCCESS", "no error"),
    INVALID_VALUE: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    OUT_OF_MEMORY: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    NOT_INITIALIZED: ("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    100: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    INVALID_DEVICE: ("CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    200: ("CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    INVALID_CONTEXT: ("CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    NO_BINARY: ("CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    INVALID_PTX: ("CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    INVALID_HANDLE: ("CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    NOT_FOUND: ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    NOT_READY: ("CUDA_ERROR_NOT_READY", "device not ready"),
    ILLEGAL_ADDRESS: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    OUT_OF_RESOURCES: ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    710: ("CUDA_ERROR_ASSERT", "device-side assert triggered"),
    716: ("CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"),
    719: ("CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"),
    801: ("CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
    900: ("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"),
    908: (
        "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        "attempt to terminate a thread-local capture sequence from another thread",
    ),
    901: ("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"),
    UNKNOWN: ("CUDA_ERROR_UNKNOWN", "unknown error"),
}
#: Where the driver has no context yet, or needs none.
_WITHOUT_CONTEXT = {"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuCtxPushCurrent_v2"}
_WITHOUT_CONTEXT |= {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxPopCurrent_v2"}
#: Functions that work before cuInit, and after a kernel has failed.
_ALWAYS = {"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString"}

_TYPES = {
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "p": ctypes.c_void_p,
    "z": ctypes.c_size_t,
    "d": ctypes.c_uint64,  # CUdeviceptr
    "s": ctypes.c_char_p,
    "b": ctypes.c_ubyte,
}
_FUNCTIONS: dict[str, tuple[str, Callable[..., int | None]]] = {}


class DriverError(Exception):
    def __init__(self, code: int, why: str = "") -> None:
        super().__init__(f"{ERRORS.get(code, ('?', ''))[0]}{': ' + why if why else ''}")
        self.code = code


def function(name: str, signature: str) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Declare a function of the driver by its name in libcuda and a letter for each parameter."""

    def declare(body: Callable[..., int | None]) -> Callable[..., int | None]:
        _FUNCTIONS[name] = signature, body
        return body

    return declare


@dataclass
class Call:
    name: str
    arguments: tuple[Any, ...]
    result: int = SUCCESS


@dataclass
class Device:
    number: int
    context: int
    retained: int = 0


def put(address: int | None, value: int, kind: Any = ctypes.c_uint64) -> None:
    """Write a result to the caller's pointer."""
    if not address:
        raise DriverError(INVALID_VALUE, "a null pointer for a result")
    kind.from_address(address).value = value


@dataclass(eq=False)
class Core:
    """State of the driver. Subclasses declare the functions."""

    devices: int = 1
    capability: tuple[int, int] = (8, 0)
    memory_bytes: int = 1 << 28
    fail: dict[str, int | tuple[int, int]] = field(default_factory=dict)  # the code, or (at which call, the code)
    checks: Checks = field(default_factory=Checks)

    def __post_init__(self) -> None:
        self.memory = Memory(self.memory_bytes)
        self.faults: list[Fault | Exception] = []
        self.refusals: list[str] = []  # why calls failed, in words
        self.log: list[Call] = []
        self.sticky = SUCCESS
        self.copied: Counter[str] = Counter()  # bytes, by the way they went
        self.release_thresholds: dict[int, int] = {}  # of devices' memory pools
        self.last_kernel = ""
        self._lock = threading.RLock()
        self._numbers = itertools.count(0x1000_0010, 16)
        self._current = threading.local()
        self._initialized = False
        self._counts: dict[str, int] = {}
        self._all_devices = [Device(number, self.handle()) for number in range(self.devices)]
        for name, (signature, body) in _FUNCTIONS.items():
            kinds = [_TYPES[letter] for letter in signature]
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self._entry(name, body)))

    def handle(self) -> int:
        return next(self._numbers)

    def _entry(self, name: str, body: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            with self._lock:
                made = Call(name, arguments)
                self.log.append(made)
                made.result = self._answer(name, body, arguments)
                return made.result

        return call

    def _answer(self, name: str, body: Callable[..., int | None], arguments: tuple[Any, ...]) -> int:
        self._counts[name] = self._counts.get(name, 0) + 1
        wanted = self.fail.get(name)
        if wanted is not None:
            at, code = wanted if isinstance(wanted, tuple) else (self._counts[name], wanted)
            if at == self._counts[name]:
                return code
        if not self._initialized and name not in _ALWAYS:
            return NOT_INITIALIZED
        if self.sticky and name not in _WITHOUT_CONTEXT and not name.startswith("cuDevice"):
            return self.sticky
        if name not in _WITHOUT_CONTEXT and not name.startswith("cuDevice") and not self.current():
            self.refusals.append(f"{name}: this thread has no current context")
            return INVALID_CONTEXT
        try:
            return body(self, *arguments) or SUCCESS
        except DriverError as error:
            self.refusals.append(f"{name}: {error}")
            return error.code
        except Fault as fault:
            self.break_down(fault)
            return self.sticky
        except Exception as error:  # no exception passes through C: it is kept for `check`
            traceback.print_exc()
            self.faults.append(error)
            return UNKNOWN

    # Contexts

    def stack(self) -> list[int]:
        if not hasattr(self._current, "stack"):
            self._current.stack = []
        found: list[int] = self._current.stack
        return found

    def current(self) -> int:
        stack = self.stack()
        return stack[-1] if stack else 0

    def device(self, number: int) -> Device:
        if not 0 <= number < len(self._all_devices):
            raise DriverError(INVALID_DEVICE, f"device {number} of {len(self._all_devices)}")
        return self._all_devices[number]

    def known_context(self, handle: int | None) -> int:
        if not any(each.context == handle and each.retained for each in self._all_devices):
            raise DriverError(INVALID_CONTEXT, f"{handle} is no context that is retained")
        assert handle is not None
        return handle

    # Errors

    def break_down(self, fault: Fault) -> None:
        """Break the context like a device does: all later calls fail."""
        self.faults.append(fault)
        self.sticky = ILLEGAL_ADDRESS

    def now(self, function: str) -> str:
        """Return the current position in the program, for later messages."""
        behind = f", behind kernel {self.last_kernel}" if self.last_kernel else ""
        return f"by {function} (call {len(self.log)} of the driver{behind})"

    # For tests

    def check(self) -> None:
        """Raise the first error of a kernel or of the driver."""
        if self.faults:
            raise self.faults[0]

    def leaks(self) -> list[str]:
        return [f"{each.label}: {each.size} bytes" for each in self.memory.live()]

    def calls(self, name: str) -> list[Call]:
        return [each for each in self.log if each.name == name]
