# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Open device in the form that code uses: the page of host_library/vulkan.py, one per device of a process."""

from __future__ import annotations

import ctypes
import threading
from typing import NamedTuple

from relax_mlir.runtime.errors import DeviceError
from relax_mlir.support.byte_sizes import byte_text

from ..paged import Page
from . import structures as vk
from .driver import ATOMICS, MATRICES, Capabilities, PhysicalDevice, VulkanDriver, VulkanError, VulkanFunctions
from .statuses import OUT_OF_DEVICE_MEMORY, OUT_OF_HOST_MEMORY

#: Functions that the code calls, in the page's order, from word 48 on.
_CALLED = (
    "vkCreateBuffer", "vkDestroyBuffer", "vkGetBufferMemoryRequirements", "vkAllocateMemory", "vkFreeMemory",
    "vkBindBufferMemory", "vkMapMemory", "vkGetBufferDeviceAddress", "vkBeginCommandBuffer", "vkEndCommandBuffer",
    "vkCmdPipelineBarrier", "vkCmdBindPipeline", "vkCmdPushConstants", "vkCmdDispatch", "vkCmdCopyBuffer",
    "vkQueueSubmit", "vkWaitSemaphores", "vkCmdExecuteCommands",
)  # fmt: skip
_FUNCTIONS, _WORDS = 48, 80
#: Number of the ring's command buffers, their maximum number of commands, and bytes for the parameters of launches.
_RING, _COMMANDS, _PARAMETER_BYTES = 16, 64, 1 << 16
_STAGING_BYTES = 1 << 22
# VkBufferUsageFlagBits: transfer source and destination, storage, device address.
_USAGE = 1 | 2 | 0x20 | 0x20000
# VkMemoryPropertyFlagBits.
_LOCAL, _VISIBLE, _COHERENT, _CACHED, _USUAL = 1, 2, 4, 8, 15
_DISCRETE = 2
_WRITES, _READS_AND_WRITES = 0x20 | 0x1000, 0x20 | 0x40 | 0x800 | 0x1000 | 0x2000
_TIMELINE, _RESETS_BUFFERS, _ONE_TIME, _SIMULTANEOUS = 1, 2, 1, 4
#: Features by position (structures.py): the ones that programs need, and the ones that stay disabled.
_NEEDED = {"bufferDeviceAddress": 38, "timelineSemaphore": 37}
_LEFT_OFF, _LEFT_OFF_12 = (0,), (39, 40)


class HostVisible(NamedTuple):
    """Buffer that the host can access."""

    buffer: int
    memory: int
    host: int
    address: int


