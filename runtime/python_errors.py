# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions that come back as themselves when a Python function raises them below compiled code."""

from __future__ import annotations

import builtins


def register_builtin_errors() -> None:
    """Tells tvm-ffi the names of Python's own exceptions; it knows eight, and makes the others RuntimeError.

    A class of one's own is told with `tvm_ffi.register_error`.
    """
    from tvm_ffi import core, register_error

    for name, cls in vars(builtins).items():
        is_error = isinstance(cls, type) and issubclass(cls, BaseException) and name == cls.__name__
        if is_error and name not in core.ERROR_NAME_TO_TYPE and _takes_a_text(cls):
            register_error(name, cls)


def _takes_a_text(cls: type[BaseException]) -> bool:
    try:
        return str(cls("text")) == "text"
    except TypeError:
        return False
