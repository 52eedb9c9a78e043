# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory and kernels of a program on a device. Launches are recorded, and submitted when the host reads memory.

All tensors are in one buffer, because kernels access one array of words. A larger buffer replaces a full one.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.errors import DeviceError

from .device import open_device, told, wgpu
from .heap import Heap
from .instructions import failure

if TYPE_CHECKING:
    from .program_types import WebProgram

#: Alignment of each launch's arguments in their buffer, in bytes.
_STEP = 256
#: Types of arguments that take two words.
_PAIRS = ("i64", "f64")
#: Maximum number of blocks along one dimension.
_MOST_BLOCKS = 65535
_RECORD_BYTES, _NUMBERS = 48, 4
#: Requirements of kernels, with the corresponding limits of a device.
_NEEDS = {"threads": "max-compute-invocations-per-workgroup", "shared": "max-compute-workgroup-storage-size"}
#: Maximum size of the buffer: addresses are i32.
_MOST_BYTES = (1 << 31) - 256


class WebgpuMemory:
    """Device memory and pending launches of one program."""

    def __init__(self, program: WebProgram, constants: memoryview) -> None:
        self._program, self._device = program, open_device()
        check_needs(program["needs"], self._device.limits)
        self._usage, self._stage = wgpu().BufferUsage, wgpu().ShaderStage.COMPUTE
        self._heap = Heap(constants.nbytes)
        self._pipelines: dict[int, Any] = {}
        #: Pending launches: kernel, number of blocks and argument words. `_places` has their locations for errors.
        self._launches: list[tuple[int, int, bytes]] = []
        self._places: list[str] = []
        self._taken: set[int] = set()
        self._keys = itertools.count()
        words = [3 + sum(2 if each in _PAIRS else 1 for each in kernel["arguments"]) for kernel in program["kernels"]]
        self._argument_bytes = 16 * -(-max(words, default=1) // 4)
        self._buffer: Any = None
        with told():
            self._record = self._make(_RECORD_BYTES, self._usage.STORAGE | self._usage.COPY_SRC | self._usage.COPY_DST)
            self._layout = self._device.create_bind_group_layout(entries=self._entries())
            self._need(self._heap.end)
        if constants.nbytes:
            self.write(0, constants)

    def _entries(self) -> list[dict[str, object]]:
        uniform = {"type": "uniform", "has_dynamic_offset": True}
        buffers = [{"type": "storage"}, uniform, {"type": "storage"}]
        return [{"binding": place, "visibility": self._stage, "buffer": buffer} for place, buffer in enumerate(buffers)]

    def _make(self, bytes_: int, usage: int) -> Any:
        return self._device.create_buffer(size=max(4, bytes_ + -bytes_ % 4), usage=usage)

    def _need(self, bytes_: int) -> None:
        """Grow the buffer to at least this many bytes."""
        if self._buffer is not None and self._buffer.size >= bytes_:
            return
        limits = self._device.limits
        most = min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"], _MOST_BYTES)
        if bytes_ > most:
            raise MemoryError(
                f"the program needs {bytes_} bytes in one buffer of the device, at most {most} are allowed"
            )
        wanted = bytes_ if self._buffer is None else min(most, max(bytes_, 2 * self._buffer.size))
        usage = self._usage.STORAGE | self._usage.COPY_SRC | self._usage.COPY_DST
        old, self._buffer = self._buffer, self._make(wanted, usage)
        if old is not None:
            encoder = self._device.create_command_encoder()
            encoder.copy_buffer_to_buffer(old, 0, self._buffer, 0, old.size)
            self._device.queue.submit([encoder.finish()])
            old.destroy()

    # ---- memory ----

    def take(self, bytes_: int) -> int:
        place = self._heap.take(bytes_)
        self._taken.add(place)
        return place

    def give_back(self, address: int) -> None:
        self._taken.discard(address)
        self._heap.give_back(address)

    def end(self) -> None:
        """End a call: free the memory that the call allocated, and discard pending launches."""
        for address in list(self._taken):
            self.give_back(address)
        self._launches.clear()
        self._places.clear()

    def constant(self, place: int) -> int:
        return int(self._program["constants"][place]["offset"])

    def random_key(self) -> int:
        """Return the number of previous requests for a random key."""
        return next(self._keys)

    def write(self, address: int, data: Any) -> None:
        """Write data in whole words. No tensor uses the bytes after the data in the last word."""
        data = memoryview(data).cast("B")
        if data.nbytes % 4:
            data = memoryview(bytes(data) + bytes(-data.nbytes % 4))
        with told():
            self._need(self._heap.end)
            if data.nbytes:
                self._device.queue.write_buffer(self._buffer, address, data)

    # ---- launches ----

    def launch(self, kernel: int, blocks: int, arguments: Sequence[int | float], place: str) -> None:
        if blocks <= 0:
            return
        words = struct.pack("<III", blocks, len(self._places), 0)
        for kind, value in zip(self._program["kernels"][kernel]["arguments"], arguments, strict=True):
            words += _words(kind, value)
        self._launches.append((kernel, blocks, words))
        self._places.append(place)

    def read(self, address: int, bytes_: int) -> bytes:
        (found,) = self.look([(address, bytes_)])
        return bytes(found)

    def look(self, pieces: Sequence[tuple[int, int]]) -> list[memoryview]:
        """Submit the launches, wait, and return copies of memory, given as addresses and sizes in bytes.

        Raises the exception of the first check that failed in a kernel.
        """
        # The device copies whole words.
        sizes = [address % 4 + bytes_ + -(address + bytes_) % 4 for address, bytes_ in pieces]
        places = list(itertools.accumulate(sizes, initial=_RECORD_BYTES))
        with told():
            self._need(self._heap.end)
            encoder = self._device.create_command_encoder()
            arguments = self._encode(encoder) if self._launches else None
            staging = self._make(places[-1], self._usage.MAP_READ | self._usage.COPY_DST)
            encoder.copy_buffer_to_buffer(self._record, 0, staging, 0, _RECORD_BYTES)
            for (address, _), size, place in zip(pieces, sizes, places, strict=False):
                if size:
                    encoder.copy_buffer_to_buffer(self._buffer, address - address % 4, staging, place, size)
            self._device.queue.submit([encoder.finish()])
            staging.map_sync("READ")
            held = memoryview(bytes(staging.read_mapped()))
            for buffer in (staging, arguments):
                if buffer is not None:
                    buffer.destroy()
        self._raise(held)
        self._launches.clear()
        self._places.clear()
        starts = [place + address % 4 for place, (address, _) in zip(places, pieces, strict=False)]
        return [held[start : start + bytes_] for start, (_, bytes_) in zip(starts, pieces, strict=True)]

    def _raise(self, record: memoryview) -> None:
        taken, launch, place = struct.unpack_from("<3I", record)
        if not taken:
            return
        self._device.queue.write_buffer(self._record, 0, bytes(_RECORD_BYTES))
        kernel, _, _ = self._launches[launch]
        kind, message = self._program["kernels"][kernel]["checks"][place]
        raise failure(kind, message, struct.unpack_from(f"<{_NUMBERS}q", record, 16), self._places[launch])

    def _encode(self, encoder: Any) -> Any:
        """Encode the pending launches and return the buffer of their arguments."""
        step = -(-self._argument_bytes // _STEP) * _STEP
        packed = b"".join(words.ljust(step, b"\0") for _, _, words in self._launches)
        arguments = self._device.create_buffer_with_data(data=packed, usage=self._usage.UNIFORM)
        bound = [
            {"buffer": self._buffer, "offset": 0, "size": self._buffer.size},
            {"buffer": arguments, "offset": 0, "size": self._argument_bytes},
            {"buffer": self._record, "offset": 0, "size": _RECORD_BYTES},
        ]
        entries = [{"binding": place, "resource": each} for place, each in enumerate(bound)]
        group = self._device.create_bind_group(layout=self._layout, entries=entries)
        runs = encoder.begin_compute_pass()
        for place, (kernel, blocks, _) in enumerate(self._launches):
            runs.set_pipeline(self._pipeline(kernel))
            runs.set_bind_group(0, group, [place * step])
            runs.dispatch_workgroups(min(blocks, _MOST_BLOCKS), -(-blocks // _MOST_BLOCKS))
        runs.end()
        return arguments

    def _pipeline(self, kernel: int) -> Any:
        if kernel not in self._pipelines:
            stated = self._program["kernels"][kernel]
            module = self._device.create_shader_module(label=stated["name"], code=stated["code"])
            layout = self._device.create_pipeline_layout(bind_group_layouts=[self._layout])
            compute = {"module": module, "entry_point": "main"}
            self._pipelines[kernel] = self._device.create_compute_pipeline(layout=layout, compute=compute)
        return self._pipelines[kernel]


def check_needs(needs: Mapping[str, int], limits: Mapping[str, int]) -> None:
    """Raise DeviceError if a limit of the device is below the requirements of the kernels."""
    for name, limit in _NEEDS.items():
        if needs[name] > limits[limit]:
            text = f"the program's kernels need {name}={needs[name]}, but the device has {limits[limit]}"
            raise DeviceError(f"{text}: compile it for the target 'webgpu' without that option")


def _words(kind: str, value: int | float) -> bytes:
    if kind == "f32":
        return struct.pack("<f", value)
    if kind == "f64":
        return struct.pack("<d", value)
    bits = 64 if kind == "i64" else 32
    if kind == "index":
        # An index has 32 bits in kernels. Clamping keeps a number that is larger than all sizes larger.
        value = max(-(1 << 31), min(int(value), (1 << 31) - 1))
    return (int(value) & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
