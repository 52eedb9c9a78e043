# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vulkan's loader, libvulkan.so.1, by ctypes, and its devices.

It is opened when the first program for them is loaded.
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import Any, NamedTuple

from relax_mlir.runtime.errors import DeviceError
from relax_mlir.support.byte_sizes import byte_text
from relax_mlir.support.once import once

from ..device_kernels import USUAL_SUBGROUP, fitting_target
from . import structures as vk
from .statuses import INCOMPATIBLE_DRIVER, status_text

LIBRARY = "libvulkan.so.1"
_INSTALL = "on Debian and Ubuntu: apt install libvulkan1 mesa-vulkan-drivers"
#: Requested version of Vulkan, and the oldest version of a device.
_WANTED, _OLDEST = (1, 3), (1, 2)
_COMPUTE_QUEUE = 2
#: Drivers that round x * y + z twice.
_ROUNDS_TWICE = "llvmpipe"
_COMPUTE_STAGE = 0x20
#: Extensions. Targets name matrices (matrices.py) by the types of both factors, of the accumulator and of the result.
ATOMICS, MATRICES = "VK_EXT_shader_atomic_float", "VK_KHR_cooperative_matrix"
_FACTORS = {(0, 0, 1, 1): "f16", (3, 3, 5, 5): "i8", (7, 7, 9, 9): "ui8"}
_SUBGROUP_SCOPE = 3
DEVICE_TYPES = ("another", "integrated GPU", "discrete GPU", "virtual GPU", "CPU")
_VOID = frozenset(
    {
        "vkGetPhysicalDeviceFeatures2", "vkGetPhysicalDeviceProperties2", "vkGetPhysicalDeviceMemoryProperties",
        "vkGetPhysicalDeviceQueueFamilyProperties", "vkGetDeviceQueue", "vkGetBufferMemoryRequirements",
        "vkDestroyBuffer", "vkFreeMemory", "vkCmdBindPipeline",
        "vkCmdPushConstants", "vkCmdDispatch", "vkCmdPipelineBarrier", "vkDestroyShaderModule",
        "vkDestroyPipelineLayout", "vkDestroyPipeline",
    }
)  # fmt: skip


class VulkanError(DeviceError):
    """Error of a function of Vulkan."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class VulkanFunctions:
    """Functions by name: addresses for code, and calls for the loading of programs."""

    def __init__(self, library: object, owner: int, finder: str) -> None:
        """`finder` is the function that returns addresses of an instance's or a device's functions."""
        find = getattr(library, finder)
        find.restype, find.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
        self._find, self._owner = find, owner
        self._known: dict[str, Any] = {}

    def address(self, name: str) -> int:
        found = self._find(self._owner, name.encode())
        if not found:
            raise DeviceError(f"the Vulkan driver has no {name}: it is older than it says")
        return int(found)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function. Raises VulkanError.

        Numbers are passed as 64 bits: handles have 64 bits, and the callee reads narrower ones from them.
        """
        if name not in self._known:
            result = None if name in _VOID else ctypes.c_int32
            self._known[name] = ctypes.CFUNCTYPE(result)(self.address(name))
        given = [ctypes.c_uint64(argument) if isinstance(argument, int) else argument for argument in arguments]
        status = self._known[name](*given)
        if status:
            raise VulkanError(f"{name}: {status_text(status)}", status)

    def made(self, name: str, *arguments: object) -> int:
        """Return the handle that a function stores through its last argument."""
        found = ctypes.c_uint64()
        self.call(name, *arguments, ctypes.byref(found))
        return found.value


class Capabilities(NamedTuple):
    """Properties that a device reports."""

    features: vk.Structure
    features11: vk.Structure
    features12: vk.Structure
    features13: vk.Structure
    atomic_floats: vk.Structure
    properties: vk.Structure
    subgroups: vk.Structure
    subgroup_sizes: vk.Structure
    float_controls: vk.Structure
    largest: vk.Structure
    memory: vk.MemoryTypes
    extensions: frozenset[str]
    queue_family: int
    cooperative: vk.Structure
    #: Matrices that subgroups multiply, with the targets' names such as f16:16x16x16; the largest first.
    matrices: tuple[str, ...]

    @property
    def least_subgroup(self) -> int:
        """Return the smallest selectable subgroup size, or the fixed size if a program cannot select one."""
        return int(self.subgroup_sizes.least if self.chooses_subgroups else self.subgroups.size)

    @property
    def most_subgroup(self) -> int:
        return int(self.subgroup_sizes.most if self.chooses_subgroups else self.subgroups.size)

    @property
    def chooses_subgroups(self) -> bool:
        """Check whether a kernel may require a subgroup size with full subgroups."""
        size_control, full = self.features13.values[7:9]
        return bool(size_control and full and self.subgroup_sizes.stages & _COMPUTE_STAGE)


