# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requirements of SPIR-V kernels on a device: capabilities in the code, and checks whether the device has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..device_kernels import capabilities, version_of
from .driver import Capabilities, PhysicalDevice


class _Requirement(NamedTuple):
    name: str
    is_there: Callable[[Capabilities], bool]


def _basic(name: str, place: int) -> _Requirement:
    return _Requirement(name, lambda has: bool(has.features.values[place]))


def _of11(name: str, place: int) -> _Requirement:
    return _Requirement(name, lambda has: bool(has.features11.values[place]))


def _of12(name: str, place: int) -> _Requirement:
    return _Requirement(name, lambda has: bool(has.features12.values[place]))


def _subgroup(name: str, bit: int) -> _Requirement:
    return _Requirement(f"{name} of subgroups", lambda has: bool(has.subgroups.operations & bit))


def _control(name: str, place: int) -> _Requirement:
    """Return the requirement of a float control.

    A kernel names the float type; drivers support all types, or only f32.
    """
    return _Requirement(name, lambda has: any(has.float_controls.values[place : place + 3]))


#: Capability of code that multiplies cooperative matrices.
COOPERATIVE = 6022
_ALWAYS = _Requirement("shaders", lambda has: True)
#: By the capability's number in SPIR-V. VkPhysicalDeviceFeatures and similar structures have them by position.
_REQUIREMENTS: dict[int, _Requirement] = {
    0: _ALWAYS,
    1: _ALWAYS,
    9: _of12("shaderFloat16", 7),
    10: _basic("shaderFloat64", 39),
    11: _basic("shaderInt64", 40),
    12: _of12("shaderBufferInt64Atomics", 5),
    22: _basic("shaderInt16", 41),
    39: _of12("shaderInt8", 8),
    61: _subgroup("basic operations", 1),
    62: _subgroup("votes", 2),
    63: _subgroup("arithmetic", 4),
    64: _subgroup("ballots", 8),
    65: _subgroup("shuffles", 16),
    66: _subgroup("relative shuffles", 32),
    67: _subgroup("clusters", 64),
    4433: _of11("storageBuffer16BitAccess", 0),
    4434: _of11("uniformAndStorageBuffer16BitAccess", 1),
    4435: _of11("storagePushConstant16", 2),
    4448: _of12("storageBuffer8BitAccess", 2),
    4449: _of12("uniformAndStorageBuffer8BitAccess", 3),
    4450: _of12("storagePushConstant8", 4),
    4464: _control("shaderDenormPreserve", 3),
    4465: _control("shaderDenormFlushToZero", 6),
    4466: _control("shaderSignedZeroInfNanPreserve", 0),
    4467: _control("shaderRoundingModeRTE", 9),
    4468: _control("shaderRoundingModeRTZ", 12),
    5345: _of12("vulkanMemoryModel", 41),
    5346: _of12("vulkanMemoryModelDeviceScope", 42),
    5347: _of12("bufferDeviceAddress", 38),
    COOPERATIVE: _Requirement("cooperativeMatrix", lambda has: bool(has.cooperative.values[0])),
    6033: _Requirement("shaderBufferFloat32AtomicAdd", lambda has: bool(has.atomic_floats.values[1])),
}


def is_too_new(module: bytes, device: PhysicalDevice) -> bool:
    """Check whether a module has a version of SPIR-V that is newer than the device's Vulkan."""
    return version_of(module) > ((1, 6) if device.version >= (1, 3) else (1, 5))


def multiplies_matrices(module: bytes) -> bool:
    return COOPERATIVE in capabilities(module)


def missing_matrices(target: str, device: PhysicalDevice) -> list[str]:
    """Return the cooperative matrices of a target's code that a device lacks."""
    named = re.search(r"matrices=([\w:+]+)", target)
    return [word for word in (named[1].split("+") if named else []) if word not in device.capabilities.matrices]


def missing(module: bytes, device: PhysicalDevice) -> list[str]:
    """Return the features that a module needs and a device lacks, with Vulkan's names."""
    unknown = _Requirement("", lambda has: False)
    needed = {number: _REQUIREMENTS.get(number, unknown) for number in capabilities(module)}
    lacking = [(number, value) for number, value in needed.items() if not value.is_there(device.capabilities)]
    return [each.name or f"SPIR-V's capability {number}" for number, each in lacking]
