# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs of a program's functions: the choice of functions, the table that code needs, and their release."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from ..errors import DeviceError
from ..manifest import Signature
from .driver import CudaDriver, Device

#: Driver functions that code needs for graphs, in the order of its table (cuda_graphs.py of targets/host/library).
#: None marks a word that code uses itself.
_CALLED = (
    "cuStreamCreate", "cuStreamDestroy", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
    "cuGraphDestroy", "cuGraphLaunch", "cuStreamIsCapturing", "cuStreamWaitEvent", "cuMemAlloc", None, None, None, None,
    "cuEventQuery", "cuThreadExchangeStreamCaptureMode",
)  # fmt: skip
#: The first CUDA version that has them, and graphs that allocate.
_OLDEST = "11.4"
#: Number of table words before the functions, and per function.
#: The words of a function are its graph objects by position, with their release functions; the number of calls before
#: the recorded one; and a flag for graphs chosen by an estimate.
_HEAD, _WORDS = 16, 8
_ENDED_BY = {1: "cuGraphExecDestroy", 2: "cuEventDestroy", 3: "cuMemFree"}
_BEFORE, _ESTIMATED = 5, 7
_NEVER = 2**64 - 1

# ---- inputs of the estimate, in seconds, as measured by bench/gpu_graphs.py on an H100 ----

#: Host time of a kernel launch, and of a kernel launch inside of a graph.
_LAUNCH, _IN_GRAPH = 2.7e-6, 1.1e-6
#: Host time of a graph launch with all surrounding checks and bookkeeping, and of each copy around a graph.
_GRAPH, _COPY = 3.5e-6, 3.7e-6
#: Default memory bandwidth of a device in bytes per second.
_BYTES_A_SECOND = 1e12
#: Maximum memory of a graph that the user did not request.
_MOST_MEMORY = 1 << 26
#: Number of calls before the recorded call of such a function: a function that is called once or twice needs no graph.
_CALLS_BEFORE = 2
#: Values of CUdevice_attribute.
_MEMORY_KHZ, _MEMORY_BITS = 36, 37


class Graphs:
    """Storage for one graph per function. Code fills it during calls."""

    def __init__(self, driver: CudaDriver, names: Sequence[str], before: Sequence[int], *, is_estimated: bool) -> None:
        """Create the table. `before` has the number of calls before the recorded one, for each function.

        Raises DeviceError if the driver is too old.
        """
        self._driver, self._names = driver, names
        called = [driver.address(name, _OLDEST) if name else 0 for name in _CALLED]
        driver.address("cuGraphExecDestroy", _OLDEST)
        self._table = (ctypes.c_uint64 * (_HEAD + _WORDS * len(before)))(*called)
        self._table[_HEAD + _BEFORE :: _WORDS] = list(before)
        self._table[_HEAD + _ESTIMATED :: _WORDS] = [int(is_estimated)] * len(before)

    @property
    def address(self) -> int:
        """Return the table's address, valid while this object lives."""
        return ctypes.addressof(self._table)

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the functions with a recorded graph, or with one after enough calls."""
        before = self._table[_HEAD + _BEFORE :: _WORDS]
        return tuple(name for name, each in zip(self._names, before, strict=True) if each != _NEVER)

    def close(self) -> None:
        """Release graphs and their resources. No graph may be running any more."""
        for start in range(_HEAD, len(self._table), _WORDS):
            for place, name in _ENDED_BY.items():
                held, self._table[start + place] = self._table[start + place], 0
                if held:
                    with suppress(DeviceError):
                        self._driver.call(name, held)


def graphs_of(
    signatures: Sequence[Signature], graphs: bool | None, driver: CudaDriver, device: Device
) -> Graphs | None:
    """Return the graphs of a program's functions: of all functions, of none, or (None) where an estimate expects a
    gain.

    A driver without graphs is an error if graphs are requested. Otherwise kernels are launched one by one.
    """
    make = partial(Graphs, driver, [signature.name for signature in signatures])
    if graphs:
        return make([_NEVER if signature.graph is None else 0 for signature in signatures], is_estimated=False)
    if graphs is False or all(signature.graph is None for signature in signatures):
        return None
    speed = bytes_a_second(driver, device)
    before = [_CALLS_BEFORE if is_faster(signature, speed) else _NEVER for signature in signatures]
    if set(before) <= {_NEVER}:
        return None
    with suppress(DeviceError):
        return make(before, is_estimated=True)
    return None


def is_faster(signature: Signature, speed: float) -> bool:
    """Estimate whether a function takes less time as a graph. `speed` is memory's bandwidth in bytes per second.

    The host launches kernels while the device executes earlier ones, so the slower of both determines the time. The
    device needs at least the time to read and write the kernels' data; arithmetic is not counted. A graph saves host
    launches. It costs one launch, and copies of arguments and results, which the device reads and writes.
    """
    if (graph := signature.graph) is None or graph.memory > _MOST_MEMORY:
        return False
    if any(input_.written for input_ in signature.inputs):
        return False  # a caller may pass one tensor twice, and would see the writes to a copy too late
    work = sum(site.bytes or 0 for site in signature.sites or ()) / speed
    copied = graph.copies * _COPY + 2 * graph.bytes / speed
    return (_GRAPH + copied + max(graph.launches * _IN_GRAPH, work)) < max(graph.launches * _LAUNCH, work)


def bytes_a_second(driver: CudaDriver, device: Device) -> float:
    """Return the bandwidth of the device's memory in bytes per second: two transfers per clock cycle."""
    bandwidth = 2e3 / 8 * driver.attribute(device.handle, _MEMORY_KHZ) * driver.attribute(device.handle, _MEMORY_BITS)
    return bandwidth if bandwidth > 0 else _BYTES_A_SECOND