class VulkanDevice:
    """Open device, which lives as long as the process: results outlive programs."""

    def __init__(self, driver: VulkanDriver, physical: PhysicalDevice, *, staged: bool | None = None) -> None:
        """Open a device. With `staged`, copies use staging memory even if the host could access the device's memory."""
        self.physical = physical
        has = physical.capabilities
        _check(physical)
        self.handle = _open(driver, physical)
        self.functions = VulkanFunctions(driver.library, self.handle, "vkGetDeviceProcAddr")
        allowed = self._allowed_types()

        def memory_type(wanted: int) -> int:
            return _memory_type(has, wanted, allowed)

        visible = [memory_type(_VISIBLE | _COHERENT | _CACHED), memory_type(_VISIBLE | _COHERENT)]
        self._visible = next((each for each in visible if each >= 0), -1)
        local, mapped = memory_type(_LOCAL), memory_type(_LOCAL | _VISIBLE | _COHERENT)
        if min(self._visible, local) < 0:
            raise DeviceError(f"{physical} has no memory of its own for buffers, or none that the host sees")
        is_staged = has.properties.device_type == _DISCRETE or mapped < 0 if staged is None else staged
        self.page = Page(_WORDS, has.largest.size or 2**62)
        self._held: list[object] = []
        self._fill(local if is_staged else mapped, is_mapped=not is_staged)

    def call(self, name: str, *arguments: object) -> None:
        self.functions.call(name, self.handle, *arguments)

    def made(self, name: str, *arguments: object) -> int:
        return self.functions.made(name, self.handle, *arguments)

    def host_visible(self, size: int) -> HostVisible:
        """Allocate a host-visible buffer. Raises DeviceError if there is no room."""
        buffer = self.made("vkCreateBuffer", ctypes.byref(vk.BufferInfo(size=size, usage=_USAGE)), None)
        try:
            needs = vk.MemoryRequirements()
            self.call("vkGetBufferMemoryRequirements", buffer, ctypes.byref(needs))
            flags = vk.MemoryFlagsInfo(flags=2)
            info = vk.MemoryInfo(flags, size=needs.size, memory_type=self._visible)
            memory = self.made("vkAllocateMemory", ctypes.byref(info), None)
        except VulkanError as error:
            self.call("vkDestroyBuffer", buffer, None)
            if error.status in (OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY):
                raise DeviceError(f"{self.physical} has no room on the host for {byte_text(size)}: {error}") from None
            raise
        self.call("vkBindBufferMemory", buffer, memory, 0)
        host = self.made("vkMapMemory", memory, 0, 2**64 - 1, 0)
        return HostVisible(buffer, memory, host, self._address(buffer))

    def free(self, room: HostVisible) -> None:
        self.call("vkDestroyBuffer", room.buffer, None)
        self.call("vkFreeMemory", room.memory, None)

    def _allowed_types(self) -> int:
        """Return the types of memory that buffers may have, as a bit mask."""
        buffer, needs = (
            self.made("vkCreateBuffer", ctypes.byref(vk.BufferInfo(size=256, usage=_USAGE)), None),
            vk.MemoryRequirements(),
        )
        self.call("vkGetBufferMemoryRequirements", buffer, ctypes.byref(needs))
        self.call("vkDestroyBuffer", buffer, None)
        return int(needs.types)

    def _address(self, buffer: int) -> int:
        find = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)
        info = vk.BufferAddressInfo(buffer=buffer)
        return int(find(self.functions.address("vkGetBufferDeviceAddress"))(self.handle, ctypes.addressof(info)))

    def _fill(self, memory_type: int, *, is_mapped: bool) -> None:
        page, has = self.page.words, self.physical.capabilities
        queue = ctypes.c_uint64()
        self.call("vkGetDeviceQueue", has.queue_family, 0, ctypes.byref(queue))
        page[16], page[17] = self.handle, queue.value
        kind = vk.SemaphoreTypeInfo(semaphore_type=_TIMELINE)
        page[18] = self.made("vkCreateSemaphore", ctypes.byref(vk.SemaphoreInfo(kind)), None)
        page[22], page[23], page[24] = _RING, self._make_ring(), _PARAMETER_BYTES
        page[26], page[27] = _COMMANDS, int(is_mapped)
        if not is_mapped:
            staging = self.host_visible(_STAGING_BYTES)
            page[28], page[29], page[30] = staging.host, staging.buffer, _STAGING_BYTES
        page[31] = self._hold(vk.BufferInfo(usage=_USAGE))
        page[32] = self._hold(vk.MemoryInfo(vk.MemoryFlagsInfo(flags=2), memory_type=memory_type))
        page[33] = self._hold(vk.BufferAddressInfo())
        page[34] = self._hold(vk.BeginInfo(flags=_ONE_TIME))
        page[35] = self._hold(vk.MemoryBarrier(source=_WRITES, to=_READS_AND_WRITES))
        timeline = vk.TimelineSubmitInfo(signals=1, signal_values=self.page.address + 19 * 8)
        submit = vk.SubmitInfo(timeline, buffers=1, signals=1)
        submit.command_buffers, submit.signal_semaphores = self.page.address + 40 * 8, self.page.address + 18 * 8
        page[36] = self._hold(submit)
        page[37] = self._hold((ctypes.c_uint64 * 3)())
        page[38] = self._hold(vk.MemoryRequirements())
        page[39] = has.properties.limits.blocks[0]
        page[45] = self._hold(vk.BeginInfo(flags=_SIMULTANEOUS, inherited=vk.InheritanceInfo()))
        for place, name in enumerate(_CALLED):
            page[_FUNCTIONS + place] = self.functions.address(name)

    def _make_ring(self) -> int:
        """Create the command buffer, the completion value and the parameter memory of each row."""
        family = self.physical.capabilities.queue_family
        pool = self.made(
            "vkCreateCommandPool", ctypes.byref(vk.CommandPoolInfo(flags=_RESETS_BUFFERS, family=family)), None
        )
        buffers = (ctypes.c_uint64 * _RING)()
        self.call("vkAllocateCommandBuffers", ctypes.byref(vk.CommandBufferInfo(pool=pool, count=_RING)), buffers)
        room = self.host_visible(_RING * _PARAMETER_BYTES)
        ring = (ctypes.c_uint64 * (4 * _RING))()
        ring[0::4] = list(buffers)
        for which, base in ((2, room.host), (3, room.address)):
            ring[which::4] = [base + _PARAMETER_BYTES * place for place in range(_RING)]
        return self._hold(ring)

    def _hold(self, memory: ctypes.Structure | ctypes.Array[ctypes.c_uint64]) -> int:
        self._held.append(memory)
        return ctypes.addressof(memory)


