# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a program with device functions in its own code, which replace the functions of a driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from ..artifact import DeviceCode
from ..errors import DeviceError
from ..manifest import Signature
from .device_program import DeviceProgram

OUT_OF_MEMORY = 2
_CALLED = (
    "using the device", "leaving the device", "launching", "taking memory", "giving memory back",
    "copying to the device", "copying from the device", "copying on the device", "waiting", "waiting for all work", "",
    "", "making an event", "marking an event", "waiting for an event", "measuring a time", "ending an event",
)  # fmt: skip
_TAKE, _FREE, _WRITE, _READ, _COPY, _WAIT = 3, 4, 5, 6, 7, 8
_PLACE, _SIZE = ctypes.c_void_p, ctypes.c_size_t


class TableProgram(DeviceProgram):
    """Program with the functions of its kind's table (targets/host/library/device_functions.py).

    A kind of device defines `kind`, `dlpack_kind`, `statuses` and `devices`; `open`, `load` and `label` if needed.
    """

    called = _CALLED
    #: Number of further functions in the table, for the kind itself.
    own_functions: ClassVar[int] = 0

    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        """Find the device. By default the functions need no state."""

    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        """Return no kernels: the CPU computes in the device's memory."""
        return []

    @property
    def label(self) -> str:
        return self.name

    @property
    def context(self) -> int:
        return self.stream or 1

    @cached_property
    def table_functions(self) -> list[int]:
        """Return the addresses of all functions in the code's table."""
        address = self._resident.address(f"__relax_{self.kind}_functions")
        return list((ctypes.c_uint64 * (len(self.called) + self.own_functions)).from_address(address))

    def functions(self) -> Sequence[int]:
        return self.table_functions[: len(self.called)]

    def allocate(self, size: int) -> int:
        place = ctypes.c_uint64()
        if (status := self.take(ctypes.addressof(place), size, self.stream)) == OUT_OF_MEMORY:
            raise MemoryError(status_text(self.statuses or (), status))
        self._check(_TAKE, status)
        # Without a reference to this object, so that it is freed with its last other reference.
        self._undo.append(partial(self.free, place.value, self.stream))
        return place.value

    def allocate_shared(self, size: int) -> tuple[int, int]:
        """Return host memory at its own address, for devices without kernels that assert."""
        self._shared = (ctypes.c_uint64 * (size // 8))()
        return ctypes.addressof(self._shared), ctypes.addressof(self._shared)

    def write(self, to: int, source: int, size: int) -> None:
        self._move(_WRITE, to, source, size)

    def read(self, to: int, source: int, size: int) -> None:
        self._move(_READ, to, source, size)

    def copy(self, to: int, source: int, size: int) -> None:
        self._move(_COPY, to, source, size)

    def wait(self) -> None:
        self._check(_WAIT, self._function(_WAIT, _PLACE)(self.stream))

    @cached_property
    def take(self) -> Any:
        """Return the function that allocates memory and stores its address."""
        return self._function(_TAKE, _PLACE, _SIZE, _PLACE)

    @cached_property
    def free(self) -> Any:
        """Return the function that frees memory."""
        return self._function(_FREE, _PLACE, _PLACE)

    def _function(self, which: int, *parameters: type[ctypes.c_void_p | ctypes.c_size_t]) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_int32, *parameters)(self.table_functions[which])

    def _move(self, which: int, to: int, source: int, size: int) -> None:
        self._check(which, self._function(which, _PLACE, _PLACE, _SIZE, _PLACE)(to, source, size, self.stream))

    def _check(self, which: int, status: int) -> None:
        if status:
            raise DeviceError(f"{self.label}: {self.called[which]}: {status_text(self.statuses or (), status)}")


def status_text(statuses: Sequence[tuple[int, str, str]], status: int) -> str:
    """Return a status with its name."""
    return {number: f"{name}: {text}" for number, name, text in statuses}.get(status, f"status {status}")
