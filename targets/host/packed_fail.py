# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that raise an error, for the cold blocks of compiled functions; each gives the status to return, -1.

The texts are formats of C's printf: what is not meant as one goes through `plain`.
"""

from __future__ import annotations

from .llvm_text import PTR, FunctionText, call_text
from .packed_support import FAIL, FAIL_DTYPE, FAIL_SHAPE, FAIL_TYPE, MESSAGE_BYTES

# Of a place, or what an operator says: a message has room for two of them, and numbers.
_MOST_TEXT = (MESSAGE_BYTES - 100) // 2


def cut(text: str) -> str:
    """As much of a text as a message has room for, in whole characters."""
    data = text.encode()
    return text if len(data) <= _MOST_TEXT else data[: _MOST_TEXT - 3].decode(errors="ignore") + "..."


def plain(text: str) -> str:
    """A text in a message as it is, cut to what messages have room for."""
    return (text if len(text) <= 60 else text[:57] + "...").replace("%", "%%")


def fail(code: FunctionText, kind: str, message: str, *numbers: str) -> str:
    """Raises TypeError, ValueError or MemoryError (kind "type", "value", "memory") with up to three i64."""
    zero = code.constant(0)
    a, b, c = (*numbers, zero, zero, zero)[:3]
    address = code.address_of(f"__relax_{kind}_error")
    text = code.text(message)
    return call_text(FAIL, [(address, PTR), (text, PTR), (a, "i64"), (b, "i64"), (c, "i64")], "i32")


def fail_type(code: FunctionText, message: str, type_index: str) -> str:
    """The message's %.*s is the name of the type that came."""
    return call_text(FAIL_TYPE, [(code.text(message), PTR), (type_index, "i32")], "i32")


def fail_dtype(code: FunctionText, message: str, tensor: str) -> str:
    """The message's %.*s is the element type that came."""
    return call_text(FAIL_DTYPE, [(code.text(message), PTR), (tensor, PTR)], "i32")


def fail_shape(code: FunctionText, message: str, wanted: str, got: str, tensor: str) -> str:
    """The message takes %lld (wanted), %lld (got) and %s, the shape that came."""
    return call_text(FAIL_SHAPE, [(code.text(message), PTR), (wanted, "i64"), (got, "i64"), (tensor, PTR)], "i32")
