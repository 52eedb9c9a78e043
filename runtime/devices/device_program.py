# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program's part on a device: its kernels, its constants, the record of what kernels assert, and the code's table.

What kinds of devices differ in is a subclass: runtime/cuda, runtime/vulkan.
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
#: For what kernels assert: one for each of this many threads that call, and as many flags.
_RECORDS, _RECORD_BYTES = 64, 64
#: The table's places before the driver's functions.
_HEAD = 6
DELETER = "__relax_device_deleter"


class DeviceProgram(ABC):
    """What a program has on a device, as long as this object lives: the program's code holds it."""

    #: As in "vulkan:0", and DLPack's number for it.
    kind: ClassVar[str]
    dlpack_kind: ClassVar[int]
    #: The driver's functions that code calls, as messages name them, in the order of its table.
    called: ClassVar[Sequence[str]]
    #: What is launched as one: CUDA's graphs, commands that Vulkan keeps.
    graphs: Any = None
    #: The device's only stream; 0 where callers have their own.
    stream: int = 0
    #: What the driver's statuses mean: number, name, text. None where the driver has functions that say so.
    statuses: Sequence[tuple[int, str, str]] | None = None
    #: What the code needs for maps of tensors: cuda's.
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
        """Raises DeviceError with the reason; what has been made until then is given back. `signatures` are the
        functions', `graphs` says which are launched as graphs, where a kind of device has such."""
        check_codes(codes, self.kind)
        self.number, self._resident = number, resident
        #: What gives something back, the last one made first.
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
        #: The constants' addresses, as ConstantMemory has them.
        self.table = (ctypes.c_void_p * max(len(places), 1))(*places)

    # ---- what a kind of device has ----

    @classmethod
    @abstractmethod
    def devices(cls) -> list[str]:
        """What there is of this kind, each with what it has. Raises DeviceError where that cannot be found out."""

    @classmethod
    def targets(cls) -> list[str]:
        """Return the targets that fit the devices, in their order; none where targets do not describe devices."""
        return []

    @abstractmethod
    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        """Finds the device, and sees whether the program can run on it. Raises DeviceError."""

    @abstractmethod
    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        """The handles of the kernels, which are given back with the program. Raises DeviceError."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The device in messages: "cuda:0 (NVIDIA H100)"."""

    @abstractmethod
    def functions(self) -> Sequence[int]:
        """The addresses of what the code calls, in the order of its table."""

    @property
    @abstractmethod
    def context(self) -> int:
        """What the first of these is given."""

    @abstractmethod
    def allocate(self, size: int) -> int:
        """Memory of the device, which is given back with the program. Raises MemoryError where there is no room."""

    @abstractmethod
    def allocate_shared(self, size: int) -> tuple[int, int]:
        """Memory of the host that the device sees: where the host has it, and where kernels do."""

    @abstractmethod
    def write(self, to: int, source: int, size: int) -> None:
        """Copies from the host, whose memory stays until `wait`."""

    @abstractmethod
    def read(self, to: int, source: int, size: int) -> None:
        """Copies to the host; it is there after `wait`."""

    @abstractmethod
    def copy(self, to: int, source: int, size: int) -> None:
        """Copies on the device."""

    @abstractmethod
    def wait(self) -> None:
        """Until all is done that this thread has begun."""

    def wait_for_all(self) -> None:
        self.wait()

    def copy_rows(self, copy: Callable[[int, int, int], None], to: Rows, source: Rows, width: int, height: int) -> None:
        """`height` times so many bytes; `copy` is one of the three above."""
        for row in range(height):
            copy(to[0] + row * to[1], source[0] + row * source[1], width)

    def current(self) -> AbstractContextManager[None]:
        """Inside, the driver's calls are about this device."""
        return nullcontext()

    # ---- what they have in common ----

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.number}"

    def table_for_code(self) -> ctypes.Array[ctypes.c_void_p]:
        """The table that the code is given (targets/host/library/device.mlir)."""
        deleter = self._resident.address(DELETER)
        head = [self.context, self.number, self.record[1], self.record[0], _place(self._kernel_names), deleter]
        graphs = 0 if self.graphs is None else self.graphs.address
        self._status_rows = _status_rows(self.statuses or ())
        about = [self.dlpack_kind, _place(self._kind_name), _place(self._function_names)]
        more = [graphs, self.makes_maps, *about, self.stream, _place(self._status_rows)]
        listed = [*head, *self.functions(), *more, *self.kernels]
        return (ctypes.c_void_p * len(listed))(*listed)

    def close(self) -> None:
        """Waits for what is under way, and gives all back. The driver's errors are ignored then."""
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
        # Where the process ends the driver gives all back; this module's names may be gone then.
        if getattr(self, "_undo", None) and not _is_finalizing():
            self.close()

    def _upload(self, constants: Sequence[memoryview]) -> list[int]:
        """The constants' addresses on the device: one allocation for all."""
        total = sum(map(_padded, constants))
        if not total:
            return [1] * len(constants)  # what has no elements is never read; 0 would say that they are not set
        base = self._room(total, "constants")
        places = []
        for view in constants:
            places.append(base)
            if view.nbytes:
                self.write(base, address_of(view), view.nbytes)
            base += _padded(view)
        self.wait()
        return places

    def _room(self, size: int, what: str) -> int:
        try:
            return self.allocate(size)
        except MemoryError as error:
            text = f"{self.label} has no room for the program's {what}, {byte_text(size)}: {error}"
            raise DeviceError(text) from None

    def _make_record(self) -> tuple[int, int]:
        """Where the host finds the records of what kernels assert, and where these find flags, in memory of their own:
        what is behind a kernel that asserts looks whether it has. Each flag says where the record is, for kernels.
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


#: Where rows begin, and the bytes from one to the next.
Rows = tuple[int, int]


def check_codes(codes: Sequence[DeviceCode], kind: str) -> None:
    """Raises ArtifactError for codes that are not of one program for the kind of device."""
    if {each.kind for each in codes} != {kind}:
        there = ", ".join(f"code for {each.kind}" for each in codes) or "none"
        raise ArtifactError(f"a program runs on one kind of device, here {kind}; there is {there}")
    if len({each.kernels for each in codes}) > 1:
        raise ArtifactError("the program's codes for the device have not the same kernels")


def _padded(view: memoryview) -> int:
    return view.nbytes + -view.nbytes % _CONSTANT_ALIGNMENT


def _texts(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    """An array of C strings, which it keeps."""
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * max(len(encoded), 1))(*encoded)


class _StatusRow(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int64), ("name", ctypes.c_char_p), ("text", ctypes.c_char_p))


def _status_rows(statuses: Sequence[tuple[int, str, str]]) -> ctypes.Array[_StatusRow]:
    rows = [_StatusRow(number, name.encode(), text.encode()) for number, name, text in statuses]
    return (_StatusRow * (len(rows) + 1))(*rows)


def _place(memory: ctypes.Array[Any]) -> int:
    return ctypes.addressof(memory)
