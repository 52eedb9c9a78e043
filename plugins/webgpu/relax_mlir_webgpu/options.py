# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the target: limits of a device. The defaults are the limits that all WebGPU devices support."""

from __future__ import annotations

from typing import NamedTuple

from relax_mlir import ChosenTarget, TargetOption

OPTIONS = (
    TargetOption("threads", "maximum threads of a block: a power of two from 32 to 1024, default 256 (all devices)"),
    TargetOption("shared", "maximum bytes of shared memory of a block: 16384 (default, all devices) to 65536"),
)


class DeviceAsked(NamedTuple):
    threads: int
    shared: int


def limits_of(target: ChosenTarget) -> DeviceAsked:
    """Return the limits in the options. Raises RelaxError for invalid values."""
    return DeviceAsked(target.number("threads", 256, 32, 1024), target.number("shared", 16 << 10, 16 << 10, 64 << 10))
