# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device may be asked for: the target's options. Without them it is what all devices of WebGPU have."""

from __future__ import annotations

from typing import NamedTuple

from ..core.backend import ChosenTarget
from ..core.registry import TargetOption
from ..spirv.options import number_option

OPTIONS = (
    TargetOption("threads", "how many threads a block may have: 256 (all devices), a power of two from 32 to 1024"),
    TargetOption("shared", "bytes of memory that a block may have: 16384 (all devices), from 16384 to 65536"),
)


class DeviceAsked(NamedTuple):
    threads: int
    shared: int


def limits_of(target: ChosenTarget) -> DeviceAsked:
    """What the options say. Raises RelaxError for values that are wrong."""
    return DeviceAsked(
        number_option(target, "threads", 256, 32, 1024), number_option(target, "shared", 16 << 10, 16 << 10, 64 << 10)
    )
