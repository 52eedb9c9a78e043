# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The session that object code is loaded into, one for all programs of a process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tvm_ffi_orcjit


@functools.lru_cache(maxsize=1)
def loader_session() -> tvm_ffi_orcjit.ExecutionSession:
    """The session. All that it does is done under the interpreter's lock.

    It has no lock for loading, and a program that another thread drops is unloaded under the interpreter's. It has one
    for looking functions up, which must be free when another thread forks: the new process would wait for ever.
    """
    from .ffi import tvm_ffi

    # There are no public names for this; the versions of both are pinned.
    modules = tvm_ffi._ffi_api
    import tvm_ffi_orcjit  # behind ours: it imports tvm-ffi itself

    held: list[Any] = [tvm_ffi_orcjit._ffi_api.SessionLoadModule]
    held += modules.ModuleGetFunction, modules.ModuleImplementsFunction
    for function in held:
        function.release_gil = False
    return tvm_ffi_orcjit.default_session()