class PhysicalDevice(NamedTuple):
    """Device that the loader lists."""

    number: int
    handle: int
    name: str
    version: tuple[int, int]
    capabilities: Capabilities

    def __str__(self) -> str:
        return f"vulkan:{self.number} ({self.name})"

    @property
    def target(self) -> str:
        """Return the target that fits the device, in the form of rx.compile and relax-compile."""
        has, limits = self.capabilities, self.capabilities.properties.limits
        threads = min(has.subgroups.size, USUAL_SUBGROUP)
        matrices = _matrices_for(has, threads) if self.version >= _WANTED else []
        first = [f"subgroup={has.subgroups.size}"] if has.subgroups.size < USUAL_SUBGROUP else []
        last = [
            *([f"matrices={'+'.join(matrices)}"] if matrices else []),
            *(["fma=twice"] if self.name.startswith(_ROUNDS_TWICE) else []),
        ]
        return fitting_target("vulkan", first, limits.threads, limits.shared_memory, _types(has), last)

    def table(self) -> str:
        """Return the device's properties for programs, one per line."""
        has, limits = self.capabilities, self.capabilities.properties.limits
        heaps = [has.memory.heaps[place][0] for place in range(has.memory.heap_count)]
        described = {
            "version": "{}.{}".format(*self.version),
            "type": DEVICE_TYPES[min(has.properties.device_type, 4)],
            "memory": " + ".join(map(byte_text, heaps)),
            "shared memory": byte_text(limits.shared_memory),
            "threads of a group": str(limits.threads),
            "groups": " x ".join(map(str, limits.blocks)),
            "push constants": byte_text(limits.push_constants),
            "subgroup": str(has.subgroups.size),
            "numbers": ", ".join(_numbers(has)),
            **({"matrices": ", ".join(has.matrices)} if has.matrices else {}),
            "target": self.target,
        }
        return "\n".join([str(self), *(f"  {what:<20}{value}" for what, value in described.items())])


def _types(has: Capabilities) -> dict[str, bool]:
    """Return the support for element types that some devices lack."""
    return {
        "f64": bool(has.features.values[39]),
        "f16": bool(has.features12.values[7] and has.features11.values[0]),
        "i16": bool(has.features.values[41] and has.features11.values[0]),
        "i8": bool(has.features12.values[8] and has.features12.values[2]),
    }


def _matrices_for(has: Capabilities, threads: int) -> list[str]:
    """Return the largest matrix of each kind that subgroups of so many threads multiply."""
    if threads < has.least_subgroup:
        return []
    found: dict[str, str] = {}
    for matrix in has.matrices:
        rows, columns, *_ = map(int, matrix.partition(":")[2].split("x"))
        if rows * columns >= threads:
            found.setdefault(matrix.partition(":")[0], matrix)
    return list(found.values())


def _numbers(has: Capabilities) -> list[str]:
    known = {
        **_types(has),
        "i64": has.features.values[40],
        "atomic i64": has.features12.values[5],
        "atomic f32": has.atomic_floats.values[1],
    }
    return ["f32", "i32", *(name for name, is_there in known.items() if is_there)]


