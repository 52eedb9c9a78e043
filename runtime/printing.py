# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiled programs call to print values: relax.print."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_NAME = "relax_mlir.print"


@lru_cache(maxsize=1)
def register_print() -> None:
    import tvm_ffi

    tvm_ffi.register_global_func(_NAME, print_values, override=True)


def print_values(format_: str, *values: Any) -> None:
    """By Python's str.format; without a format, the values one by one."""
    shown = [_shown(value) for value in values]
    print(str(format_).format(*shown) if format_ else " ".join(map(str, shown)), flush=True)


def _shown(value: Any) -> Any:
    """A tensor as numpy prints it, with its own memory: it is gone after the call."""
    if not hasattr(value, "__dlpack__"):
        return value
    import numpy

    try:
        return numpy.array(numpy.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError):  # an element type that numpy does not know
        return f"<tensor {tuple(value.shape)} {value.dtype}>"
