# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structures of Vulkan by ctypes, as far as needed. Each but the last ones begins with its type and a next pointer."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, ClassVar

U32, U64, SIZE, PLACE = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
_BOOLEANS = "bool"


class Structure(ctypes.Structure):
    """Structure with named fields. `type` is filled in."""

    TYPE: ClassVar[int]

    def __init__(self, following: Structure | None = None, **fields: Any) -> None:
        super().__init__(type=self.TYPE, next=None if following is None else ctypes.addressof(following))
        #: Objects that this structure points to, kept alive with it.
        self.held: list[object] = [following]
        for name, value in fields.items():
            if isinstance(value, ctypes.Array | ctypes.Structure):
                self.held.append(value)
                value = ctypes.addressof(value) if (name, PLACE) in self._fields_ else value
            setattr(self, name, value)


def _structure(class_name: str, number: int, /, **fields: Any) -> type[Structure]:
    described = [("type", U32), ("next", PLACE), *fields.items()]
    return type(class_name, (Structure,), {"_fields_": described, "TYPE": number})


ApplicationInfo = _structure(
    "ApplicationInfo", 0, name=ctypes.c_char_p, version=U32, engine=ctypes.c_char_p, engine_version=U32, api=U32
)
InstanceInfo = _structure(
    "InstanceInfo",
    1,
    flags=U32,
    application=PLACE,
    layers=U32,
    layer_names=PLACE,
    extensions=U32,
    extension_names=PLACE,
)
QueueInfo = _structure("QueueInfo", 2, flags=U32, family=U32, count=U32, priorities=PLACE)
DeviceInfo = _structure(
    "DeviceInfo", 3, flags=U32, queues=U32, queue_infos=PLACE, layers=U32, layer_names=PLACE, extensions=U32,
    extension_names=PLACE, features=PLACE,
)  # fmt: skip
SubmitInfo = _structure(
    "SubmitInfo", 4, waits=U32, wait_semaphores=PLACE, wait_stages=PLACE, buffers=U32, command_buffers=PLACE,
    signals=U32, signal_semaphores=PLACE,
)  # fmt: skip
TimelineSubmitInfo = _structure(
    "TimelineSubmitInfo", 1000207003, waits=U32, wait_values=PLACE, signals=U32, signal_values=PLACE
)
SemaphoreInfo = _structure("SemaphoreInfo", 9, flags=U32)
FenceInfo = _structure("FenceInfo", 8, flags=U32)
SemaphoreTypeInfo = _structure("SemaphoreTypeInfo", 1000207002, semaphore_type=U32, value=U64)
MemoryInfo = _structure("MemoryInfo", 5, size=U64, memory_type=U32)
MemoryFlagsInfo = _structure("MemoryFlagsInfo", 1000060000, flags=U32, devices=U32)
BufferInfo = _structure(
    "BufferInfo", 12, flags=U32, size=U64, usage=U32, sharing=U32, families=U32, family_numbers=PLACE
)
BufferAddressInfo = _structure("BufferAddressInfo", 1000244001, buffer=U64)
ShaderInfo = _structure("ShaderInfo", 16, flags=U32, size=SIZE, code=PLACE)
StageInfo = _structure("StageInfo", 18, flags=U32, stage=U32, module=U64, name=ctypes.c_char_p, constants=PLACE)
SubgroupSizeInfo = _structure("SubgroupSizeInfo", 1000225001, size=U32)
PipelineInfo = _structure(
    "PipelineInfo", 29, flags=U32, stage=StageInfo, layout=U64, base=U64, base_index=ctypes.c_int32
)
LayoutInfo = _structure("LayoutInfo", 30, flags=U32, sets=U32, set_layouts=PLACE, ranges=U32, push_ranges=PLACE)
CommandPoolInfo = _structure("CommandPoolInfo", 39, flags=U32, family=U32)
CommandBufferInfo = _structure("CommandBufferInfo", 40, pool=U64, level=U32, count=U32)
InheritanceInfo = _structure(
    "InheritanceInfo", 41, render_pass=U64, subpass=U32, framebuffer=U64, occlusion=U32, query=U32, statistics=U32
)
BeginInfo = _structure("BeginInfo", 42, flags=U32, inherited=PLACE)
MemoryBarrier = _structure("MemoryBarrier", 46, source=U32, to=U32)

