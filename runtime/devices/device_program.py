# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a program on a device: kernels, constants, the record of kernels' assertions, and the code's table.

Subclasses, such as runtime/cuda's, implement the differences between kinds of devices.
"""

from __future__ import annotations

import ctypes
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, ClassVar

from ...support.byte_sizes import byte_text
from ..artifact import DeviceCode
from ..constant_memory import address_of
from ..errors import ArtifactError, DeviceError
from ..manifest import Signature
from .resident import ResidentCode

_CONSTANT_ALIGNMENT = 256
#: Records of kernels' assertions: one for each of this many calling threads, and as many flags.
_RECORDS, _RECORD_BYTES = 64, 64
#: Positions in the table before the driver's functions.
_HEAD = 6
DELETER = "__relax_device_deleter"


class DeviceProgram(ABC):
    """State of a program on a device while this object lives. The program's code keeps it alive."""

    #: Kind of device, as in "cuda:0", and DLPack's number for it.
    kind: ClassVar[str]
    dlpack_kind: ClassVar[int]
    #: Driver functions that code calls, with the names for messages, in the order of its table.
    called: ClassVar[Sequence[str]]
    #: True for kinds that record launches, and these recordings, such as CUDA graphs.
    has_graphs: ClassVar[bool] = False
    graphs: Any = None
    #: The device's only stream; 0 if callers have their own streams.
    stream: int = 0
    #: Meaning of the driver's statuses: number, name, text. None if driver functions return it.
    statuses: Sequence[tuple[int, str, str]] | None = None
    #: Address of the function that encodes tensor maps, for cuda.
    makes_maps: int = 0

    def __init__(
        self,
        codes: Sequence[DeviceCode],
        number: int,
        constants: Sequence[memoryview],
        resident: ResidentCode,
        signatures: Sequence[Signature] = (),
        graphs: bool | None = False,
    ) -> None:
        """Open the device and load the program.

        `signatures` are the functions' signatures. `graphs` selects the functions that are launched as graphs. Raises
        DeviceError with the reason, after all resources so far are released.
        """
        check_codes(codes, self.kind)
        self.number, self._resident = number, resident
        #: Callbacks that release resources, executed in reverse order.
        self._undo: list[Callable[[], object]] = []
        self._kernel_names = _texts(f"kernel '{name}'" for name in codes[0].kernels)
        self._function_names = _texts(["", *[""] * (_HEAD - 1), *self.called])
        self._kind_name = ctypes.create_string_buffer(self.kind.encode())
        self.open(codes, signatures, graphs)
        try:
            with self.current():
                self.kernels = self.load(codes)
                places = self._upload(constants)
                self.record = self._make_record()
        except BaseException:
            self.close()
            raise
        #: Addresses of the constants, as in ConstantMemory.
        self.table = (ctypes.c_void_p * max(len(places), 1))(*places)

    # ---- implemented by each kind of device ----

    @classmethod
    @abstractmethod
    def devices(cls) -> list[str]:
        """Return descriptions of the devices of this kind. Raises DeviceError if they cannot be determined."""

    @classmethod
    def targets(cls) -> list[str]:
        """Return the targets that fit the devices, in their order; none where targets do not describe devices."""
        return []

    @abstractmethod
    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        """Find the device, and check that the program can run on it. Raises DeviceError."""

    @abstractmethod
    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        """Return the handles of the kernels, which are released with the program. Raises DeviceError."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Return the device's name for messages: "cuda:0 (NVIDIA H100)"."""

    @abstractmethod
    def functions(self) -> Sequence[int]:
        """Return the addresses of the functions that the code calls, in the order of its table."""

    @property
    @abstractmethod
    def context(self) -> int:
        """Return the first argument of these functions."""

    @abstractmethod
    def allocate(self, size: int) -> int:
        """Allocate device memory that is released with the program. Raises MemoryError if there is no room."""

    @abstractmethod
    def allocate_shared(self, size: int) -> tuple[int, int]:
        """Allocate host memory that the device can access, and return its addresses for the host and for kernels."""

    @abstractmethod
    def write(self, to: int, source: int, size: int) -> None:
        """Copy from the host. The source must stay alive until `wait`."""

    @abstractmethod
    def read(self, to: int, source: int, size: int) -> None:
        """Copy to the host. The data is complete after `wait`."""

    @abstractmethod
    def copy(self, to: int, source: int, size: int) -> None:
        """Copy on the device."""

    @abstractmethod
    def wait(self) -> None:
        """Wait for all operations that this thread has started."""

    def wait_for_all(self) -> None:
        self.wait()

    def copy_rows(self, copy: Callable[[int, int, int], None], to: Rows, source: Rows, width: int, height: int) -> None:
        """Copy `height` rows of `width` bytes. `copy` is one of the three functions above."""
        for row in range(height):
            copy(to[0] + row * to[1], source[0] + row * source[1], width)

    def current(self) -> AbstractContextManager[None]:
        """Direct the driver's calls to this device inside of the `with`."""
        return nullcontext()

    # ---- shared by all kinds ----

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.number}"

    def table_for_code(self) -> ctypes.Array[ctypes.c_void_p]:
        """Return the table for the code (targets/host/library/device.py)."""
        deleter = self._resident.address(DELETER)
        head = [self.context, self.number, self.record[1], self.record[0], _place(self._kernel_names), deleter]
        graphs = 0 if self.graphs is None else self.graphs.address
        self._status_rows = _status_rows(self.statuses or ())
        about = [self.dlpack_kind, _place(self._kind_name), _place(self._function_names)]
        more = [graphs, self.makes_maps, *about, self.stream, _place(self._status_rows)]
        listed = [*head, *self.functions(), *more, *self.kernels]
        return (ctypes.c_void_p * len(listed))(*listed)

    def close(self) -> None:
        """Wait for running operations, and release all resources. Errors of the driver are ignored."""
        undo, self._undo = self._undo, []
        if not undo:
            return
        with suppress(DeviceError), self.current():
            with suppress(DeviceError):
                self.wait_for_all()
            for each in reversed(undo):
                with suppress(DeviceError):
                    each()

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the end of the process the driver releases everything, and this module's names may already be gone.
        if getattr(self, "_undo", None) and not _is_finalizing():
            self.close()

    def _upload(self, constants: Sequence[memoryview]) -> list[int]:
        """Return the addresses of the constants on the device, in a single allocation."""
        if not (total := sum(map(_round_up, constants))):
            return [1] * len(constants)  # empty constants are never read; 0 would mean that they are not set
        base = self._room(total, "constants")
        places = []
        for view in constants:
            places.append(base)
            if view.nbytes:
                self.write(base, address_of(view), view.nbytes)
            base += _round_up(view)
        self.wait()
        return places

    def _room(self, size: int, what: str) -> int:
        try:
            return self.allocate(size)
        except MemoryError as error:
            text = f"{self.label} has no room for the program's {what}, {byte_text(size)}: {error}"
            raise DeviceError(text) from None

    def _make_record(self) -> tuple[int, int]:
        """Return the host's address of the assertion records, and the device's address of the flags.

        Flags are in device memory: code after a kernel with assertions checks them. Each flag has the record's address
        for kernels.
        """
        host, mapped = self.allocate_shared(_RECORDS * _RECORD_BYTES)
        ctypes.memset(host, 0, _RECORDS * _RECORD_BYTES)
        words = _RECORD_BYTES // 8
        flags = (ctypes.c_uint64 * (_RECORDS * words))()
        flags[1::words] = [mapped + _RECORD_BYTES * number for number in range(_RECORDS)]
        own = self._room(ctypes.sizeof(flags), "flags for what kernels assert")
        self.write(own, ctypes.addressof(flags), ctypes.sizeof(flags))
        self.wait()
        return host, own


