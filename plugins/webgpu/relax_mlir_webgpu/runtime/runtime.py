# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the target webgpu: executes programs by the package wgpu."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

from relax_mlir.codegens import CallingRuntime, register_runtime
from relax_mlir.runtime import tensor
from relax_mlir.runtime.arrays import numpy_type, storage
from relax_mlir.runtime.errors import DeviceError

from .device import devices, open_device
from .device_memory import WebgpuMemory
from .instructions import Run, TensorArgument
from .program_bytes import unpacked

if TYPE_CHECKING:
    from relax_mlir.runtime import Array, Tensor

    from .program_types import PublicFunction, WebProgram


@register_runtime("webgpu")
class WebgpuRuntime(CallingRuntime):
    """Runtime for CPU tensors: copies arguments to the device, and results and written arguments back."""

    def requires(self, data: memoryview) -> str:
        del data
        try:
            open_device()
        except DeviceError as error:
            return str(error)
        return ""

    def list_devices(self) -> Sequence[str]:
        return devices()

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        program, constants = unpacked(data)
        memory = WebgpuMemory(program, constants)
        self._others, lock = _OtherFunctions(memory), RLock()
        return {name: _function(program, name, memory, self._others, lock) for name in program["entries"]}

    def link(self, functions: Mapping[str, Callable[..., object]]) -> None:
        self._others.linked = functions


class _OtherFunctions:
    """Calls of functions in other parts or in tvm-ffi's registry, with tensors copied from the device and back."""

    def __init__(self, memory: WebgpuMemory) -> None:
        self._memory = memory
        self.linked: Mapping[str, Callable[..., object]] = {}
        #: Name of the function that runs, or empty between calls.
        self.running = ""

    def __call__(self, name: str, arguments: Sequence[float | TensorArgument]) -> None:
        import numpy

        kinds = {argument: numpy_type(argument.dtype) for argument in arguments if isinstance(argument, TensorArgument)}
        # Transfers have whole 32-bit words. The remaining bytes of the first and last word keep their values.
        ends = [key.address + math.prod(key.sizes) * kind.itemsize for key, kind in kinds.items()]
        firsts = [kind.address - kind.address % 4 for kind in kinds]
        looked = self._memory.look([(first, end + -end % 4 - first) for first, end in zip(firsts, ends, strict=True)])
        words = [bytearray(each) for each in looked]
        tensors: dict[object, Tensor] = {
            key: tensor(numpy.frombuffer(held, kind, math.prod(key.sizes), key.address % 4).reshape(key.sizes))
            for (key, kind), held in zip(kinds.items(), words, strict=True)
        }
        function, self.running = self._function(name), name
        try:
            function(*(tensors.get(argument, argument) for argument in arguments))
        finally:
            self.running = ""
        for first, before, word in zip(firsts, looked, words, strict=True):
            if before != word:
                self._memory.write(first, word)

    def _function(self, name: str) -> Callable[..., object]:
        from relax_mlir.runtime.ffi import tvm_ffi

        function = self.linked.get(name) or tvm_ffi.get_global_func(name, allow_missing=True)
        if function is None:
            raise RuntimeError(f"the program calls '{name}', which is not registered: use tvm_ffi.register_global_func")
        return function


def _function(
    program: WebProgram, name: str, memory: WebgpuMemory, others: _OtherFunctions, lock: RLock
) -> Callable[..., object]:
    from relax_mlir.runtime.ffi import tvm_ffi

    entry = program["entries"][name]

    def call(*arguments: Any) -> object:
        with lock:  # device memory and pending commands belong to one call at a time
            if others.running:
                raise RuntimeError(
                    f"@{name} is called by '{others.running}', which the same program called: calls cannot nest"
                )
            try:
                results = _run_entry(program, entry, memory, others, arguments)
            finally:
                memory.end()
        return tvm_ffi.convert(results)

    return tvm_ffi.convert(call)


def _run_entry(
    program: WebProgram, entry: PublicFunction, memory: WebgpuMemory, others: _OtherFunctions, arguments: Any
) -> list[object]:
    import numpy

    given: list[int | float] = []
    uploads: list[tuple[int, Array]] = []
    written: list[tuple[int, Array]] = []
    for place, (described, argument) in enumerate(zip(entry["inputs"], arguments, strict=True)):
        if "shape" not in described:
            given.append(argument)
            continue
        held = storage(argument)
        address = memory.take(held.nbytes)
        read, new = _parts(entry, place, arguments, held.nbytes)
        uploads += [(address + first, held[first:end]) for first, end in _whole_words(read, held.nbytes)]
        if described.get("written"):
            written += [(address + first, held[first:end]) for first, end in new]
        given += [address, *argument.shape]
    for address, part in uploads:
        memory.write(address, part)
    run = Run(program, memory, others)
    run.enter(entry, given, "the program")
    found = [run.given[place] for place in range(len(entry["outputs"]))]
    pieces = [(each.address, each.element_bytes * math.prod(each.sizes)) for each in found]
    looked = memory.look([*pieces, *((address, part.nbytes) for address, part in written)])
    for (_, part), data in zip(written, looked[len(pieces) :], strict=True):
        part[:] = numpy.frombuffer(data, "uint8")
    results: list[object] = []
    for described, each, data in zip(entry["outputs"], found, looked, strict=False):
        elements = numpy.frombuffer(bytearray(data), numpy_type(described["dtype"]))
        results.append(tensor(elements.reshape(each.sizes)))
    return results


_Parts = list[tuple[int, int]]


def _parts(entry: PublicFunction, place: int, arguments: Any, bytes_: int) -> tuple[_Parts, _Parts]:
    """Return the byte ranges of an argument that a call may read, and the ranges that it may write.

    For a growing tensor, such as a key-value cache, a call reads the existing rows and writes the new rows.
    """
    if (grown := next((each for each in entry.get("grown", ()) if each["input"] == place), None)) is None:
        return [(0, bytes_)], [(0, bytes_)]
    shape, axis = arguments[place].shape, grown["axis"]
    capacity, length = shape[axis], arguments[grown["length"]].shape[0]
    row = bytes_ // max(1, math.prod(shape[: axis + 1]))
    new = length + _count_new_rows(entry, grown["added"], arguments)
    starts = [index * capacity * row for index in range(math.prod(shape[:axis]))]
    return (
        [(start, start + min(length, capacity) * row) for start in starts],
        [(start + length * row, start + new * row) for start in starts if new <= capacity],
    )


def _count_new_rows(entry: PublicFunction, added: str, arguments: Any) -> int:
    """Return the number of new rows. `added` is a number or the name of a dynamic size."""
    if added.isdecimal():
        return int(added)
    return next(
        size
        for described, argument in zip(entry["inputs"], arguments, strict=True)
        for name, size in zip(described.get("shape", ()), getattr(argument, "shape", ()), strict=False)
        if name == added
    )


def _whole_words(parts: _Parts, bytes_: int) -> Iterator[tuple[int, int]]:
    """Extend byte ranges to whole 32-bit words. The additional bytes are equal on the device."""
    for first, end in parts:
        yield first - first % 4, min(bytes_, end + -end % 4)
