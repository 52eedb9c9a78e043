# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Use of freed device memory by the host, and memory that one stream frees while another uses it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from emulated import HEADER, loaded, must, pointers, started
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.faults import Fault

_FILL = f"""{HEADER}
.visible .entry fill(.param .u64 p) {{
    .reg .b64 %rd<3>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd2, %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}}"""


def _fill(driver: EmulatedCuda, address: int, stream: int | None = None) -> int:
    """Fill memory with a kernel."""
    kernel, given = loaded(driver, _FILL, "fill"), pointers([ctypes.c_uint64(address)])
    return int(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, given, None))


def _allocate(driver: EmulatedCuda, stream: int | None = None) -> int:
    found = ctypes.c_uint64()
    must(driver, driver.cuMemAllocAsync(ctypes.byref(found), 128, stream))
    return found.value


def _stream(driver: EmulatedCuda, flags: int = 1) -> int:
    stream = ctypes.c_uint64()
    must(driver, driver.cuStreamCreate(ctypes.byref(stream), flags))
    return stream.value


def _wait(driver: EmulatedCuda, stream: int, other: int) -> None:
    """Let a stream wait for another one through an event."""
    event = ctypes.c_uint64()
    must(driver, driver.cuEventCreate(ctypes.byref(event), 2))
    must(driver, driver.cuEventRecord(event.value, other))
    must(driver, driver.cuStreamWaitEvent(stream, event.value, 0))


_TOUCHES: dict[str, Callable[[EmulatedCuda, int, Any], int]] = {
    "cuMemcpyHtoD": lambda driver, address, host: driver.cuMemcpyHtoD_v2(address, host.ctypes.data, 8),
    "cuMemcpyDtoH": lambda driver, address, host: driver.cuMemcpyDtoHAsync_v2(host.ctypes.data, address, 8, None),
    "cuMemcpyDtoD": lambda driver, address, host: driver.cuMemcpyDtoD_v2(_allocate(driver), address, 8),
    "cuMemsetD8": lambda driver, address, host: driver.cuMemsetD8Async(address, 1, 8, None),
    "cuMemsetD32": lambda driver, address, host: driver.cuMemsetD32_v2(address, 1, 2),
    "cuMemFree": lambda driver, address, host: driver.cuMemFree_v2(address),
    "cuMemFreeAsync": lambda driver, address, host: driver.cuMemFreeAsync(address, None),
}


@pytest.mark.parametrize("name", _TOUCHES)
def test_uses_of_freed_memory_by_the_host_are_reported(name: str) -> None:
    """Report copies, fills and frees of freed memory, with the call that freed it and the kernel before that call."""
    driver = started()
    address = _allocate(driver)
    must(driver, _fill(driver, address))
    must(driver, driver.cuMemFreeAsync(address, None))
    assert _TOUCHES[name](driver, address, numpy.zeros(8, numpy.uint8)) == 700
    what = "freed twice" if "Free" in name else "use after free"
    freed = r"\(128 bytes\), which was freed by cuMemFreeAsync \(call \d+ of the driver, behind kernel fill\)"
    with pytest.raises(Fault, match=rf"^{name}: {what}: .*cuMemAllocAsync \d+ {freed}"):
        driver.check()


def test_memory_of_a_graph_is_used_behind_its_end() -> None:
    """Invalidate memory of a graph between two launches."""
    driver = started()
    stream, graph, executable = _stream(driver), ctypes.c_uint64(), ctypes.c_uint64()
    kernel = loaded(driver, _FILL, "fill")
    must(driver, driver.cuStreamBeginCapture_v2(stream, 2))
    address = _allocate(driver, stream)
    given = pointers([ctypes.c_uint64(address)])
    must(driver, driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, given, None))
    must(driver, driver.cuMemFreeAsync(address, stream))
    must(driver, driver.cuStreamEndCapture(stream, ctypes.byref(graph)))
    must(driver, driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph.value, 0))
    for _ in range(2):
        must(driver, driver.cuGraphLaunch(executable.value, stream))
    driver.check()
    assert driver.cuMemsetD8Async(address, 1, 8, stream) == 700
    with pytest.raises(Fault, match=r"cuMemsetD8: use after free: .* freed by cuMemFreeAsync in its graph \(call \d+"):
        driver.check()


_WAITS: dict[str, Callable[[EmulatedCuda, int, int], object]] = {
    "nothing": lambda driver, owner, worker: None,
    "the wrong way": lambda driver, owner, worker: _wait(driver, worker, owner),
    "an event": lambda driver, owner, worker: _wait(driver, owner, worker),
    "the stream": lambda driver, owner, worker: driver.cuStreamSynchronize(worker),
    "the device": lambda driver, owner, worker: driver.cuCtxSynchronize(),
}


@pytest.mark.parametrize("wait", _WAITS)
def test_memory_that_another_stream_still_works_on(wait: str) -> None:
    driver = started()
    owner, worker = _stream(driver), _stream(driver)
    address = _allocate(driver, owner)
    _wait(driver, worker, owner)
    must(driver, _fill(driver, address, worker))
    _WAITS[wait](driver, owner, worker)
    freed = driver.cuMemFreeAsync(address, owner)
    if wait not in ("nothing", "the wrong way"):
        must(driver, freed)
        driver.check()
        return
    assert freed == 700
    with pytest.raises(Fault, match=r"cuMemFreeAsync: use after free: stream .* does not wait for stream .* works on"):
        driver.check()


@pytest.mark.parametrize("flags", [0, 1])
def test_memory_that_another_stream_asks_for(flags: int) -> None:
    """Order a stream without flags after the default stream."""
    driver = started()
    address = _allocate(driver)
    _fill(driver, address, _stream(driver, flags))
    if not flags:
        driver.check()
        return
    too_early = r"fill: use before it is there: stream .* asks for cuMemAllocAsync \d+ \(128 bytes\)"
    with pytest.raises(Fault, match=too_early):
        driver.check()
