# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strings out of MLIR. There they are bytes, which need not be UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .ir import Operation

NOT_UTF8 = "<not UTF-8>"


def is_not_utf8(error: Exception) -> bool:
    """Whether the bindings failed to make a Python string, which they tell in several ways."""
    # What is raised inside of one of their callbacks comes out as the text of another exception.
    told = str(error)
    return isinstance(error, UnicodeDecodeError) or "str_from_cstr" in told or "UnicodeDecodeError" in told


def readable(read: Callable[[], str]) -> str:
    """The string that `read` gets from the bindings, or a stand-in where that is no text."""
    try:
        return read()
    except (RuntimeError, UnicodeDecodeError) as error:
        if not is_not_utf8(error):
            raise
        return NOT_UTF8


def print_asm(operation: Operation, **options: Any) -> str:
    """An operation as text; what is not UTF-8 becomes surrogates, which `encode(errors="surrogateescape")` undoes."""
    return operation.get_asm(binary=True, **options).decode("utf-8", "surrogateescape")