# ---- properties of a device ----

Features = _structure("Features", 1000059000, values=U32 * 55)
Features11 = _structure("Features11", 49, values=U32 * 12)
Features12 = _structure("Features12", 51, values=U32 * 47)
Features13 = _structure("Features13", 53, values=U32 * 15)
AtomicFloatFeatures = _structure("AtomicFloatFeatures", 1000260000, values=U32 * 12)
CooperativeMatrixFeatures = _structure("CooperativeMatrixFeatures", 1000506000, values=U32 * 2)


class VulkanLimits(ctypes.Structure):
    """VkPhysicalDeviceLimits. Unused fields are summarized."""

    _fields_ = (
        ("images", U32 * 7), ("storage_buffer_range", U32), ("push_constants", U32), ("allocations", U32),
        ("samplers", U32), ("granularity", U64), ("sparse", U64), ("graphics", U32 * 38), ("shared_memory", U32),
        ("blocks", U32 * 3), ("threads", U32), ("block_sizes", U32 * 3), ("others", U32 * 64),
    )  # fmt: skip


Properties = _structure(
    "Properties", 1000059001, api=U32, driver=U32, vendor=U32, device=U32, device_type=U32, name=ctypes.c_char * 256,
    cache=ctypes.c_uint8 * 16, limits=VulkanLimits, room=U32 * 64,
)  # fmt: skip
SubgroupProperties = _structure("SubgroupProperties", 1000094000, size=U32, stages=U32, operations=U32, quads=U32)
SubgroupSizes = _structure("SubgroupSizes", 1000225000, least=U32, most=U32, most_subgroups=U32, stages=U32)
FloatControls = _structure("FloatControls", 1000197000, independent=U32 * 2, values=U32 * 15)
MaximumAllocation = _structure("MaximumAllocation", 1000168000, descriptors=U32, size=U64)
#: Sizes, VkComponentTypeKHR of both factors, of the accumulator and of the result, and VkScopeKHR.
CooperativeMatrix = _structure(
    "CooperativeMatrix", 1000506001, rows=U32, columns=U32, steps=U32, types=U32 * 4, saturates=U32, scope=U32
)


class MemoryTypes(ctypes.Structure):
    """VkPhysicalDeviceMemoryProperties."""

    _fields_ = (("count", U32), ("types", (U32 * 2) * 32), ("heap_count", U32), ("heaps", (U64 * 2) * 16))


class QueueFamily(ctypes.Structure):
    """VkQueueFamilyProperties."""

    _fields_ = (("flags", U32), ("count", U32), ("timestamp_bits", U32), ("granularity", U32 * 3))


class PushRange(ctypes.Structure):
    """VkPushConstantRange."""

    _fields_ = (("stages", U32), ("offset", U32), ("size", U32))


class ConstantPlace(ctypes.Structure):
    """VkSpecializationMapEntry."""

    _fields_ = (("constant", U32), ("offset", U32), ("size", SIZE))


class Constants(ctypes.Structure):
    """VkSpecializationInfo."""

    _fields_ = (("count", U32), ("places", PLACE), ("bytes", SIZE), ("values", PLACE))


def constants(values: Sequence[int]) -> Constants:
    """Return the values of a module's 32-bit specialization constants, by number."""
    held = (U32 * len(values))(*values)
    places = (ConstantPlace * len(values))(*(ConstantPlace(index, 4 * index, 4) for index in range(len(values))))
    made = Constants(len(values), ctypes.addressof(places), ctypes.sizeof(held), ctypes.addressof(held))
    made.held = held, places
    return made


class ExtensionProperties(ctypes.Structure):
    """VkExtensionProperties."""

    _fields_ = (("name", ctypes.c_char * 256), ("version", U32))


class MemoryRequirements(ctypes.Structure):
    """VkMemoryRequirements."""

    _fields_ = (("size", U64), ("alignment", U64), ("types", U32))
