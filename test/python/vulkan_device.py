# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first device of Vulkan that is a CPU (Mesa's lavapipe), by ctypes: runs kernels of words on this process' memory.

Addresses of such a device are the process' own, so kernels get them as they are: no memory is made here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Sequence
from typing import Any

_P, _U32, _U64, _SIZE = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
_COMPUTE, _CPU = 0x20, 4
#: Of structures: those of features, with how many truth values they hold (Vulkan 1.1's to 1.3's).
_FEATURES = {49: 12, 51: 47, 53: 15}
_RETURNING_NOTHING = ("vkGet", "vkCmd", "vkDestroy")


class _Struct(ctypes.Structure):
    """One of Vulkan's, by its kind and fields: their types follow from the values, pointers are kept."""


def _struct(kind: int, *fields: Any, behind: Any = None) -> Any:
    values = [_U32(kind), _pointer(behind), *fields]
    names = [f"f{place}" for place in range(len(values))]
    made = type("Made", (_Struct,), {"_fields_": [(n, type(v)) for n, v in zip(names, values, strict=True)]})
    held = made(*values)
    held.kept = [behind, *fields]
    return held


def _pointer(to: Any) -> Any:
    pointer = _P(None if to is None else ctypes.addressof(to))
    pointer.kept = to
    return pointer


@functools.cache
def library() -> Any:
    """None where there is no loader."""
    name = ctypes.util.find_library("vulkan")
    return ctypes.CDLL(name) if name else None


def _call(name: str, *arguments: Any) -> None:
    function = getattr(library(), name)
    function.restype = None if name.startswith(_RETURNING_NOTHING) else ctypes.c_int32
    status = function(*arguments)
    if status:
        raise RuntimeError(f"{name}: VkResult {status}")


def _made(name: str, device: Any, info: Any, *before: Any) -> Any:
    handle = _U64()
    _call(name, device, *before, ctypes.byref(info), None, ctypes.byref(handle))
    return handle


@functools.cache
def why_none() -> str:
    """Why nothing can be run; empty where it can."""
    if library() is None:
        return "there is no Vulkan loader (apt: libvulkan1)"
    try:
        return "" if _cpu_device() is not None else "no device of Vulkan is a CPU (apt: mesa-vulkan-drivers)"
    except RuntimeError as error:
        return str(error)


@functools.cache
def _cpu_device() -> Any:
    app = _struct(0, _pointer(None), _U32(0), _pointer(None), _U32(0), _U32((1 << 22) | (2 << 12)))
    info = _struct(1, _U32(0), _pointer(app), _U32(0), _P(), _U32(0), _P())
    instance = _P()
    _call("vkCreateInstance", ctypes.byref(info), None, ctypes.byref(instance))
    count, found = _U32(8), (_P * 8)()
    _call("vkEnumeratePhysicalDevices", instance, ctypes.byref(count), found)
    for each in found[: count.value]:
        properties = (_U32 * 1024)()
        _call("vkGetPhysicalDeviceProperties", _P(each), properties)
        if properties[4] == _CPU:
            return _P(each)
    return None


class VulkanDevice:
    """The device, with all features that it has; one for a process."""

    def __init__(self) -> None:
        physical = _cpu_device()
        chain = None
        for kind, count in reversed(_FEATURES.items()):
            chain = _struct(kind, (_U32 * count)(), behind=chain)
        features = _struct(1000059000, (_U32 * 55)(), behind=chain)
        _call("vkGetPhysicalDeviceFeatures2", physical, ctypes.byref(features))
        priority = (ctypes.c_float * 1)(1.0)
        queue = _struct(2, _U32(0), _U32(0), _U32(1), _pointer(priority))
        info = _struct(3, _U32(0), _U32(1), _pointer(queue), _U32(0), _P(), _U32(0), _P(), _P(), behind=features)
        self.handle, self.queue, self.commands = _P(), _P(), _P()
        _call("vkCreateDevice", physical, ctypes.byref(info), None, ctypes.byref(self.handle))
        _call("vkGetDeviceQueue", self.handle, _U32(0), _U32(0), ctypes.byref(self.queue))
        pool = _made("vkCreateCommandPool", self.handle, _struct(39, _U32(2), _U32(0)))
        info = _struct(40, pool, _U32(0), _U32(1))
        _call("vkAllocateCommandBuffers", self.handle, ctypes.byref(info), ctypes.byref(self.commands))

    def kernel(self, module: bytes, name: str, pushed: int) -> tuple[Any, Any]:
        """Of that many bytes of push constants: the pipeline and its layout."""
        code = ctypes.create_string_buffer(module, len(module))
        shader = _made("vkCreateShaderModule", self.handle, _struct(16, _U32(0), _SIZE(len(module)), _pointer(code)))
        ranges = (_U32 * 3)(_COMPUTE, 0, pushed)
        info = _struct(30, _U32(0), _U32(0), _P(), _U32(1 if pushed else 0), _pointer(ranges))
        layout = _made("vkCreatePipelineLayout", self.handle, info)
        entry = ctypes.create_string_buffer(name.encode())
        stage = _struct(18, _U32(0), _U32(_COMPUTE), shader, _pointer(entry), _P())
        info = _struct(29, _U32(0), stage, layout, _U64(0), ctypes.c_int32(-1))
        pipeline = _U64()
        _call(
            "vkCreateComputePipelines", self.handle, _U64(0), _U32(1), ctypes.byref(info), None, ctypes.byref(pipeline)
        )
        return pipeline, layout

    def launch(self, kernel: tuple[Any, Any], blocks: int, words: Sequence[int]) -> None:
        """Runs it to its end."""
        pipeline, layout = kernel
        _call("vkBeginCommandBuffer", self.commands, ctypes.byref(_struct(42, _U32(1), _P())))
        _call("vkCmdBindPipeline", self.commands, _U32(1), pipeline)
        if words:
            pushed = (_U64 * len(words))(*words)
            size = _U32(ctypes.sizeof(pushed))
            _call("vkCmdPushConstants", self.commands, layout, _U32(_COMPUTE), _U32(0), size, pushed)
        _call("vkCmdDispatch", self.commands, _U32(blocks), _U32(1), _U32(1))
        _call("vkEndCommandBuffer", self.commands)
        buffers = (_P * 1)(self.commands)
        info = _struct(4, _U32(0), _P(), _P(), _U32(1), _pointer(buffers), _U32(0), _P())
        _call("vkQueueSubmit", self.queue, _U32(1), ctypes.byref(info), _U64(0))
        _call("vkQueueWaitIdle", self.queue)


@functools.cache
def device() -> VulkanDevice:
    return VulkanDevice()