def _check(physical: PhysicalDevice) -> None:
    has = physical.capabilities
    if has.queue_family < 0:
        raise DeviceError(f"{physical} has no queue that computes")
    lacking = [name for name, place in _NEEDED.items() if not has.features12.values[place]]
    if lacking:
        raise DeviceError(f"{physical} lacks {' and '.join(lacking)}, which programs need")


def _open(driver: VulkanDriver, physical: PhysicalDevice) -> int:
    """Open a device with all its features except slow ones."""
    has = physical.capabilities
    priorities = (ctypes.c_float * 1)(1.0)
    queue = vk.QueueInfo(family=has.queue_family, count=1, priorities=priorities)
    names = [name for name in (ATOMICS, MATRICES) if name in has.extensions]
    listed = (ctypes.c_char_p * max(len(names), 1))(*(name.encode() for name in names))
    further = vk.AtomicFloatFeatures(values=has.atomic_floats.values) if ATOMICS in names else None
    if MATRICES in names:
        further = vk.CooperativeMatrixFeatures(further, values=has.cooperative.values)
        # Bounds checks of buffers stay disabled (_LEFT_OFF).
        further.values[1] = 0
    features13 = vk.Features13(further, values=has.features13.values)
    features12 = vk.Features12(features13 if physical.version >= (1, 3) else further, values=has.features12.values)
    features = vk.Features(vk.Features11(features12, values=has.features11.values), values=has.features.values)
    for place in _LEFT_OFF:
        features.values[place] = 0
    for place in _LEFT_OFF_12:
        features12.values[place] = 0
    info = vk.DeviceInfo(features, queues=1, queue_infos=queue, extensions=len(names), extension_names=listed)
    return driver.functions.made("vkCreateDevice", physical.handle, ctypes.byref(info), None)


def _memory_type(has: Capabilities, wanted: int, allowed: int) -> int:
    """Return the first allowed memory type with these properties and no unusual ones, or -1."""
    types = [has.memory.types[place][0] for place in range(has.memory.count)]
    fitting = (place for place, flags in enumerate(types) if flags & wanted == wanted and not flags & ~_USUAL)
    return next((place for place in fitting if allowed >> place & 1), -1)


_open_devices: dict[int, VulkanDevice] = {}
_lock = threading.Lock()


def open_device(driver: VulkanDriver, number: int) -> VulkanDevice:
    """Return the process's open device of a number. Raises DeviceError."""
    with _lock:
        if number not in _open_devices:
            _open_devices[number] = VulkanDevice(driver, driver.device(number))
        return _open_devices[number]
