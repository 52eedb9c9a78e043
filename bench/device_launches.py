# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of a call of a program with one small kernel on Vulkan, against the driver itself.

The driver dispatches the same pipeline with a command buffer that is recorded before. A second table has the cost of
many kernels in a call for the calling thread, with kept commands (graphs=None) and without.

    python bench/device_launches.py
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable

import numpy
from relax_mlir_spirv.vulkan_runtime import structures as vk
from relax_mlir_spirv.vulkan_runtime.driver import driver
from relax_mlir_spirv.vulkan_runtime.opened import VulkanDevice, open_device

import relax_mlir as rx

_TURNS, _BATCH = 300, 50


def main() -> None:
    size = driver().device(0).capabilities.subgroups.size
    module = rx.Module()
    with module.function("main", [rx.tensor((64,))]) as f:
        (x,) = f
        f.returns(rx.relax.add(x, rx.relax.const(numpy.float32(1))))
    program = rx.compile(module, target=f"vulkan{{subgroup={size}}}")
    given, call = program.copying().upload(numpy.zeros(64, "float32")), program["main"]
    result = call(given)
    program.synchronize()
    device = open_device(driver(), 0)

    def calls(count: int) -> Callable[[], None]:
        def run() -> None:
            for _ in range(count):
                call(given)
            program.synchronize()

        return run

    words = [result.data_ptr(), given.data_ptr()]
    on_device = program._on_device
    assert on_device is not None
    handle = list((ctypes.c_uint64 * 4).from_address(on_device.kernels[0]))
    print(f"{device.physical}: microseconds of a launch, median of {_TURNS}")
    for count in (1, _BATCH):
        ours, alone = microseconds(calls(count), count), microseconds(submits(device, handle, words, count), count)
        print(f"  {count:3} before a wait: program {ours:6.1f}, driver alone {alone:6.1f}, ratio {ours / alone:.2f}")
    print(f"microseconds of a call of {_BATCH} kernels, median of {_TURNS}, until it returns and until it is done")
    for graphs in (False, None):
        returned, done = of_many(size, graphs)
        print(f"  {'kept' if graphs is None else 'recorded at each call'}: {returned:.1f}, {done:.1f}")


def of_many(size: int, graphs: bool | None) -> tuple[float, float]:
    """Return the times of a call of a program with many kernels: until it returns, and until the device is done."""
    module = rx.Module()
    with module.function("main", [rx.tensor((64,))]) as f:
        (x,) = f
        for _ in range(_BATCH):
            x = rx.relax.cumsum(x)
        f.returns(x)
    program = rx.compile(module, target=f"vulkan{{subgroup={size}}}", graphs=graphs)
    given, call = program.copying().upload(numpy.zeros(64, "float32")), program["main"]
    returned, done = [], []
    for _ in range(_TURNS):
        begin = time.perf_counter()
        call(given)
        returned.append(time.perf_counter() - begin)
        program.synchronize()
        done.append(time.perf_counter() - begin)
    return statistics.median(returned) * 1e6, statistics.median(done) * 1e6


def submits(device: VulkanDevice, handle: list[int], words: list[int], count: int) -> Callable[[], None]:
    """Return a function that submits `count` dispatches, recorded here with barriers between, and waits for their
    fence."""
    pipeline, layout, total = handle[:3]
    family = device.physical.capabilities.queue_family
    pool = device.made("vkCreateCommandPool", ctypes.byref(vk.CommandPoolInfo(family=family)), None)
    buffers, queue = (ctypes.c_uint64 * 1)(), ctypes.c_uint64()
    device.call("vkAllocateCommandBuffers", ctypes.byref(vk.CommandBufferInfo(pool=pool, count=1)), buffers)
    device.call("vkGetDeviceQueue", family, 0, ctypes.byref(queue))
    given = (ctypes.c_uint64 * total)(*words, *[1] * (total - len(words)))
    barrier = vk.MemoryBarrier(source=0x20, to=0x60)
    record = device.functions.call
    record("vkBeginCommandBuffer", buffers[0], ctypes.byref(vk.BeginInfo()))
    for _ in range(count):
        record("vkCmdBindPipeline", buffers[0], 1, pipeline)
        record("vkCmdPushConstants", buffers[0], layout, 0x20, 0, 8 * total, given)
        record("vkCmdDispatch", buffers[0], 1, 1, 1)
        record("vkCmdPipelineBarrier", buffers[0], 0x800, 0x800, 0, 1, ctypes.byref(barrier), 0, None, 0, None)
    record("vkEndCommandBuffer", buffers[0])
    info = vk.SubmitInfo(buffers=1, command_buffers=buffers)
    fence = (ctypes.c_uint64 * 1)(device.made("vkCreateFence", ctypes.byref(vk.FenceInfo()), None))

    def run() -> None:
        record("vkQueueSubmit", queue.value, 1, ctypes.byref(info), fence[0])
        device.call("vkWaitForFences", 1, fence, 1, 2**64 - 1)
        device.call("vkResetFences", 1, fence)

    return run


def microseconds(run: Callable[[], None], count: int) -> float:
    times = []
    for _ in range(_TURNS):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) / count * 1e6


if __name__ == "__main__":
    main()
