# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of constants' buffers, for compiled code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

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
    """Where a contiguous buffer begins; ctypes itself gives that of writable ones only."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    address = buffer.address or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return address


class ConstantMemory:
    """The constants of one program, as code sees them: an address each, 64-byte aligned, while this object lives."""

    def __init__(self, constants: Sequence[memoryview]) -> None:
        self._kept: list[memoryview | bytearray] = []
        self.table = (ctypes.c_void_p * max(len(constants), 1))(*(self._place(view) for view in constants))
        self.count = len(constants)

    def _place(self, view: memoryview) -> int:
        """The buffer's own address where that is aligned, as it is in an artifact; else a copy's."""
        address = address_of(view)
        if address and address % ALIGNMENT == 0:
            self._kept.append(view)
            return address
        copy = bytearray(view.nbytes + ALIGNMENT)
        start = -address_of(memoryview(copy)) % ALIGNMENT
        copy[start : start + view.nbytes] = view
        self._kept.append(copy)
        return address_of(memoryview(copy)) + start
