# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python functions and exceptions for loaded programs: relax.print, and Python's exceptions."""

from __future__ import annotations

import builtins
import functools
from typing import Any

_PRINT = "relax_mlir.print"


def register_functions() -> None:
    """Register the exceptions and functions that object files can ask for by name."""
    _register_builtin_errors()
    _register_print()


@functools.lru_cache(maxsize=1)
def _register_print() -> None:
    from .ffi import tvm_ffi

    tvm_ffi.register_global_func(_PRINT, print_values, override=True)


def print_values(format_: str, *values: object) -> None:
    """Print values with Python's str.format, or one by one without a format."""
    shown = [_show(value) for value in values]
    print(str(format_).format(*shown) if format_ else " ".join(map(str, shown)), flush=True)


def _show(value: Any) -> object:
    """Return a tensor as NumPy prints it, with its own memory: the tensor's memory is freed after the call."""
    if not hasattr(value, "__dlpack__"):
        return value
    import numpy

    try:
        return numpy.array(numpy.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError):  # an element type that NumPy does not support
        return f"<tensor {tuple(value.shape)} {value.dtype}>"


@functools.lru_cache(maxsize=1)
def _register_builtin_errors() -> None:
    """Register Python's own exceptions with tvm-ffi, which knows eight and raises RuntimeError for all others.

    User classes are registered with `tvm_ffi.register_error`.
    """
    from .ffi import tvm_ffi

    for name, cls in list(vars(builtins).items()):
        is_error = isinstance(cls, type) and issubclass(cls, BaseException) and name == cls.__name__
        if is_error and name not in tvm_ffi.core.ERROR_NAME_TO_TYPE and _takes_a_text(cls):
            tvm_ffi.register_error(name, cls)


def _takes_a_text(cls: type[BaseException]) -> bool:
    try:
        return str(cls("text")) == "text"
    except TypeError:
        return False
