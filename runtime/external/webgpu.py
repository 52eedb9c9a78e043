# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what the target webgpu makes, by the package wgpu."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from ...support.external_runtime import ExternalRuntime, register_runtime
from ..arrays import numpy_type, storage, tensor
from ..errors import DeviceError
from ..webgpu.device import open_device
from ..webgpu.device_memory import DeviceMemory
from ..webgpu.instructions import Run
from ..webgpu.program_bytes import unpacked


@register_runtime("webgpu")
class WebgpuRuntime(ExternalRuntime):
    """Functions on tensors of the CPU: they are copied to the device, and what they give is copied back."""

    def requires(self, data: memoryview) -> str:
        del data
        try:
            open_device()
        except DeviceError as error:
            return str(error)
        return ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        program, constants = unpacked(data)
        held = DeviceMemory(program, constants)
        lock = Lock()
        return {name: _function(program, name, held, lock) for name in program["entries"]}


def _function(program: dict[str, Any], name: str, memory: DeviceMemory, lock: Lock) -> Callable[..., object]:
    from ..ffi import tvm_ffi

    entry = program["entries"][name]

    def call(*arguments: Any) -> object:
        with lock:  # memory and what is to be submitted are one call's at a time
            try:
                results = _called(program, entry, memory, arguments)
            finally:
                memory.end()
        return tvm_ffi.convert(results)

    return tvm_ffi.convert(call)


def _called(program: dict[str, Any], entry: dict[str, Any], memory: DeviceMemory, arguments: Any) -> list[object]:
    import numpy

    given: list[int | float] = []
    copies: list[tuple[int, Any]] = []
    for described, argument in zip(entry["inputs"], arguments, strict=True):
        if "shape" not in described:
            given.append(argument)
            continue
        held = storage(argument)
        address = memory.take(held.nbytes)
        copies.append((address, held))
        given += [address, *argument.shape]
    for address, held in copies:
        memory.write(address, held)
    run = Run(program, memory)
    run.enter(entry, given, "the program")
    found = [run.given[place] for place in range(len(entry["outputs"]))]
    pieces = [(each.address, each.element_bytes * _count(each.sizes)) for each in found]
    results: list[object] = []
    for described, each, data in zip(entry["outputs"], found, memory.look(pieces), strict=True):
        elements = numpy.frombuffer(bytearray(data), numpy_type(described["dtype"]))
        results.append(tensor(elements.reshape(each.sizes)))
    return results


def _count(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count
