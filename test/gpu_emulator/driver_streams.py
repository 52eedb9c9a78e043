# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams, events and graphs of the emulated driver. What a stream is given happens at once, or is captured."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .driver_core import INVALID_HANDLE, INVALID_VALUE, Core, DriverError, function, put
from .memory import Allocation

_USUAL_STREAMS = (0, 1, 2)  # none, the legacy one, the one of each thread


@dataclass
class _Graph:
    steps: list[Callable[[], None]] = field(default_factory=list)
    kept: list[Allocation] = field(default_factory=list)


@dataclass(eq=False)
class Streams(Core):
    """The part of the driver that has streams."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.streams: set[int] = set()
        self.events: dict[int, float] = {}
        self.graphs: dict[int, _Graph] = {}
        self._capturing: dict[int, _Graph] = {}

    def stream(self, handle: int | None) -> int:
        number = handle or 0
        if number not in _USUAL_STREAMS and number not in self.streams:
            raise DriverError(INVALID_HANDLE, f"{number:#x} is no stream")
        return number

    def do(self, stream: int | None, step: Callable[[], None], is_replayed: bool = True) -> None:
        graph = self._capturing.get(self.stream(stream))
        if graph is None:
            step()
        elif is_replayed:
            graph.steps.append(step)

    def keep(self, stream: int | None, allocation: Allocation) -> None:
        """What is allocated while a stream is captured belongs to the graph."""
        graph = self._capturing.get(self.stream(stream))
        if graph is not None:
            graph.kept.append(allocation)

    def refuse_capture(self, stream: int | None = None) -> None:
        if (self.stream(stream) in self._capturing) if stream else self._capturing:
            raise DriverError(900, "a stream is being captured")


@function("cuStreamCreate", "pu")
def _create(driver: Streams, to: int, flags: int) -> None:
    handle = driver.handle()
    driver.streams.add(handle)
    put(to, handle)


@function("cuStreamDestroy_v2", "p")
def _destroy(driver: Streams, stream: int) -> None:
    driver.stream(stream)
    driver.streams.discard(stream)


@function("cuStreamSynchronize", "p")
def _synchronize(driver: Streams, stream: int | None) -> None:
    driver.stream(stream)
    driver.refuse_capture(stream or 0)


@function("cuStreamQuery", "p")
def _query(driver: Streams, stream: int | None) -> None:
    driver.refuse_capture(driver.stream(stream))


@function("cuStreamWaitEvent", "ppu")
def _wait_event(driver: Streams, stream: int | None, event: int, flags: int) -> None:
    driver.stream(stream)
    _event(driver, event)


@function("cuStreamIsCapturing", "pp")
def _is_capturing(driver: Streams, stream: int | None, to: int) -> None:
    put(to, int(driver.stream(stream) in driver._capturing), ctypes.c_int)


@function("cuStreamBeginCapture_v2", "pi")
def _begin(driver: Streams, stream: int | None, mode: int) -> None:
    number = driver.stream(stream)
    if number in (0, 1) or number in driver._capturing:
        raise DriverError(900, "the legacy stream cannot be captured, nor one that is captured")
    driver._capturing[number] = _Graph()


@function("cuStreamEndCapture", "pp")
def _end(driver: Streams, stream: int | None, to: int) -> None:
    graph = driver._capturing.pop(driver.stream(stream), None)
    if graph is None:
        raise DriverError(INVALID_VALUE, "the stream is not captured")
    handle = driver.handle()
    driver.graphs[handle] = graph
    put(to, handle)


def _graph(driver: Streams, handle: int) -> _Graph:
    if handle not in driver.graphs:
        raise DriverError(INVALID_HANDLE, f"{handle} is no graph")
    return driver.graphs[handle]


@function("cuGraphInstantiateWithFlags", "ppd")
def _instantiate(driver: Streams, to: int, graph: int, flags: int) -> None:
    handle = driver.handle()
    driver.graphs[handle] = _Graph(_graph(driver, graph).steps, _graph(driver, graph).kept)
    put(to, handle)


@function("cuGraphLaunch", "pp")
def _launch(driver: Streams, graph: int, stream: int | None) -> None:
    driver.stream(stream)
    for step in _graph(driver, graph).steps:
        step()


@function("cuGraphDestroy", "p")
@function("cuGraphExecDestroy", "p")
def _destroy_graph(driver: Streams, graph: int) -> None:
    kept = _graph(driver, graph).kept
    del driver.graphs[graph]
    if not any(other.kept is kept for other in driver.graphs.values()):
        for allocation in kept:
            if allocation.is_live:
                driver.memory.free(allocation)


def _event(driver: Streams, handle: int) -> int:
    if handle not in driver.events:
        raise DriverError(INVALID_HANDLE, f"{handle} is no event")
    return handle


@function("cuEventCreate", "pu")
def _create_event(driver: Streams, to: int, flags: int) -> None:
    handle = driver.handle()
    driver.events[handle] = 0.0
    put(to, handle)


@function("cuEventRecord", "pp")
def _record(driver: Streams, event: int, stream: int | None) -> None:
    driver.stream(stream)
    driver.events[_event(driver, event)] = time.perf_counter()


@function("cuEventSynchronize", "p")
@function("cuEventQuery", "p")
def _synchronize_event(driver: Streams, event: int) -> None:
    _event(driver, event)


@function("cuEventElapsedTime_v2", "ppp")
@function("cuEventElapsedTime", "ppp")
def _elapsed(driver: Streams, to: int, first: int, last: int) -> None:
    times = [driver.events[_event(driver, each)] for each in (first, last)]
    if not all(times):
        raise DriverError(INVALID_HANDLE, "an event was not recorded")
    ctypes.c_float.from_address(to).value = 1000 * (times[1] - times[0])


@function("cuEventDestroy_v2", "p")
def _destroy_event(driver: Streams, event: int) -> None:
    del driver.events[_event(driver, event)]
