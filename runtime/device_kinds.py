# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of devices that programs run on, by name, and which one a program is to run on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..support.errors import OptionError
from .artifact import DeviceCode
from .errors import ArtifactError, DeviceError

if TYPE_CHECKING:
    from .devices.device_program import DeviceProgram


def _cuda() -> type[DeviceProgram]:
    from .cuda.loading import CudaProgram

    return CudaProgram


def _vulkan() -> type[DeviceProgram]:
    from .vulkan.on_device import VulkanProgram

    return VulkanProgram


def _opencl() -> type[DeviceProgram]:
    from .opencl.on_device import OpenclProgram

    return OpenclProgram


_kinds: dict[str, Callable[[], type[DeviceProgram]]] = {"cuda": _cuda, "vulkan": _vulkan, "opencl": _opencl}


def register_device(kind: str, program: Callable[[], type[DeviceProgram]]) -> None:
    """Has programs with code for another kind of device run on it. `program` gives the class of their parts there; it
    is called when the first one is loaded.

    Raises RelaxError where there is such a kind.
    """
    if not re.fullmatch("[a-z]+", kind) or kind in ("cpu", *_kinds):
        raise OptionError(f"a kind of device has a name of its own, of letters a to z; got {kind!r}")
    _kinds[kind] = program


def checked_device(device: str | None, codes: Sequence[DeviceCode]) -> str:
    """Where a program runs: on the first device of its kind by default. Raises RelaxError for what is none."""
    kind = codes[0].kind if codes else "cpu"
    if device is None:
        return f"{kind}:0" if codes else kind
    found = re.fullmatch(r"([a-z]+)(?::(\d{1,4}))?", device) if isinstance(device, str) else None
    if found is None or found[1] not in ("cpu", *_kinds):
        expected = "expected 'cuda' or 'cuda:0', 'cuda:1', ... by the device's number"
        raise OptionError(f"device={device!r}: {expected}; kinds of devices are {', '.join(_kinds)}")
    if found[1] != kind:
        raise OptionError(f"device={device!r}: the program is compiled for {kind}, and has no code for another device")
    return f"{kind}:{int(found[2] or 0)}" if codes else kind


def program_class(codes: Sequence[DeviceCode]) -> type[DeviceProgram]:
    """What a program has on a device is of this class. Raises ArtifactError for code of an unknown kind."""
    kind = codes[0].kind
    if kind not in _kinds:
        raise ArtifactError(f"this release runs code for {', '.join(_kinds)}; there is code for {kind}")
    return _kinds[kind]()


def targets_of_devices(kind: str) -> list[str]:
    """Return the targets that fit the devices of a kind, in their order. Raise DeviceError if there is no driver."""
    return _kinds[kind]().targets()


def devices_text(others: Sequence[Callable[[], Sequence[str]]] = ()) -> str:
    """The devices of all kinds with what they have, or why there are none of a kind. `others` list devices of which
    programs have no code that is loaded here, as WebGPU's."""
    kinds: list[Callable[[], Sequence[str]]] = [partial(_devices_of, kind) for kind in _kinds]
    return "".join(f"{each}\n" for listed in (*kinds, *others) for each in _described(listed))


def _devices_of(kind: str) -> Sequence[str]:
    return _kinds[kind]().devices() or [f"no device of {kind}"]


def _described(listed: Callable[[], Sequence[str]]) -> Sequence[str]:
    try:
        return listed()
    except DeviceError as error:
        return [str(error)]
