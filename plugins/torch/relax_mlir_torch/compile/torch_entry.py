# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entry point by which Dynamo finds the backend "relax_mlir", for threads that look it up at the same time.

Each thread that misses the name in Dynamo's registry loads the entry point and registers the result. The second
registration of a name is an error there. So one thread gets the backend, and the others wait for its registration and
get None, for which Dynamo registers nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

_NAME = "relax_mlir"
#: Longest wait for the registration of another thread, which follows at once.
_PATIENCE_S = 5.0
_lookup = threading.Lock()
_is_given = False


def __getattr__(name: str) -> Callable[..., Any] | None:
    """Return the backend as the attribute `backend`, or None if it is registered already."""
    global _is_given
    if name != "backend":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from .torch_compile import torch_backend

    with _lookup:
        is_first, _is_given = not _is_given, True
    return torch_backend if is_first or not _is_registered() else None


def _is_registered() -> bool:
    """Wait until the registry has the backend. Return False after some seconds: the thread that got it has failed."""
    from torch._dynamo.backends import registry

    known = getattr(registry, "_COMPILER_FNS", {})
    end = time.monotonic() + _PATIENCE_S
    while _NAME not in known and time.monotonic() < end:
        time.sleep(0.001)
    return _NAME in known
