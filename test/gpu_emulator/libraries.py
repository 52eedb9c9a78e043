# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common base of NVIDIA's emulated libraries: functions with C signatures, descriptors, tensors in device memory."""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy

from .driver import EmulatedCuda
from .driver_core import DriverError
from .faults import USE_AFTER_FREE, Fault
from .memory import ALLOCATED, READ_ONLY, WRITTEN

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"i": ctypes.c_int, "u": ctypes.c_uint, "p": ctypes.c_void_p, "n": ctypes.c_size_t, "q": ctypes.c_int64,
          "d": ctypes.c_double, "s": ctypes.c_char_p}  # fmt: skip


class Refused(Exception):
    """Error of a library: a status and a reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def exported(name: str, signature: str) -> Callable[[F], F]:
    """Declare a function of a library.

    Each letter is a parameter's type; a letter after a colon is the result's, if it is no status.
    """

    def declare(body: F) -> F:
        body.__dict__["exported"] = name, signature
        return body

    return declare


class EmulatedLibrary:
    """Library with functions as attributes, each a C function pointer. `check` raises the first error of a function."""

    #: Status for a wrong parameter, and status for an internal error.
    INVALID: ClassVar[int]
    INTERNAL: ClassVar[int]

    def __init__(self, driver: EmulatedCuda) -> None:
        self.driver = driver
        self.log: list[str] = []
        self.refusals: list[str] = []
        self.faults: list[Exception] = []
        self.fail: dict[str, int] = {}
        self.descriptors: dict[int, Any] = {}
        self._texts: dict[bytes, Any] = {}
        for each in vars(type(self)).values():
            if hasattr(each, "exported"):
                name, signature = each.exported
                setattr(self, name, self._pointer(name, signature, each))

    def _pointer(self, name: str, signature: str, body: Callable[..., Any]) -> Any:
        takes, _, gives = signature.partition(":")

        def call(*arguments: Any) -> Any:
            self.log.append(name)
            if gives == "s":
                return self._text(body(self, *arguments))
            if gives:
                return body(self, *arguments)
            if name in self.fail:
                return self.fail[name]
            try:
                body(self, *arguments)
            except (Refused, DriverError) as error:
                self.refusals.append(f"{name}: {error}")
                return error.status if isinstance(error, Refused) else self.INVALID
            except Fault as fault:
                self.driver.break_down(fault)
                return self.INTERNAL
            except Exception as error:  # no exception passes through C: it is kept for `check`
                traceback.print_exc()
                self.faults.append(error)
                return self.INTERNAL
            return 0

        result = ctypes.c_void_p if gives == "s" else _TYPES[gives or "i"]
        return ctypes.CFUNCTYPE(result, *(_TYPES[letter] for letter in takes))(call)

    def _text(self, text: bytes) -> int:
        """Return the address of a permanent copy of a text."""
        return ctypes.addressof(self._texts.setdefault(text, ctypes.create_string_buffer(text)))

    def require(self, condition: bool, why: str, status: int | None = None) -> None:
        if not condition:
            raise Refused(self.INVALID if status is None else status, why)

    # ---- descriptors ----

    def give(self, to: int, thing: Any) -> None:
        """Make a descriptor, and write its handle to a pointer."""
        handle = self.driver.handle()
        self.descriptors[handle] = thing
        ctypes.c_uint64.from_address(to).value = handle

    def known(self, handle: int | None, kind: type[Any]) -> Any:
        found = self.descriptors.get(handle or 0)
        self.require(isinstance(found, kind), f"{handle} is no {kind.__name__}")
        return found

    def drop(self, handle: int, kind: type[Any]) -> None:
        self.known(handle, kind)
        del self.descriptors[handle]

    def left(self, kind: type[Any]) -> int:
        """Return the number of descriptors of a kind that are in use."""
        return sum(isinstance(each, kind) for each in self.descriptors.values())

    # ---- memory ----

    def context(self) -> int:
        """Return the current context, which all work on the device needs."""
        self.require(bool(self.driver.current()), "this thread has no current context")
        return self.driver.current()

    def tensor(self, address: int | None, dtype: Any, sizes: Sequence[int], strides: Sequence[int]) -> Any:
        """Return a writable array of elements in device memory, all in one live allocation."""
        width = numpy.dtype(dtype).itemsize
        self.require(bool(address) and (address or 0) % width == 0, f"{address} is no aligned address")
        extent = width * (1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)))
        memory = self.driver.memory
        if memory.is_freed(address or 0):
            message = f"{extent} bytes at {address:#x}: {memory.describe(address or 0)}"
            raise Fault.of_host(USE_AFTER_FREE, self.log[-1], message)
        self.driver.note_use(memory.around(address or 0), self.log[-1])
        start = memory.range(address or 0, extent)
        self.require(start is not None, f"{extent} bytes at {address:#x}: {memory.describe(address or 0)}")
        flat = memory.data[start : (start or 0) + extent].view(dtype)
        return numpy.lib.stride_tricks.as_strided(flat, tuple(sizes), [width * each for each in strides])

    def read(self, array: Any, what: str) -> Any:
        """Return a copy of an array, which must have been written."""
        self.require(bool((self._states(array) & WRITTEN).all()), f"{what} was never written")
        return array.copy()

    def write(self, array: Any, values: Any) -> None:
        states = self._states(array)
        self.require(not (states & READ_ONLY).any(), "the result is in memory that cannot be written")
        array[...] = values
        states[...] = ALLOCATED | WRITTEN

    def scribble(self, address: int | None, size: int, why: str) -> None:
        """Fill a workspace with the bytes that a library may leave there."""
        array = self.tensor(address, numpy.uint8, (size,), (1,))
        self.require((address or 0) % 16 == 0, f"{why} at {address:#x} is not aligned")
        self.write(array, 0xA5)

    def _states(self, array: Any) -> Any:
        """Return the states of an array's bytes."""
        memory = self.driver.memory
        start = array.__array_interface__["data"][0] - memory.host_address
        shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
        return numpy.lib.stride_tricks.as_strided(memory.state[start:], shape, strides)

    def check(self) -> None:
        if self.faults:
            raise self.faults[0]
