# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of constants' buffers, for compiled code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import ClassVar

from .artifact import ALIGNMENT


class _Buffer(ctypes.Structure):
    """CPython's Py_buffer."""

    _fields_ = (
        ("address", ctypes.c_void_p), ("owner", ctypes.py_object), ("length", ctypes.c_ssize_t),
        ("item_size", ctypes.c_ssize_t), ("read_only", ctypes.c_int), ("dimensions", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("sub_offsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    )  # fmt: skip


def address_of(view: memoryview) -> int:
    """Return the address of a contiguous buffer. ctypes itself only provides addresses of writable buffers."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    address = buffer.address or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return address


class ConstantMemory:
    """Constants of one program in the form that code uses: one 64-byte aligned address each, valid while this object
    lives."""

    #: Copies a constant to the returned address, which is valid while the returned object lives (guard_pages.py).
    copy_elsewhere: ClassVar[Callable[[memoryview], tuple[int, object]] | None] = None

    def __init__(self, constants: Sequence[memoryview]) -> None:
        self._kept: list[object] = []
        self.table = (ctypes.c_void_p * max(len(constants), 1))(*(self._place(view) for view in constants))
        self.count = len(constants)

    def _place(self, view: memoryview) -> int:
        """Return the buffer's own address if it is aligned, as in an artifact, else a copy's."""
        if ConstantMemory.copy_elsewhere is not None:
            address, kept = ConstantMemory.copy_elsewhere(view)
            self._kept.append(kept)
            return address
        if (address := address_of(view)) and address % ALIGNMENT == 0:
            self._kept.append(view)
            return address
        copy = bytearray(view.nbytes + ALIGNMENT)
        start = -address_of(memoryview(copy)) % ALIGNMENT
        copy[start : start + view.nbytes] = view
        self._kept.append(copy)
        return address_of(memoryview(copy)) + start
