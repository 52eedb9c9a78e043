# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device may be asked for: the target's options. Without them it is what all devices of WebGPU have."""

from __future__ import annotations

from typing import NamedTuple

from ...support.errors import OptionError
from ..core.backend import ChosenTarget
from ..core.registry import TargetOption

OPTIONS = (
    TargetOption("threads", "how many threads a block may have: 256 (all devices), from 32 to 1024"),
    TargetOption("shared", "bytes of memory that a block may have: 16384 (all devices), from 16384 to 65536"),
)


class DeviceAsked(NamedTuple):
    threads: int
    shared: int


def limits_of(target: ChosenTarget) -> DeviceAsked:
    """What the options say. Raises RelaxError for values that are wrong."""
    return DeviceAsked(
        _number(target, "threads", 256, 32, 1024), _number(target, "shared", 16 << 10, 16 << 10, 64 << 10)
    )


def _number(target: ChosenTarget, name: str, usual: int, least: int, most: int) -> int:
    given = target.option(name) or str(usual)
    if not given.isdigit() or not least <= int(given) <= most or (name == "threads" and int(given) & (int(given) - 1)):
        what = "a number" if name == "shared" else "a power of two"
        raise OptionError(f"target '{target}': option '{name}' expects {what} from {least} to {most}, got '{given}'")
    return int(given)