#: Start of rows, and the number of bytes from one row to the next.
Rows = tuple[int, int]


def check_codes(codes: Sequence[DeviceCode], kind: str) -> None:
    """Raise ArtifactError unless all codes belong to one program for this kind of device."""
    if {code.kind for code in codes} != {kind}:
        there = ", ".join(f"code for {code.kind}" for code in codes) or "none"
        raise ArtifactError(f"a program runs on one kind of device, here {kind}; there is {there}")
    if len({code.kernels for code in codes}) > 1:
        raise ArtifactError("the program's codes for the device have not the same kernels")


def _round_up(view: memoryview) -> int:
    return view.nbytes + -view.nbytes % _CONSTANT_ALIGNMENT


def _texts(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    """Return an array of C strings that keeps the strings alive."""
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * max(len(encoded), 1))(*encoded)


class _StatusRow(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int64), ("name", ctypes.c_char_p), ("text", ctypes.c_char_p))


def _status_rows(statuses: Sequence[tuple[int, str, str]]) -> ctypes.Array[_StatusRow]:
    rows = [_StatusRow(number, name.encode(), text.encode()) for number, name, text in statuses]
    return (_StatusRow * (len(rows) + 1))(*rows)


def _place(memory: ctypes.Array[Any]) -> int:
    return ctypes.addressof(memory)
