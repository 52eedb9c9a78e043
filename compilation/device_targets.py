# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets of devices without options: the device of this machine, as llvm without options is its CPU."""

from __future__ import annotations

from ..runtime.device_kinds import targets_of_devices
from ..runtime.errors import DeviceError
from ..support.errors import OptionError
from ..support.suggest import counted

_KINDS = ("vulkan", "opencl")


def target_of_machine(target: str, device: str | None = None) -> str:
    """Return a target with the options of a device of this machine, if the target is a device's and has no options.

    The device is the first one, or `device`, as "vulkan:1". On a machine without such devices the target stays as it
    is, and the code suits most devices.
    """
    if target not in _KINDS:
        return target
    try:
        found = targets_of_devices(target)
    except DeviceError:
        found = []
    if not found:
        return target
    number = _number_of(target, device)
    if number >= len(found):
        raise OptionError(f"device='{device}': this machine has {counted(len(found), 'device')} of {target}")
    return found[number]


def _number_of(target: str, device: str | None) -> int:
    """Return the number of a device's name; the loader refuses names that are none."""
    kind, _, number = (device or "").partition(":")
    return int(number) if kind == target and number.isdecimal() else 0
