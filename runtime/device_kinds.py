# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of devices that programs run on, by name, and which one a program is to run on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..support.errors import OptionError
from .artifact import DeviceCode
from .devices.resident import ResidentCode
from .errors import ArtifactError, DeviceError
from .foreign_types import CodeModule
from .manifest import Signature

if TYPE_CHECKING:
    from .devices.device_program import DeviceProgram

KINDS = ("cuda", "vulkan", "opencl")


def checked_device(device: str | None, codes: Sequence[DeviceCode]) -> str:
    """Where a program runs: on the first device of its kind by default. Raises RelaxError for what is none."""
    kind = codes[0].kind if codes else "cpu"
    if device is None:
        return f"{kind}:0" if codes else kind
    found = re.fullmatch(r"([a-z]+)(?::(\d{1,4}))?", device) if isinstance(device, str) else None
    if found is None or found[1] not in ("cpu", *KINDS):
        expected = "expected 'cuda' or 'cuda:0', 'cuda:1', ... by the device's number"
        raise OptionError(f"device={device!r}: {expected}; kinds of devices are {', '.join(KINDS)}")
    if found[1] != kind:
        raise OptionError(f"device={device!r}: the program is compiled for {kind}, and has no code for another device")
    return f"{kind}:{int(found[2] or 0)}" if codes else kind


def devices_text() -> str:
    """The devices of all kinds with what they have, or why there are none of a kind."""
    return "".join(f"{each}\n" for kind in KINDS for each in _described(kind))


def _described(kind: str) -> list[str]:
    try:
        return _tables(kind) or [f"no device of {kind}"]
    except DeviceError as error:
        return [str(error)]


def _tables(kind: str) -> list[str]:
    if kind == "vulkan":
        from .vulkan.driver import driver as vulkan_driver

        return [each.table() for each in vulkan_driver().devices()]
    if kind == "opencl":
        from .opencl.driver import driver as opencl_driver

        return [each.table() for each in opencl_driver().devices()]
    from .cuda.driver import driver as cuda_driver

    return [cuda_driver().device(number).table() for number in range(cuda_driver().device_count())]


def put_on_device(
    codes: Sequence[DeviceCode],
    device: str,
    constants: Sequence[memoryview],
    load: Callable[[], CodeModule],
    signatures: Sequence[Signature],
    graphs: bool | None,
) -> tuple[DeviceProgram, ResidentCode]:
    """A program's kernels and constants on a device; `load` gives its code once more. Raises DeviceError."""
    kind, _, number = device.partition(":")
    resident = ResidentCode(kind, load)
    if codes[0].kind == "cuda":
        from .cuda.loading import CudaProgram

        return CudaProgram(codes, int(number), constants, resident, signatures, graphs), resident
    if codes[0].kind == "vulkan":
        from .vulkan.on_device import VulkanProgram

        return VulkanProgram(codes, int(number), constants, resident), resident
    if codes[0].kind == "opencl":
        from .opencl.on_device import OpenclProgram

        return OpenclProgram(codes, int(number), constants, resident), resident
    known = ", ".join(KINDS)
    raise ArtifactError(f"this release runs code for {known}; there is code for {codes[0].kind}")
