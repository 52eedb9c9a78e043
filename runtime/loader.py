# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Session that loads object code, one for all programs of a process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tvm_ffi_orcjit


@functools.lru_cache(maxsize=1)
def loader_session() -> tvm_ffi_orcjit.ExecutionSession:
    """Return the session. Every use of it is under the interpreter's lock.

    The session does not lock loading, and a program that another thread drops is unloaded under the interpreter's lock.
    It does lock lookups of functions. That lock must be free when another thread forks, or the new process would wait
    for ever.
    """
    from .ffi import tvm_ffi

    # The functions have no public names; the versions of both packages are pinned.
    modules = tvm_ffi._ffi_api
    import tvm_ffi_orcjit  # imported after our tvm-ffi, which it imports itself

    held: list[Any] = [tvm_ffi_orcjit._ffi_api.SessionLoadModule]
    held += modules.ModuleGetFunction, modules.ModuleImplementsFunction
    for function in held:
        function.release_gil = False
    return tvm_ffi_orcjit.default_session()
