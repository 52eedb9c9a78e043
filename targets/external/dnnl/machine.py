# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What oneDNN can do on this machine, if it is there: the one that programs are compiled for by default."""

from __future__ import annotations

import functools

from ....runtime.external.dnnl.library import DnnlError, library
from ....runtime.external.dnnl.runtime import why_nan_stays

#: The instruction sets that element types need, by oneDNN's names.
_BF16 = ("avx2_vnni_2", "avx512_core", "avx512_core_vnni", "avx512_core_bf16")
_F16 = ("avx2_vnni_2", "avx512_core_fp16", "avx512_core_amx", "avx512_core_amx_fp16")
NEEDED = {"bf16": tuple(dict.fromkeys((*_BF16, *_F16))), "f16": _F16}


@functools.lru_cache(maxsize=1)
def why_not_loaded() -> str:
    """Why there is no oneDNN here; empty where there is. Programs can be compiled without."""
    try:
        library()
    except DnnlError as error:
        return str(error)
    return ""


def drops_nan() -> bool | str:
    """Whether a clip makes 0 of NaN, or why not. Without oneDNN that is asked where the program is loaded."""
    return bool(why_not_loaded()) or not why_nan_stays() or "oneDNN's clip hands NaN on here"


def why_not_computed(dtype: str) -> str:
    """Why elements of a type cannot be computed with; empty where they can."""
    needed = NEEDED.get(dtype)
    if not needed or why_not_loaded():
        return ""
    found = library().instructions
    if found in needed:
        return ""
    return f"oneDNN computes {dtype} with {needed[0]} or {needed[1]} and later, and this machine has {found}"
