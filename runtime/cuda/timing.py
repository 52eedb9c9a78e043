# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution time on a device by its own clock: events on a stream before and after the work."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack

from .driver import driver


def device_seconds(work: Callable[[], object], device: int = 0, stream: int = 0) -> float:
    """Return the seconds that a stream needs for the operations that `work` enqueues, and wait for them.

    Raises DeviceError.
    """
    own = driver()
    with ExitStack() as stack:
        stack.enter_context(own.current(own.context(own.device(device).handle)))
        first, last = (ctypes.c_void_p() for _ in range(2))
        for event in (first, last):
            own.call("cuEventCreate", ctypes.byref(event), 0)
            stack.callback(own.call, "cuEventDestroy", event)
        own.call("cuEventRecord", first, stream)
        work()
        own.call("cuEventRecord", last, stream)
        own.call("cuEventSynchronize", last)
        milliseconds = ctypes.c_float()
        own.call("cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
    return milliseconds.value / 1e3
