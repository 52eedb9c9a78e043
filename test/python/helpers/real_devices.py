# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices of Vulkan and OpenCL for tests, with real drivers, where these are installed.

Tests use the first device of each kind. Mesa's lavapipe and Intel's OpenCL runtime are CPUs and need no GPU. With
RELAX_MLIR_DEVICES=1 tests fail instead of being skipped (`suite.py devices`).
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_spirv.opencl_runtime import opened as opencl
from relax_mlir_spirv.opencl_runtime.driver import driver as opencl_driver
from relax_mlir_spirv.paged import Page
from relax_mlir_spirv.vulkan_runtime import opened as vulkan
from relax_mlir_spirv.vulkan_runtime.driver import driver as vulkan_driver

import relax_mlir as rx

KINDS = ("vulkan", "opencl")


@cache
def why_none(kind: str) -> str:
    """Return the reason why programs cannot run on the first device of a kind, or an empty text."""
    try:
        open_device(kind)
    except DeviceError as error:
        return str(error)
    return ""


def open_device(kind: str) -> Any:
    if kind == "vulkan":
        return vulkan.open_device(vulkan_driver(), 0)
    return opencl.open_device(opencl_driver(), 0)


def page(kind: str) -> Page:
    """Return the state of the first device of a kind."""
    found: Page = open_device(kind).page
    return found


def target(kind: str) -> str:
    """Return the target of the first device."""
    return (vulkan_driver() if kind == "vulkan" else opencl_driver()).device(0).target


def with_more(target: str, more: str) -> str:
    """Return a target's text with further options. They replace options of the same names."""
    name, _, given = target.rstrip("}").partition("{")
    options = dict(each.split("=") for each in (*given.split(), *more.split()))
    return f"{name}{{{' '.join(map('='.join, sorted(options.items())))}}}"


def compiled(kind: str, module: rx.Module, **options: Any) -> rx.runtime.Executable:
    return rx.compile(module, target=target(kind), **options)


def skip_without(kind: str) -> None:
    if why_none(kind):
        (pytest.fail if os.environ.get("RELAX_MLIR_DEVICES") == "1" else pytest.skip)(why_none(kind))


def skip_without_type(kind: str, dtype: str) -> None:
    """Skip the test where the first device of a kind does not compute in a type of floats."""
    skip_without(kind)
    lacked = re.search(r"lacks=([\w+]+)", target(kind))
    if lacked and dtype.replace("float", "f") in lacked[1].split("+"):
        pytest.skip(f"the first device of {kind} has no {dtype}")


def device_without_leaks(kind: str) -> Iterator[str]:
    """Yield a kind of device to a fixture, and check that the test gives all of the device's memory back."""
    skip_without(kind)
    gc.collect()
    before = page(kind).bytes_taken, page(kind).pieces_taken
    yield kind
    gc.collect()
    assert (page(kind).bytes_taken, page(kind).pieces_taken) == before
