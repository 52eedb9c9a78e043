# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams, events and graphs of the emulated driver. Work on a stream happens at once, or is captured."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .driver_core import INVALID_HANDLE, INVALID_VALUE, NOT_READY, Core, DriverError, function, put
from .faults import USE_AFTER_FREE, USED_TOO_EARLY, Fault
from .memory import Allocation
from .order import Order, Stamp

_USUAL_STREAMS = (0, 1, 2)  # none, the legacy one, the one of each thread


# How much is refused while a stream is captured, by the capture's mode and that of the thread that calls.
_GLOBAL, _OF_THREAD, _RELAXED = 0, 1, 2


@dataclass
class _Graph:
    steps: list[Callable[[], None]] = field(default_factory=list)
    kept: list[Allocation] = field(default_factory=list)
    is_executable: bool = False


@dataclass
class _Capture(_Graph):
    mode: int = _GLOBAL
    thread: int = field(default_factory=threading.get_ident)
    is_broken: bool = False


@dataclass(eq=False)
class Streams(Core):
    """Part of the driver for streams."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.streams: set[int] = set()
        self._stream_contexts: dict[int, int] = {}
        self.events: dict[int, float] = {}
        self.graphs: dict[int, _Graph] = {}
        self._capturing: dict[int, _Capture] = {}
        #: Streams on which, for events, nothing comes to its end: tests fill it.
        self.busy: set[int] = set()
        self._event_streams: dict[int, int] = {}
        self._modes: dict[int, int] = {}
        self.order = Order()
        #: Stamp of the stream that works right now.
        self._stamp: Stamp | None = None

    def leaks(self) -> list[str]:
        graphs = [f"graph {handle:#x}" for handle in self.graphs]
        return [*super().leaks(), *graphs, *(f"stream {handle:#x}" for handle in self.streams)]

    def stream(self, handle: int | None) -> int:
        number = handle or 0
        if number not in _USUAL_STREAMS and number not in self.streams:
            raise DriverError(INVALID_HANDLE, f"{number:#x} is no stream")
        if self._stream_contexts.get(number, self.current()) != self.current():
            raise DriverError(INVALID_HANDLE, f"{number:#x} is a stream of another device")
        return number

    def do(self, stream: int | None, step: Callable[[], None]) -> None:
        """Run a step now, or at each launch of the graph that captures the stream."""
        number = self.stream(stream)
        graph = self._capturing.get(number)
        if graph is not None:
            graph.steps.append(step)
            return
        self._stamp = self.order.work(number)
        try:
            step()
        finally:
            self._stamp = None

    def keep(self, stream: int | None, allocation: Allocation) -> None:
        """Assign memory that is allocated during a capture to the graph: it exists in a launch, from this step on."""
        graph = self._capturing.get(self.stream(stream))
        if graph is None:
            allocation.made = self.order.work(self.stream(stream))
            return
        graph.kept.append(allocation)
        self.memory.take_away(allocation, "until its graph is launched")
        graph.steps.append(lambda: self.memory.give(allocation))

    def release(self, stream: int | None, allocation: Allocation) -> bool:
        """Check whether an allocation belongs to a graph under capture, which then owns it until this step."""
        graph = self._capturing.get(self.stream(stream))
        if graph is None or allocation not in graph.kept:
            return False
        graph.steps.append(lambda: self.memory.take_away(allocation, self.now("cuMemFreeAsync in its graph")))
        return True

    def note_use(self, allocation: Allocation | None, by: str) -> None:
        """Record a stream's use of memory. Raise a fault if the memory may not exist yet."""
        stamp = self._stamp
        if stamp is None or allocation is None or not allocation.is_live:
            return
        if allocation.made is not None and not allocation.made.is_in(self.order.known(stamp.stream)):
            message = f"stream {stamp.stream:#x} does not wait for stream {allocation.made.stream:#x}, which asks for"
            raise Fault.of_host(USED_TOO_EARLY, by, f"{message} {allocation.label} ({allocation.size} bytes)")
        allocation.uses[stamp.stream] = stamp.number

    def require_unused(self, allocation: Allocation, function: str) -> None:
        """Raise a fault if a stream frees memory without waiting for another stream that uses it."""
        stamp = self._stamp
        for stream, number in allocation.uses.items() if stamp is not None else ():
            if not Stamp(stream, number).is_in(self.order.known(stamp.stream)):
                message = f"stream {stamp.stream:#x} does not wait for stream {stream:#x}, which works on"
                raise Fault.of_host(USE_AFTER_FREE, function, f"{message} {allocation.label} ({allocation.size} bytes)")

    def refuse_capture(self, stream: int | None = None) -> None:
        """Refuse a synchronizing call during a capture, and break the capture: that of a stream, or without a stream of
        all captures whose mode forbids the call."""
        own = threading.get_ident()
        mode = self._modes.get(own, _GLOBAL)
        for number, capture in self._capturing.items():
            is_own = capture.thread == own and capture.mode != _RELAXED
            is_meant = mode != _RELAXED and (is_own or capture.mode == mode == _GLOBAL)
            if number == self.stream(stream) if stream is not None else is_meant:
                capture.is_broken = True
                raise DriverError(900, "a stream is being captured")


