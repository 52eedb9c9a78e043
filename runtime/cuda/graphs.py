# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs of a program's functions: what its code needs to make them, and their end."""

from __future__ import annotations

import ctypes
from contextlib import suppress

from ..errors import DeviceError
from .driver import Driver

#: The driver's functions that code makes graphs by, in the order of its table (targets/host/device_graphs.mlir).
_CALLED = (
    "cuStreamCreate", "cuStreamDestroy", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
    "cuGraphDestroy", "cuGraphLaunch", "cuStreamIsCapturing", "cuStreamWaitEvent", "cuMemAlloc",
)  # fmt: skip
#: The first that has them, and graphs that allocate.
_OLDEST = "11.4"
#: Words of the table before functions, and of each function: what there is of it by its place, and how that ends.
_HEAD, _WORDS = 16, 8
_ENDED_BY = {1: "cuGraphExecDestroy", 2: "cuEventDestroy", 3: "cuMemFree"}


class Graphs:
    """Room for a graph of each function; code fills it at their first calls."""

    def __init__(self, driver: Driver, functions: int) -> None:
        """Raises DeviceError where the driver is too old."""
        self._driver = driver
        called = [driver.address(name, _OLDEST) for name in _CALLED]
        driver.address("cuGraphExecDestroy", _OLDEST)
        self._table = (ctypes.c_uint64 * (_HEAD + _WORDS * functions))(*called)

    @property
    def address(self) -> int:
        """Where code finds it, as long as this object lives."""
        return ctypes.addressof(self._table)

    def close(self) -> None:
        """Gives graphs back, and what they have: nothing of it is under way any more."""
        for start in range(_HEAD, len(self._table), _WORDS):
            for place, name in _ENDED_BY.items():
                held, self._table[start + place] = self._table[start + place], 0
                if held:
                    with suppress(DeviceError):
                        self._driver.call(name, held)
