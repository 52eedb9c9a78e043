# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This machine's WebGPU device. The package wgpu provides it through drivers of Vulkan, Metal or Direct3D."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from relax_mlir.runtime.errors import DeviceError
from relax_mlir.support.once import once

_INSTALL = "pip install relax-mlir[webgpu]"
#: Limits requested at the adapter's maximum. Other limits keep WebGPU's defaults, which all devices support.
_LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
)


def wgpu() -> ModuleType:
    """Return the package wgpu. Raises DeviceError if the package is not installed."""
    try:
        return importlib.import_module("wgpu")
    except ImportError as error:
        raise DeviceError(f"programs for WebGPU need the package wgpu ({_INSTALL}): {error}") from None


@once
def open_device() -> Any:
    """Return the first device. Raises DeviceError with the reason if there is no device."""
    package = wgpu()
    adapter = None
    try:
        adapter = package.gpu.request_adapter_sync(power_preference="high-performance")
    except Exception as error:  # The library behind wgpu raises exceptions of any class.
        raise DeviceError(f"no WebGPU adapter: {_HELP}: {error}") from None
    if adapter is None:
        raise DeviceError(f"no WebGPU adapter: {_HELP}")
    limits = {name: adapter.limits[name] for name in _LIMITS if name in adapter.limits}
    try:
        return adapter.request_device_sync(required_limits=limits)
    except Exception as error:  # Exceptions may be of any class, as above.
        raise DeviceError(f"the adapter '{adapter.info['device']}' provides no device: {error}") from None


_HELP = (
    "wgpu needs a driver of Vulkan, Metal or Direct3D 12 (on Debian: apt install libvulkan1 mesa-vulkan-drivers, "
    "which includes a driver for CPUs)"
)


@contextmanager
def told() -> Iterator[None]:
    """Convert errors of the device to a MemoryError or a RuntimeError that describes the problem.

    A lost device is not used again: a program that is loaded afterwards opens a new device.
    """
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"the WebGPU device is out of memory: {_line(error)}") from None
    except (wgpu().GPUError, RuntimeError) as error:
        if "lost" not in str(error).lower():
            raise RuntimeError(f"the WebGPU device reports an error: {_line(error)}") from None
        open_device.cache_clear()
        raise RuntimeError(f"the WebGPU device is lost; load the program again: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def ends_long_loops(info: Mapping[str, Any]) -> bool:
    """Return True for the driver that silently leaves loops after 65,535 iterations of a thread."""
    return info["backend_type"] == "OpenGL" and info["device"].startswith("llvmpipe")


def devices() -> list[str]:
    """Return descriptions of the devices for `relax-run --list-devices`. Raises DeviceError if there is no device."""
    device = open_device()
    info, limits = device.adapter.info, device.limits
    threads, shared = limits["max-compute-invocations-per-workgroup"], limits["max-compute-workgroup-storage-size"]
    rows = {
        "interface": f"WebGPU by {info['backend_type']}",
        "largest buffer": f"{limits['max-storage-buffer-binding-size'] >> 20} MiB",
        "threads of a block": threads,
        "shared by a block": f"{shared >> 10} KiB",
        **({"loops": "Mesa's llvmpipe ends them after 65,535 iterations"} if ends_long_loops(info) else {}),
        "target": "webgpu",
    }
    lines = [f"webgpu:0 ({info['device']})", *(f"  {name:<20}{value}" for name, value in rows.items())]
    return ["\n".join(lines)]
