# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays next to inaccessible pages: an access one element out of bounds ends the process.

`guarded` places inputs. tvm-ffi's allocator places results: compiled code uses the allocator if one is set. Constants
of programs that are loaded meanwhile are copied. Results and arenas contain a pattern before they are written
(poisoning.py).
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from .constant_memory import ALIGNMENT, ConstantMemory, address_of
from .ffi import tvm_ffi
from .poisoning import PATTERNS, element_of

_PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_CPU = 1
_M_PERTURB = -6  # of glibc's mallopt: the complement of the byte that fills new memory
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Region:
    """Accessible pages between two inaccessible ones. The `size` bytes at `address` end or begin at such a page."""

    def __init__(self, size: int, at_end: bool):
        room = -(-max(size, 1) // _PAGE) * _PAGE
        self._size = room + 2 * _PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._base = _libc.mmap(None, self._size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if self._base in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no {self._size} bytes for a guarded array")
        for page in (self._base, self._base + _PAGE + room):
            if _libc.mprotect(page, _PAGE, _PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.address = self._base + _PAGE + (room - size if at_end else 0)

    def free(self) -> None:
        _libc.munmap(self._base, self._size)


class GuardedMemory(_Region):
    """Aligned memory before an inaccessible page, which lives as long as this object. A pattern fills it up."""

    def __init__(self, size: int):
        whole = -(-size // ALIGNMENT) * ALIGNMENT
        super().__init__(whole, at_end=True)
        self.size = whole
        ctypes.memset(self.address, PATTERNS[0][0], whole)

    def __del__(self) -> None:
        self.free()


def _guard_constant(view: memoryview) -> tuple[int, GuardedMemory]:
    memory = GuardedMemory(view.nbytes)
    ctypes.memmove(memory.address, address_of(view), view.nbytes)
    return memory.address, memory


def guarded(array: Any, at_end: bool) -> Any:
    """Return a copy that ends or begins at an inaccessible page. It lives until the process ends."""
    region = _Region(array.nbytes, at_end)
    memory = (ctypes.c_uint8 * array.nbytes).from_address(region.address)
    copy = numpy.ndarray(array.shape, array.dtype, memory)
    copy[...] = array
    return copy


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (
    ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", _DELETER),
    ("flags", ctypes.c_uint64), ("tensor", _Tensor),
)  # fmt: skip
_ALLOCATOR = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(_Tensor), ctypes.POINTER(ctypes.POINTER(_Managed)), ctypes.c_void_p,
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p),
)  # fmt: skip


class _Results:
    """Allocator of results, which alternates between both sides of an inaccessible page."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._held: dict[int, Any] = {}
        self.pattern = PATTERNS[0]
        self.fails = False
        self.allocator = _ALLOCATOR(self._allocate)
        self._deleter = _DELETER(self._delete)

    def _allocate(self, prototype: Any, out: Any, context: Any, set_error: Any) -> int:
        if self.fails:
            set_error(context, b"MemoryError", b"no memory for a result, as requested")
            return -1
        asked = prototype.contents
        sizes = [asked.shape[axis] for axis in range(asked.rank)]
        count = int(numpy.prod(sizes, dtype=object)) if sizes else 1
        size = count * -(-asked.bits * asked.lanes // 8)
        number = next(self._numbers)
        region = _Region(size, at_end=number % 3 != 2)
        ctypes.memmove(region.address, element_of(size // max(count, 1), self.pattern) * count, size)
        managed = _Managed()
        managed.version[:] = [1, 0]
        managed.context = number
        managed.deleter = self._deleter
        shape, strides = (ctypes.c_int64 * max(asked.rank, 1))(*sizes), (ctypes.c_int64 * max(asked.rank, 1))()
        step = 1
        for axis in reversed(range(asked.rank)):
            strides[axis], step = step, step * sizes[axis]
        managed.tensor = _Tensor(
            region.address, (_CPU, 0), asked.rank, asked.code, asked.bits, asked.lanes, shape, strides, 0
        )
        self._held[number] = (region, managed, shape, strides)
        out[0] = ctypes.pointer(managed)
        return 0

    def _delete(self, managed: Any) -> None:
        region, *_ = self._held.pop(managed.contents.context or 0)
        region.free()


_results = _Results()


@contextmanager
def guarded_results(pattern: bytes = PATTERNS[0], *, fails: bool = False) -> Iterator[None]:
    """Place results next to inaccessible pages inside of the `with`, filled with the pattern before they are written.
    Constants of programs that are loaded inside end before such pages.

    That applies to compiled functions in this thread that run on the CPU. In the whole process, new arenas are filled
    with the pattern's first byte. With `fails` there is no memory for results.
    """
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    set_allocator = library.TVMFFIEnvSetDLPackManagedTensorAllocator
    set_allocator.argtypes = [_ALLOCATOR, ctypes.c_int, ctypes.c_void_p]
    _results.pattern, _results.fails = pattern, fails
    if set_allocator(_results.allocator, 0, None) or not _libc.mallopt(_M_PERTURB, pattern[0] ^ 0xFF):
        raise RuntimeError("tvm-ffi takes no allocator, or the C library fills no memory")
    ConstantMemory.copy_elsewhere = _guard_constant
    try:
        yield
    finally:
        ConstantMemory.copy_elsewhere = None
        set_allocator(_ALLOCATOR(), 0, None)
        _libc.mallopt(_M_PERTURB, 0)
