# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of devices that programs run on, by name, and the choice of a program's device."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..support.errors import OptionError, message_of
from ..support.external_runtime import ExternalRuntime, all_runtimes
from ..support.plugins import load_plugins, missing_plugin
from .artifact import DeviceCode
from .errors import ArtifactError, DeviceError

if TYPE_CHECKING:
    from .devices.device_program import DeviceProgram


def _cuda() -> type[DeviceProgram]:
    from .cuda.loading import CudaProgram

    return CudaProgram


_kinds: dict[str, Callable[[], type[DeviceProgram]]] = {"cuda": _cuda}


def register_device(kind: str, program: Callable[[], type[DeviceProgram]]) -> None:
    """Register another kind of device for programs with code for it.

    `program` returns the class of programs on such devices. It is called when the first program is loaded. Raises
    RelaxError if the kind exists.
    """
    if not re.fullmatch("[a-z]+", kind) or _is_known(kind):
        raise OptionError(f"a kind of device has a name of its own, of letters a to z; got {kind!r}")
    _kinds[kind] = program


def _is_known(kind: str) -> bool:
    """Check for a kind of device. Plug-ins announce kinds as `device.NAME`."""
    return kind in ("cpu", *_kinds) or (load_plugins("device", kind) and kind in _kinds)


def _known_kinds() -> list[str]:
    load_plugins("device")
    return list(_kinds)


def checked_device(device: str | None, codes: Sequence[DeviceCode]) -> str:
    """Return the device of a program, by default the first of its kind. Raises RelaxError for an invalid device."""
    kind = codes[0].kind if codes else "cpu"
    if device is None:
        return f"{kind}:0" if codes else kind
    match = re.fullmatch(r"([a-z]+)(?::(\d{1,4}))?", device) if isinstance(device, str) else None
    if match is None or not _is_known(match[1]):
        expected = "expected 'cuda' or 'cuda:0', 'cuda:1', ... by the device's number"
        raise OptionError(f"device={device!r}: {expected}; kinds of devices are {', '.join(_known_kinds())}")
    if match[1] != kind:
        raise OptionError(f"device={device!r}: the program is compiled for {kind}, and has no code for another device")
    return f"{kind}:{int(match[2] or 0)}" if codes else kind


def program_class(codes: Sequence[DeviceCode]) -> type[DeviceProgram]:
    """Return the class of a program's state on its device. Raises ArtifactError for code of an unknown kind."""
    kind = codes[0].kind
    if not _is_known(kind):
        if missing := missing_plugin(f"device.{kind}"):
            raise ArtifactError(f"the program has code for {kind}: {missing}")
        raise ArtifactError(f"this release runs code for {', '.join(_known_kinds())}; there is code for {kind}")
    return _kinds[kind]()


def targets_of_devices(kind: str) -> list[str]:
    """Return the targets that fit the devices of a kind, in their order. Raise DeviceError if there is no driver."""
    return _kinds[kind]().targets() if _is_known(kind) and kind in _kinds else []


def devices_text() -> str:
    """Return a description of the devices of all kinds, or the reason why a kind has none.

    Runtimes of codegens list their own devices, such as WebGPU's.
    """
    listings: list[Callable[[], Sequence[str]]] = [partial(_devices_of, kind) for kind in _known_kinds()]
    listings += [partial(_devices_of_runtime, runtime) for runtime in all_runtimes()]
    return "".join(f"{each}\n" for listed in listings for each in _describe(listed))


def _devices_of(kind: str) -> Sequence[str]:
    return _kinds[kind]().devices() or [f"no device of {kind}"]


def _devices_of_runtime(runtime: type[ExternalRuntime]) -> Sequence[str]:
    try:
        return runtime().list_devices()
    except DeviceError:
        raise
    except Exception as error:  # code of other packages may raise anything
        return [f"runtime '{runtime.name}' cannot list its devices: {message_of(error)}"]


def _describe(listed: Callable[[], Sequence[str]]) -> Sequence[str]:
    try:
        return listed()
    except DeviceError as error:
        return [str(error)]