class VulkanDriver:
    """Vulkan's loader with one instance. `library` has its functions as attributes, like a CDLL."""

    def __init__(self, library: object) -> None:
        self.library = library
        self._lock = threading.Lock()
        application = vk.ApplicationInfo(name=b"relax-mlir", api=_WANTED[0] << 22 | _WANTED[1] << 12)
        self._instance = _create_instance(library, vk.InstanceInfo(application=application))
        self.functions = VulkanFunctions(library, self._instance, "vkGetInstanceProcAddr")
        self._devices: list[PhysicalDevice] | None = None

    def devices(self) -> list[PhysicalDevice]:
        with self._lock:
            if self._devices is None:
                self._devices = [self._device(*each) for each in enumerate(self._handles())]
            return self._devices

    def device(self, number: int) -> PhysicalDevice:
        """Return a device. Raises DeviceError if there is none with this number, or if it is too old."""
        there = self.devices()
        if not there:
            raise DeviceError(f"no Vulkan device: no driver is installed, or none finds a device; {_INSTALL}")
        if number >= len(there):
            listed = ", ".join(map(str, there))
            raise DeviceError(f"no device vulkan:{number}: there {'is' if len(there) == 1 else 'are'} {listed}")
        found = there[number]
        if found.version < _OLDEST:
            wanted = "Vulkan {}.{}".format(*_OLDEST)
            raise DeviceError(f"{found} has Vulkan {'.'.join(map(str, found.version))}; programs need {wanted}")
        return found

    def _handles(self) -> list[int]:
        count = vk.U32()
        try:
            self.functions.call("vkEnumeratePhysicalDevices", self._instance, ctypes.byref(count), None)
        except VulkanError:
            return []  # a driver that cannot be initialized has no devices
        handles = (vk.PLACE * max(count.value, 1))()
        self.functions.call("vkEnumeratePhysicalDevices", self._instance, ctypes.byref(count), handles)
        return [handles[place] or 0 for place in range(count.value)]

    def _device(self, number: int, handle: int) -> PhysicalDevice:
        call = self.functions.call
        extensions = self._extensions(handle)
        atomics = vk.AtomicFloatFeatures()
        # Older drivers ignore structures of newer versions, and the values stay 0.
        further = atomics if ATOMICS in extensions else None
        cooperative = vk.CooperativeMatrixFeatures(further)
        features13 = vk.Features13(cooperative if MATRICES in extensions else further)
        features12 = vk.Features12(features13)
        features11 = vk.Features11(features12)
        features = vk.Features(features11)
        call("vkGetPhysicalDeviceFeatures2", handle, ctypes.byref(features))
        largest = vk.MaximumAllocation()
        controls = vk.FloatControls(largest)
        sizes = vk.SubgroupSizes(controls)
        subgroups = vk.SubgroupProperties(sizes)
        properties = vk.Properties(subgroups)
        call("vkGetPhysicalDeviceProperties2", handle, ctypes.byref(properties))
        memory = vk.MemoryTypes()
        call("vkGetPhysicalDeviceMemoryProperties", handle, ctypes.byref(memory))
        has = Capabilities(
            features, features11, features12, features13, atomics, properties, subgroups, sizes, controls, largest,
            memory, extensions, self._queue_family(handle), cooperative,
            self._matrices(handle) if cooperative.values[0] else (),
        )  # fmt: skip
        version = properties.api >> 22 & 127, properties.api >> 12 & 1023
        return PhysicalDevice(number, handle, properties.name.decode(errors="replace"), version, has)

    def _extensions(self, handle: int) -> frozenset[str]:
        count = vk.U32()
        self.functions.call("vkEnumerateDeviceExtensionProperties", handle, None, ctypes.byref(count), None)
        listed = (vk.ExtensionProperties * max(count.value, 1))()
        self.functions.call("vkEnumerateDeviceExtensionProperties", handle, None, ctypes.byref(count), listed)
        return frozenset(each.name.decode() for each in listed)

    def _matrices(self, handle: int) -> tuple[str, ...]:
        """Return the matrices that subgroups multiply, of the kinds that code uses, in sizes that are powers of two."""
        name, count = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", vk.U32()
        self.functions.call(name, handle, ctypes.byref(count), None)
        listed = (vk.CooperativeMatrix * count.value)(*(vk.CooperativeMatrix() for _ in range(count.value)))
        self.functions.call(name, handle, ctypes.byref(count), listed)
        found: dict[str, int] = {}
        for each in listed:
            factors, sizes = _FACTORS.get(tuple(each.types)), (each.rows, each.columns, each.steps)
            if each.scope == _SUBGROUP_SCOPE and not each.saturates and factors and all(map(_is_power, sizes)):
                found["{}:{}x{}x{}".format(factors, *sizes)] = math.prod(sizes)
        return tuple(sorted(found, key=lambda text: -found[text]))

    def _queue_family(self, handle: int) -> int:
        """Return the first queue family with compute support, or -1."""
        count = vk.U32()
        self.functions.call("vkGetPhysicalDeviceQueueFamilyProperties", handle, ctypes.byref(count), None)
        families = (vk.QueueFamily * max(count.value, 1))()
        self.functions.call("vkGetPhysicalDeviceQueueFamilyProperties", handle, ctypes.byref(count), families)
        return next((place for place, family in enumerate(families) if family.flags & _COMPUTE_QUEUE), -1)


def _create_instance(library: object, info: vk.Structure) -> int:
    instance = ctypes.c_void_p()
    create: Any = getattr(library, "vkCreateInstance", None)
    if create is None:
        raise DeviceError(f"{LIBRARY} is no Vulkan loader: it has no vkCreateInstance")
    create.restype = ctypes.c_int32
    status = create(ctypes.byref(info), None, ctypes.byref(instance))
    if status == INCOMPATIBLE_DRIVER:
        raise DeviceError(f"no Vulkan driver: {LIBRARY} is there and finds none; {_INSTALL}")
    if status:
        raise VulkanError(f"vkCreateInstance: {status_text(status)}", status)
    return instance.value or 0


def _is_power(size: int) -> bool:
    return size > 0 and not size & (size - 1)


@once
def driver() -> VulkanDriver:
    """Open the loader once. Raises DeviceError without a loader or a driver."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise DeviceError(f"no Vulkan loader: {LIBRARY} cannot be loaded: {error}; {_INSTALL}") from None
    return VulkanDriver(library)
