# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets of devices without options: the device of this machine, as llvm without options is its CPU."""

from __future__ import annotations

from ..runtime.device_kinds import targets_of_devices
from ..runtime.errors import DeviceError
from ..support.errors import OptionError, RefusalError
from ..support.suggest import counted

#: Targets whose options describe a device, with options that suit most devices.
_USUAL = {"vulkan": "vulkan{threads=256}", "opencl": "opencl{threads=256}"}


def target_of_machine(target: str, device: str | None = None, *, is_needed: bool = True) -> str:
    """Return a target with the options of a device of this machine, if the target is a device's and has no options.

    The device is the first one, or `device`, as "vulkan:1". Raise RelaxError if the machine has no such device, unless
    the target is for code to look at alone, which needs none.
    """
    if target not in _USUAL:
        return target
    try:
        found = targets_of_devices(target)
    except DeviceError as error:
        found, reason = [], f": {error}"
    else:
        reason = ""
    if not found:
        if not is_needed:
            return target
        raise RefusalError(
            f"target '{target}' is the first device of this machine, and there is no device{reason}",
            notes=[f"for a device elsewhere, the options say what it has: '{_USUAL[target]}' suits most GPUs"],
        )
    number = _number_of(target, device)
    if number >= len(found):
        raise OptionError(f"device='{device}': this machine has {counted(len(found), 'device')} of {target}")
    return found[number]


def _number_of(target: str, device: str | None) -> int:
    """Return the number of a device's name; the loader refuses names that are none."""
    kind, _, number = (device or "").partition(":")
    return int(number) if kind == target and number.isdecimal() else 0
