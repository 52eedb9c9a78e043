# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This machine's device of WebGPU, by the package wgpu, which has it from drivers of Vulkan, Metal or Direct3D."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...support.once import once
from ..errors import DeviceError

_INSTALL = "pip install relax-mlir[webgpu]"
#: Of these a device is asked for all that it has; others stay what all devices have.
_LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
)


def wgpu() -> Any:
    """The package. Raises DeviceError where it is not installed."""
    try:
        return importlib.import_module("wgpu")
    except ImportError as error:
        raise DeviceError(f"programs for WebGPU need the package wgpu ({_INSTALL}): {error}") from None


@once
def open_device() -> Any:
    """The first device. Raises DeviceError with the reason where there is none."""
    package = wgpu()
    adapter = None
    try:
        adapter = package.gpu.request_adapter_sync(power_preference="high-performance")
    except Exception as error:  # of any class: what its library raises
        raise DeviceError(f"no adapter of WebGPU: {_HELP}: {error}") from None
    if adapter is None:
        raise DeviceError(f"no adapter of WebGPU: {_HELP}")
    limits = {name: adapter.limits[name] for name in _LIMITS if name in adapter.limits}
    try:
        return adapter.request_device_sync(required_limits=limits)
    except Exception as error:  # of any class, as above
        raise DeviceError(f"the adapter '{adapter.info['device']}' gives no device: {error}") from None


_HELP = (
    "wgpu needs a driver of Vulkan, Metal or Direct3D 12 (on Debian: apt install libvulkan1 mesa-vulkan-drivers, "
    "which has one for CPUs, too)"
)


@contextmanager
def told() -> Iterator[None]:
    """What goes wrong on the device is a MemoryError or a RuntimeError, which says what it is.

    Of a lost device nothing is asked again: programs that are loaded from then on open one anew.
    """
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"the device of WebGPU has no room: {_line(error)}") from None
    except (wgpu().GPUError, RuntimeError) as error:
        if "lost" not in str(error).lower():
            raise RuntimeError(f"the device of WebGPU refuses what it is asked: {_line(error)}") from None
        open_device.cache_clear()
        raise RuntimeError(f"the device of WebGPU is lost; load the program again: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def devices() -> list[str]:
    """What `relax-run --list-devices` shows. Raises DeviceError where there is none."""
    device = open_device()
    info, limits = device.adapter.info, device.limits
    threads, shared = limits["max-compute-invocations-per-workgroup"], limits["max-compute-workgroup-storage-size"]
    rows = {
        "interface": f"WebGPU by {info['backend_type']}",
        "largest buffer": f"{limits['max-storage-buffer-binding-size'] >> 20} MiB",
        "threads of a block": threads,
        "shared by a block": f"{shared >> 10} KiB",
        "target": "webgpu",
    }
    lines = [f"webgpu:0 ({info['device']})", *(f"  {name:<20}{value}" for name, value in rows.items())]
    return ["\n".join(lines)]
