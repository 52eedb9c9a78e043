# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Capabilities of oneDNN on the compiling machine, which is also the default target of programs."""

from __future__ import annotations

import functools

from .runtime.library import DnnlError, library
from .runtime.runtime import why_nan_stays

#: Instruction sets that support an element type, by oneDNN's names.
_BF16 = ("avx2_vnni_2", "avx512_core", "avx512_core_vnni", "avx512_core_bf16")
_F16 = ("avx2_vnni_2", "avx512_core_fp16", "avx512_core_amx", "avx512_core_amx_fp16")
NEEDED = {"bf16": tuple(dict.fromkeys((*_BF16, *_F16))), "f16": _F16}


@functools.lru_cache(maxsize=1)
def why_not_loaded() -> str:
    """Return the reason why oneDNN cannot be loaded, or "". Programs can be compiled without oneDNN."""
    try:
        library()
    except DnnlError as error:
        return str(error)
    return ""


def drops_nan() -> bool | str:
    """Return True if a clip replaces NaN by 0, or the reason why it does not.

    Without oneDNN, return True: the runtime checks the clip on the machine that loads the program.
    """
    return bool(why_not_loaded()) or not why_nan_stays() or "oneDNN's clip does not replace NaN by 0 on this machine"


def why_not_computed(dtype: str) -> str:
    """Return the reason why oneDNN does not compute with an element type on this machine, or ""."""
    if not (needed := NEEDED.get(dtype)) or why_not_loaded():
        return ""
    if (instructions := library().instructions) in needed:
        return ""
    return f"oneDNN computes {dtype} with {needed[0]}, {needed[1]} or later, but this machine has {instructions}"