@function("cuStreamCreate", "pu")
def _create(driver: Streams, to: int, flags: int) -> None:
    handle = driver.handle()
    driver.streams.add(handle)
    driver.order.create(handle, flags)
    driver._stream_contexts[handle] = driver.current()
    put(to, handle)


@function("cuStreamDestroy_v2", "p")
def _destroy(driver: Streams, stream: int) -> None:
    driver.stream(stream)
    driver.streams.discard(stream)
    if stream in driver._capturing:
        _give_back(driver, driver._capturing.pop(stream).kept)


@function("cuStreamSynchronize", "p")
def _synchronize(driver: Streams, stream: int | None) -> None:
    driver.refuse_capture(driver.stream(stream))
    driver.order.host_waits(driver.stream(stream))


@function("cuStreamQuery", "p")
def _query(driver: Streams, stream: int | None) -> None:
    driver.refuse_capture(driver.stream(stream))
    driver.order.host_waits(driver.stream(stream))


@function("cuStreamWaitEvent", "ppu")
def _wait_event(driver: Streams, stream: int | None, event: int, flags: int) -> None:
    if driver.stream(stream) not in driver._capturing:
        driver.order.wait(driver.stream(stream), _event(driver, event))


@function("cuStreamIsCapturing", "pp")
def _is_capturing(driver: Streams, stream: int | None, to: int) -> None:
    put(to, int(driver.stream(stream) in driver._capturing), ctypes.c_int)


@function("cuThreadExchangeStreamCaptureMode", "p")
def _exchange_mode(driver: Streams, place: int) -> None:
    own, wanted = threading.get_ident(), ctypes.c_int.from_address(place)
    before, driver._modes[own] = driver._modes.get(own, _GLOBAL), wanted.value
    wanted.value = before


@function("cuStreamBeginCapture_v2", "pi")
def _begin(driver: Streams, stream: int | None, mode: int) -> None:
    number = driver.stream(stream)
    if number in (0, 1) or number in driver._capturing:
        raise DriverError(900, "the legacy stream cannot be captured, nor one that is captured")
    driver._capturing[number] = _Capture(mode=mode)


@function("cuStreamEndCapture", "pp")
def _end(driver: Streams, stream: int | None, to: int) -> None:
    graph = driver._capturing.get(driver.stream(stream))
    if graph is None:
        raise DriverError(INVALID_VALUE, "the stream is not captured")
    if graph.mode != 2 and graph.thread != threading.get_ident():
        raise DriverError(908, "another thread has begun to capture it")
    del driver._capturing[driver.stream(stream)]
    if graph.is_broken:
        _give_back(driver, graph.kept)
        raise DriverError(901, "what was called meanwhile cannot be captured")
    handle = driver.handle()
    driver.graphs[handle] = graph
    put(to, handle)


def _graph(driver: Streams, handle: int, is_executable: bool) -> _Graph:
    graph = driver.graphs.get(handle)
    if graph is None or graph.is_executable != is_executable:
        raise DriverError(INVALID_HANDLE, f"{handle} is no {'executable ' if is_executable else ''}graph")
    return graph


def _give_back(driver: Streams, kept: list[Allocation]) -> None:
    for allocation in kept:
        if allocation.is_live:
            driver.memory.free(allocation, driver.now("the end of its graph"))


@function("cuGraphInstantiateWithFlags", "ppd")
def _instantiate(driver: Streams, to: int, graph: int, flags: int) -> None:
    handle = driver.handle()
    found = _graph(driver, graph, False)
    driver.graphs[handle] = _Graph(list(found.steps), found.kept, is_executable=True)
    put(to, handle)


@function("cuGraphLaunch", "pp")
def _launch(driver: Streams, graph: int, stream: int | None) -> None:
    found = _graph(driver, graph, True)
    if found.kept and driver.stream(stream) in driver._capturing:
        driver.refuse_capture(stream)
    for step in found.steps:
        driver.do(stream, step)


@function("cuGraphDestroy", "p")
def _destroy_graph(driver: Streams, graph: int) -> None:
    _drop_graph(driver, graph, False)


@function("cuGraphExecDestroy", "p")
def _destroy_executable(driver: Streams, graph: int) -> None:
    _drop_graph(driver, graph, True)


def _drop_graph(driver: Streams, graph: int, is_executable: bool) -> None:
    kept = _graph(driver, graph, is_executable).kept
    del driver.graphs[graph]
    if not any(other.kept is kept for other in driver.graphs.values()):
        _give_back(driver, kept)


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
    captured = driver.stream(stream) in driver._capturing
    # One that is recorded while a stream is captured is a place in the graph, and has no time.
    driver.events[_event(driver, event)] = 0.0 if captured else time.perf_counter()
    driver._event_streams[event] = driver.stream(stream)
    if not captured:
        driver.order.record(event, driver.stream(stream))


@function("cuEventSynchronize", "p")
def _synchronize_event(driver: Streams, event: int) -> None:
    driver.order.host_waits_for_event(_event(driver, event))


@function("cuEventQuery", "p")
def _query_event(driver: Streams, event: int) -> None:
    driver.refuse_capture()
    if driver._event_streams.get(_event(driver, event)) in driver.busy:
        raise DriverError(NOT_READY, "what is before the event is under way")
    driver.order.host_waits_for_event(event)


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
