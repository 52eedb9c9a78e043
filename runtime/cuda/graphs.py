# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs of a program's functions: which have one, what the code needs to make them, and their end."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from ..errors import DeviceError
from ..manifest import Signature
from .driver import CudaDriver, Device

#: The driver's functions that code makes graphs by, in the order of its table (cuda_graphs.mlir of
#: targets/host/library), None where that has words of its own.
_CALLED = (
    "cuStreamCreate", "cuStreamDestroy", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
    "cuGraphDestroy", "cuGraphLaunch", "cuStreamIsCapturing", "cuStreamWaitEvent", "cuMemAlloc", None, None, None, None,
    "cuEventQuery", "cuThreadExchangeStreamCaptureMode",
)  # fmt: skip
#: The first that has them, and graphs that allocate.
_OLDEST = "11.4"
#: Words of the table before functions, and of each function: what there is of it by its place, and how that ends; how
#: many calls come before the one that is recorded, whether an estimate asked for it.
_HEAD, _WORDS = 16, 8
_ENDED_BY = {1: "cuGraphExecDestroy", 2: "cuEventDestroy", 3: "cuMemFree"}
_BEFORE, _ESTIMATED = 5, 7
_NEVER = 2**64 - 1

# ---- what an estimate goes by: seconds, as bench/gpu_graphs.py measures them on an H100 ----

#: What a launch of a kernel costs the host, and that of one in a graph.
_LAUNCH, _IN_GRAPH = 2.7e-6, 1.1e-6
#: What a launch of a graph costs it, all that is asked and recorded around it included, and each copy around a graph.
_GRAPH, _COPY = 3.5e-6, 3.7e-6
#: Bytes that a device's memory reads or writes in a second, where it does not say.
_BYTES_A_SECOND = 1e12
#: The most memory of each graph that was not requested.
_MOST_MEMORY = 1 << 26
#: How many calls of such a function come before the one that is recorded: what is called once or twice needs no graph.
_CALLS_BEFORE = 2
#: CUdevice_attribute.
_MEMORY_KHZ, _MEMORY_BITS = 36, 37


class Graphs:
    """Room for a graph of each function; code fills it at their calls."""

    def __init__(self, driver: CudaDriver, names: Sequence[str], before: Sequence[int], *, is_estimated: bool) -> None:
        """`before` are, for each function, the calls before the one that is recorded. Raises DeviceError where the
        driver is too old."""
        self._driver, self._names = driver, names
        called = [driver.address(name, _OLDEST) if name else 0 for name in _CALLED]
        driver.address("cuGraphExecDestroy", _OLDEST)
        self._table = (ctypes.c_uint64 * (_HEAD + _WORDS * len(before)))(*called)
        self._table[_HEAD + _BEFORE :: _WORDS] = list(before)
        self._table[_HEAD + _ESTIMATED :: _WORDS] = [int(is_estimated)] * len(before)

    @property
    def address(self) -> int:
        """Where code finds it, as long as this object lives."""
        return ctypes.addressof(self._table)

    @property
    def functions(self) -> tuple[str, ...]:
        """Those that are recorded, or will be if they are called as often."""
        before = self._table[_HEAD + _BEFORE :: _WORDS]
        return tuple(name for name, each in zip(self._names, before, strict=True) if each != _NEVER)

    def close(self) -> None:
        """Gives graphs back, and what they have: nothing of it is under way any more."""
        for start in range(_HEAD, len(self._table), _WORDS):
            for place, name in _ENDED_BY.items():
                held, self._table[start + place] = self._table[start + place], 0
                if held:
                    with suppress(DeviceError):
                        self._driver.call(name, held)


def graphs_of(
    signatures: Sequence[Signature], graphs: bool | None, driver: CudaDriver, device: Device
) -> Graphs | None:
    """Of a program's functions: all that can have one, none, or (None) those that are faster so by an estimate.

    A driver that knows no graphs is an error where they are asked for; else kernels are launched one by one.
    """
    make = partial(Graphs, driver, [each.name for each in signatures])
    if graphs:
        return make([_NEVER if each.graph is None else 0 for each in signatures], is_estimated=False)
    if graphs is False or all(each.graph is None for each in signatures):
        return None
    speed = bytes_a_second(driver, device)
    before = [_CALLS_BEFORE if is_faster(each, speed) else _NEVER for each in signatures]
    if set(before) <= {_NEVER}:
        return None
    with suppress(DeviceError):
        return make(before, is_estimated=True)
    return None


def is_faster(signature: Signature, speed: float) -> bool:
    """Whether a function takes less time as a graph, by an estimate; `speed` is memory's bandwidth in bytes per second.

    The host launches kernels while the device works on those before: the slower one of both counts, where the device
    has to read and write what its kernels do at least; what they compute is not counted. A graph spares the host
    launches; it costs a launch, and copies of arguments and results, which the device reads and writes.
    """
    graph = signature.graph
    if graph is None or graph.memory > _MOST_MEMORY:
        return False
    if any(each.written for each in signature.inputs):
        return False  # a caller may pass one tensor twice, who would see later what is written to a copy
    work = sum(site.bytes or 0 for site in signature.sites or ()) / speed
    copied = graph.copies * _COPY + 2 * graph.bytes / speed
    as_graph = _GRAPH + copied + max(graph.launches * _IN_GRAPH, work)
    return as_graph < max(graph.launches * _LAUNCH, work)


def bytes_a_second(driver: CudaDriver, device: Device) -> float:
    """Of the device's memory, by its clock: twice in each cycle."""
    bandwidth = 2e3 / 8 * driver.attribute(device.handle, _MEMORY_KHZ) * driver.attribute(device.handle, _MEMORY_BITS)
    return bandwidth if bandwidth > 0 else _BYTES_A_SECOND
