# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PJRT client with one device (this machine) and one memory space. It takes the options of rx.compile."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from relax_mlir.compilation.fingerprint import compiler_fingerprint
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest
from relax_mlir.support.version import VERSION

from ..jax_arrays import PLATFORM
from .api import NamedValue
from .c_handles import Held, hold, memory
from .entries import entry, gives, gives_list, gives_text

#: Environment variables for options that are not set through JAX.
_VARIABLES = {
    "target": "RELAX_JAX_TARGET",
    "partition": "RELAX_JAX_PARTITION",
    "opt_level": "RELAX_JAX_OPT_LEVEL",
    "tuned": "RELAX_JAX_TUNED",
}
_STRING, _INTEGER = 0, 1
_KIND_OF_MEMORY = "device"


class Client(Held):
    #: Options for rx.compile.
    options: dict[str, Any] = {}  # noqa: RUF012  # set when jax makes its client


class Device(Held):
    pass


class ClientDescription(Held):
    pass


class MemorySpace(Held):
    pass


class Topology(Held):
    pass


client, device, description, topology = Client(), Device(), ClientDescription(), Topology()
KIND_OF_MEMORY = memory.text(_KIND_OF_MEMORY)
space = MemorySpace(*KIND_OF_MEMORY)
for _each in (client, device, description, space, topology):
    hold(_each)
_DEVICES = memory.array(ctypes.c_void_p, [device.handle])
_SPACES = memory.array(ctypes.c_void_p, [space.handle])
_DESCRIPTIONS = memory.array(ctypes.c_void_p, [description.handle])
_NONE = memory.array(ctypes.c_int64, [])


def _options(given: dict[str, str | int]) -> dict[str, Any]:
    """Return the options for rx.compile: JAX's client options have priority over the environment.

    Raises OptionError for unknown options and invalid values.
    """
    for name in given:
        if name not in _VARIABLES:
            hint = suggest(name, list(_VARIABLES))
            raise OptionError(f"the platform relax has no option '{name}'{hint}; there are {', '.join(_VARIABLES)}")
    options: dict[str, Any] = {
        name: os.environ[variable] for name, variable in _VARIABLES.items() if os.environ.get(variable)
    }
    options |= given
    if "partition" in options:
        options["partition"] = [word.strip() for word in str(options["partition"]).split(",") if word.strip()]
    if "opt_level" in options:
        if str(options["opt_level"]) not in ("0", "1", "2", "3"):
            raise OptionError(f"the platform relax: opt_level is 0, 1, 2 or 3, got {options['opt_level']!r}")
        options["opt_level"] = int(options["opt_level"])
    return options


@functools.lru_cache(maxsize=1)
def _version_with_options() -> str:
    """Return the version for keys of jax's compilation cache, which differs where the code of programs may."""
    return f"relax-mlir {VERSION} {compiler_fingerprint()} {sorted(client.options.items())}"


def _read_options(address: int, count: int) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    values: Any = (NamedValue * count).from_address(address) if count else []
    for value in values:
        name = ctypes.string_at(value.name, value.name_size).decode()
        if value.type == _STRING:
            found[name] = ctypes.string_at(value.value, value.size).decode()
        elif value.type == _INTEGER:
            found[name] = int(value.value)
        else:
            raise OptionError(f"the platform relax: option '{name}' is a text or a whole number")
    return found


@entry("Client_Create")
def _create(arguments: ctypes.Structure, held: object) -> None:
    client.options = _options(_read_options(arguments.options, arguments.count))
    arguments.client = client.handle


@entry("Client_LookupDevice", "Client_LookupAddressableDevice")
def _look_up(arguments: ctypes.Structure, held: Client) -> None:
    if arguments.id != 0:
        raise OptionError(f"the platform relax has the device 0 alone, asked for {arguments.id}")
    arguments.device = device.handle


@entry("Client_DefaultDeviceAssignment")
def _assign(arguments: ctypes.Structure, held: Client) -> None:
    if arguments.count != 1:
        raise OptionError(f"the platform relax has one device, and the function is for {arguments.count}")
    ctypes.c_int.from_address(arguments.assigned).value = 0


gives_list("Plugin_Attributes", lambda held: _NONE)
gives("Client_ProcessIndex", value=0)
gives("Client_TopologyDescription", value=topology.handle)
for _name in ("Client_Devices", "Client_AddressableDevices", "Memory_AddressableByDevices"):
    gives_list(_name, lambda held: _DEVICES)
gives_list("LoadedExecutable_AddressableDevices", lambda held: _DEVICES)
for _name in ("Client_AddressableMemories", "Device_AddressableMemories"):
    gives_list(_name, lambda held: _SPACES)
gives_list("TopologyDescription_GetDeviceDescriptions", lambda held: _DESCRIPTIONS)
for _name in ("TopologyDescription_Attributes", "DeviceDescription_Attributes"):
    gives_list(_name, lambda held: _NONE)
for _name in ("Client_PlatformName", "TopologyDescription_PlatformName", "DeviceDescription_Kind"):
    gives_text(_name, PLATFORM)
gives_text("Client_PlatformVersion", lambda held: _version_with_options())
gives_text("TopologyDescription_PlatformVersion", f"relax-mlir {VERSION}")
for _name in ("DeviceDescription_DebugString", "DeviceDescription_ToString"):
    gives_text(_name, f"{PLATFORM}:0")
for _name in ("Memory_DebugString", "Memory_ToString"):
    gives_text(_name, f"memory of {PLATFORM}:0")
for _name in ("DeviceDescription_Id", "DeviceDescription_ProcessIndex", "Device_LocalHardwareId", "Memory_Id"):
    gives(_name, value=0)
gives("Memory_Kind_Id", value=0)
gives("Device_IsAddressable", value=True)
gives("Device_GetDescription", value=description.handle)
gives("Device_DefaultMemory", value=space.handle)
