# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Default options of device targets: this machine's device, just as llvm without options means its CPU."""

from __future__ import annotations

from ..runtime.device_kinds import targets_of_devices
from ..runtime.errors import DeviceError
from ..support.errors import OptionError
from ..support.suggest import counted

#: Targets without options of a device.
_WITHOUT_DEVICE = ("llvm", "cuda")


def target_of_machine(target: str, device: str | None = None) -> str:
    """Return a device target without options as a target with the options of this machine's device.

    The device is the first one, or the one that `device` names. Without a device on this machine the target is
    returned unchanged, and the code suits most devices. Raises OptionError for a device number that is too large.
    """
    if target in _WITHOUT_DEVICE or not str(target).isidentifier():
        return target
    try:
        targets = targets_of_devices(target)
    except DeviceError:
        targets = []
    if not targets:
        return target
    if (number := _number_of(target, device)) >= len(targets):
        raise OptionError(f"device='{device}': this machine has {counted(len(targets), 'device')} of {target}")
    return targets[number]


def _number_of(target: str, device: str | None) -> int:
    """Return the number in a device's name, or 0. The loader refuses invalid names."""
    kind, _, number = (device or "").partition(":")
    return int(number) if kind == target and number.isdecimal() else 0
